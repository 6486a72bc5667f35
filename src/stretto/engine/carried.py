"""What an interrupted run did before it was resumed counts on: its writes, what it consumed, rewards, downgrades."""

from stretto.engine.hedge import copies_of
from stretto.engine.history import History
from stretto.engine.state import RunState, downgrade
from stretto.record.model import LAY_MS, Run
from stretto.types.budget import Budget
from stretto.types.enums import StepStatus


def carry_on(state: RunState, history: History, budget: Budget) -> None:
    """Begin a resumed run where the interrupted one was; its recorded steps are not counted again when they stand.

    Retries, tokens and cost stay spent. Time does not: the deadline begins anew, or no parked run could go on.
    """
    state.receipts.update(history.effects)
    for step in history.steps.values():
        if step.status is StepStatus.FALLBACK:
            state.downgrades.append(downgrade(step))
        if step.status is StepStatus.OK:
            state.rewards.extend(step.rewards)
    state.run.retries = sum(max(0, len(step.attempts) - 1) + copies_of(step) for step in state.run.steps)
    budget.pool.retries -= state.run.retries
    for step in state.run.steps:  # also those that failed after all: their answers were paid for
        if step.usage is not None:
            state.tokens_in += step.usage.input_tokens
            state.tokens_out += step.usage.output_tokens
            state.cost += step.usage.cost
            budget.pool.tokens -= step.usage.input_tokens + step.usage.output_tokens
            budget.pool.cost -= step.usage.cost


def note_lying(run: Run, now_ns: int) -> None:
    """Note on a run that is resumed for how long nothing was done for it, which its duration counts as well.

    `now_ns` is UTC, since the epoch.
    """
    done_ms = max([run.duration_ms, *(step.ended_ms for step in run.steps)])
    lay_ms = max(0.0, (now_ns - run.started_at_ns) / 1e6 - done_ms)
    run.evidence[LAY_MS] = round(run.lay_ms + lay_ms, 3)

"""What stands already: a step that the record answers is not made again."""

import msgspec

from stretto.engine import effects
from stretto.engine.answering import held
from stretto.engine.called import Called
from stretto.engine.history import History, Mode
from stretto.engine.meaning import cross_recorded
from stretto.engine.recording import keep, succeed
from stretto.record.model import StepRecord, decoded
from stretto.types.enums import Effect, StepStatus
from stretto.types.json import JsonObject


def standing(called: Called) -> JsonObject | None:
    """The output that the record holds for this very request, or None when the call must be made."""
    history = called.state.history
    if history is None or history.mode is Mode.RESUME:
        return _made_already(called)
    substitute = history.outputs.get(called.path)
    if substitute is not None:
        called.simulated = True
        return succeed(called, *held(called, substitute), called.started)
    if called.effect is not Effect.WRITE:
        return _take_answer(called, history)
    return _take_write(called, history)


def _made_already(called: Called) -> JsonObject | None:
    """What this run did here before it was interrupted, or in an earlier attempt of the step around this one."""
    history, effect = called.state.history, called.state.receipts.get(called.path)
    step = None if history is None else history.recorded(called.path, called.name, called.encoded)
    if step is not None:
        output: JsonObject = decoded(step.output)
        return output
    if effect is None or effect.receipt is None:
        return None
    receipt = effects.standing_receipt(effect, called.path, called.encoded)
    return succeed(called, *held(called, receipt), called.started)


def _take_answer(called: Called, history: History) -> JsonObject | None:
    """What is no write: from the record, or None when it is to be asked; that ends a closed replay."""
    taken = _take(called, history.recorded(called.path, called.name, called.encoded))
    if taken is None and history.is_closed and called.effect is Effect.READ and not called.op.sees_reference:
        raise history.refuse_read(called.path)
    return taken


def _take(called: Called, step: StepRecord | None) -> JsonObject | None:
    """Let a recorded step stand in a replay."""
    if step is None:
        called.simulated = called.simulated or called.name in called.state.stood_in
        return None
    state = called.state
    called.simulated = called.simulated or step.simulated
    if called.op.crossings_out:
        step = cross_recorded(called, step)
    state.rewards.extend(step.rewards)
    now = state.ms(state.now())
    state.keep(
        msgspec.structs.replace(
            step,
            reused_from=step.reused_from or state.run.replay_of,
            simulated=called.simulated,
            started_ms=now,
            ended_ms=now,
        )
    )
    output: JsonObject = decoded(step.output)
    return output


def _take_write(called: Called, history: History) -> JsonObject:
    """A replay's write: the recorded response for an equal request, a dry run, or the end of the replay."""
    called.state.stood_in.add(called.name)
    taken = _take(called, history.recorded_write(called.path, called.encoded))
    if taken is not None:
        return taken
    if not history.dry_run:
        raise history.refuse_write(called.path)
    called.simulated = True
    called.note("dry_run", True)
    keep(called, StepStatus.SKIPPED, b"null")
    return {}

"""A run explained by a workflow: its choices by their inputs, its answers by replays."""

import asyncio
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias, TypeVar, cast

import msgspec

from stretto.components.policy import SoftmaxPolicy
from stretto.engine.history import changed_components
from stretto.learn.arguments import check_workflow
from stretto.learn.explain.explained import ChoiceExplained, FieldEffect, RewardHeads, RunExplained, StepExplained
from stretto.learn.explain.fields import MOST, field_effects
from stretto.learn.explain.linear import explain_policy
from stretto.learn.explain.reaching import outermost, reaching_reward
from stretto.learn.explain.recorded import answered_itself, answered_steps, hold_to_alternatives, is_alike
from stretto.learn.explain.summary import summary_of
from stretto.record.model import Run, StepRecord
from stretto.runtime.finding import find_run
from stretto.runtime.recorded_step import recorded_step
from stretto.runtime.workflow import Workflow
from stretto.store.sqlite import Store
from stretto.types.arguments import wrong
from stretto.types.errors import InputError, ReplayError, UsageError
from stretto.types.json import JsonObject

T = TypeVar("T")

OnStep: TypeAlias = Callable[[int, int, StepRecord], None]
"""Told of each step before it is explained: the how manieth, of how many, and its record."""

COMPARED: Final = 200
"""Other runs of the workflow that are read, the newest: what is usual there, and values to try in place of its own."""

MOST_TRIED: Final = 1_000

TORCH: Final = "torch"
"""Kind of the components whose choices are attributed by their gradients."""

Records: TypeAlias = Mapping[str, StepRecord]
"""Of one run, by path."""


async def explain(
    workflow: Workflow,
    run: Run | str = "last",
    *,
    step: str | None = None,
    tried: int = MOST,
    reads: bool = False,
    on_step: OnStep | None = None,
) -> RunExplained:
    """Explain a run that the workflow made: what made its choices, and what each field of its answers was worth.

    The run may be given by its id; ``last`` is the newest of the store. It is held against the newest others there.
    `step` explains that one only, else every step that its component answered; `tried` is how many other values of a
    field are tried, each by a replay that is kept nowhere, writes nothing, and asks nothing that reads the world: with
    `reads` it does, for real. What an answer was worth is told only where the run has a reward, and held against that
    of a replay with nothing changed.

    Raises UsageError for a run of another workflow, one that has not ended, or a step that it does not have.
    """
    check_workflow(workflow)
    _hold_to_tried(tried)
    if isinstance(run, str):
        run = await asyncio.to_thread(find_run, workflow.store, run)
    _hold_to_run(workflow, run)
    steps = answered_steps(run) if step is None else [recorded_step(run, step)]
    others = await asyncio.to_thread(_others, workflow.store, run)
    with tempfile.TemporaryDirectory(prefix="stretto-explain-") as folder, Store(Path(folder) / "replays.db") as kept:
        explaining = _Explaining(workflow, run, others, kept, tried, reads=reads)
        again = await explaining.again()
        told = []
        for number, each in enumerate(steps, 1):
            if on_step is not None:
                on_step(number, len(steps), each)
            told.append(await explaining.step(each))
        heads = await explaining.reward_heads(steps)
    found = RunExplained(
        run=run.id,
        workflow=run.manifest.workflow,
        status=str(run.status),
        reward=run.reward,
        again=again,
        compared=len(others),
        summary=(),
        changed=tuple(sorted(changed_components(run.manifest, workflow.plan.manifest))),
        reward_heads=heads,
        steps=tuple(told),
    )
    return msgspec.structs.replace(found, summary=summary_of(found))


class _Explaining:
    """One run, while its steps are explained one after the other."""

    def __init__(
        self, workflow: Workflow, run: Run, others: Sequence[Run], kept: Store, tried: int, *, reads: bool
    ) -> None:
        self._workflow = workflow
        self._run = run
        self._records = _by_path(run)
        self._other_runs = others
        self._others = [_by_path(other) for other in others]
        self._kept = kept
        self._tried = tried
        self._reads = reads
        self._again: float | None = None
        self._reaching = reaching_reward(workflow.plan, run)

    async def again(self) -> float | None:
        """The reward of the run's replay with nothing changed, which effects are held against: it is another where what
        judged it changed since, or somebody else told the reward."""
        self._again = None if self._run.reward is None else await self._reward({})
        return self._again

    async def step(self, step: StepRecord) -> StepExplained:
        """In a thread where there is much to compute: a server answers meanwhile."""
        choices, untold = await _in_thread(lambda: self._choices_or_why(step)) if step.actions else ((), "")
        is_unread = self._run.reward is not None and outermost(step.path) not in self._reaching
        known = None if is_unread else self._again
        effects, apart = ((), 0.0) if known is None else await self._effects(step, known)
        return StepExplained(
            path=step.path,
            component=step.component,
            choices=choices,
            untold=untold,
            effects=effects,
            apart=apart,
            is_unread=is_unread,
        )

    async def reward_heads(self, steps: Sequence[StepRecord]) -> RewardHeads | None:
        """Of these steps, in a thread too."""
        components = [self._workflow.plan.components.get(step.component) for step in steps]
        if not any(each is not None and each.card.kind == TORCH for each in components):
            return None
        return await _in_thread(lambda: self._heads_or_why([step.path for step in steps]))

    def _heads_or_why(self, steps: Sequence[str]) -> RewardHeads | None:
        from stretto.learn.explain.by_reward import heads_by_reward  # torch, only where a step is of it

        try:
            return heads_by_reward(self._workflow.plan, self._run, self._other_runs, steps)
        except UsageError as error:
            return RewardHeads(untold=str(error))
        except Exception as error:  # noqa: BLE001  # modules of the user's, as below
            return RewardHeads(untold=f"a module cannot be asked again: {type(error).__name__}: {error}")

    def _choices_or_why(self, step: StepRecord) -> tuple[tuple[ChoiceExplained, ...], str]:
        """Or why they cannot be told of: the component may be another by now, and other steps are not."""
        try:
            return self._choices(step), ""
        except UsageError as error:
            return (), str(error)
        except Exception as error:  # noqa: BLE001  # a module of the user's, asked what another version of it was asked
            return (), f"component '{step.component}' cannot be asked again: {type(error).__name__}: {error}"

    def _choices(self, step: StepRecord) -> tuple[ChoiceExplained, ...]:
        component = self._workflow.plan.components.get(step.component)
        if not answered_itself(step):
            raise UsageError("it did not answer itself")
        if isinstance(component, SoftmaxPolicy):
            hold_to_alternatives(step, {component.options.output: component.options.alternatives})
            return tuple(explain_policy(component, step.input_value, action) for action in step.actions)
        if component is None or component.card.kind != TORCH:
            return ()
        from stretto.components.torch.component import TorchComponent
        from stretto.learn.explain.chain import asked_in, chain_to  # torch, only when there is a choice of it
        from stretto.learn.explain.choice import explain_chain

        assert isinstance(component, TorchComponent)
        hold_to_alternatives(step, component.signature.chooses)
        link = chain_to(self._workflow.plan, self._records, step)
        asked = asked_in(link, self._records)
        others = [found for each in self._others if (found := asked_in(link, each)) is not None]
        return tuple(explain_chain(link, asked or {}, action, others=others) for action in step.actions)

    async def _effects(self, step: StepRecord, reward: float) -> tuple[tuple[FieldEffect, ...], float]:
        """And how far two replays alike lie apart."""
        came_to: list[tuple[JsonObject, float]] = []

        async def replayed(output: JsonObject) -> float | None:
            told = await self._reward({step.path: output})
            if told is not None:
                came_to.append((output, told))
            return told

        alike = [other[step.path] for other in self._others if is_alike(step, other.get(step.path))]
        answers = [cast("JsonObject", each.output_value) for each in alike]
        effects = await field_effects(step.output_value, reward, answers, replayed, most=self._tried)
        if not came_to:
            return effects, 0.0
        output, before = came_to[0]
        after = await self._reward({step.path: output})
        return effects, 0.0 if after is None else abs(after - before)

    async def _reward(self, outputs: Mapping[str, JsonObject]) -> float | None:
        """Chance is the same in every replay: choices are drawn by the run's seed. Writes are never performed."""
        try:
            again = self._workflow.replay(self._run, outputs=outputs, keep_in=self._kept, is_closed=not self._reads)
            return (await again).reward
        except (InputError, ReplayError):  # no answer that this component could have given, or a call not to be made
            return None


async def _in_thread(work: Callable[[], T]) -> T:
    """What it comes to. Nothing ends a thread, so one that is cancelled has ended when its thread has: whoever waits
    for that knows that nothing is computed any more."""
    working = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        await asyncio.wait({working})
        raise


def _by_path(run: Run) -> dict[str, StepRecord]:
    return {step.path: step for step in run.steps}


def _others(store: Store, run: Run) -> list[Run]:
    """The newest other runs of its workflow that ended."""
    newest = store.list(limit=COMPARED + 1, workflow=run.manifest.workflow)
    return [store.get(each.id) for each in newest if each.id != run.id and each.status is not None][:COMPARED]


def _hold_to_run(workflow: Workflow, run: object) -> None:
    if not isinstance(run, Run):
        raise wrong("the run", run, "a run, its id, or 'last'")
    if workflow.name != run.manifest.workflow:
        raise UsageError(
            f"run {run.id} is of workflow '{run.manifest.workflow}', and this file declares '{workflow.name}'; "
            "name its file with --workflow FILE"
        )
    if run.status is None:
        raise UsageError(f"run {run.id} has not ended; what became of it can be explained when it has")


def _hold_to_tried(tried: object) -> None:
    if not isinstance(tried, int) or isinstance(tried, bool) or not 1 <= tried <= MOST_TRIED:
        raise UsageError(f"tried is {tried!r}; expected a whole number from 1 to {MOST_TRIED:,}, as {MOST}")

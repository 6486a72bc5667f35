"""Runs, as the engine would have recorded them, made from columns after the batch."""

from collections.abc import Iterator, Mapping

import msgspec
import orjson

from stretto.components.torch import choices
from stretto.components.torch.component import TorchComponent, reward_of
from stretto.engine.ending import finish
from stretto.engine.failure import error_info, reason_of
from stretto.engine.state import RunState, StepFailed, milliseconds
from stretto.engine.work import read_output
from stretto.learn.adversity.marks import PERTURBED, mark
from stretto.learn.differentiable.chosen import Choices
from stretto.learn.differentiable.cohort import Cohort
from stretto.learn.differentiable.kept import Stood
from stretto.learn.differentiable.outside import rows_of
from stretto.learn.differentiable.underway import Computed, Event, Held, Recorded, Skipped, Underway
from stretto.plan.model import CallOp, Frame, Plan
from stretto.record.canonical import exact, snapshot
from stretto.record.model import NULL, Run, StepRecord
from stretto.types.enums import StepStatus
from stretto.types.errors import ContractError, NotJsonError
from stretto.types.ids import Digest
from stretto.types.json import Json, JsonObject
from stretto.types.learning import Action, Reward


class Sealing:
    """Makes the runs of one batch."""

    def __init__(
        self,
        batch: Underway,
        cohort: Cohort,
        plan: Plan,
        components: Mapping[str, TorchComponent],
        digests: Mapping[str, Digest],
    ) -> None:
        """`cohort` is that of the whole workflow; `digests` are of the weights that computed."""
        self._batch = batch
        self._cohort = cohort
        self._plan = plan
        self._components = components
        self._digests = digests
        self._pins = {
            name: f"{components[name].card.version}@{components[name].digest_with(weights)}"
            for name, weights in digests.items()
        }
        self._broken: dict[int, StepFailed] = {}
        """Runs whose modules gave what no record can hold, which ended there."""

    async def runs(self) -> list[Run]:
        """One for each request, in their order; in the batch's own loop."""
        size = len(self._batch.data)
        states = self._batch.states.of([*range(size)])
        steps = self._steps(size)
        frames = self._cohort.frame.json(self._plan.output_reads, self._plan.slots)
        row_of = {life: row for row, life in enumerate(self._cohort.lives)}
        for life, state in enumerate(states):
            state.run.steps[:] = steps[life]
            self._pin(state.run)
            mark(state.run)
            await self._seal(state, life, row_of[life], frames)
        return [state.run for state in states]

    async def _seal(self, state: RunState, life: int, row: int, frames: list[Frame]) -> None:
        failure = self._broken.get(life) or self._cohort.failed.get(row)
        if failure is None:
            read_output(state, frames[row])
        else:
            state.run.status, state.run.reason, state.run.error = failure.status, failure.reason, failure.error
        await finish(state, None)

    def _pin(self, run: Run) -> None:
        """Pin the run to the weights that computed it."""
        run.manifest = msgspec.structs.replace(run.manifest, components={**run.manifest.components, **self._pins})

    def _steps(self, size: int) -> list[list[StepRecord]]:
        """Of each run, its records in order."""
        found: list[list[StepRecord]] = [[] for _ in range(size)]
        ended: set[int] = set()
        for event in self._batch.events:
            told = event.records if isinstance(event, Recorded | Stood) else self._told(event)
            for life, records in told:
                if life < size and life not in ended:
                    found[life] += records
            ended |= self._broken.keys()
        return found

    def _told(self, event: Event) -> Iterator[tuple[int, list[StepRecord]]]:
        started = self._batch.states.started
        paths = event.cohort.paths(event.op.name)
        spent = milliseconds(event.started - started), milliseconds(event.ended - started)
        make = self._computed(event) if isinstance(event, Computed) else self._held(event)
        for life, path, record in zip(event.cohort.lives, paths, make, strict=True):
            record.path = path
            record.started_ms, record.ended_ms = spent
            yield life, [record]

    def _held(self, event: Event) -> Iterator[StepRecord]:
        size, path = event.cohort.size, event.cohort.path
        if isinstance(event, Skipped):
            yield from (StepRecord(path=path(row, ""), status=StepStatus.SKIPPED) for row in range(size))
        elif isinstance(event, Held):
            for row, output in enumerate(event.output.json):
                record = StepRecord(path=path(row, ""), status=StepStatus.OK)
                record.output = msgspec.Raw(exact(orjson.dumps(output)))
                record.input = NULL if event.input is None else msgspec.Raw(exact(orjson.dumps(event.input.json[row])))
                yield record

    def _computed(self, event: Computed) -> Iterator[StepRecord]:
        op, size = event.op, event.cohort.size
        assert isinstance(op, CallOp)
        inputs, outputs = rows_of(event.inputs(self._batch), size), event.output.json
        actions, rewards = self._actions(event), _rewards(event)
        for row, life in enumerate(event.cohort.lives):
            record = StepRecord(
                path=event.cohort.path(row, op.name),
                status=StepStatus.OK,
                component=op.component_name,
                effect=op.effect,
                service_ms=milliseconds(event.ended - event.started),
            )
            if life not in self._broken:
                self._tell(record, life, inputs[row], outputs[row], actions[row], rewards[row])
            if row in event.perturbed:
                record.evidence = {PERTURBED: event.perturbed[row]}
            yield record

    def _tell(
        self,
        record: StepRecord,
        life: int,
        asked: JsonObject,
        answered: Json,
        actions: tuple[Action, ...],
        rewards: tuple[Reward, ...],
    ) -> None:
        """Put on a record what a module was asked and answered. What no record can hold fails the run there."""
        record.input = msgspec.Raw(snapshot(asked))
        try:
            record.output = msgspec.Raw(snapshot(answered))
        except NotJsonError as error:
            refused = ContractError(f"the output of '{record.component}' is not JSON: {error}")
            told = error_info(refused, record.path)
            record.status, record.reason, record.error = StepStatus.FAILED, reason_of(refused), told
            self._broken[life] = StepFailed(told, reason_of(refused))
            return
        record.actions, record.rewards = actions, rewards
        if rewards and life < len(self._batch.data):
            self._batch.states.of([life])[0].rewards.extend(rewards)

    def _actions(self, event: Computed) -> list[tuple[Action, ...]]:
        """Of each row, what it chose."""
        if not event.choices:
            return [()] * event.cohort.size
        return [*zip(*(self._of_choice(event, name, choice) for name, choice in event.choices.items()), strict=True)]

    def _of_choice(self, event: Computed, name: str, choice: Choices) -> list[Action]:
        assert isinstance(event.op, CallOp)
        component = self._components[event.op.component_name]
        policy, sample = self._digests[event.op.component_name], component.options.sample
        log_p, chosen = choice.log_p_BA.detach().tolist(), choice.chosen_B.tolist()
        return [
            choices.action_of(name, choice.names, log_p[row], chosen[row], policy=policy, sample=sample)
            for row in range(choice.size)
        ]


def _rewards(event: Computed) -> list[tuple[Reward, ...]]:
    """Of each row, what it was rewarded with."""
    if not event.rewards:
        return [()] * event.cohort.size
    told = [[reward_of(name, each) for each in value.tolist()] for name, (value, _) in event.rewards.items()]
    return [*zip(*told, strict=True)]

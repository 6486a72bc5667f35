"""What a resumed or replayed run takes from a recorded one instead of calling components again.

*Resume* continues the same run: what was recorded stands, under the same manifest. *Replay* is another run: what
was recorded stands for a step whose request and component are unchanged; a write is never performed, its recorded
response stands only for an equal request.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from stretto.record.model import EffectRecord, Manifest, Run, StepRecord
from stretto.types.enums import Effect, StepStatus
from stretto.types.errors import ReplayError
from stretto.types.ids import StepPath


class Mode(StrEnum):
    """Why recorded steps are consulted."""

    RESUME = "resume"
    REPLAY = "replay"


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """A recorded run, ready to answer for its steps."""

    mode: Mode
    run: Run
    steps: Mapping[StepPath, StepRecord]
    effects: Mapping[StepPath, EffectRecord] = field(default_factory=dict)
    outputs: Mapping[StepPath, bytes] = field(default_factory=dict)
    """Substitutes: step path → encoded output that stands in its place."""
    changed: frozenset[str] = frozenset()
    """Components that are not what the recorded run was pinned to."""
    downgraded: tuple[StepPath, ...] = ()
    """In a replay, the recorded steps that a fallback answered for."""
    dry_run: bool = False
    """A write that cannot be taken from the record is skipped and reads null, instead of ending the replay."""
    is_closed: bool = False
    """What reads the world is not asked again: where the record does not hold its answer, the replay ends. What judges
    the run is asked, and what is declared pure."""

    @classmethod
    def resume(cls, run: Run, effects: Mapping[StepPath, EffectRecord]) -> "History":
        """History of an interrupted run; steps that did not answer are made again."""
        answered = {step.path: step for step in run.steps if step.status is not StepStatus.FAILED}
        return cls(mode=Mode.RESUME, run=run, steps=answered, effects=effects)

    def structure(self, path: StepPath) -> StepRecord | None:
        """The record of a whole loop, map, sub-workflow or skipped step that stands in a resumed run, or None.

        A map that tolerated a failed item and ended stands with the null: what came after it has seen that.
        """
        step = self.steps.get(path) if self.mode is Mode.RESUME else None
        return step if step is not None and not step.component else None

    def went_on(self, path: StepPath, number: int) -> bool:
        """Whether anything is recorded of the round after round `number` of a loop."""
        following = f"{path}[{number + 1}]/"
        return any(each.startswith(following) for each in (*self.steps, *self.effects))

    def recorded(self, path: StepPath, component: str, request: bytes) -> StepRecord | None:
        """The recorded step that may stand at `path` for an equal request, or None."""
        step = self.steps.get(path)
        if step is None or step.component != component or bytes(step.input) != request:
            return None
        if self.mode is Mode.REPLAY and (step.status is StepStatus.FAILED or self._is_changed(step)):
            return None
        return step

    def _is_changed(self, step: StepRecord) -> bool:
        """Whether the step's component is not what it was, or one that answered for it or that it called."""
        if not self.changed:
            return False
        inside = f"{step.path}/"
        made = (each.component for path, each in self.steps.items() if path.startswith(inside))
        return step.component in self.changed or not self.changed.isdisjoint(made)

    def recorded_write(self, path: StepPath, request: bytes) -> StepRecord | None:
        """The recorded write that may stand for an equal request, whatever the component's version; replay only."""
        step = self.steps.get(path)
        if step is not None and step.effect is Effect.WRITE and bytes(step.input) == request:
            return step if step.status is not StepStatus.FAILED else None
        return None

    def refuse_read(self, path: StepPath) -> ReplayError:
        """The error for a call that a closed replay would have to make."""
        return ReplayError(
            f"not replayable: step '{path}' reads the world, and run {self.run.id} holds no answer to this request; a "
            "closed replay asks only components declared pure, and what judges the run"
        )

    def refuse_write(self, path: StepPath) -> ReplayError:
        """The error for a write that this replay would have to perform."""
        step = self.steps.get(path)
        if step is None:
            what = "was not made"
        elif step.status is StepStatus.FAILED:
            what = "did not answer"
        else:
            what = "was asked something else"
        return ReplayError(
            f"not replayable: step '{path}' writes, and in run {self.run.id} it {what}; a replay performs no writes. "
            "Use dry_run (--dry-run) to leave it out and read null, or give its output as a substitute"
        )


def hold_to_manifest(run: Run, manifest: Manifest) -> None:
    """Raise ReplayError unless the run was pinned to this manifest: only then may it be resumed."""
    if run.manifest == manifest:
        return
    changed = sorted(changed_components(run.manifest, manifest)) or ["the workflow file"]
    raise ReplayError(
        f"run {run.id} was pinned to {run.manifest.workflow}@{run.manifest.version}; changed since: "
        f"{', '.join(changed)}. Resume it with the versions it was pinned to, or replay it with these"
    )


def changed_components(before: Manifest, after: Manifest) -> frozenset[str]:
    """Names of the components that are not the same in both."""
    names = before.components.keys() | after.components.keys()
    return frozenset(name for name in names if before.components.get(name) != after.components.get(name))

"""The surrogates of a workflow's module: of choices, and of steps outside that one stands for."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from stretto.learn.arguments import as_recorded
from stretto.learn.differentiable.downstream import Downstream
from stretto.learn.differentiable.foretelling import Foretelling
from stretto.learn.differentiable.passing import Passing
from stretto.learn.differentiable.recorded import rows_of_runs
from stretto.learn.surrogates.file import load_surrogates, save_surrogates
from stretto.learn.surrogates.of_choice import ChoiceSurrogate
from stretto.learn.surrogates.of_step import StepSurrogate
from stretto.learn.surrogates.report import SurrogateReport
from stretto.learn.usable import Recorded
from stretto.record.model import Run
from stretto.types.ids import Digest


class Surrogates:
    """All of them: told of, taught of recorded runs, and kept in files."""

    def __init__(
        self,
        foretelling: Foretelling,
        passings: Mapping[str, Passing],
        downstream: Downstream,
        weights: Mapping[str, float],
    ) -> None:
        """`weights` are the reward's."""
        self.foretelling = foretelling
        self.passings = passings
        self.downstream = downstream
        self._weights = weights

    @property
    def by_step(self) -> Mapping[str, ChoiceSurrogate | StepSurrogate]:
        """By step, or ``step#choice`` where one makes several."""
        return {**self.foretelling.of_choices, **{name: each.surrogate for name, each in self.passings.items()}}

    @property
    def biased(self) -> Mapping[str, Digest]:
        """Steps outside whose gradient is that of a surrogate, by step: its digest."""
        return {step: each.surrogate.digest for step, each in self.passings.items()}

    @property
    def lacking(self) -> list[str]:
        """Steps outside that no gradient passed in the last batch, for their surrogate had nothing to go by."""
        return [step for step, each in self.passings.items() if each.lacks_data]

    @property
    def report(self) -> str:
        """What each is worth, a line each."""
        return "\n".join(str(each.report()) for each in self.by_step.values()) or "no step has a surrogate"

    def fit(self, runs: Iterable[Run | Recorded]) -> Mapping[str, SurrogateReport]:
        """Let each learn from recorded runs; tells what it is then worth.

        Raises LearningError where the runs tell nothing of a step.
        """
        recorded = as_recorded(runs)
        for surrogate, node, choice in self.foretelling.choices:
            names = self.downstream.terms(node.place)
            rows, policy = rows_of_runs(node, choice, recorded, names, self._weights)
            surrogate.learn_recorded(rows, of=policy)
        for passing in self.passings.values():
            passing.learn_recorded([each.run for each in recorded])
        return {step: each.report() for step, each in self.by_step.items()}

    def save(self, folder: str | Path) -> Path:
        """Write each into a folder, by digest; raises StoreError when the disk refuses."""
        return save_surrogates(self.by_step, Path(folder))

    def load(self, folder: str | Path) -> None:
        """Go on with those that a folder holds.

        Raises UsageError for a step of which it holds none, or one of another form; StoreError for a damaged file.
        """
        load_surrogates(self.by_step, Path(folder))

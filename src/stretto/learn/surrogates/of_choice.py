"""A surrogate of a choice: foretells, for each alternative, the reward downstream of it.

It is used as a control variate only, in the form whose own noise is integrated out (`control_by_trying`): one pass of
its network answers for all alternatives, however many, so that nothing is won by relaxing the choice. A batch is used
first and learnt from afterwards: neither the network nor the coefficient has seen the draws that they are used for,
and the gradient is unbiased whatever they say. Shape letters: N rows, F features, A alternatives.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import msgspec
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from stretto.learn.estimators import control_by_trying
from stretto.learn.surrogates.control import Coefficient, control_by_logits, score_by_logits
from stretto.learn.surrogates.learner import RECORDED_STEPS
from stretto.learn.surrogates.manifest import Manifest
from stretto.learn.surrogates.report import SurrogateReport
from stretto.learn.surrogates.rows import ChoiceRows
from stretto.learn.surrogates.surrogate import HELD_OUT, Surrogate
from stretto.learn.surrogates.window import Window
from stretto.types.ids import Digest


class ChoiceSurrogate(Surrogate):
    """Of one choice of one step."""

    what = "the reward downstream of each alternative of a choice"
    is_biased = False

    def __init__(self, step: str, shown: Mapping[str, int], alternatives: Sequence[str]) -> None:
        super().__init__(step, shown, alternatives)
        self.coefficient = Coefficient(len(alternatives))

    def foretold(self, features_NF: Tensor) -> Tensor:
        """Of each row, the reward of every alternative: [N, A], detached."""
        return self.learner.answer(features_NF)

    def control(self, log_p_NA: Tensor, rows: ChoiceRows) -> Tensor:
        """What is to be taken off the score's objective of each row, [N]; 0 while it is worth nothing.

        Of rows with an unknown reward too: whether it is known may hang on what was chosen, and then only all of them
        together have a mean of 0.

        What it foretells is taken less the baseline, as the score's reward is: where it foretells well nothing of the
        baseline's own noise is left, and where it does not the baseline stays.
        """
        if self.coefficient.value == 0.0:
            return torch.zeros(len(rows), dtype=torch.float64)
        foretold_NA = self.foretold(rows.features_NF) - rows.baseline_N[:, None]
        return self.coefficient.value * control_by_trying(log_p_NA, rows.chosen_N, foretold_NA)

    def learn(self, rows: ChoiceRows, *, of: Digest | None = None) -> None:
        """Learn from a batch that it was judged by. `of` is the digest of the weights that chose."""
        if not self.is_frozen:
            self._add(rows.of(rows.known_N > 0))
            self.learner.learn(of=of)

    def learn_recorded(self, rows: ChoiceRows, *, of: Digest | None = None) -> None:
        """Learn from recorded rows, by some of which it is then judged, and learn from those too."""
        everything, first = torch.arange(len(rows)), len(rows) - len(rows) // HELD_OUT
        held, half = everything[first:], len(rows) // HELD_OUT // 2
        self._add(rows.of(everything[:first]))
        self.learner.learn(passes=RECORDED_STEPS, of=of)
        for part in (held[:half], held[half:]):  # the coefficient of one half is judged by the other
            self.judge(rows.of(part), of_runs=True)
        self._add(rows.of(held))
        self.learner.learn(of=of)

    def report(self) -> SurrogateReport:
        """What it is worth, and how old it is."""
        coefficient = self.coefficient
        return replace(super().report(), coefficient=coefficient.value, variance_ratio=coefficient.variance_ratio)

    def judge(self, rows: ChoiceRows, *, of_runs: bool = False) -> None:
        """Note what it is worth, by rows that it has not learnt from."""
        if not len(rows):
            return
        foretold_NA = self.foretold(rows.features_NF)
        is_known_N = rows.known_N > 0
        chosen_N = foretold_NA.gather(1, rows.chosen_N[:, None])[:, 0]
        self.calibration.note(chosen_N[is_known_N], rows.reward_N[is_known_N])
        less_NA, reward_N = foretold_NA - rows.baseline_N[:, None], rows.reward_N - rows.baseline_N
        plain_NA = score_by_logits(rows.log_p_NA, rows.chosen_N, reward_N * rows.known_N)
        control_NA = control_by_logits(rows.log_p_NA, rows.chosen_N, less_NA)
        self.coefficient.note(plain_NA * rows.weight_N[:, None], control_NA * rows.weight_N[:, None], of_runs=of_runs)

    def _add(self, rows: ChoiceRows) -> None:
        chosen_NA = one_hot(rows.chosen_N, len(self.told)).double()
        self.learner.add(rows.features_NF, chosen_NA * rows.reward_N[:, None], chosen_NA)

    # what it is kept as

    @property
    def windows(self) -> dict[str, Window]:
        """The rows that it keeps."""
        return {**super().windows, "evidence": self.coefficient.evidence, "judged": self.coefficient.judged}

    def manifest(self) -> Manifest:
        """What its file says of it."""
        own = {"coefficient": self.coefficient.value, "is_of_runs": self.coefficient.is_of_runs}
        return msgspec.structs.replace(super().manifest(), **own)

    def become(self, manifest: Manifest, tensors: Mapping[str, Tensor]) -> None:
        """Go on as a saved one would."""
        super().become(manifest, tensors)
        self.coefficient.value, self.coefficient.is_of_runs = manifest.coefficient, manifest.is_of_runs

"""Learning by imitation: a policy's weights fitted to given choices, by multinomial logistic regression.

The same features and the same component as the trained policy, other weights. Shape letters: B examples,
F features, C features that occur, A alternatives, K columns of weights.
"""

from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np
from scipy import optimize

from stretto.components.policy import SoftmaxPolicy
from stretto.components.policy_weights import PolicyWeights
from stretto.learn.arguments import check_policy
from stretto.learn.matrix import seen
from stretto.learn.objective import Bools, Floats, Ints, log_softmax
from stretto.types.arguments import as_several, check_fields, wrong
from stretto.types.errors import LearningError, UsageError
from stretto.types.json import JsonObject

MAX_ITERATIONS: Final = 500
"""Of L-BFGS; with the ridge the problem is strictly convex, and tens suffice."""


class Example(msgspec.Struct, frozen=True, kw_only=True):
    """A request's input and what should be chosen."""

    input: JsonObject
    """As the policy's step would get it; its `available` field holds here too."""
    chosen: str


class ImitationReport(msgspec.Struct, frozen=True, kw_only=True):
    """How well the weights fit."""

    examples: int
    loss: float
    """Mean negative log-likelihood, nats, without the ridge."""
    accuracy: float
    """Share of examples where the likeliest available alternative is the one chosen."""


def imitate(
    policy: SoftmaxPolicy, examples: Sequence[Example], *, ridge: float = 1e-3
) -> tuple[PolicyWeights, ImitationReport]:
    """Fit weights to examples: minimise mean(-log π(chosen)) + ridge/2 · ‖W‖², with the policy's prior and temperature.

    Convex with one minimum, so the result depends on no seed. Raises UsageError for a bad option or example.
    """
    check_policy(policy)
    examples = _held(examples)
    if isinstance(ridge, bool) or not isinstance(ridge, int | float):
        raise wrong("ridge", ridge, "a number, such as 0.001")
    if not ridge > 0:
        raise UsageError(f"ridge is {ridge}; expected a number above 0, such as 0.001: else weights may grow for ever")
    fit = _Fit(policy, examples, ridge)
    start = np.zeros(fit.shape).ravel()
    found = optimize.minimize(fit.loss, start, jac=True, method="L-BFGS-B", options={"maxiter": MAX_ITERATIONS})
    if not found.success:
        raise LearningError(f"imitation of {len(examples)} examples did not converge: {found.message}. Raise ridge")
    weights_CK: Floats = found.x.reshape(fit.shape)
    return PolicyWeights.from_rows(policy.spec, fit.columns_C, weights_CK), fit.report(weights_CK)


def _held(examples: Sequence[Example]) -> tuple[Example, ...]:
    kind = "a stretto.learn.imitate.Example"
    given = as_several("examples", examples, Example, "a list of examples", kind)
    for number, each in enumerate(given):
        check_fields(f"examples[{number}]", each)
    return given


class _Fit:
    """Multinomial logistic regression of the examples; its gradient in closed form."""

    def __init__(self, policy: SoftmaxPolicy, examples: Sequence[Example], ridge: float) -> None:
        self.ridge = ridge
        self.temperature = policy.options.temperature
        self.prior_A = np.array(policy.spec.prior)
        self.columns = policy.spec.columns
        self.columns_C, self.seen = seen(policy, [example.input for example in examples]).compact()
        self.available_BA, self.chosen_B = _choices(policy, examples)
        self.rows_B = np.arange(len(examples))

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.columns_C), self.columns

    def logprobs(self, weights_CK: Floats) -> Floats:
        logits_BA = self.seen.scores(weights_CK) + self.prior_A
        return log_softmax(logits_BA / self.temperature, self.available_BA)

    def loss(self, flat: Floats) -> tuple[float, Floats]:
        weights_CK = flat.reshape(self.shape)
        logprobs_BA = self.logprobs(weights_CK)
        residual_BA = np.exp(logprobs_BA)
        residual_BA[self.rows_B, self.chosen_B] -= 1.0
        grad_CK = self.seen.gradient(residual_BA / (self.temperature * len(self.rows_B))) + self.ridge * weights_CK
        value = -logprobs_BA[self.rows_B, self.chosen_B].mean() + 0.5 * self.ridge * np.sum(weights_CK**2)
        return float(value), grad_CK.ravel()

    def report(self, weights_CK: Floats) -> ImitationReport:
        logprobs_BA = self.logprobs(weights_CK)
        return ImitationReport(
            examples=len(self.rows_B),
            loss=-float(logprobs_BA[self.rows_B, self.chosen_B].mean()),
            accuracy=float(np.mean(logprobs_BA.argmax(axis=1) == self.chosen_B)),
        )


def _choices(policy: SoftmaxPolicy, examples: Sequence[Example]) -> tuple[Bools, Ints]:
    """What each example allows and chooses."""
    if not examples:
        raise UsageError("imitation needs at least one example")
    column = {name: i for i, name in enumerate(policy.options.alternatives)}
    available_BA = np.array([policy.mask(example.input) for example in examples], np.bool_)
    for i, example in enumerate(examples):
        if example.chosen not in column or not available_BA[i, column[example.chosen]]:
            allowed = [name for name, at in column.items() if available_BA[i, at]]
            raise UsageError(
                f"example {i} chooses {example.chosen!r}, which is not available there; it allows {allowed}"
            )
    return available_BA, np.array([column[example.chosen] for example in examples], np.int64)

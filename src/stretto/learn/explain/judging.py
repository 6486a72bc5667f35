"""What stands between the networks of some runs and their rewards, by which a reward has a gradient."""

from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import Final

from stretto.components.torch.component import TorchComponent
from stretto.learn.differentiable.building import build, inside_of
from stretto.learn.differentiable.downstream import Downstream
from stretto.learn.differentiable.recorded import is_usable, reward_below
from stretto.learn.explain.chain import Chains, asked_in
from stretto.learn.explain.recorded import answered_itself, hold_to_alternatives
from stretto.learn.explain.scores import RewardScore, Scored, Term
from stretto.learn.usable import Recorded
from stretto.plan.model import Plan
from stretto.plan.places import step_of
from stretto.record.model import Run, StepRecord

_ROUNDING: Final = 1e-9
"""Part of a reward by which the mean of many that are the same may lie beside it."""


class Judging:
    """Of one workflow, a run first and others after it."""

    def __init__(self, plan: Plan, run: Run, others: Sequence[Run]) -> None:
        nodes = build(plan.body, plan.slots)
        self._plan = plan
        self._places = {node.place for node in inside_of(nodes)}
        self._downstream = Downstream(nodes, plan.reward_weights)
        self.runs = [run, *(other for other in others if other.reward is not None and is_usable(other))]
        self._costs: dict[frozenset[str], list[float | None]] = {}

    def score(self, number: int) -> RewardScore:
        """The reward of a run, as what its gradient is taken of.

        Raises UsageError for a component that chooses of other alternatives by now.
        """
        run = self.runs[number]
        steps: dict[str, StepRecord] = {step.path: step for step in run.steps}
        chains = Chains(self._plan, steps)
        terms, choices = tuple(self._terms(run, chains)), tuple(self._choices(number, chains))
        ends = [*(each.link for each in terms), *(each.link for each in choices)]
        asked = {path: request for end in ends for path, request in (asked_in(end, steps) or {}).items()}
        return RewardScore(asked=asked, reference=run.reference_value, terms=terms, choices=choices)

    def module_of(self, step: StepRecord) -> TorchComponent | None:
        """The component of kind ``torch`` that answered a step itself."""
        component = self._plan.components.get(step.component)
        return component if isinstance(component, TorchComponent) and answered_itself(step) else None

    def _terms(self, run: Run, chains: Chains) -> Iterator[Term]:
        """Those that depend on what a module before computed. With weights, what was given last counts."""
        weights = self._plan.reward_weights
        given = [(step, each.name) for step in run.steps for each in step.rewards]
        last = {name: step for step, name in given}
        for step, name in given:
            weight = weights.get(name, 0.0) if weights else 1.0
            if weight == 0.0 or (weights and last[name] is not step) or self.module_of(step) is None:
                continue
            link = chains.to(step.path)
            if link.feeds:
                yield Term(link=link, name=name, weight=weight)

    def _choices(self, number: int, chains: Chains) -> Iterator[Scored]:
        for step in self.runs[number].steps:
            component, place = self.module_of(step), step_of(step.path)
            if component is None or place not in self._places:
                continue
            hold_to_alternatives(step, component.signature.chooses)
            for action in step.actions:
                told = None if action.forced else self._cost(number, self._downstream.terms(place))
                if told is not None:
                    yield Scored(link=chains.to(step.path), action=action, cost=told[0], others=told[1])

    def _cost(self, number: int, names: frozenset[str]) -> tuple[float, int] | None:
        """What these terms came to over their mean in the other runs, and in how many; None where they are unknown."""
        if names not in self._costs:
            weights = self._plan.reward_weights
            self._costs[names] = [reward_below(Recorded(run=run), names, weights) for run in self.runs]
        costs = self._costs[names]
        own, others = costs[number], [each for at, each in enumerate(costs) if at != number and each is not None]
        if own is None:
            return None
        cost = own - (fmean(others) if others else 0.0)
        return 0.0 if abs(cost) <= _ROUNDING * max(1.0, abs(own)) else cost, len(others)

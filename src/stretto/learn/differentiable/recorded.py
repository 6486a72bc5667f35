"""Recorded runs folded into what a choice's surrogate learns from: what was known, what was chosen, what came of it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import torch

from stretto.components.torch.shape import Shape
from stretto.components.torch.signature import PROBABILITIES
from stretto.components.torch.values import tensor_of
from stretto.learn.differentiable.columns import Rows
from stretto.learn.differentiable.foretelling import features_of, shown_of
from stretto.learn.differentiable.inside import InsideNode
from stretto.learn.rewards import terms_as_of
from stretto.learn.surrogates.rows import ChoiceRows
from stretto.learn.usable import ACCIDENTS, Recorded
from stretto.plan.places import step_of
from stretto.record.model import Run, decoded
from stretto.types.enums import RunStatus, StepStatus
from stretto.types.errors import LearningError
from stretto.types.ids import Digest
from stretto.types.json import JsonObject
from stretto.types.learning import Action

_Made: TypeAlias = tuple[JsonObject, JsonObject, Action, float]
"""A step's input, output and choice, and the reward below."""


def is_usable(run: Run) -> bool:
    """Whether a run tells of its choices: it ended by itself, nothing was simulated, no accident downgraded it."""
    ended = run.succeeded and run.status is not RunStatus.BUSINESS_FALLBACK and not run.simulated
    return ended and not any(step.reason in ACCIDENTS for step in run.steps)


def reward_below(item: Recorded, names: frozenset[str], weights: Mapping[str, float]) -> float | None:
    """Of a run, the weighted terms of these names; None where one is unknown, or none was given."""
    given: dict[str, float | None] = {}
    for term in terms_as_of(item.run, item.annotations):
        before = None if weights else given.get(term.name)  # without weights, what is given again adds up
        given[term.name] = term.value if before is None or term.value is None else before + term.value
    wanted = {name: weight for name, weight in (weights or dict.fromkeys(given, 1.0)).items() if name in names}
    values = [(given.get(name), weight) for name, weight in wanted.items() if weight != 0.0]
    if not values or any(value is None for value, _ in values):
        return None
    return sum(value * weight for value, weight in values if value is not None)


def rows_of_runs(
    node: InsideNode, choice: str, runs: Sequence[Recorded], names: frozenset[str], weights: Mapping[str, float]
) -> tuple[ChoiceRows, Digest]:
    """What recorded runs tell of a step's choice, and by which weights the last of them chose.

    Raises LearningError where none of them tells anything.
    """
    made = [each for item in runs for each in _made(node, choice, item, names, weights)]
    if not made:
        raise LearningError(
            f"none of {len(runs)} runs tells what follows the choice {choice!r} of step '{node.place}': it needs runs "
            f"of this workflow that ended by themselves, made that choice, and know {', '.join(sorted(names))}"
        )
    inputs, outputs, actions, rewards = zip(*made, strict=True)
    alternatives = node.component.signature.chooses[choice]
    p_NA = tensor_of([out[choice + PROBABILITIES] for out in outputs], Shape(len(alternatives), dtype="float64"))
    fields = {name: Rows([each.get(name) for each in inputs]) for name, _ in shown_of(node.component.signature)}
    reward_N = torch.tensor(rewards, dtype=torch.float64)
    rows = ChoiceRows(
        features_NF=features_of(node.component.signature, fields, p_NA.log()),
        log_p_NA=p_NA.log(),
        chosen_N=torch.tensor([alternatives.index(action.chosen) for action in actions]),
        reward_N=reward_N,
        baseline_N=torch.full_like(reward_N, float(reward_N.mean())),
        weight_N=torch.ones_like(reward_N),
        known_N=torch.ones_like(reward_N),
    )
    return rows, Digest(actions[-1].policy)


def _made(
    node: InsideNode, choice: str, item: Recorded, names: frozenset[str], weights: Mapping[str, float]
) -> Iterable[_Made]:
    reward = reward_below(item, names, weights) if is_usable(item.run) else None
    if reward is None:
        return
    for step in item.run.steps:
        if step.status is StepStatus.OK and step_of(step.path) == node.place and step.component == node.name:
            for action in step.actions:
                if action.name == choice and _is_of(node, action):
                    yield decoded(step.input), decoded(step.output), action, reward


def _is_of(node: InsideNode, action: Action) -> bool:
    return action.support == node.component.signature.chooses[action.name]

"""A step outside that a gradient passes, by a surrogate that learns what it answers: biased, as its step says.

Shape letters: N rows, F features, K numbers of an answer.
"""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from stretto.components.torch.values import tensor_of
from stretto.learn.differentiable.answers import answered_by, asked_of, width_of
from stretto.learn.differentiable.cohort import Cohort
from stretto.learn.differentiable.columns import Column, Fields, Mixed, Rows
from stretto.learn.differentiable.fitting import fitted
from stretto.learn.differentiable.flow import Flow
from stretto.learn.differentiable.inner import SubNode
from stretto.learn.differentiable.items import MapNode
from stretto.learn.differentiable.kept import Stood
from stretto.learn.differentiable.node import Node
from stretto.learn.differentiable.outside import OutsideNode
from stretto.learn.differentiable.rounds import LoopNode
from stretto.learn.differentiable.underway import Recorded
from stretto.learn.surrogates.learner import RECORDED_STEPS
from stretto.learn.surrogates.of_step import StepSurrogate
from stretto.learn.surrogates.surrogate import HELD_OUT
from stretto.plan.places import step_of
from stretto.record.model import Run, StepRecord, decoded
from stretto.types.enums import Estimator, StepStatus
from stretto.types.errors import LearningError, UsageError
from stretto.types.ids import Digest
from stretto.types.json import Json, JsonObject


def passings_of(nodes: Sequence[Node], flow: Flow) -> dict[str, "Passing"]:
    """Of each step outside that has a surrogate, by its place, how a gradient passes it; made known to the step.

    Raises UsageError for a step that cannot have one, and where it would have no effect.
    """
    found: dict[str, Passing] = {}
    _find(nodes, {}, found)
    for place, passing in found.items():
        if not any(not each.cut for each in flow.asked[place]):
            raise _useless(passing.node, "nothing that it is asked is computed by a module that learns")
        if place not in flow.passed:
            raise _useless(passing.node, "no module reads what it answers among its `inputs`")
    return found


def _find(nodes: Sequence[Node], writers: Mapping[int, Node], found: dict[str, "Passing"]) -> None:
    known = dict(writers)
    for node in nodes:
        if isinstance(node, OutsideNode) and node.call.estimator is Estimator.SURROGATE:
            node.passing = found[node.place] = Passing(node, known)
        elif isinstance(node, MapNode | LoopNode | SubNode):
            _find(node.body, {} if isinstance(node, SubNode) else known, found)
        known[node.op.slot] = node


class Passing:
    """One such step: what of it is numbers, its surrogate, and what a batch told."""

    def __init__(self, node: OutsideNode, writers: Mapping[int, Node]) -> None:
        """Raises UsageError for a step of which the inputs are not numbers, or no field of the answer is."""
        self.node = node
        self._asked, texts = asked_of(node, writers)
        self._answered, others = answered_by(node)
        if texts or not self._asked:
            raise _refused(node, f"its input '{texts[0]}' is no" if texts else "it has no input of")
        if not self._answered:
            told = f"of what it answers '{others[0]}' is no" if others else "its schema tells no field of its answer as"
            raise _refused(node, told)
        shown = {name: width_of(what) for name, what in self._asked.items()}
        told_of = [f"{name}[{at}]" for name, shape in self._answered.items() for at in range(width_of(shape))]
        self.surrogate = StepSurrogate(node.place, shown, told_of)
        self._pending: list[tuple[Tensor, Tensor]] = []
        self.lacks_data = False
        """In the last batch it let no gradient pass, for it had nothing to go by."""

    def through(
        self, cohort: Cohort, inputs: Mapping[str, Column], answered: Column, events: Sequence[object]
    ) -> Column:
        """The answers as they are, with the surrogate's gradient in rows that the component itself answered."""
        features_NF, fits_N = self._features(inputs, cohort.size)
        told_NK, is_told_N = self._told(answered.json)
        own_N = is_told_N & fits_N & _answered_itself(events, cohort, self.node.call.name)
        self._pending.append((features_NF.detach()[own_N], told_NK[own_N]))
        slope_NK = self.surrogate.slope(features_NF) if features_NF.requires_grad else None
        self.lacks_data = slope_NK is None and features_NF.requires_grad
        if slope_NK is None:
            return answered
        value_NK = told_NK + torch.where(own_N[:, None], slope_NK, torch.zeros_like(slope_NK))
        return self._fields(answered, value_NK, is_told_N)

    def end(self, *, learns: bool) -> None:
        """Learn from the batch."""
        pending, self._pending = self._pending, []
        for features_NF, told_NK in pending if learns else ():
            self.surrogate.learn(features_NF, told_NK, of=self.node.call.component.card.digest)

    def learn_recorded(self, runs: Sequence[Run]) -> None:
        """Learn from what recorded runs asked and were answered. Raises LearningError where they tell nothing."""
        place, component = self.node.place, self.node.call.component_name
        steps = [(run, step) for run in runs for step in run.steps if not run.simulated and self._is_own(step)]
        if not steps:
            raise LearningError(
                f"none of {len(runs)} runs tells what step '{place}' answers: it needs runs of this workflow in which "
                f"component '{component}' was asked"
            )
        asked: list[JsonObject] = [decoded(step.input) for _, step in steps]
        columns = {name: Rows([each.get(name) for each in asked]) for name in self._asked}
        features_NF, fits_N = self._features(columns, len(steps))
        told_NK, is_told_N = self._told([decoded(step.output) for _, step in steps])
        own_N = fits_N & is_told_N
        features_NF, told_NK = features_NF[own_N], told_NK[own_N]
        pinned = Digest(steps[-1][0].manifest.components.get(component, "").rpartition("@")[2])
        first = len(told_NK) - len(told_NK) // HELD_OUT
        self.surrogate.learn(features_NF[:first], told_NK[:first], passes=RECORDED_STEPS, of=pinned)
        self.surrogate.learn(features_NF[first:], told_NK[first:], of=pinned)

    def _is_own(self, step: StepRecord) -> bool:
        """Whether the component answered the step itself."""
        is_here = step_of(step.path) == self.node.place and step.component == self.node.call.component_name
        return is_here and step.status is StepStatus.OK

    # numbers

    def _features(self, inputs: Mapping[str, Column], count: int) -> tuple[Tensor, Tensor]:
        """What is asked, [N, F], with its graph, and which rows are so."""
        parts, fits_N = [], torch.ones(count, dtype=torch.bool)
        for name, what in self._asked.items():
            value, misfits = fitted(inputs[name], what, f"'{name}' of step '{self.node.place}'")
            parts.append(value.double().cpu().reshape(count, width_of(what)))
            fits_N[misfits] = False
        return torch.cat(parts, 1), fits_N

    def _told(self, rows: Sequence[Json]) -> tuple[Tensor, Tensor]:
        """What was answered, [N, K], and in which rows all of it."""
        told = [None if not isinstance(row, dict) else self._row(row) for row in rows]
        width = len(self.surrogate.told)
        filled = [[0.0] * width if each is None else each for each in told]
        is_told = [each is not None for each in told]
        return torch.tensor(filled, dtype=torch.float64).reshape(-1, width), torch.tensor(is_told, dtype=torch.bool)

    def _row(self, row: JsonObject) -> list[float] | None:
        found: list[float] = []
        for name, shape in self._answered.items():
            try:
                found += tensor_of([row.get(name)], shape).flatten().tolist()
            except (ValueError, TypeError):
                return None
        return found

    def _fields(self, answered: Column, value_NK: Tensor, is_told_N: Tensor) -> Column:
        rows, names = answered.json, dict.fromkeys(self._answered)
        for row in rows:
            names |= dict.fromkeys(row if isinstance(row, dict) else ())
        fields: dict[str, Column] = {name: answered.below(name) for name in names}
        present = None if bool(is_told_N.all()) else is_told_N
        widths = [width_of(shape) for shape in self._answered.values()]
        for (name, shape), part in zip(self._answered.items(), value_NK.split_with_sizes(widths, 1), strict=True):
            fields[name] = Mixed(part.reshape(len(rows), *shape.dims), present, fields[name].json)
        return Fields(fields, len(rows), answered.present)


def _answered_itself(events: Sequence[object], cohort: Cohort, name: str) -> Tensor:
    """[N]: rows that the component answered, now or in a pass before, and not a fallback."""
    own: set[tuple[int, str]] = set()
    for event in events:
        told = event.records if isinstance(event, Recorded | Stood) else ()
        own |= {(life, step.path) for life, steps in told for step in steps if step.status is StepStatus.OK}
    paths = cohort.paths(name)
    return torch.tensor([(life, path) in own for life, path in zip(cohort.lives, paths, strict=True)], dtype=torch.bool)


def _useless(node: OutsideNode, why: str) -> UsageError:
    return UsageError(f"step '{node.place}' cannot have the estimator 'surrogate': it has no effect: {why}")


def _refused(node: OutsideNode, subject: str) -> UsageError:
    return UsageError(
        f"step '{node.place}' cannot have the estimator 'surrogate': {subject} numbers of a known count, all that a "
        "gradient passes. Let the component take and answer numbers, arrays of a fixed length, or enums as inputs; or "
        "let a step choose what it is asked, which `score` and `relax` learn from"
    )

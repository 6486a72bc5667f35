"""Steps whose component is a module: computed for all rows at once, with the graph kept."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from torch import Tensor, nn

from stretto.components.python.raised import note_raised
from stretto.components.torch import choices
from stretto.components.torch.component import TorchComponent, beside
from stretto.components.torch.signature import PROBABILITIES
from stretto.components.torch.values import told as told_of
from stretto.learn.adversity.adversary import StepRows
from stretto.learn.differentiable.chosen import Choices, Drawn
from stretto.learn.differentiable.cohort import Cohort
from stretto.learn.differentiable.columns import Column, Fields, Rows, Tensors
from stretto.learn.differentiable.fallen_back import as_computed
from stretto.learn.differentiable.given import Taking
from stretto.learn.differentiable.index import Index
from stretto.learn.differentiable.merging import select, where
from stretto.learn.differentiable.node import Node
from stretto.learn.differentiable.outside import call_outside, rows_of
from stretto.learn.differentiable.reading import column_at
from stretto.learn.differentiable.relaxing import RELAXING, relaxed
from stretto.learn.differentiable.returned import Returned
from stretto.learn.differentiable.underway import Computed, Underway
from stretto.learn.differentiable.unknown import Rewarded, known_of, unknown_in
from stretto.learn.differentiable.weights import writes_to
from stretto.plan.model import CallOp
from stretto.types.enums import Estimator
from stretto.types.errors import ComponentError, ContractError, StrettoError
from stretto.types.json import JsonObject

_NONE: Final[Mapping[str, Choices]] = {}


@dataclass(slots=True)
class Made:
    """What a module made of some rows."""

    given: Mapping[str, Any]
    """What it was called with."""
    found: Mapping[str, Tensor]
    """What it returned, as it is declared."""
    read: Callable[[Underway, Cohort], Mapping[str, Column]]
    """Reads the inputs again."""
    started: float
    ended: float
    choices: Mapping[str, Choices] | None = None
    """Those that were drawn of it already."""
    perturbed: Mapping[int, JsonObject] = field(default_factory=dict)
    """Of which rows, and how."""


class NoChoiceError(Exception):
    """Some rows have no probabilities to choose by."""

    def __init__(self, rows: Sequence[int]) -> None:
        super().__init__(rows)
        self.rows = rows


class InsideNode(Node):
    """A differentiable step."""

    def __init__(self, op: CallOp, component: TorchComponent, length: int, place: str) -> None:
        super().__init__(op, op.inputs, length, place)
        self.call = op
        self.component = component
        self.name = component.options.name
        self.estimator = op.estimator or Estimator.SCORE
        """By which its choices are learnt from."""
        self.taking = Taking(component, dict(self.inputs), place, checks=op.input_check is not None)

    def read(self, batch: Underway, cohort: Cohort) -> dict[str, Column]:
        asked = self.taking.asked(batch, cohort).columns
        return {name: asked[name] if name in asked else column_at(source, cohort.frame) for name, source in self.paths}

    def work(self, batch: Underway, cohort: Cohort, inputs: Mapping[str, Column]) -> Column:
        given = self.taking.given(batch, cohort, inputs)
        misfits = {*given.misfits, *self.component.unfit(batch.modules[self.name], given.fields)}
        computed = None
        while computed is None and len(misfits) < cohort.size:
            rows = [row for row in range(cohort.size) if row not in misfits]
            try:
                computed = self._of_rows(batch, cohort, inputs, given.fields, rows)
            except NoChoiceError as error:
                misfits |= {rows[row] for row in error.rows}
        if computed is not None and not misfits:
            return computed
        answered = self._asked(batch, cohort, inputs, sorted(misfits))
        if computed is None:
            return as_computed(answered, self.component.signature)
        here = answered.present
        if here is not None and not here.any():
            return computed
        return select(
            ~Index(sorted(misfits)).mask(cohort.size), computed, as_computed(answered, self.component.signature)
        )

    def _of_rows(
        self, batch: Underway, cohort: Cohort, inputs: Mapping[str, Column], given: dict[str, Any], rows: list[int]
    ) -> Column:
        """What the module computes in some rows; null in the others. Raises NoChoiceError."""
        if len(rows) == cohort.size:
            return self._computed(batch, cohort, lambda *_: inputs, given)
        index = Index(rows)
        taken = {name: column.take(index) for name, column in inputs.items()}
        fields = {name: index.of(value) for name, value in given.items()}
        return self._computed(batch, cohort.narrowed(rows), lambda *_: taken, fields).scatter(index, cohort.size)

    def _asked(self, batch: Underway, cohort: Cohort, inputs: Mapping[str, Column], misfits: list[int]) -> Column:
        """Rows that the schema or the module refuses, or has no choice for, handed to the engine's call, which says so
        or lets a fallback answer: as the module has it that learns, and not the component that serves."""
        index, within = Index(misfits), cohort.narrowed(misfits)
        data = rows_of({name: column.take(index) for name, column in inputs.items()}, len(misfits))
        call = replace(self.call, component=self.component.shadow(batch.modules[self.name]))
        answered = call_outside(batch, call, within, data, self.length)
        cohort.fail(within, misfits)
        return answered.scatter(index, cohort.size)

    def _computed(
        self,
        batch: Underway,
        cohort: Cohort,
        read: Callable[[Underway, Cohort], Mapping[str, Column]],
        given: dict[str, Any],
    ) -> Column:
        started = batch.now()
        found, perturbed = self._found(batch, cohort, given)
        made = Made(given=given, found=found, read=read, started=started, ended=batch.now(), perturbed=perturbed)
        event = self.event_of(batch, cohort, made)
        batch.events.append(event)
        return event.output

    def event_of(self, batch: Underway, cohort: Cohort, made: Made) -> Computed:
        """What is noted of rows that the module computed, with its choices drawn.

        Raises NoChoiceError for rows without probabilities.
        """
        signature, found = self.component.signature, made.found
        unknown = unknown_in([found[name] for name in signature.rewards], made.given) if signature.rewards else None
        if unknown is not None:
            found = self._but_unknown(batch, made.given, found, unknown)
        rewards = {name: (found[name], known_of(found[name], unknown)) for name in signature.rewards}
        chosen, tensors = _NONE, found
        if signature.chooses:
            chosen = made.choices or self.draw(batch.seeds_of(cohort), cohort.path_or_paths(self.op.name), found)
            tensors = {name: found[name] for name in signature.outputs}
        output: Fields = Returned(tensors, chosen, cohort.size, PROBABILITIES)
        if unknown is not None or signature.texts:
            output = self._told(output, found, rewards)
        return Computed(
            op=self.op,
            place=self.place,
            cohort=cohort,
            started=made.started,
            ended=made.ended,
            read=made.read,
            output=output,
            outputs=found,
            choices=chosen,
            estimator=self.estimator,
            weights_L=batch.weights_L,
            lives=len(batch.states.runs),
            rewards=rewards,
            perturbed=made.perturbed,
        )

    def _told(self, output: Fields, found: Mapping[str, Tensor], rewards: Mapping[str, Rewarded]) -> Fields:
        """The same, with rewards null where they are not known, and text as text."""
        fields = {**output.fields}
        fields |= {name: Tensors(value, known) for name, (value, known) in rewards.items() if known is not None}
        for name, shape in self.component.signature.texts.items():
            fields[name] = Rows(told_of(found[name], shape))
        return Fields(fields, output.size)

    def _found(
        self, batch: Underway, cohort: Cohort, given: dict[str, Any]
    ) -> tuple[dict[str, Tensor], Mapping[int, JsonObject]]:
        """What the module returns, and of which rows it was perturbed there."""
        adversary, module = batch.adversaries.get(self.name), batch.modules[self.name]
        if adversary is None:
            fields = beside(module, given) if batch.is_elsewhere else given
            return self.component.held(self._called(module, fields), cohort.size), {}
        runs = [batch.states.runs[life] for life in cohort.lives]
        rows = StepRows(seeds=batch.seeds_of(cohort), runs=runs, paths=cohort.paths(self.op.name))
        return adversary.compute(module, given, rows)

    def _called(self, module: nn.Module, given: Mapping[str, Any]) -> Any:
        """What a module returns. Raises ContractError where it wrote to what it was given."""
        tensors = {name: value for name, value in given.items() if isinstance(value, Tensor)}
        writes = writes_to(tensors.values())
        try:
            returned = module(**given)
        except StrettoError:
            raise
        except Exception as error:
            note_raised(self.name, error, self.component.home, self.place)
            raise
        after = writes_to(tensors.values())
        if after != writes:
            name = next(n for n, one, two in zip(tensors, writes, after, strict=True) if one != two)
            raise ContractError(
                f"component '{self.name}' at step '{self.place}' writes to its input '{name}' in place, which other "
                f"steps and later passes read; let it work on a copy: `{name} = {name}.clone()`"
            )
        return returned

    def _but_unknown(
        self, batch: Underway, given: Mapping[str, Any], found: Mapping[str, Tensor], unknown: Tensor
    ) -> dict[str, Tensor]:
        """The same, with no graph in rows whose reward is NaN: a gradient of 0 times NaN would be none.

        What gives a reward is perturbed by nobody, so that the module alone says it again.
        """
        rows = unknown.logical_not().nonzero()[:, 0].tolist()
        index, size = Index(rows), len(unknown)
        part = {name: index.of(value) for name, value in given.items()}
        again = self.component.compute(batch.modules[self.name], part, len(rows)) if rows else {}
        detached = {name: value.detach() for name, value in found.items()}
        if not rows:
            return detached
        mask = index.mask(size)
        return {name: where(mask, index.spread(again[name], size), detached[name]) for name in found}

    def draw(self, seeds: Sequence[int], paths: Sequence[str] | str, found: Mapping[str, Tensor]) -> dict[str, Choices]:
        """The choices of rows, by what the module returned. Raises NoChoiceError for rows without probabilities."""
        return {name: self._drawn(name, found[name], seeds, paths) for name in self.component.signature.chooses}

    def _drawn(self, choice: str, logits_BA: Tensor, seeds: Sequence[int], paths: Sequence[str] | str) -> Choices:
        p_BA, signature = choices.probabilities(logits_BA), self.component.signature
        draws_B = None
        if self.component.options.sample:
            draws_B = choices.draws_of(seeds, paths, choice, len(signature.chooses))
        try:
            chosen = choices.chosen_of(self.name, choice, p_BA, draws_B)
        except ComponentError:
            raise NoChoiceError(p_BA.isnan().any(1).nonzero()[:, 0].tolist()) from None
        drawn = Drawn(signature.chooses[choice], chosen, logits_BA)
        if self.estimator in RELAXING:
            drawn.relaxed_BA = relaxed(self.estimator, drawn.log_p_BA, drawn.chosen_B)
        return drawn

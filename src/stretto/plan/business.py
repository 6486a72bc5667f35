"""Compile the business fallback: what answers in the place of a workflow that failed.

It is to answer when nothing else does, so it is held to more than a step: it writes nothing, calls nobody, is none of
what may have failed, and what it gives fits the workflow's contract.
"""

from dataclasses import replace
from typing import Final

from stretto.plan.calls import Calls
from stretto.plan.codes import PlanCode
from stretto.plan.expectations import compile_expectations
from stretto.plan.fields import Mapped, Reader, compile_mapping
from stretto.plan.finding import Finder
from stretto.plan.flow import components_called
from stretto.plan.meaning.compare import Comparison
from stretto.plan.model import INPUT, RUN, Block, BusinessFallback, CallOp
from stretto.plan.names import Binding, Names
from stretto.plan.slots import Slots
from stretto.plan.valuetype import DYN, STRING, ValueType, from_schema, mismatch, object_of
from stretto.spec.durations import render
from stretto.spec.model import BusinessSpec, FieldMapping, WorkflowSpec
from stretto.spec.report import Report
from stretto.spec.source import Located
from stretto.types.budget import BudgetSpec
from stretto.types.card import Card
from stretto.types.enums import Effect
from stretto.types.ids import FALLBACK_PATH
from stretto.types.json import Schema

FAILURE_TYPE: Final = object_of(
    {"step": STRING, "component": STRING, "reason": STRING, "code": STRING, "message": STRING}
)
"""What `run.failure` reads; `engine` fills it."""


class Businesses:
    """Compiles the fallback of one workflow."""

    def __init__(self, report: Report, reader: Reader, finder: Finder, calls: Calls, slots: Slots) -> None:
        self._report = report
        self._reader = reader
        self._finder = finder
        self._calls = calls
        self._slots = slots

    def compile(
        self, workflow: WorkflowSpec, names: Names, body: Block, input_type: ValueType, run_type: ValueType
    ) -> BusinessFallback | None:
        """The fallback of a workflow whose steps are compiled; None without one, or after reporting what is wrong."""
        spec = workflow.fallback
        if spec is None:
            return None
        self._check_names(workflow)
        component = self._finder.component(spec.component)
        if component is None:
            return None
        card = component.card
        self._check_card(spec.component, card, body)
        self._note_time(spec, workflow.budget)
        slot = self._slots.new(FALLBACK_PATH)
        plain = self._calls.plain(component, FALLBACK_PATH, slot)
        request = self._request(workflow, spec, card, self._names(names, input_type, run_type))
        meanings = self._calls.meanings
        meant = meanings.into_output() if spec.output else None
        output = self._output(workflow, spec, card, slot, self._names(names, input_type, run_type), meant)
        answer = from_schema(card.output) if output is None else output.type
        input_schema, output_schema = _schemas(workflow)
        expectations = compile_expectations(
            spec.expectations,
            DYN if input_schema is None else from_schema(input_schema),
            answer if output_schema is None else from_schema(output_schema),
            self._report,
        )
        return BusinessFallback(
            op=_asked(plain, request),
            takes=_taken(workflow, card),
            is_mapped=request is not None,
            output=() if output is None else output.getters,
            crossings_out=meanings.left_of(meant if spec.output else meanings.into_answer(spec.component, answer)),
            streak=spec.streak,
            exercise=spec.exercise,
            expectations=expectations,
        )

    # what it may be

    def _check_names(self, workflow: WorkflowSpec) -> None:
        """Its own record stands where that of a step of this name would."""
        for step in workflow.steps:
            if step.name.value == FALLBACK_PATH:
                self._problem(
                    step.name,
                    f"a step is called '{FALLBACK_PATH}', as the record of the workflow's `fallback` is",
                    expected="another name for the step",
                    suggestion="name: step_fallback",
                )

    def _check_card(self, place: Located[str], card: Card, body: Block) -> None:
        writing = sorted(action for action, effect in card.effects.items() if effect is Effect.WRITE)
        if writing:
            self._problem(
                place,
                f"'{card.name}' writes, and a workflow's fallback must change nothing: it answers for runs that failed "
                "anywhere, and may be asked beside those that did not",
                expected="a component whose effects are pure or read",
                suggestion=f'effects="read" in the declaration of {card.name}, if that is true',
            )
        if "call" in card.capabilities:
            self._problem(
                place,
                f"'{card.name}' may call other components, which may be what failed",
                expected="a component that answers by itself",
                suggestion=f"calls=False in the declaration of {card.name}, if it calls nobody"
                if card.kind == "python"
                else "",
            )
        if card.name in components_called(body):
            self._problem(
                place,
                f"'{card.name}' is called by a step of this workflow, and may be what failed",
                expected="a component that no step calls",
                suggestion="a decision table of kind rules, or a function of its own",
            )

    def _note_time(self, spec: BusinessSpec, budget: BudgetSpec) -> None:
        if budget.deadline is None:
            self._reader.note(
                spec.component.span,
                "without a deadline a component that hangs is waited for, and the fallback never answers; give "
                "`budget: {deadline: ...}`",
            )
        elif not budget.reserve:
            self._reader.note(
                spec.component.span,
                f"the budget has no reserve: {render(budget.reserving().reserve)} of the deadline are kept for it",
            )

    # what it is asked, and what comes of its answer

    def _request(self, workflow: WorkflowSpec, spec: BusinessSpec, card: Card, names: Names) -> Mapped | None:
        """Its request, as mapped; None without a mapping, after holding what it takes to the workflow's input."""
        mappings, at = spec.input_mapping, spec.component.span
        if mappings is None:
            taken = _taken(workflow, card) or ()
            fields = [FieldMapping(Located(name, at), Located(f"input.{name}", at)) for name in taken]
            compile_mapping(self._reader, fields, names, card.input, at, f"the fallback '{card.name}'")
            return None
        mapped = compile_mapping(self._reader, mappings, names, card.input, at, f"the fallback '{card.name}'")
        self._slots.read |= mapped.slots - {RUN}  # which is filled for it alone
        return mapped

    def _output(
        self, workflow: WorkflowSpec, spec: BusinessSpec, card: Card, slot: int, names: Names, meant: Comparison | None
    ) -> Mapped | None:
        """The workflow's output; None when it is the component's as it is."""
        schema = _schemas(workflow)[1]
        answered = from_schema(card.output)
        if not spec.output:
            reason = None if schema is None else mismatch(answered, from_schema(schema))
            if reason is not None:
                self._problem(
                    spec.component,
                    f"the answer of '{card.name}' cannot be that of workflow '{workflow.name}': {reason}",
                    expected="an answer that fits the contract, or an `output` that makes one of it",
                    suggestion='output: {response: "answer.text"}',
                )
            return None
        names.hide("answer")
        names.bind(("answer",), [Binding(slot=slot, type=answered)])
        whose = f"the output of workflow '{workflow.name}'"
        mapped = compile_mapping(
            self._reader, spec.output, names, schema, spec.component.span, whose, after_steps=True, meant=meant
        )
        self._slots.read |= mapped.slots - {RUN}
        return mapped

    def _names(self, names: Names, input_type: ValueType, run_type: ValueType) -> Names:
        """The names that it reads: all of the workflow, an input that may mean nothing, and why the run failed."""
        inner = Names(names)
        for root, slot, kind in (
            ("input", INPUT, self._calls.meanings.of_refused_input(input_type)),
            ("run", RUN, object_of({**run_type.fields, "failure": FAILURE_TYPE})),
        ):
            inner.hide(root)
            inner.bind((root,), [Binding(slot=slot, type=kind)])
        return inner

    def _problem(self, place: Located[str], message: str, *, expected: str, suggestion: str = "") -> None:
        self._report.add(
            place.span.problem(PlanCode.BUSINESS_FALLBACK, message, expected=expected, suggestion=suggestion)
        )


def _asked(plain: CallOp, request: Mapped | None) -> CallOp:
    """The call; its request is always checked, since what a failed run did not reach reads null."""
    return plain if request is None else replace(plain, inputs=request.getters, reads=request.slots)


def _schemas(workflow: WorkflowSpec) -> tuple[Schema | None, Schema | None]:
    """Of the workflow's input and output, where its contract has them."""
    contract = workflow.contract
    if contract is None:
        return None, None
    return (
        None if contract.input is None else contract.input.schema,
        None if contract.output is None else contract.output.schema,
    )


def _taken(workflow: WorkflowSpec, card: Card) -> frozenset[str] | None:
    """The fields of the workflow's input that a component takes, which may be none; None where neither says what there
    is."""
    takes, given = (None if schema is None else _declared(schema) for schema in (card.input, _schemas(workflow)[0]))
    return given if takes is None else takes if given is None else takes & given


def _declared(schema: Schema) -> frozenset[str] | None:
    """The fields that a schema tells of; None where it leaves open what there is."""
    declared = from_schema(schema)
    return frozenset(declared.fields) if declared.fields or declared.sealed else None

"""Compile a workflow: everything that can be decided before a run is decided here, and told with its place.

The roots' types first, then the steps (`blocks`), then the output, and last what only the whole can tell: what is
read of memory, which components it may call, what it is pinned to.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

import msgspec

from stretto.plan.amplification import multiplied
from stretto.plan.blocks import Blocks
from stretto.plan.business import Businesses
from stretto.plan.called import find_called
from stretto.plan.calls import Calls
from stretto.plan.check import Check
from stretto.plan.codes import PlanCode
from stretto.plan.contradictions import check_contradictions
from stretto.plan.fields import Mapped, Reader, compile_mapping
from stretto.plan.finding import Finder, SubWorkflows
from stretto.plan.flow import may_write
from stretto.plan.meaning.compare import Comparison
from stretto.plan.meaning.crossing import Side
from stretto.plan.meaning.marks import marked_as
from stretto.plan.meaning.meanings import FindAligner, compile_meanings
from stretto.plan.model import FIRST_FREE_SLOT, MEMORY, RUN, Block, CallOp, Plan, ProtectionRules
from stretto.plan.names import Names, given_names
from stretto.plan.notes import notes_of
from stretto.plan.promises import check_promises, check_reward, names_of
from stretto.plan.resources import components_of, resources_type, with_probes_of
from stretto.plan.sla.promise import promise_of
from stretto.plan.sla.verdict import hold_promises
from stretto.plan.slots import Slots
from stretto.plan.valuetype import DYN, INT, STRING, ValueType, array_of, from_schema, object_of
from stretto.record.canonical import canonical
from stretto.record.model import Manifest
from stretto.spec.model import FieldMapping, StepSpec, WorkflowSpec, steps_in
from stretto.spec.report import Report
from stretto.spec.resources_model import ResourcesSpec
from stretto.spec.source import Located
from stretto.types.card import ANY_OBJECT
from stretto.types.enums import Durability
from stretto.types.ids import Digest, digest_of
from stretto.types.json import Schema
from stretto.types.protocols import Catalog, Component
from stretto.types.resources import AGE, STALE

RUN_TYPE: Final = object_of(
    {
        "id": STRING,
        "workflow_run_id": STRING,
        "tenant": STRING,
        "labels": DYN,
        "seed": INT,
        "started_at_ms": INT,
        "downgrades": array_of(object_of({"step": STRING, "component": STRING, "reason": STRING})),
    }
)
"""What `run.*` reads; `engine` fills it."""


def compile_workflow(
    spec: WorkflowSpec,
    catalog: Catalog,
    report: Report,
    subworkflows: SubWorkflows,
    find_aligner: FindAligner = lambda _: None,
) -> Plan:
    """Compile a workflow against a catalog. Raises SpecError with every problem found."""
    plan = _Compiler(spec, catalog, report, subworkflows, find_aligner).compile()
    report.raise_if_any()
    return plan


class _Compiler:
    """One compilation."""

    def __init__(
        self,
        spec: WorkflowSpec,
        catalog: Catalog,
        report: Report,
        subworkflows: SubWorkflows,
        find_aligner: FindAligner,
    ) -> None:
        self._spec = spec
        self._report = report
        self._reader = Reader(report)
        self._finder = Finder(catalog, report, subworkflows)
        promised = () if spec.contract is None else spec.contract.sla
        self._meanings = compile_meanings(spec.contract, spec.steps, self._finder, self._reader, find_aligner)
        by_step = {each.target.value: each for each in promised}
        self._calls = Calls(self._reader, self._finder, by_step, self._meanings)
        self._resources = self._resources_type()
        self._slots = Slots()
        self._blocks = Blocks(report, self._reader, self._finder, self._calls, self._slots)

    def compile(self) -> Plan:
        spec, contract = self._spec, self._spec.contract
        input_schema = None if contract is None or contract.input is None else contract.input.schema
        output_schema = None if contract is None or contract.output is None else contract.output.schema
        memory = self._memory()
        input_type = self._meanings.of_input(DYN if input_schema is None else from_schema(input_schema))
        names = given_names(
            input_type,
            DYN if memory is None else from_schema(memory.card.output),
            RUN_TYPE,
            dict(_steps_inside(spec.steps, "steps")),
            resources_type=self._resources,
        )
        body = self._blocks.compile(spec.steps, names)
        crossings_in = self._meanings.of_own_input()
        into_output = self._meanings.into_output()
        output = self._output(names, output_schema, into_output)
        crossings_out = self._meanings.settle(into_output, Side.GIVES)
        business = Businesses(self._report, self._reader, self._finder, self._calls, self._slots)
        fallback = business.compile(spec, names, body, input_type, RUN_TYPE)
        if contract is not None:
            check_reward(contract.reward, self._calls.components.values(), self._report)
            check_promises(contract, spec.steps, self._report, self._reader)
        check_contradictions(spec.steps, spec.budget, self._calls.sla, self._reader)
        self._note_unsafe_writes(body)
        read_memory = self._memory_read(memory) if MEMORY in self._slots.read else None
        nested = self._nested()
        if contract is not None:
            self._meanings.check_held(contract)
            self._meanings.note_unsure()
        self._take_aligners()
        self._take_components_inside()
        for workflow, plan in self._finder.plans.items():
            self._note_inner_fallback(self._finder.places[workflow], plan)
            self._calls.protections.take_inner(self._finder.places[workflow], plan)
        resources = self._probes()
        manifest = self._manifest()
        plan = Plan(
            name=spec.name,
            version=spec.version,
            description=spec.description,
            manifest=manifest,
            manifest_digest=digest_of(canonical(msgspec.to_builtins(manifest))),
            files_digest=self._files({name: plan.files_digest for name, plan in self._finder.plans.items()}),
            body=body,
            slots=len(self._slots.names),
            slot_names=tuple(self._slots.names),
            components=self._calls.components,
            input_check=None if input_schema is None else Check(input_schema),
            input_schema=input_schema or ANY_OBJECT,
            output_check=None if output_schema is None else Check(output_schema),
            output=output.getters,
            output_reads=output.slots,
            output_resources=output.resources,
            output_type=output.type if output_schema is None else marked_as(from_schema(output_schema), output.type),
            budget=spec.budget if spec.fallback is None else spec.budget.reserving(),
            durability=spec.durability,
            nested=nested,
            memory=read_memory,
            protections=self._calls.protections.found,
            streaks=self._calls.protections.streaks,
            business=fallback,
            promises={} if contract is None else {each.target.value: promise_of(each) for each in contract.sla},
            resources=resources,
            resource_names=self._resource_names(),
            reads_run=RUN in self._slots.read,
            crossings_in=crossings_in,
            crossings_out=crossings_out,
            domains=self._meanings.domains,
            held=tuple(self._meanings.held),
            mappings_compared=self._meanings.compared,
            reward_weights={} if contract is None else {term.name.value: term.weight for term in contract.reward},
        )
        if not self._report:  # a plan with problems may lack steps
            self._note_amplification(plan)
            if contract is not None:
                hold_promises(plan, contract, self._reader)
        return replace(plan, notes=(*self._reader.notes, *notes_of(plan.components.values())))

    # the workflow's ends

    def _output(self, names: Names, schema: Schema | None, meant: Comparison | None) -> Mapped:
        """The workflow's output: as mapped, or every step's output under its name."""
        spec = self._spec
        mappings = spec.output
        if not mappings and schema is None:
            mappings = tuple(
                FieldMapping(step.name, Located(f"steps.{step.name.value}", step.name.span)) for step in spec.steps
            )
        self._meanings.check_output([mapping.field.value for mapping in mappings])
        at_end = spec.steps[-1].name.span
        whose = f"the output of workflow '{spec.name}'"
        mapped = compile_mapping(self._reader, mappings, names, schema, at_end, whose, after_steps=True, meant=meant)
        self._slots.read |= mapped.slots
        return mapped

    def _note_unsafe_writes(self, body: Block) -> None:
        """Without intents on disk, nobody can settle a write in doubt once the process has ended."""
        if self._spec.durability is not Durability.STEP and any(may_write(op) for op in body.ops):
            self._reader.note(
                self._spec.steps[0].name.span,
                f"this workflow writes under durability '{self._spec.durability}': a write in doubt parks the run for "
                "good. With `durability: step` it can be resumed",
            )

    def _note_amplification(self, plan: Plan) -> None:
        """Say where retries multiply, at the innermost step of this file that they are about.

        The rounds of a loop are requests of their own: what they come to is for who asks for more.
        """
        places = {step.name.value: step.name.span for step in steps_in(self._spec.steps)}
        for found in multiplied(plan):
            name = next(part for part in reversed(found.path.split("/")) if part in places)
            self._reader.note(places[name], str(found), verbose=bool(found.rounds))

    def _resources_type(self) -> ValueType:
        spec = self._spec.resources
        return DYN if spec is None else resources_type(spec, components_of(self._spec.steps), self._report)

    def _probes(self) -> ResourcesSpec | None:
        """Its own probes, and those that only workflows inside it declare; components that are probed are counted."""
        inner = [plan.resources for plan in self._finder.plans.values() if plan.resources is not None]
        spec = with_probes_of(self._spec.resources, inner)
        if spec is not None and spec.components is not None:
            for name in self._calls.components:
                self._calls.protections.found.setdefault(name, ProtectionRules())
        return spec

    def _resource_names(self) -> frozenset[str] | None:
        """The names at `resources.*`, those of workflows inside too; None where any of them takes whatever is given."""
        names: set[str] = set()
        own = None if self._spec.resources is None else frozenset(self._resources.fields)
        for each in (own, *(plan.resource_names for plan in self._finder.plans.values())):
            if each is None:
                return None
            names |= each
        return frozenset(names) - {STALE, AGE}

    def _note_inner_fallback(self, place: Located[str], plan: Plan) -> None:
        if plan.business is not None:
            self._reader.note(
                place.span,
                f"the `fallback` of '{place.value}' answers when that is run by itself; here a step that fails in it "
                "fails this run, and what answers for that is this workflow's own",
            )

    def _memory(self) -> Component | None:
        place = self._spec.memory
        if place is None:
            return None
        component = self._finder.component(place)
        if component is not None and component.card.kind != "memory":
            self._report.add(
                place.span.problem(
                    PlanCode.MEMORY,
                    f"'{place.value}' is of kind '{component.card.kind}' and cannot provide `memory`",
                    expected="a component of kind memory",
                )
            )
        return component

    def _memory_read(self, component: Component | None) -> CallOp | None:
        return None if component is None else self._calls.plain(component, "$memory", MEMORY)

    def _nested(self) -> dict[str, CallOp]:
        """Calls that components may make themselves: every component of the catalog, if any of them calls others."""
        if not any("call" in component.card.capabilities for component in self._calls.components.values()):
            self._meanings.refuse_inner_calls()
            return {}
        find_called(self._calls.components.values(), self._finder, self._spec)
        found = {name: self._finder.catalog.find(name) for name in self._finder.catalog.names()}
        return {name: self._inner_call(name, component) for name, component in found.items() if component is not None}

    def _inner_call(self, name: str, component: Component) -> CallOp:
        into, out_of = self._meanings.of_inner_call(name)
        plain = self._calls.plain(component, name, FIRST_FREE_SLOT)
        return replace(plain, crossings_in=into, crossings_out=out_of)

    def _take_aligners(self) -> None:
        """A run is pinned to what aligns its values as to what answers its steps."""
        for place, aligner in self._meanings.aligners:
            name = aligner.card.name
            if self._calls.components.setdefault(name, aligner) is not aligner:
                self._report.add(
                    place.span.problem(
                        PlanCode.DUPLICATE_COMPONENT,
                        f"the aligner in '{place.value}' has the name of another component, '{name}'",
                        expected="components with different names",
                        suggestion="rename the other component",
                    )
                )

    def _take_components_inside(self) -> None:
        """Add what sub-workflows call: a name is one component all over a run, which knows it by nothing else."""
        known = self._calls.components
        homes: dict[str, str] = {}
        for workflow, plan in self._finder.plans.items():
            for name, component in plan.components.items():
                if known.setdefault(name, component) is component:
                    homes.setdefault(name, f"in '{workflow}'")
                    continue
                self._report.add(
                    self._finder.places[workflow].span.problem(
                        PlanCode.DUPLICATE_COMPONENT,
                        f"component '{name}' is one thing in '{workflow}' and another {homes.get(name, 'here')}",
                        expected="components with different names, or one that both find in the same file",
                        suggestion=f"rename one, or take it out of '{workflow}', which finds those of this file too",
                    )
                )

    def _files(self, inside: Mapping[str, Digest]) -> Digest:
        """Of its own files, and of workflows inside by what is given of them."""
        files = [self._spec.source.text]
        if self._spec.contract is not None:
            files.append(self._spec.contract.source.text)
        files += [f"{name}@{digest}" for name, digest in sorted(inside.items())]
        return digest_of("\0".join(files).encode())

    def _manifest(self) -> Manifest:
        return Manifest(
            workflow=self._spec.name,
            version=self._spec.version,
            plan=self._files({name: plan.manifest_digest for name, plan in self._finder.plans.items()}),
            components={
                name: f"{component.card.version}@{component.card.digest}"
                for name, component in sorted(self._calls.components.items())
            },
        )


def _steps_inside(steps: Sequence[StepSpec], outer: str) -> Iterator[tuple[str, str]]:
    """Steps of loops and maps by name, with the path that reads their output outside: of a map, that of its items."""
    for step in steps:
        path = f"{outer}.{step.name.value}"
        if step.repeat is not None:
            yield from ((inner.name.value, f"{path}.last.{inner.name.value}") for inner in step.repeat.steps)
            yield from _steps_inside(step.repeat.steps, f"{path}.last")
        elif step.for_each is not None:
            yield from ((name, f"{path}.items") for name in names_of(step.for_each.steps))

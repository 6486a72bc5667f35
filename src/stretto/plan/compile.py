"""Compile a workflow: everything that can be decided before a run is decided here, and told with its place.

Walk: declare every step of a block (slots, names, types), compile each step against those names, order the block
by what is read. Bodies of loops and maps are blocks inside, with names of their own.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, Protocol, runtime_checkable

import msgspec

from stretto.plan.calls import Calls
from stretto.plan.check import Check
from stretto.plan.codes import PlanCode
from stretto.plan.fields import Mapped, Read, Reader, compile_mapping
from stretto.plan.finding import Finder, SubWorkflows
from stretto.plan.flow import Writers, block_of, declared_order, may_write
from stretto.plan.model import (
    FIRST_FREE_SLOT,
    MEMORY,
    RUN,
    AnyOp,
    Block,
    CallOp,
    Carry,
    Getter,
    LoopOp,
    MapOp,
    Plan,
    SubOp,
)
from stretto.plan.names import Binding, Names, given_names
from stretto.plan.outputs import OutputTypes
from stretto.plan.valuetype import (
    BOOL,
    DYN,
    INT,
    STRING,
    Kind,
    Missing,
    ValueType,
    at,
    from_schema,
    join,
    object_of,
    render,
)
from stretto.record.canonical import canonical
from stretto.record.model import Manifest
from stretto.spec.codes import SpecCode
from stretto.spec.contract_model import ContractSpec, RewardSpec
from stretto.spec.model import (
    AliasSpec,
    EstimateSpec,
    FieldMapping,
    OnItemError,
    ResilienceSpec,
    StepSpec,
    WorkflowSpec,
)
from stretto.spec.report import Report
from stretto.spec.source import Located
from stretto.spec.suggest import nearest
from stretto.types.card import ANY_OBJECT
from stretto.types.enums import Durability
from stretto.types.ids import Digest, digest_of
from stretto.types.json import JsonObject, Schema
from stretto.types.protocols import Catalog, Component

DEFAULT_MAX_PARALLEL: Final = 16
"""Items of a `for_each` in flight when the file does not say: enough to hide latency, few enough for one server."""

RUN_TYPE: Final = object_of(
    {
        "id": STRING,
        "workflow_run_id": STRING,
        "tenant": STRING,
        "labels": DYN,
        "seed": INT,
        "started_at_ms": INT,
    }
)
"""What `run.*` reads; `engine` fills it."""


def compile_workflow(spec: WorkflowSpec, catalog: Catalog, report: Report, subworkflows: SubWorkflows) -> Plan:
    """Compile a workflow against a catalog. Raises SpecError with every problem found."""
    plan = _Compiler(spec, catalog, report, subworkflows).compile()
    report.raise_if_any()
    return plan


class _Compiler:
    """One compilation. Slots are numbered across the whole workflow; a body's frame has the same places."""

    def __init__(self, spec: WorkflowSpec, catalog: Catalog, report: Report, subworkflows: SubWorkflows) -> None:
        self._spec = spec
        self._report = report
        self._reader = Reader(report)
        self._finder = Finder(catalog, report, subworkflows)
        self._outputs = OutputTypes(self._finder)
        self._calls = Calls(self._reader, self._finder)
        self._slot_names = ["input", "memory", "resources", "run"]
        self._reads: set[int] = set()

    def compile(self) -> Plan:
        spec, contract = self._spec, self._spec.contract
        input_schema = None if contract is None or contract.input is None else contract.input.schema
        output_schema = None if contract is None or contract.output is None else contract.output.schema
        memory = self._memory()
        names = given_names(
            DYN if input_schema is None else from_schema(input_schema),
            DYN if memory is None else from_schema(memory.card.output),
            RUN_TYPE,
            dict(_steps_inside(spec.steps, "steps")),
        )
        body = self._block(spec.steps, names)
        output = self._output(names, output_schema)
        if contract is not None:
            self._check_reward(contract.reward)
            self._check_promises(contract)
        self._note_unsafe_writes(body)
        read_memory = self._memory_read(memory) if MEMORY in self._reads else None
        nested = self._nested()
        self._take_components_inside()
        manifest = self._manifest()
        return Plan(
            name=spec.name,
            version=spec.version,
            manifest=manifest,
            manifest_digest=digest_of(canonical(msgspec.to_builtins(manifest))),
            body=body,
            slots=len(self._slot_names),
            slot_names=tuple(self._slot_names),
            components=self._calls.components,
            input_check=None if input_schema is None else Check(input_schema),
            input_schema=input_schema or ANY_OBJECT,
            output_check=None if output_schema is None else Check(output_schema),
            output=output.getters,
            output_reads=output.slots,
            output_type=output.type if output_schema is None else from_schema(output_schema),
            budget=spec.budget,
            durability=spec.durability,
            nested=nested,
            memory=read_memory,
            reads_run=RUN in self._reads,
            reward_weights={} if contract is None else {term.name.value: term.weight for term in contract.reward},
            notes=tuple(self._reader.notes),
        )

    # blocks

    def _block(self, steps: Sequence[StepSpec], names: Names, carried: "_Carried | None" = None) -> Block:
        """Compile the steps of one scope; their names are bound in `names`."""
        writers = Writers(self._report)
        needs = declared_order(steps, self._report)
        slots: dict[str, int] = {}
        for step in steps:
            slots[step.name.value] = self._declare(step, names, writers, carried)
        merged = frozenset(tuple(m.target.value.split(".")) for step in steps for m in step.merge)
        writers.bind(names, needs, merged)
        self._bind_merges(steps, names)
        compiled = [self._step(step, slots[step.name.value], names) for step in steps]
        ops = [op for op in compiled if op is not None]
        if len(ops) < len(steps):
            return Block(ops=(), linear=True)  # reported: the plan is never used
        for op in ops:
            self._reads |= op.reads
        return block_of(steps, ops, self._report)

    def _declare(self, step: StepSpec, names: Names, writers: Writers, carried: "_Carried | None") -> int:
        """Give a step its slot, and its output its names."""
        name = step.name.value
        slot = self._new_slot(f"steps.{name}")
        kind = self._outputs.of(step)
        if step.condition is not None:
            kind = kind.or_null()
            self._reader.guards.writes_under(slot, step.condition.value)
        names.bind(("steps", name), [Binding(slot=slot, type=kind, step=name)])
        for alias in step.output_mapping:
            binding = self._alias(step, alias, slot, kind)
            if binding is None:
                continue
            if alias.target.value.split(".")[0] == "carry":
                self._write_carry(alias, binding, carried)
            else:
                writers.add(alias.target, binding)
        return slot

    def _alias(self, step: StepSpec, alias: AliasSpec, slot: int, kind: ValueType) -> Binding | None:
        """The place inside a step's output that an alias stands for."""
        path = tuple(alias.field.value.split("."))
        for part in path:
            found = at(kind, part)
            if isinstance(found, Missing):
                near = nearest(part, found.valid)
                self._report.add(
                    alias.field.span.problem(
                        PlanCode.UNKNOWN_FIELD,
                        f"the output of step '{step.name.value}' has no field '{alias.field.value}'",
                        expected=f"one of {', '.join(sorted(found.valid)) or 'none: it has no fields'}",
                        suggestion=near or "",
                    )
                )
                return None
            kind = found
        return Binding(slot=slot, path=path, type=kind, step=step.name.value)

    def _write_carry(self, alias: AliasSpec, binding: Binding, carried: "_Carried | None") -> None:
        name = alias.target.value.removeprefix("carry.")
        if carried is not None and name in carried.names:
            carried.writers.setdefault(name, []).append(binding)
            return
        known = [] if carried is None else [f"carry.{each}" for each in carried.names]
        near = nearest(alias.target.value, known)
        new = f"carry: {{{name}: {{value: null}}}} in the repeat" if carried is not None else "a name of your own"
        self._report.add(
            alias.target.span.problem(
                PlanCode.CARRY,
                f"step '{binding.step}' writes '{alias.target.value}', which no loop around it carries",
                expected=f"one of {', '.join(known)}" if known else "a step inside a repeat that carries it",
                suggestion=near or new,
            )
        )

    def _bind_merges(self, steps: Sequence[StepSpec], names: Names) -> None:
        for step in steps:
            for merge in step.merge:
                bindings: list[Binding] = []
                for source in merge.sources:
                    read = self._reader.expression(source, names)
                    if read is not None:
                        bindings += names.bindings(tuple(source.value.split(".")))
                if bindings:
                    names.bind(tuple(merge.target.value.split(".")), bindings)

    # steps

    def _step(self, step: StepSpec, slot: int, names: Names) -> AnyOp | None:
        """Compile one step; None when it cannot be, after reporting why."""
        self._refuse_without_call(step)
        if step.condition is None:
            return self._work(step, slot, names)
        guard = self._reader.condition(step.condition, names)
        source = step.condition.value
        with self._reader.guards.under(source, frozenset() if guard is None else guard.slots):
            op = self._work(step, slot, names)
        if op is None or guard is None:
            return op
        return replace(op, guard=guard.get, guard_source=source, guard_reads=guard.slots, reads=op.reads | guard.slots)

    def _work(self, step: StepSpec, slot: int, names: Names) -> AnyOp | None:
        """Compile what a step does when its condition holds."""
        if step.repeat is not None:
            return self._loop(step, slot, names)
        if step.for_each is not None:
            return self._map(step, slot, names)
        return self._own(step, slot, names)

    def _refuse_without_call(self, step: StepSpec) -> None:
        """Report keys that act on a step's own call where it makes none."""
        given = {"resilience": step.resilience != ResilienceSpec(), "estimate": step.estimate != EstimateSpec()}
        for key, is_given in given.items():
            if is_given and step.component is None:
                self._report.add(
                    step.name.span.problem(
                        SpecCode.NO_EFFECT,
                        f"`{key}` has no effect on step '{step.name.value}', which calls no component itself",
                        expected=f"`{key}` on steps with a component",
                        suggestion="move it to the steps inside",
                    )
                )

    def _own(self, step: StepSpec, slot: int, names: Names) -> AnyOp | None:
        """The call or sub-workflow that a step, or each item of its map, makes."""
        if step.component is not None:
            component = self._finder.component(step.component)
            return None if component is None else self._calls.of_step(step, component, slot, names)
        if step.workflow is not None:
            plan = self._finder.plan(step.workflow)
            return None if plan is None else self._sub(step, plan, slot, names)
        return None

    def _sub(self, step: StepSpec, plan: Plan, slot: int, names: Names) -> SubOp:
        mapped = compile_mapping(
            self._reader,
            step.input_mapping or (),
            names,
            plan.input_schema,
            step.name.span,
            f"sub-workflow '{plan.name}'",
        )
        return SubOp(
            name=step.name.value,
            slot=slot,
            plan=plan,
            inputs=mapped.getters,
            reads=mapped.slots,
            share=step.share,
        )

    def _map(self, step: StepSpec, slot: int, names: Names) -> MapOp | None:
        each = step.for_each
        if each is None:
            return None
        over = self._reader.expression(each.over, names)
        item_name = "item" if each.item is None else each.item.value
        inner = Names(names)
        kind = DYN if over is None else self._item_type(each.over, over.type)
        item_slot, index_slot = self._new_slot(item_name), self._new_slot("index")
        for name, its_slot, its_type in ((item_name, item_slot, kind), ("index", index_slot, INT)):
            inner.hide(name)
            inner.bind((name,), [Binding(slot=its_slot, type=its_type)])
        first_own = item_slot
        if each.steps:
            body = self._block(each.steps, inner)
            result = _object_getter([(op.name, op.slot) for op in body.ops])
        else:
            own_slot = self._new_slot(f"steps.{step.name.value}[]")
            own = self._own(step, own_slot, inner)
            if own is None:
                return None
            self._reads |= own.reads
            body = Block(ops=(replace(own, name="", share=None),), linear=True)
            result = _slot_getter(own_slot)
        if over is None:
            return None
        return MapOp(
            name=step.name.value,
            slot=slot,
            over=over.get,
            over_source=each.over.value,
            over_reads=over.slots,
            item_slot=item_slot,
            index_slot=index_slot,
            body=body,
            result=result,
            max_parallel=each.max_parallel or DEFAULT_MAX_PARALLEL,
            null_on_error=each.on_item_error is OnItemError.NULL,
            reads=over.slots | _outer_reads(body, first_own),
            share=step.share,
        )

    def _item_type(self, place: Located[str], kind: ValueType) -> ValueType:
        if kind.kind in (Kind.DYN, Kind.ARRAY):
            return kind.item or DYN
        self._report.add(
            place.span.problem(
                PlanCode.NOT_A_LIST,
                f"for_each goes over `{place.value}`, which is {render(kind)}",
                expected="a list",
            )
        )
        return DYN

    def _loop(self, step: StepSpec, slot: int, names: Names) -> LoopOp | None:
        repeat = step.repeat
        if repeat is None:
            return None
        inner = Names(names)
        inner.hide("carry")
        inner.hide("round")
        starts = {mapping.field.value: self._reader.source(mapping, names) for mapping in repeat.carry}
        first_own = round_slot = self._new_slot("round")
        inner.bind(("round",), [Binding(slot=round_slot, type=INT)])
        carried = _Carried({name: self._new_slot(f"carry.{name}") for name in starts})
        for name, carry_slot in carried.names.items():
            start = starts[name]
            kind = DYN if start is None else join(start.type, self._outputs.of_carry(repeat.steps, name, start.type))
            inner.bind(("carry", name), [Binding(slot=carry_slot, type=kind)])
        body = self._block(repeat.steps, inner, carried)
        until = None if repeat.until is None else self._reader.expression(repeat.until, inner, expect=BOOL)
        reads: frozenset[int] = frozenset().union(*(start.slots for start in starts.values() if start is not None))
        until_reads = frozenset() if until is None else until.slots
        self._reads |= until_reads | reads
        carries = tuple(
            _carry(name, carried.names[name], start, carried.writers.get(name, ()))
            for name, start in starts.items()
            if start is not None
        )
        return LoopOp(
            name=step.name.value,
            slot=slot,
            body=body,
            carries=carries,
            round_slot=round_slot,
            until=None if until is None else until.get,
            until_source="" if repeat.until is None else repeat.until.value,
            until_reads=until_reads,
            max_rounds=repeat.max_rounds,
            results=tuple((op.name, op.slot) for op in body.ops),
            reads=reads | frozenset(s for s in until_reads if s < first_own) | _outer_reads(body, first_own),
            share=step.share,
        )

    # the workflow's ends

    def _output(self, names: Names, schema: Schema | None) -> Mapped:
        """The workflow's output: as mapped, or every step's output under its name."""
        spec = self._spec
        mappings = spec.output
        if not mappings and schema is None:
            mappings = tuple(
                FieldMapping(step.name, Located(f"steps.{step.name.value}", step.name.span)) for step in spec.steps
            )
        at_end = spec.steps[-1].name.span
        whose = f"the output of workflow '{spec.name}'"
        mapped = compile_mapping(self._reader, mappings, names, schema, at_end, whose, after_steps=True)
        self._reads |= mapped.slots
        return mapped

    def _check_reward(self, weights: Sequence[RewardSpec]) -> None:
        """Hold the contract's terms against what the reward steps say that they give; some do not say."""
        judges = [each for each in self._calls.components.values() if each.card.kind == "reward"]
        given = [judge.terms for judge in judges if isinstance(judge, NamesTerms) and judge.terms]
        if len(given) < len(judges):
            return
        terms = sorted({term for names in given for term in names})
        for weight in weights:
            if weight.name.value not in terms:
                self._report.add(
                    weight.name.span.problem(
                        PlanCode.REWARD,
                        f"the contract weighs '{weight.name.value}', and no reward step gives it",
                        expected=f"one of {', '.join(terms)}" if terms else "a step whose component is of kind reward",
                        suggestion=nearest(weight.name.value, terms) or "",
                    )
                )

    def _check_promises(self, contract: ContractSpec) -> None:
        """Promises must be about steps that are there; say of those that nothing enforces yet that it is so."""
        known = {"workflow", *_names_of(self._spec.steps)}
        for promise in contract.sla:
            target = promise.target
            if target.value not in known:
                self._report.add(
                    target.span.problem(
                        PlanCode.UNKNOWN_STEP,
                        f"the sla of '{target.value}' is about no step of this workflow",
                        expected=f"workflow, or one of {', '.join(sorted(known - {'workflow'}))}",
                        suggestion=nearest(target.value, known) or "",
                    )
                )
        unenforced = "is checked and kept; nothing enforces it in this version"
        for promise in contract.sla[:1]:
            self._reader.note(promise.target.span, f"`sla` {unenforced}")
        for domain in contract.semantics[:1]:
            self._reader.note(domain.name.span, f"`semantics` {unenforced}")

    def _note_unsafe_writes(self, body: Block) -> None:
        """Without intents on disk, nobody can settle a write in doubt once the process has ended."""
        if self._spec.durability is not Durability.STEP and any(may_write(op) for op in body.ops):
            self._reader.note(
                self._spec.steps[0].name.span,
                f"this workflow writes under durability '{self._spec.durability}': a write in doubt parks the run for "
                "good. With `durability: step` it can be resumed",
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
            return {}
        found = {name: self._finder.catalog.find(name) for name in self._finder.catalog.names()}
        return {
            name: self._calls.plain(component, name, FIRST_FREE_SLOT)
            for name, component in found.items()
            if component is not None
        }

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

    def _manifest(self) -> Manifest:
        files = [self._spec.source.text]
        if self._spec.contract is not None:
            files.append(self._spec.contract.source.text)
        files += [f"{name}@{plan.manifest_digest}" for name, plan in sorted(self._finder.plans.items())]
        return Manifest(
            workflow=self._spec.name,
            version=self._spec.version,
            plan=Digest(digest_of("\0".join(files).encode())),
            components={
                name: f"{component.card.version}@{component.card.digest}"
                for name, component in sorted(self._calls.components.items())
            },
        )

    # finding things

    def _new_slot(self, name: str) -> int:
        self._slot_names.append(name)
        return len(self._slot_names) - 1


@runtime_checkable
class NamesTerms(Protocol):
    """A reward component that says beforehand which terms it gives."""

    @property
    def terms(self) -> Collection[str]: ...


def _names_of(steps: Sequence[StepSpec]) -> Iterator[str]:
    """Names of steps, those inside loops and maps too."""
    for step in steps:
        yield step.name.value
        inner = step.repeat.steps if step.repeat is not None else ()
        yield from _names_of((*inner, *(step.for_each.steps if step.for_each is not None else ())))


def _steps_inside(steps: Sequence[StepSpec], outer: str) -> Iterator[tuple[str, str]]:
    """Steps of loops and maps by name, with the path that reads their output outside: of a map, that of its items."""
    for step in steps:
        path = f"{outer}.{step.name.value}"
        if step.repeat is not None:
            yield from ((inner.name.value, f"{path}.last.{inner.name.value}") for inner in step.repeat.steps)
            yield from _steps_inside(step.repeat.steps, f"{path}.last")
        elif step.for_each is not None:
            yield from ((name, f"{path}.items") for name in _names_of(step.for_each.steps))


class _Carried:
    """What a loop under compilation carries, and who writes it."""

    def __init__(self, names: Mapping[str, int]) -> None:
        self.names = names
        self.writers: dict[str, list[Binding]] = {}


def _outer_reads(body: Block, first_own: int) -> frozenset[int]:
    """What a body reads from outside: slots that were there before its own."""
    return frozenset(slot for op in body.ops for slot in op.reads if slot < first_own)


def _carry(name: str, slot: int, start: Read, writers: Sequence[Binding]) -> Carry:
    carry = Carry(name=name, slot=slot, start=start.get, next=None, start_reads=start.slots)
    if not writers:
        return carry
    names = Names()
    names.bind(("carry",), writers)
    written = names.lookup(("carry",))
    return replace(carry, next=written.get, next_reads=written.slots)


def _slot_getter(slot: int) -> Getter:
    return lambda frame: frame[slot]


def _object_getter(parts: Sequence[tuple[str, int]]) -> Getter:
    def get(frame: list[object]) -> JsonObject:
        return {name: frame[slot] for name, slot in parts}  # type: ignore[misc]  # slots hold JSON

    return get

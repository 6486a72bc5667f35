"""What of one workflow file, and of its contract, may be changed while it runs: where each key stands, or would stand.

A change is put into the tree of the file, in that place, and the file is read again (`tunable_files`): hence its value
has the units and ranges of the file, what contradicts it is told, and in the file's own words.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from stretto.spec.contract import CONTRACT, SEMANTICS, SEMANTICS_MODE
from stretto.spec.contract_model import ContractSpec, DomainSpec
from stretto.spec.domain_keys import MODE
from stretto.spec.durations import render
from stretto.spec.model import StepSpec, WorkflowSpec
from stretto.spec.nodes import MapNode, Node, node_at
from stretto.spec.protection_keys import PRIORITY
from stretto.spec.read import read_mapping
from stretto.spec.records import Key
from stretto.spec.report import Report
from stretto.spec.resilience_keys import TIMEOUT
from stretto.spec.tunable_group import Group
from stretto.spec.tunable_keys import OF_ANY_STEP, OF_CALL, OF_COMPONENT, OF_LOOP, OF_MAP
from stretto.spec.tunable_top_keys import KEPT, OF_DOMAIN, OF_MODEL, OF_PROBE, OF_PROBES, OF_WORKFLOW
from stretto.spec.tunable_values import value_of
from stretto.spec.workflow_keys import CONTRACT_KEY, RESERVE, STEPS_KEY, WORKFLOW
from stretto.types.json import ValuePath
from stretto.types.meaning import MeaningMode
from stretto.types.setting import SettingValue


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where in one file a setting's key stands, or would stand."""

    path: ValuePath
    key: Key[Any]
    group: Group
    step: str = ""
    domain: str = ""
    in_contract: bool = False
    """Whether the file is that of the contract, and not the workflow's."""
    source: str
    """Its name."""
    written: SettingValue
    """What the file says there, or its contract; None where they say nothing."""
    is_declared: bool
    """Whether the file declares what the key is a figure of."""
    is_off: bool = False
    """Whether it is a figure of a domain that is off."""


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What of one file may be changed."""

    steps: dict[str, Place]
    """By the step's names and the key: ``loop/planner.retry.attempts``."""
    components: dict[str, list[Place]]
    """By component and key, at every step that calls it: ``api.breaker.open_for``."""
    workflow: dict[str, Place]
    """By key: ``fallback.after``, ``semantics.intent.threshold``."""
    inner: dict[str, str]
    """The steps that are workflows, by their names, and the file each names."""


class _Tree(msgspec.Struct, frozen=True, kw_only=True):
    """A file, in which keys are looked up."""

    top: MapNode
    source: str
    in_contract: bool = False

    def place(self, top: ValuePath, group: Group, key: Key[Any], *, step: str = "", domain: str = "") -> Place:
        """Where a key of a group stands below a mapping, or would stand."""
        path = (*top, *group.under)
        return Place(
            path=path,
            key=key,
            group=group,
            step=step,
            domain=domain,
            in_contract=self.in_contract,
            source=self.source,
            written=value_of(self.at((*path, key.name))),
            is_declared=not group.needs or _declares(self.at((*top, *group.needs))),
        )

    def at(self, path: ValuePath) -> Node | None:
        """The node at a path; None where there is none."""
        for depth in range(len(path)):
            holder = node_at(self.top, path[:depth])
            part = path[depth]
            if isinstance(holder, MapNode) and part not in holder.entries:
                return None
        return node_at(self.top, path)


def find_tunable(spec: WorkflowSpec) -> Found:
    """Everything in a file, and in its contract, that a setting can name."""
    found = Found(steps={}, components={}, workflow={}, inner={})
    tree = _Tree(top=read_mapping(spec.source, WORKFLOW.name, Report()), source=spec.source.name)
    models = () if spec.resources is None else [OF_MODEL.of(name) for name, _ in spec.resources.models]
    for each in (*OF_WORKFLOW, *OF_PROBES, *OF_PROBE, *models):
        group = msgspec.structs.replace(each, unsaid=KEPT) if RESERVE in each.defaults and _reserves(spec) else each
        for key in group.defaults:
            found.workflow[group.key_of(key)] = tree.place((), group, key)
    if spec.contract is not None:
        found.workflow.update(_of_contract(spec.contract, tree, is_inline=spec.contract_path is None))
    for name, path, step in _steps(spec.steps, "", (STEPS_KEY.name,)):
        if step.workflow is not None:
            found.inner[name] = step.workflow.value
        for group in _groups_of(step):
            for key in group.defaults:
                found.steps[f"{name}.{group.key_of(key)}"] = tree.place(_top(path, group), group, key, step=name)
        if step.component is None:
            continue
        _promised(spec, found, f"{name}.{TIMEOUT.name}", step.name.value)
        component = step.component.value.partition("@")[0]
        for group in OF_COMPONENT:
            for key in group.defaults:
                places = found.components.setdefault(f"{component}.{group.key_of(key)}", [])
                places.append(tree.place(_top(path, group), group, key, step=name))
    return found


def _reserves(spec: WorkflowSpec) -> bool:
    """Whether time is kept for the fallback of a workflow that says of none."""
    return spec.fallback is not None and spec.budget.deadline is not None


def _groups_of(step: StepSpec) -> Iterable[Group]:
    """The groups of a step, by what it does."""
    return (
        *(OF_CALL if step.component is not None else ()),
        *(OF_MAP if step.for_each is not None else ()),
        *(OF_LOOP if step.repeat is not None else ()),
        *OF_ANY_STEP,
    )


def _top(path: ValuePath, group: Group) -> ValuePath:
    return (*path, group.holder) if group.holder else path


def _promised(spec: WorkflowSpec, found: Found, key: str, step: str) -> None:
    """Say of a step without a time-out what its contract gives for one."""
    for sla in () if spec.contract is None else spec.contract.sla:
        if sla.target.value == step and sla.max_latency is not None and found.steps[key].written is None:
            found.steps[key] = msgspec.structs.replace(found.steps[key], written=render(sla.max_latency))


def _of_contract(contract: ContractSpec, workflow: _Tree, *, is_inline: bool) -> Iterator[tuple[str, Place]]:
    """The figures of its semantic domains."""
    tree, top = workflow, [CONTRACT_KEY.name]
    if not is_inline:
        top, source = [], contract.source
        tree = _Tree(top=read_mapping(source, CONTRACT.name, Report()), source=source.name, in_contract=True)
    general = value_of(tree.at((*top, SEMANTICS_MODE.name)))
    for domain in contract.semantics:
        for each in OF_DOMAIN:
            group = each.of(domain.name.value)
            for key in group.defaults:
                place = tree.place((*top, SEMANTICS.name, domain.name.value), group, key, domain=domain.name.value)
                yield group.key_of(key), _of_domain(place, domain, contract, general)


def _of_domain(place: Place, domain: DomainSpec, contract: ContractSpec, general: SettingValue) -> Place:
    """With what the contract says for all its domains, and nothing to change where one is off."""
    if place.key is MODE and place.written is None:
        place = msgspec.structs.replace(place, written=general)
    is_off = (domain.mode or contract.semantics_mode) is MeaningMode.OFF
    return msgspec.structs.replace(place, is_declared=False, is_off=True) if is_off else place


def _steps(steps: Sequence[StepSpec], outer: str, path: ValuePath) -> Iterator[tuple[str, ValuePath, StepSpec]]:
    """Every step with its names from the outside in, and where it stands."""
    for index, step in enumerate(steps):
        name, here = f"{outer}{step.name.value}", (*path, index)
        yield name, here, step
        if step.repeat is not None:
            yield from _steps(step.repeat.steps, f"{name}/", (*here, "repeat", "steps"))
        elif step.for_each is not None:
            yield from _steps(step.for_each.steps, f"{name}/", (*here, "steps"))


def _declares(node: Node | None) -> bool:
    """A bulkhead that says only a step's priority is none."""
    return node is not None and not (isinstance(node, MapNode) and set(node.entries) == {PRIORITY.name})

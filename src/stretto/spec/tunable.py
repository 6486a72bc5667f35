"""What of one workflow file may be changed while it runs, and the file as it reads under such changes.

A change is put into the tree of the file, in the place where its key would stand, and the file is read again: hence
its value has the units and ranges of the file, what contradicts it is told, and in the file's own words.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
import orjson

from stretto.spec.durations import render
from stretto.spec.model import StepSpec, WorkflowSpec
from stretto.spec.nodes import Entry, ListNode, MapNode, Node, ScalarNode, node_at
from stretto.spec.protection_keys import PRIORITY
from stretto.spec.read import read_mapping
from stretto.spec.records import Key
from stretto.spec.report import Report
from stretto.spec.resilience_keys import TIMEOUT
from stretto.spec.source import Source, Span
from stretto.spec.step_keys import RESILIENCE_KEY
from stretto.spec.tunable_keys import OF_COMPONENT, OF_STEP, OF_WORKFLOW, Group
from stretto.spec.workflow_keys import STEPS_KEY, WORKFLOW
from stretto.types.json import ValuePath
from stretto.types.setting import SettingValue

SOURCE: Final = "setting"
"""Stands in messages where a file's name does: what is wrong was typed, and stands in no file."""


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where in one file a setting's key stands, or would stand."""

    path: ValuePath
    key: Key[Any]
    group: Group
    step: str
    written: SettingValue
    """What the file says there, or its contract; None where they say nothing."""
    is_declared: bool
    """Whether the file declares what the key is a figure of."""


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What of one file may be changed."""

    steps: dict[str, Place]
    """By the step's names and the key: ``loop/planner.retry.attempts``."""
    components: dict[str, list[Place]]
    """By component and key, at every step that calls it: ``api.breaker.open_for``."""
    workflow: dict[str, Place]
    """By key: ``fallback.after``."""
    inner: dict[str, str]
    """The steps that are workflows, by their names, and the file each names."""


def find_tunable(spec: WorkflowSpec) -> Found:
    """Everything in a file that a setting can name."""
    found = Found(steps={}, components={}, workflow={}, inner={})
    tree = _tree(spec)
    for group in OF_WORKFLOW:
        for key in group.defaults:
            found.workflow[group.key_of(key)] = _place(tree, (), group, key, "")
    for name, path, step in _steps(spec.steps, "", (STEPS_KEY.name,)):
        if step.workflow is not None:
            found.inner[name] = step.workflow.value
        if step.component is None:
            continue
        component = step.component.value.partition("@")[0]
        top = (*path, RESILIENCE_KEY.name)
        for group in OF_STEP:
            for key in group.defaults:
                found.steps[f"{name}.{group.key_of(key)}"] = _place(tree, top, group, key, name)
        _promised(spec, found, f"{name}.{TIMEOUT.name}", step.name.value)
        for group in OF_COMPONENT:
            for key in group.defaults:
                places = found.components.setdefault(f"{component}.{group.key_of(key)}", [])
                places.append(_place(tree, top, group, key, name))
    return found


def _promised(spec: WorkflowSpec, found: Found, key: str, step: str) -> None:
    """Say of a step without a time-out what its contract gives for one."""
    for sla in () if spec.contract is None else spec.contract.sla:
        if sla.target.value == step and sla.max_latency is not None and found.steps[key].written is None:
            found.steps[key] = msgspec.structs.replace(found.steps[key], written=render(sla.max_latency))


def setting_node(name: str, value: SettingValue) -> Entry:
    """A value as the file would hold it. Raises SpecError where it is no single value."""
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    source, report = Source(SOURCE, f"{name}: {text}"), Report()
    top = read_mapping(source, SOURCE, report)
    report.raise_if_any()
    return next(iter(top.entries.values()))


def plain_value(name: str, value: SettingValue) -> SettingValue:
    """A value as it is kept: what was typed as text and reads as a number is one."""
    node = setting_node(name, value).node
    return node.value if isinstance(node, ScalarNode) else value


def retuned(spec: WorkflowSpec, changes: Sequence[tuple[Place, Entry]]) -> WorkflowSpec:
    """The file as it reads with other values in those places. Raises SpecError with what they contradict."""
    tree = _tree(spec)
    for place, entry in changes:
        tree = _grafted(tree, (*place.path, place.key.name), entry)
    report = Report()
    read = WORKFLOW.read(tree, WORKFLOW.name, report)
    report.raise_if_any()
    assert read is not None
    fallback = read.fallback
    if fallback is not None and spec.fallback is not None:
        fallback = msgspec.structs.replace(fallback, expectations=spec.fallback.expectations)
    return msgspec.structs.replace(read, contract=spec.contract, fallback=fallback)  # what other files say stays


def _steps(steps: Sequence[StepSpec], outer: str, path: ValuePath) -> Iterator[tuple[str, ValuePath, StepSpec]]:
    """Every step with its names from the outside in, and where it stands."""
    for index, step in enumerate(steps):
        name, here = f"{outer}{step.name.value}", (*path, index)
        yield name, here, step
        if step.repeat is not None:
            yield from _steps(step.repeat.steps, f"{name}/", (*here, "repeat", "steps"))
        elif step.for_each is not None:
            yield from _steps(step.for_each.steps, f"{name}/", (*here, "steps"))


def _place(tree: MapNode, top: ValuePath, group: Group, key: Key[Any], step: str) -> Place:
    path = (*top, *group.under)
    there = _at(tree, (*path, key.name))
    return Place(
        path=path,
        key=key,
        group=group,
        step=step,
        written=there.value if isinstance(there, ScalarNode) else None,
        is_declared=not group.needs or _declares(_at(tree, (*top, *group.needs))),
    )


def _declares(node: Node | None) -> bool:
    """A bulkhead that says only a step's priority is none."""
    return isinstance(node, MapNode) and set(node.entries) != {PRIORITY.name}


def _at(tree: Node, path: ValuePath) -> Node | None:
    for depth in range(len(path)):
        holder = node_at(tree, path[:depth])
        part = path[depth]
        if isinstance(holder, MapNode) and part not in holder.entries:
            return None
    return node_at(tree, path)


def _tree(spec: WorkflowSpec) -> MapNode:
    return read_mapping(spec.source, WORKFLOW.name, Report())


def _grafted(node: Any, path: ValuePath, entry: Entry) -> Any:  # Any: a node of the kind that it was given
    """The tree with an entry at a path; mappings on the way that are not there are made."""
    part, rest = path[0], path[1:]
    if isinstance(node, ListNode) and isinstance(part, int):
        items = (*node.items[:part], _grafted(node.items[part], rest, entry), *node.items[part + 1 :])
        return msgspec.structs.replace(node, items=items)
    assert isinstance(node, MapNode)
    assert isinstance(part, str)
    return msgspec.structs.replace(node, entries=_with_entry(node.entries, part, rest, entry))


def _with_entry(entries: Mapping[str, Entry], part: str, rest: ValuePath, entry: Entry) -> Mapping[str, Entry]:
    if not rest:
        return {**entries, part: entry}
    known = entries.get(part) or Entry(entry.key, MapNode(span=_span_of(entry)))
    return {**entries, part: Entry(known.key, _grafted(known.node, rest, entry))}


def _span_of(entry: Entry) -> Span:
    return entry.node.span

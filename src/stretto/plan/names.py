"""What a path means inside a block: names bound to slots, resolved once at compile time.

Four given roots, ``steps.<name>`` for every step, aliases that output mappings make, and in bodies the loop's own
names. A name with several writers (a `merge`, or an order given by ``needs``) reads the first that is not null.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

from stretto.plan.expr import Leaf, UnknownPath, descend, path_getter
from stretto.plan.expr.access import first_of, reads_object
from stretto.plan.model import INPUT, MEMORY, RESOURCES, RUN
from stretto.plan.valuetype import DYN, Kind, Missing, ValueType, at, join, object_of
from stretto.types.json import PathPart, ValuePath, render_path

NO_STEPS: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """One writer of a name: a place inside a slot."""

    slot: int
    path: tuple[PathPart, ...] = ()
    type: ValueType = DYN
    step: str = ""
    """Who writes it, for messages; empty for given roots and loop names."""


@dataclass(slots=True)
class _Name:
    """A name in the tree: written itself, or a parent of written names."""

    writers: list[Binding] = field(default_factory=list)
    children: dict[str, "_Name"] = field(default_factory=dict)


class Names:
    """The names that one block can read. A body has its own, which start as its parent's."""

    def __init__(self, parent: "Names | None" = None, *, inside: Mapping[str, str] = NO_STEPS) -> None:
        self._root: dict[str, _Name] = {} if parent is None else parent.copied()
        self._inside: Mapping[str, str] = inside if parent is None else parent.steps_inside

    @property
    def steps_inside(self) -> Mapping[str, str]:
        """Steps of loops and maps by name, with the path at which their output is read outside."""
        return self._inside

    def copied(self) -> dict[str, "_Name"]:
        """The tree, to be changed without changing this one."""
        return {part: _copy(name) for part, name in self._root.items()}

    def bind(self, path: Sequence[str], writers: Iterable[Binding]) -> None:
        """Say who writes a name, in the order in which they are asked; the compiler has checked that they may."""
        name = self._root.setdefault(path[0], _Name())
        for part in path[1:]:
            name = name.children.setdefault(part, _Name())
        name.writers = list(writers)

    def overlapping(self, path: Sequence[str]) -> str:
        """The name that is bound above a path, or below it; empty when there is none."""
        name = self._root.get(path[0])
        for depth, part in enumerate(path[1:], start=1):
            if name is None:
                return ""
            if name.writers:
                return render_path(path[:depth])
            name = name.children.get(part)
        below = sorted(name.children) if name is not None else []
        return render_path((*path, below[0])) if below else ""

    def hide(self, root: str) -> None:
        """Forget what a root meant outside: a loop's own names stand in front of it."""
        self._root.pop(root, None)

    def roots(self) -> frozenset[str]:
        """Names that a path may begin with."""
        return frozenset(self._root)

    def offering(self, field_name: str, *, steps: bool) -> Iterator[tuple[str, ValueType]]:
        """Paths that end in a name, with their types: a root, or a field of one; of steps' outputs only if asked.

        Of roots without a schema only `input` offers a field, as the caller's to give.
        """
        roots = {root: name for root, name in self._root.items() if root != "run" and (steps or _is_given(name))}
        if field_name in roots:
            yield field_name, self.lookup((field_name,)).type
        for root, name in roots.items():
            heads = [(root, part) for part in name.children] if root == "steps" else [(root,)]
            for head in heads:
                holder = self.lookup(head).type
                found = at(holder, field_name)
                if not isinstance(found, Missing) and (holder.kind is not Kind.DYN or root == "input"):
                    yield f"{render_path(head)}.{field_name}", found

    def lookup(self, path: ValuePath) -> Leaf:
        """How to read a path, its type, and the slots it touches. Raises UnknownPath."""
        name, depth = self._find(path)
        if not name.writers:
            return _object_leaf(name)
        return _first_of([_leaf(_inside(writer, path, depth)) for writer in name.writers])

    def bindings(self, path: ValuePath) -> list[Binding]:
        """The places that a path may be read from, in order. Raises UnknownPath, also for a parent of names."""
        name, depth = self._find(path)
        if not name.writers:
            known = render_path(path)
            raise UnknownPath(path, len(path) - 1, sorted(name.children), f"`{known}` is several values, not one")
        return [_inside(writer, path, depth) for writer in name.writers]

    def _find(self, path: ValuePath) -> tuple[_Name, int]:
        """The deepest name on the path that is written, or the parent of names that the path ends at."""
        head = path[0]
        name = self._root.get(head) if isinstance(head, str) else None
        if name is None:
            raise self._no_root(path)
        depth = 1
        while not name.writers and depth < len(path):
            part = path[depth]
            below = name.children.get(part) if isinstance(part, str) else None
            if below is None:
                raise self._no_child(path, depth, name)
            name, depth = below, depth + 1
        return name, depth

    def _no_root(self, path: ValuePath) -> UnknownPath:
        head, known = str(path[0]), sorted(self._root)
        steps = self._root.get("steps")
        if steps is not None and head in steps.children:
            return UnknownPath(
                path, 0, known, f"`{head}` is a step, whose output is read elsewhere", instead=f"steps.{head}"
            )
        if head in self._inside:
            return UnknownPath(path, 0, known, self._is_inside(head), instead=self._inside[head])
        return UnknownPath(path, 0, known, f"nothing here is called '{head}'")

    def _no_child(self, path: ValuePath, depth: int, parent: _Name) -> UnknownPath:
        part, before, known = str(path[depth]), render_path(path[:depth]), sorted(parent.children)
        if path[:depth] == ("steps",) and part in self._inside:
            return UnknownPath(path, depth, known, self._is_inside(part), instead=self._inside[part])
        return UnknownPath(path, depth, known, f"`{before}` has no '{part}'")

    def _is_inside(self, step: str) -> str:
        outer = self._inside[step].split(".")[1]
        return f"step '{step}' stands inside step '{outer}', and its output is read through that"


def given_names(
    input_type: ValueType,
    memory_type: ValueType,
    run_type: ValueType,
    inside: Mapping[str, str] = NO_STEPS,
    *,
    resources_type: ValueType = DYN,
) -> Names:
    """The names that every workflow starts with; `inside` are its steps in bodies, and where outside they are read."""
    names = Names(inside=inside)
    names.bind(("input",), [Binding(slot=INPUT, type=input_type)])
    names.bind(("memory",), [Binding(slot=MEMORY, type=memory_type)])
    names.bind(("resources",), [Binding(slot=RESOURCES, type=resources_type)])
    names.bind(("run",), [Binding(slot=RUN, type=run_type)])
    return names


def _is_given(name: _Name) -> bool:
    """Whether no step writes it, nor anything below it."""
    return not any(each.step for each in name.writers) and all(map(_is_given, name.children.values()))


def _copy(name: _Name) -> _Name:
    return _Name(list(name.writers), {part: _copy(child) for part, child in name.children.items()})


def _inside(binding: Binding, path: ValuePath, depth: int) -> Binding:
    """The place that the rest of a path leads to, from the name's own."""
    kind = descend(binding.type, path, depth)
    return replace(binding, path=(*binding.path, *path[depth:]), type=kind)


def _leaf(binding: Binding) -> Leaf:
    return Leaf(path_getter(binding.slot, binding.path), binding.type, frozenset({binding.slot}))


def _first_of(leaves: Sequence[Leaf]) -> Leaf:
    """Reads the first that is not null."""
    if len(leaves) == 1:
        return leaves[0]
    kind = leaves[0].type
    for leaf in leaves[1:]:
        kind = join(kind, leaf.type)
    return Leaf(first_of(tuple(leaf.get for leaf in leaves)), kind, _slots(leaves))


def _object_leaf(name: _Name) -> Leaf:
    """A parent of written names reads as an object of them."""
    parts = {
        part: _first_of([_leaf(writer) for writer in child.writers]) if child.writers else _object_leaf(child)
        for part, child in name.children.items()
    }
    get = reads_object(tuple((part, leaf.get) for part, leaf in parts.items()))
    return Leaf(get, object_of({part: leaf.type for part, leaf in parts.items()}), _slots(parts.values()))


def _slots(leaves: Iterable[Leaf]) -> frozenset[int]:
    return frozenset().union(*(leaf.slots for leaf in leaves))

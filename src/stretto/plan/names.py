"""What a path means inside a block: names bound to slots, resolved once at compile time.

Four given roots, ``steps.<name>`` for every step, aliases that output mappings make, and in bodies the loop's own
names. A name with several writers (a `merge`, or an order given by ``needs``) reads the first that is not null.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from stretto.plan.expr import Leaf, UnknownPath, descend, path_getter
from stretto.plan.model import INPUT, MEMORY, RESOURCES, RUN, Frame, Getter
from stretto.plan.valuetype import DYN, ValueType, join, object_of
from stretto.types.json import Json, PathPart, ValuePath, render_path

GIVEN_ROOTS: Final = ("input", "memory", "resources", "run")
"""Roots that the engine fills; no output mapping may target them."""


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

    def __init__(self, parent: "Names | None" = None) -> None:
        self._root: dict[str, _Name] = {} if parent is None else parent.copied()

    def copied(self) -> dict[str, "_Name"]:
        """The tree, to be changed without changing this one."""
        return {part: _copy(name) for part, name in self._root.items()}

    def bind(self, path: Sequence[str], writers: Iterable[Binding]) -> None:
        """Say who writes a name, in the order in which they are asked; the compiler has checked that they may."""
        name = self._root.setdefault(path[0], _Name())
        for part in path[1:]:
            name = name.children.setdefault(part, _Name())
        name.writers = list(writers)

    def hide(self, root: str) -> None:
        """Forget what a root meant outside: a loop's own names stand in front of it."""
        self._root.pop(root, None)

    def roots(self) -> frozenset[str]:
        """Names that a path may begin with."""
        return frozenset(self._root)

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
            raise UnknownPath(path, 0, sorted(self._root), self._no_root(str(head)))
        depth = 1
        while not name.writers and depth < len(path):
            part = path[depth]
            below = name.children.get(part) if isinstance(part, str) else None
            if below is None:
                known = render_path(path[:depth])
                raise UnknownPath(path, depth, sorted(name.children), f"`{known}` has no '{part}'")
            name, depth = below, depth + 1
        return name, depth

    def _no_root(self, head: str) -> str:
        steps = self._root.get("steps")
        if steps is not None and head in steps.children:
            return f"'{head}' is a step: its output is read at `steps.{head}`"
        return f"nothing here is called '{head}'"


def given_names(input_type: ValueType, memory_type: ValueType, run_type: ValueType) -> Names:
    """The names that every workflow starts with."""
    names = Names()
    names.bind(("input",), [Binding(slot=INPUT, type=input_type)])
    names.bind(("memory",), [Binding(slot=MEMORY, type=memory_type)])
    names.bind(("resources",), [Binding(slot=RESOURCES)])
    names.bind(("run",), [Binding(slot=RUN, type=run_type)])
    return names


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
    getters = tuple(leaf.get for leaf in leaves)

    def get(frame: Frame) -> Json:
        for each in getters:
            value = each(frame)
            if value is not None:
                return value
        return None

    kind = leaves[0].type
    for leaf in leaves[1:]:
        kind = join(kind, leaf.type)
    return Leaf(get, kind, _slots(leaves))


def _object_leaf(name: _Name) -> Leaf:
    """A parent of written names reads as an object of them."""
    parts = {
        part: _first_of([_leaf(writer) for writer in child.writers]) if child.writers else _object_leaf(child)
        for part, child in name.children.items()
    }
    getters: tuple[tuple[str, Getter], ...] = tuple((part, leaf.get) for part, leaf in parts.items())

    def get(frame: Frame) -> Json:
        return {part: each(frame) for part, each in getters}

    return Leaf(get, object_of({part: leaf.type for part, leaf in parts.items()}), _slots(parts.values()))


def _slots(leaves: Iterable[Leaf]) -> frozenset[int]:
    return frozenset().union(*(leaf.slots for leaf in leaves))

"""What a path means inside a block: names bound to slots, resolved once at compile time.

Four given roots, ``steps.<name>`` for every step, aliases that output mappings make, and in bodies the loop's own
names. Reading a name twice written takes the last writer that wrote (`merge`, or an order given by ``needs``).
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from stretto.plan.expr.paths import Leaf, UnknownPath, path_getter
from stretto.plan.model import INPUT, MEMORY, RESOURCES, RUN, Frame, Getter
from stretto.plan.valuetype import DYN, Missing, ValueType, at, join, object_of
from stretto.types.json import Json, PathPart, ValuePath

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
    """The names that one block can read. A body has its own, which starts as its parent's."""

    def __init__(self, parent: "Names | None" = None) -> None:
        self._root: dict[str, _Name] = {} if parent is None else parent._copied()

    def _copied(self) -> dict[str, "_Name"]:
        return {part: _copy(name) for part, name in self._root.items()}

    def bind(self, path: tuple[str, ...], binding: Binding) -> None:
        """Add a writer of a name; the compiler has checked that it may."""
        name = self._root.setdefault(path[0], _Name())
        for part in path[1:]:
            name = name.children.setdefault(part, _Name())
        name.writers.append(binding)

    def rebind(self, path: tuple[str, ...], binding: Binding) -> None:
        """Make this the only writer of a name: loop variables hide what stands outside."""
        self._root[path[0]] = _Name()
        self.bind(path, binding)

    def writers(self, path: tuple[str, ...]) -> list[tuple[tuple[str, ...], Binding]]:
        """Who writes this very name, a parent of it, or something inside it."""
        found = []
        name: _Name | None = None
        level = self._root
        for depth, part in enumerate(path, 1):
            name = level.get(part)
            if name is None:
                return found
            found += [(path[:depth], binding) for binding in name.writers]
            level = name.children
        return found + [
            (path + below, binding)
            for child_name, child in level.items()
            for below, binding in _all_writers((child_name,), child)
        ]

    def order_writers(self, path: tuple[str, ...], ordered: Iterable[Binding]) -> None:
        """Fix the order in which a name's writers are asked: the first that wrote answers."""
        name = self._root[path[0]]
        for part in path[1:]:
            name = name.children[part]
        name.writers = list(ordered)

    # PathScope

    def roots(self) -> frozenset[str]:
        """Names that a path may begin with."""
        return frozenset(self._root)

    def lookup(self, path: ValuePath) -> Leaf:
        """How to read a path, its type, and the slots it touches. Raises UnknownPath."""
        head = path[0]
        name = self._root.get(head) if isinstance(head, str) else None
        if name is None:
            raise UnknownPath(tuple(path), 0, tuple(sorted(self._root)))
        depth = 1
        while not name.writers and depth < len(path):
            part = path[depth]
            below = name.children.get(part) if isinstance(part, str) else None
            if below is None:
                raise UnknownPath(tuple(path), depth, tuple(sorted(name.children)))
            name, depth = below, depth + 1
        if not name.writers:
            return _object_leaf(name)
        leaves = [_leaf(binding, tuple(path), depth) for binding in name.writers]
        return leaves[0] if len(leaves) == 1 else _first_of(leaves)


def given_names(input_type: ValueType, memory_type: ValueType, run_type: ValueType) -> Names:
    """The names that every workflow starts with."""
    names = Names()
    for root, slot, kind in (
        ("input", INPUT, input_type),
        ("memory", MEMORY, memory_type),
        ("resources", RESOURCES, DYN),
        ("run", RUN, run_type),
    ):
        names.bind((root,), Binding(slot=slot, type=kind))
    return names


def _copy(name: _Name) -> _Name:
    return _Name(list(name.writers), {part: _copy(child) for part, child in name.children.items()})


def _all_writers(path: tuple[str, ...], name: _Name) -> list[tuple[tuple[str, ...], Binding]]:
    below = [found for part, child in name.children.items() for found in _all_writers((*path, part), child)]
    return [(path, binding) for binding in name.writers] + below


def _leaf(binding: Binding, path: tuple[PathPart, ...], depth: int) -> Leaf:
    """Read what follows the bound name inside the value that the slot holds."""
    kind = binding.type
    for place in range(depth, len(path)):
        found = at(kind, path[place])
        if isinstance(found, Missing):
            raise UnknownPath(path, place, found.valid, found.reason)
        kind = found
    return Leaf(path_getter(binding.slot, binding.path + path[depth:]), kind, frozenset({binding.slot}))


def _first_of(leaves: list[Leaf]) -> Leaf:
    """The first writer that wrote."""
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
    return Leaf(get, kind, frozenset().union(*(leaf.slots for leaf in leaves)))


def _object_leaf(name: _Name) -> Leaf:
    """A parent of written names reads as an object of them."""
    parts = {part: _first_of([_leaf(w, (part,), 1) for w in child.writers]) if child.writers else _object_leaf(child)
             for part, child in name.children.items()}  # fmt: skip
    getters: tuple[tuple[str, Getter], ...] = tuple((part, leaf.get) for part, leaf in parts.items())

    def get(frame: Frame) -> Json:
        return {part: each(frame) for part, each in getters}

    kind = object_of({part: leaf.type for part, leaf in parts.items()})
    return Leaf(get, kind, frozenset().union(*(leaf.slots for leaf in parts.values())))


def alias_path(target: str) -> tuple[str, ...] | None:
    """A context path that an output mapping may write: names joined by dots; None when it is not one."""
    parts = tuple(target.split("."))
    return parts if all(part.isidentifier() for part in parts) else None



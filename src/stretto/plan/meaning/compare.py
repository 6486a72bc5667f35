"""Compares domains across mappings: what is read from where, and the domain of the place that it feeds."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from stretto.plan.codes import PlanCode
from stretto.plan.fields import Read, Reader
from stretto.plan.meaning.crossing import Crossing, exact_of, rewritten
from stretto.plan.meaning.domain import Domain
from stretto.plan.meaning.marks import TEXTS, held, leaf_of
from stretto.plan.valuetype import ValueType, render
from stretto.spec.source import Located, Span
from stretto.spec.suggest import quoted
from stretto.types.json import Json, JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A place that a mapping feeds."""

    at: str
    path: tuple[str, ...]
    domain: Domain
    known: Mapping[str, Domain]
    """The domains of the contract that declares it: a sub-workflow's are its own."""
    declared: str
    """Where, for messages."""


@dataclass(slots=True, kw_only=True)
class Comparison:
    """Compares what feeds the targets of one mapping; keeps the crossings that are left for the run."""

    reader: Reader
    targets: tuple[Target, ...]
    domains: Mapping[str, Domain]
    """Of the contract whose mapping it is."""
    found: list[Crossing] = field(default_factory=list)
    compared: int = 0

    def crossed(self, field_name: str, read: Read) -> ValueType:
        """The type of a field's value once it has crossed; reports what can never cross."""
        kind = read.type
        for target in self.targets:
            if target.path[0] == field_name:
                kind = self._cross(target, replace(read, type=kind))
        return kind

    def _cross(self, target: Target, read: Read) -> ValueType:
        below = target.path[1:]
        leaf = leaf_of(read.type, below)
        if leaf is None:
            return read.type  # nothing stands there: what is missing is the schema's to tell
        self.compared += 1
        sources = frozenset(name for name in leaf.domains if self._is_translated(name, target, read))
        exact = exact_of(target.domain, sources)
        crossing = Crossing(
            at=target.at,
            path=target.path,
            domain=target.domain,
            exact=exact,
            untranslated=frozenset(value for name in sources for value in self.domains[name].values) - exact.keys(),
        )
        self.found.append(crossing)
        self._check_kind(leaf, target, read)
        if not leaf.domains:
            self._check_unmarked(leaf, crossing, read)
        return held(read.type, below, target.domain)

    def _is_translated(self, name: str, target: Target, read: Read) -> bool:
        """Whether a domain's values are values of the target, or said in it; reports one that has no translation."""
        own, there = self.domains[name], target.known.get(name)
        if there is not None and set(there.values) != set(own.values):
            self._refuse(
                read.span,
                f"the domain '{name}' has other values where {target.declared} declares `{target.at}`",
                expected="one name for one set of values",
                suggestion=f"the same values in both contracts, or another name for one of the two '{name}'",
            )
            return False
        if name == target.domain.name:
            return True
        translation = target.domain.translations.get(name)
        if translation is None:
            self._refuse(
                read.span,
                f"`{target.at}` holds values of the domain '{target.domain.name}' ({target.declared}), and "
                f"{_said(read)} gives values of '{name}'",
                expected=f"the key `from` in the domain '{target.domain.name}', which says how those of '{name}' are "
                "said there",
                suggestion=f"from: {{{name}: {{{', '.join(f'{value}: ...' for value in own.values[:4])}}}}}",
            )
            return False
        missing = [value for value in own.values if value not in translation]
        if missing:
            ends = "is refused" if target.domain.is_closed else "passes as it is"
            what = f"{quoted(missing)} of the domain '{name}' has no translation in '{target.domain.name}'"
            self.reader.note(read.span, f"{what}: at `{target.at}` it {ends}")
        return True

    def _check_kind(self, leaf: ValueType, target: Target, read: Read) -> None:
        if leaf.kind not in TEXTS:
            self._refuse(
                read.span,
                f"`{target.at}` holds values of the domain '{target.domain.name}', and {_said(read)} is {render(leaf)}",
                expected=f"one of {quoted(target.domain.values)}",
            )

    def _check_unmarked(self, leaf: ValueType, crossing: Crossing, read: Read) -> None:
        """A value of no domain: a constant is checked here, any other when the workflow runs."""
        if read.constant is not None or (not read.slots and leaf.values):
            for value in _constants(leaf, crossing, read):
                self._check_constant(value, crossing, read)
            return
        unknown = [value for value in leaf.values if not self._means_something(value, crossing)]
        if unknown and len(unknown) == len(leaf.values):
            self._refuse(
                read.span,
                f"`{crossing.at}` holds values of the domain '{crossing.domain.name}', and {_said(read)} is always one "
                f"of {quoted(unknown)}",
                expected=f"one of {quoted(crossing.domain.values)}",
                suggestion=f"`synonyms` in the domain '{crossing.domain.name}' that say what these mean",
            )
            return
        self.reader.note(
            read.span,
            f"{_said(read)} is in no domain: it is held to '{crossing.domain.name}' for `{crossing.at}` when it comes",
            verbose=True,
        )

    def _means_something(self, value: str, crossing: Crossing) -> bool:
        """Whether a text may come to mean a value, as far as that can be told before a run."""
        domain = crossing.domain
        return value in crossing.exact or domain.aligner is not None or domain.declared(value) is not None

    def _check_constant(self, value: Json, crossing: Crossing, read: Read) -> None:
        if value in crossing.domain.values:
            return
        meant = crossing.exact.get(value) if isinstance(value, str) else None
        self._refuse(
            read.span,
            f"{value!r:.80} is no value of the domain '{crossing.domain.name}', which holds at `{crossing.at}`",
            expected=f"one of {quoted(crossing.domain.values)}",
            suggestion=meant or "",
        )

    def _refuse(self, span: Span, message: str, *, expected: str, suggestion: str = "") -> None:
        self.reader.report.add(span.problem(PlanCode.MEANING, message, expected=expected, suggestion=suggestion))


def check_output(output: Located[JsonObject], targets: tuple[Target, ...], reader: Reader) -> None:
    """Hold an output that a file gives to the domains of the step that it stands for."""
    for target in targets:
        for value in _values_at(output.value, target.path):
            if value not in target.domain.values:
                reader.report.add(
                    output.span.problem(
                        PlanCode.MEANING,
                        f"{value!r:.80} at '{'.'.join(target.path)}' is no value of the domain "
                        f"'{target.domain.name}', which holds at `{target.at}`",
                        expected=f"one of {quoted(target.domain.values)}",
                    )
                )


def _constants(leaf: ValueType, crossing: Crossing, read: Read) -> Iterator[Json]:
    yield from leaf.values if read.constant is None else _values_at(read.constant[0], crossing.path[1:])


def _values_at(value: Json, path: tuple[str, ...]) -> list[Json]:
    found: list[Json] = []

    def keep(each: Json) -> Json:
        found.append(each)
        return each

    rewritten(value, path, keep)
    return found


def _said(read: Read) -> str:
    return f"`{read.path}`" if read.path else "this expression"

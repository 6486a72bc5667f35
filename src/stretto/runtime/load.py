"""From a path to a workflow that runs."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from stretto.components.acp.target import PREFIX
from stretto.components.declare import build_component, component_at
from stretto.components.python import load_components
from stretto.plan.codes import PlanCode
from stretto.plan.compile import compile_workflow
from stretto.plan.finding import DEFAULT_COMPONENTS
from stretto.plan.model import Plan
from stretto.runtime.aligners import find_aligner
from stretto.runtime.catalog import ComponentCatalog
from stretto.runtime.code_beside import Declared, code_beside
from stretto.runtime.side_by_side import Maker, made_side_by_side
from stretto.runtime.tunable import Tunable, changed_specs, tunables_of
from stretto.runtime.workflow import Workflow
from stretto.spec.model import ComponentDecl, ComponentFile, ComponentKind, WorkflowSpec
from stretto.spec.report import Report
from stretto.spec.source import Located, Span
from stretto.spec.tunable import find_tunable
from stretto.spec.workflow import load_workflow, no_file
from stretto.store.sqlite import Store
from stretto.types.arguments import as_path
from stretto.types.errors import Problem, SpecError
from stretto.types.ids import Digest
from stretto.types.protocols import Component
from stretto.types.setting import SettingValue

DEFAULT_STORE: Final = Path(".stretto/runs.db")
"""Where runs are kept when nobody says otherwise: in the folder that the command was typed in."""

_NO_CHANGES: Final[Mapping[str, SettingValue]] = {}
_AS_READ: Final[Mapping[Path, WorkflowSpec]] = {}

STORE_VARIABLE: Final = "STRETTO_STORE"
"""Environment variable that names another store."""


def load(path: str | Path, *, store: Store | str | Path | None = None) -> Workflow:
    """Read, compile and check a workflow file; nothing is run.

    `store` is a Store, or the path of one; by default `$STRETTO_STORE`, else `.stretto/runs.db`. Raises SpecError with
    every problem found in the file, its contract, its components and its sub-workflows.
    """
    place = as_path("the path of a workflow", path)
    kept = store if isinstance(store, Store) else Store(store_path(store))
    return Loader(place).workflow(kept)


def store_path(store: str | Path | None = None) -> Path:
    """The store that is meant when `store` is given, or not."""
    return as_path("store", store) if store is not None else Path(os.environ.get(STORE_VARIABLE) or DEFAULT_STORE)


class Loader:
    """One load: files are read and components made once, however often it is compiled."""

    def __init__(self, path: Path, outer: tuple[Path, ...] = (), made: "_Made | None" = None) -> None:
        self._path = path
        self._outer = outer
        self._made = made or _Made()
        self._spec = load_workflow(path)
        self._inner: dict[Path, Loader] = {}
        """Sub-workflows."""

    def workflow(self, store: Store) -> Workflow:
        """The workflow over a store."""
        return Workflow(self, self.catalog(), store)

    def compile(self, catalog: ComponentCatalog, changes: Mapping[str, SettingValue] = _NO_CHANGES) -> Plan:
        """Compile the file against a catalog, which may hold replaced components; with other values at some keys,
        where settings changed them."""
        specs = changed_specs(self._specs(), self.tunable(), changes) if changes else _AS_READ
        return self._compile(catalog, specs)

    def tunable(self) -> dict[str, Tunable]:
        """What settings can name, by key; of workflows inside it too, once it was compiled."""
        found = find_tunable(self._spec)
        inner = {step: self._inner.get(self._beside(file).resolve()) for step, file in found.inner.items()}
        below = {step: loader.tunable() for step, loader in inner.items() if loader is not None}
        return tunables_of(self._path.resolve(), found, below)

    def code(self) -> dict[str, Digest]:
        """Digests of the Python files that its components are made of, and of workflows inside it, once it was
        compiled; by path from its folder."""
        return code_beside(self._path.parent, self._declared())

    def _declared(self) -> dict[Path, tuple[Declared, ...]]:
        """What every file of it declares."""
        below = (loader._declared() for loader in self._inner.values())  # noqa: SLF001  # of its own class
        return {self._path: self._declarations()} | {file: each for inner in below for file, each in inner.items()}

    def _specs(self) -> dict[Path, WorkflowSpec]:
        """Every file of it, as read."""
        below = (loader._specs() for loader in self._inner.values())  # noqa: SLF001  # of its own class
        return {self._path.resolve(): self._spec} | {file: spec for specs in below for file, spec in specs.items()}

    def _compile(self, catalog: ComponentCatalog, specs: Mapping[Path, WorkflowSpec]) -> Plan:
        """Compile with these in place of the files that they stand for."""
        report = Report()
        spec = specs.get(self._path.resolve(), self._spec)
        return compile_workflow(
            spec,
            catalog,
            report,
            lambda place: self._subworkflow(place, catalog, report, specs),
            lambda domain: find_aligner(domain, catalog, report, self._made.once),
        )

    def catalog(self) -> ComponentCatalog:
        """Every component that the file declares or its component files define."""
        return ComponentCatalog(self._made.once(self._path, self._make_components))

    def _make_components(self, path: Path) -> dict[str, Component]:
        found: dict[str, Component] = {}
        homes: dict[str, Span] = {}
        report = Report()
        asked, at_addresses = self._asked(path.parent)
        for number, declared in enumerate(self._declarations()):
            span = declared.path.span if isinstance(declared, ComponentFile) else declared.name.span
            made: Mapping[str, Component] = {}
            with _told_in(report):
                made = self._made_of(declared, path.parent, asked.get(number))
            for name in made:
                if name in found:
                    report.add(_two_of_one_name(name, span, homes[name]))
                homes[name] = span
            found |= made
        for name, make in at_addresses.items():
            with _told_in(report):
                found[name] = make()
        report.raise_if_any()
        return found

    def _made_of(self, declared: Declared, folder: Path, asked: Maker | None) -> Mapping[str, Component]:
        if isinstance(declared, ComponentFile):
            return self._made.once(self._beside(declared.path.value), load_components)
        return {declared.name.value: build_component(declared, folder=folder) if asked is None else asked()}

    def _asked(self, folder: Path) -> tuple[dict[int, Maker], dict[str, Maker]]:
        """Components on other servers, which say what they are: declared ones by their number, and those that steps
        name by where they are."""
        declared = {
            number: each
            for number, each in enumerate(self._declarations())
            if isinstance(each, ComponentDecl) and each.kind is ComponentKind.ACP
        }
        addresses: dict[str, Located[str]] = {}
        for named in self._spec.named_components:
            if named.value.startswith(PREFIX):
                addresses.setdefault(named.value.partition("@")[0], named)
        makers = [
            *(partial(build_component, each, folder=folder) for each in declared.values()),
            *(partial(component_at, each, folder=folder) for each in addresses.values()),
        ]
        made = made_side_by_side(makers)
        return dict(zip(declared, made, strict=False)), dict(zip(addresses, made[len(declared) :], strict=True))

    def _declarations(self) -> tuple[Declared, ...]:
        spec: WorkflowSpec = self._spec
        if spec.components or not self._beside(DEFAULT_COMPONENTS).is_file():
            return spec.components
        start = Located(DEFAULT_COMPONENTS, spec.steps[0].span)
        return (ComponentFile(start),)

    def _beside(self, name: str) -> Path:
        return self._path.parent / name

    def _subworkflow(
        self, place: Located[str], catalog: ComponentCatalog, report: Report, specs: Mapping[Path, WorkflowSpec]
    ) -> Plan | None:
        """Compile the workflow that a step names; None, and a problem, where there is none."""
        path = self._beside(place.value).resolve()
        chain = (*self._outer, self._path.resolve())
        if path in chain:
            report.add(_part_of_itself(place, [*chain[chain.index(path) :], path]))
            return None
        if not path.is_file():
            report.add(no_file(place, self._path.parent, "workflow file"))
            return None
        try:
            return self._compile_inner(path, chain, catalog, specs)
        except SpecError as error:
            for problem in error.problems:
                report.add(problem)
            return None

    def _compile_inner(
        self, path: Path, chain: tuple[Path, ...], catalog: ComponentCatalog, specs: Mapping[Path, WorkflowSpec]
    ) -> Plan:
        """A sub-workflow's own components come before those of the outer one."""
        if path not in self._inner:
            self._inner[path] = Loader(path, chain, self._made)
        loader = self._inner[path]
        return loader._compile(loader.catalog().over(catalog), specs)  # noqa: SLF001  # of its own class


class _Made:
    """Components that one load has made, by the file that they come from."""

    def __init__(self) -> None:
        self._by_file: dict[Path, dict[str, Component]] = {}

    def once(self, path: Path, make: Callable[[Path], dict[str, Component]]) -> dict[str, Component]:
        """What `make` makes of a file, the first time; the same things afterwards."""
        place = path.resolve()
        if place not in self._by_file:
            self._by_file[place] = make(path)
        return self._by_file[place]


def _part_of_itself(place: Located[str], chain: list[Path]) -> Problem:
    return place.span.problem(
        PlanCode.SUB_WORKFLOW,
        f"workflow '{place.value}' is part of itself: {' → '.join(each.name for each in chain)}",
        expected="workflows that end",
        suggestion="use repeat with max_rounds for a loop",
    )


@contextmanager
def _told_in(report: Report) -> Iterator[None]:
    """What is wrong inside is told with the rest, and what comes behind it is read all the same."""
    try:
        yield
    except SpecError as error:
        for problem in error.problems:
            report.add(problem)


def _two_of_one_name(name: str, span: Span, first: Span) -> Problem:
    return span.problem(
        PlanCode.DUPLICATE_COMPONENT,
        f"component '{name}' is there twice; the first comes from line {first.mark.line}",
        expected="components with different names",
        suggestion="rename one of them",
    )

"""A file of rules with those that its decision nodes name, as one whole that the engine evaluates."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec
import orjson

from stretto.components.rules.codes import RuleCode
from stretto.components.rules.engine_form import for_engine
from stretto.components.rules.graph import check_graph
from stretto.components.rules.model import Model, ModelNode, NodeKind
from stretto.components.rules.read import read_model
from stretto.spec.report import Report
from stretto.spec.source import Located
from stretto.types.errors import SpecError
from stretto.types.ids import Digest, digest_of
from stretto.types.json import Json, JsonObject

MAX_LEVELS: Final = 5
"""Of files inside one another: zen-engine 2.1 answers none that lie deeper."""


class RuleFiles(msgspec.Struct, frozen=True, kw_only=True):
    """Models by the key that decision nodes name them by; the whole's own has the key of its file's name."""

    main: str
    models: Mapping[str, Model]
    orders: Mapping[str, tuple[ModelNode, ...]]
    """Of each model, its nodes after all that they read."""

    @property
    def model(self) -> Model:
        return self.models[self.main]

    def declared_input(self) -> JsonObject | None:
        """The schema that the input node declares; None when it declares none."""
        return self.model.of_kind(NodeKind.INPUT)[0].schema

    def declared_output(self) -> JsonObject | None:
        """The schema that the output node declares; None when there are several, or none declared."""
        ends = self.model.of_kind(NodeKind.OUTPUT)
        return ends[0].schema if len(ends) == 1 else None

    def digest(self) -> Digest:
        """Of what they decide, however they are laid out in the editor and formatted in their files."""
        canonical = {key: _decides(model.document) for key, model in self.models.items()}
        return digest_of(orjson.dumps([self.main, canonical], option=orjson.OPT_SORT_KEYS))


def read_files(path: Path) -> RuleFiles:
    """Read a file of rules and all that it names, each held to its form and its graph.

    Raises SpecError with every problem found.
    """
    report = Report()
    models: dict[str, Model] = {}
    _Reading(path.parent, models, report).read(path.name, ())
    report.raise_if_any()
    orders = {key: check_graph(model, report) for key, model in models.items()}
    report.raise_if_any()
    return RuleFiles(main=path.name, models=models, orders=orders)


class _Reading:
    """Follows decision nodes from file to file."""

    def __init__(self, folder: Path, models: dict[str, Model], report: Report) -> None:
        self._folder = folder
        self._models = models
        self._report = report
        self._levels: dict[str, int] = {}

    def read(self, key: str, outer: tuple[str, ...]) -> int:
        """Read one file, and those that it names, unless it was read before; gives how many levels of files it has."""
        if key not in self._levels:
            self._levels[key] = self._read(key, (*outer, key))
        return self._levels[key]

    def _read(self, key: str, chain: tuple[str, ...]) -> int:
        model = read_model(self._folder / key, self._report)
        if model is None:
            return 1
        self._models[key] = model
        named = [node.decision for node in model.of_kind(NodeKind.DECISION) if node.decision is not None]
        return 1 + max((self._follow(each, chain) for each in named), default=0)

    def _follow(self, named: Located[str], chain: tuple[str, ...]) -> int:
        """The levels of files below a decision node; 0 after reporting what is wrong with it."""
        key = named.value
        if key in chain:
            loop = " → ".join((*chain[chain.index(key) :], key))
            message = f"these rules decide by themselves: {loop}"
            self._report.add(named.span.problem(RuleCode.CYCLE, message, expected="rules that end"))
            return 0
        if Path(key).is_absolute() or ".." in Path(key).parts:
            message = f"a decision node names '{key}', outside the folder of the rules"
            self._report.add(named.span.problem(RuleCode.FILE, message, expected="a file beside this one"))
            return 0
        try:
            levels = self.read(key, chain) if len(chain) < MAX_LEVELS else 1
        except SpecError as error:
            if (self._folder / key).is_file():
                raise
            message = f"a decision node names '{key}', and there is no such file in {self._folder}"
            near = f"{key}.json" if (self._folder / f"{key}.json").is_file() else ""
            problem = named.span.problem(
                RuleCode.FILE, message, expected="the name of a file of rules, with its ending", suggestion=near
            )
            raise SpecError([problem]) from error
        if len(chain) + levels > MAX_LEVELS:
            message = f"'{key}' lies too deep: {' → '.join((*chain, key))}"
            expected = f"at most {MAX_LEVELS} files that decide inside one another, which is where the engine gives up"
            self._report.add(named.span.problem(RuleCode.FILE, message, expected=expected))
            return 0
        return levels


def _decides(document: JsonObject) -> JsonObject:
    """The document without what says how the editor shows it."""
    nodes = document.get("nodes")
    shown = [_without(node) for node in nodes] if isinstance(nodes, list) else nodes
    return {"nodes": shown, "edges": document.get("edges")}


def _without(node: Json) -> Json:
    return {key: value for key, value in node.items() if key != "position"} if isinstance(node, dict) else node


def documents_of(files: RuleFiles) -> dict[str, JsonObject]:
    """What the engine loads, by key."""
    return {key: for_engine(model.document) for key, model in files.models.items()}

"""A file of rules with those that its decision nodes name, as one whole that the engine evaluates."""

from collections.abc import Mapping
from pathlib import Path

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

    def read(self, key: str, outer: tuple[str, ...]) -> None:
        """Read one file, and those that it names, unless it was read before."""
        if key in self._models:
            return
        model = read_model(self._folder / key, self._report)
        if model is None:
            return
        self._models[key] = model
        chain = (*outer, key)
        for node in model.of_kind(NodeKind.DECISION):
            if node.decision is not None:
                self._follow(node.decision, chain)

    def _follow(self, named: Located[str], chain: tuple[str, ...]) -> None:
        key = named.value
        if key in chain:
            loop = " → ".join((*chain[chain.index(key) :], key))
            message = f"these rules decide by themselves: {loop}"
            self._report.add(named.span.problem(RuleCode.CYCLE, message, expected="rules that end"))
            return
        if Path(key).is_absolute() or ".." in Path(key).parts:
            message = f"a decision node names '{key}', outside the folder of the rules"
            self._report.add(named.span.problem(RuleCode.FILE, message, expected="a file beside this one"))
            return
        try:
            self.read(key, chain)
        except SpecError as error:
            if (self._folder / key).is_file():
                raise
            message = f"a decision node names '{key}', and there is no such file in {self._folder}"
            near = f"{key}.json" if (self._folder / f"{key}.json").is_file() else ""
            problem = named.span.problem(
                RuleCode.FILE, message, expected="the name of a file of rules, with its ending", suggestion=near
            )
            raise SpecError([problem]) from error


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

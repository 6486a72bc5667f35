"""Rules compiled once, evaluated as often as asked: same input, same answer."""

from collections.abc import Iterator, Mapping

import msgspec
import orjson
import zen

from stretto.components.rules.codes import RuleCode
from stretto.components.rules.files import RuleFiles, documents_of
from stretto.components.rules.model import Model, ModelNode, NodeKind
from stretto.components.rules.oracle import first_line, said_by_engine
from stretto.types.errors import Code, ComponentError, SpecError
from stretto.types.ids import Digest
from stretto.types.json import Json, JsonObject


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What rules decided, and by which rows."""

    output: JsonObject
    rows: tuple[JsonObject, ...] = ()
    """In the order in which tables were asked: ``{table, row, id, means}``; empty when no trace was wanted."""


class Decision:
    """Evaluates rules. One evaluation is synchronous and takes 10 to 200 µs, with a trace up to 1 ms."""

    def __init__(self, files: RuleFiles) -> None:
        self.digest: Digest = files.digest()
        self._files = files
        loader: zen.StaticLoaderConfig = {"type": "static", "content": documents_of(files)}
        try:
            self._decision = zen.ZenEngine({"loader": loader}).get_decision(files.main)
        except Exception as error:  # the engine raises bare exceptions for a document it cannot read
            message = f"the engine cannot read these rules: {first_line(error)}"
            expected = "a decision model as GoRules' editor saves it"
            raise SpecError([files.model.span.problem(RuleCode.FORM, message, expected=expected)]) from error

    def answer(self, given: JsonObject, *, trace: bool) -> Answer:
        """Decide on one input.

        Raises ComponentError with the node named: ``invalid_argument`` for an input that the rules' own schema
        refuses, or that the engine cannot read (a number beyond 7.9e28, more than 127 levels); ``failed_precondition``
        for one that they have no object as an answer to.
        """
        try:
            asked = orjson.dumps(given).decode()
        except orjson.JSONEncodeError as error:
            text = f"the rules of {self._files.main} cannot be asked about this input: {error}"
            raise ComponentError(text, Code.INVALID_ARGUMENT) from error
        try:
            response = self._decision.evaluate(asked, {"trace": trace})
        except RuntimeError as error:
            raise self._failure(error) from error
        output = response["result"]
        if not isinstance(output, dict):
            raise ComponentError(
                f"the rules of {self._files.main} answer a {type(output).__name__}, not an object: a table of hit "
                "policy collect answers a list; give it an `outputPath`, or an expression node after it",
                Code.FAILED_PRECONDITION,
            )
        return Answer(output=output, rows=tuple(self._rows(response.get("trace") or {}, self._files.model)))

    def _failure(self, error: RuntimeError) -> ComponentError:
        said = said_by_engine(error)
        node = self._named(said.get("nodeId"))
        where = f" at the node '{node.name}'" if node is not None else ""
        is_refused = not said or (node is not None and node.kind is NodeKind.INPUT)  # without a record: no input at all
        text = f"the rules of {self._files.main} cannot answer{where}: {first_line(error)}"
        return ComponentError(text, Code.INVALID_ARGUMENT if is_refused else Code.FAILED_PRECONDITION)

    def _named(self, id_: Json) -> ModelNode | None:
        return self._files.model.nodes.get(id_) if isinstance(id_, str) else None

    def _rows(self, trace: Mapping[str, Json], model: Model) -> Iterator[JsonObject]:
        """The rows that answered, from the engine's trace: an entry for each node, in a decision node a trace again."""
        asked = [entry for entry in trace.values() if isinstance(entry, dict)]
        for entry in sorted(asked, key=_order):
            node = model.nodes.get(str(entry.get("id")))
            data = entry.get("traceData")
            if node is None:
                continue
            if node.table is not None:
                yield from (_row(node, found) for found in _flat(data))
            elif node.decision is not None and isinstance(data, dict):
                yield from self._rows(data, self._files.models[node.decision.value])


def _order(entry: Mapping[str, Json]) -> int:
    order = entry.get("order")
    return order if isinstance(order, int) else 0


def _flat(data: Json) -> Iterator[int]:
    """The indices of the rows in a table's trace: one, a list when it collects, a list of either when it loops."""
    if isinstance(data, list):
        for item in data:
            yield from _flat(item)
    elif isinstance(data, dict):
        index = data.get("index")
        if isinstance(index, int):
            yield index


def _row(node: ModelNode, index: int) -> JsonObject:
    found: JsonObject = {"table": node.name, "row": index + 1}
    rows = () if node.table is None else node.table.rows
    if index < len(rows):
        row = rows[index]
        found |= {"id": row.id} | ({"means": row.means} if row.means else {})
    return found

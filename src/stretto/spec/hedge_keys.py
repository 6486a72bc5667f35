"""What may be declared of hedges: when a call that takes long is made again beside itself, and how often."""

from datetime import timedelta
from typing import Final

from stretto.spec.durations import duration_or_none, seconds
from stretto.spec.nodes import Node, ScalarNode
from stretto.spec.records import Fields, Key, Record
from stretto.spec.report import Report
from stretto.spec.shapes import Duration, Whole, wrong_value
from stretto.types.json import JsonObject
from stretto.types.protection import HedgeRule

USUAL: Final = "p95"
"""How a file says that a component's own calls tell after how long one is slow."""


class AfterShape:
    """A time, or the word for what the component usually takes."""

    def read(self, node: Node, name: str, report: Report) -> timedelta | None:
        text = node.text if isinstance(node, ScalarNode) else ""
        if text == USUAL:
            return None
        if duration_or_none(text) is None:
            report.add(wrong_value(node, name, f"a duration with its unit, like 500ms, or {USUAL}"))
            return None
        return _AFTER.read(node, name, report)

    def schema(self, defs: JsonObject) -> JsonObject:
        return {"anyOf": [{"const": USUAL}, _AFTER.schema(defs)]}


_AFTER: Final = Duration(minimum=timedelta(milliseconds=1), maximum=timedelta(hours=1))

AFTER: Final = Key(
    "after",
    AfterShape(),
    means="how long a call may take before another is made; `p95` is what 95 of 100 calls of late kept to",
    example="after: 500ms",
    also=("delay", "wait"),
)
COPIES: Final = Key(
    "copies", Whole(minimum=1, maximum=4), means="how many calls are made beside the first at most", example="copies: 1"
)


def _hedge(fields: Fields) -> HedgeRule:
    return HedgeRule(after_s=seconds(fields.get(AFTER)), copies=fields.get(COPIES) or HedgeRule().copies)


HEDGE: Final = Record(
    "hedge",
    means="makes a call that takes long a second time, and takes the first answer",
    keys=(AFTER, COPIES),
    build=_hedge,
    is_thing=False,
)

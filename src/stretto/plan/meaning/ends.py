"""The places at the workflow's own ends: held against the type of its input, and the fields of its output."""

from collections.abc import Sequence

from stretto.plan.codes import PlanCode
from stretto.plan.meaning.marks import is_declared, leaf_of
from stretto.plan.meaning.places import INPUT, Place, Places, unsure
from stretto.plan.valuetype import DYN, ValueType, object_of
from stretto.spec.report import Report
from stretto.spec.suggest import nearest

_INPUT, _OUTPUT = "the workflow's input", "the workflow's output"


def take_input(places: Places, kind: ValueType, report: Report) -> None:
    """Report places that the input has not, and keep those that it leaves room for."""
    for place in places.own.given:
        if leaf_of(kind, place.path) is None:
            _refuse(_INPUT, place, kind, report)
        elif not is_declared(kind, place.path):
            places.unsure.append(unsure(_INPUT, place, INPUT, kind))


def take_output(places: Places, fields: Sequence[str], report: Report) -> None:
    """Report places of the output that are none of the fields it is mapped from."""
    kind = object_of(dict.fromkeys(fields, DYN))
    for place in places.own.gives:
        if leaf_of(kind, place.path) is None:
            _refuse(_OUTPUT, place, kind, report)


def _refuse(whose: str, place: Place, kind: ValueType, report: Report) -> None:
    known, name = sorted(kind.fields), ".".join(place.path)
    near = nearest(place.path[0], known)
    report.add(
        place.at.span.problem(
            PlanCode.MEANING,
            f"the domain '{place.domain.name}' holds at `{place.at.value}`, and {whose} has no '{name}'",
            expected=f"one of its fields: {', '.join(known)}" if known else "a field that it has",
            suggestion=f"{place.at.value.split('.')[0]}.{near}" if near else "",
        )
    )

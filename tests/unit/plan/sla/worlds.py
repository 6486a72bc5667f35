"""Workflows with contracts of all shapes, compiled; and Hypothesis's way to them."""

from collections.abc import Mapping
from typing import Any

import msgspec
from hypothesis import strategies as st

from stretto.plan.compile import compile_workflow
from stretto.plan.model import Plan
from stretto.spec.contract import parse_contract
from stretto.spec.report import Report
from stretto.spec.workflow import parse_workflow
from tests.unit.engine.plans import Probe
from tests.unit.plan.flows import Shelf, component

NAMES = ("a", "b", "c", "d", "e")


def compiled(
    steps: object, sla: Mapping[str, object] | None = None, *, plans: Mapping[str, Plan] | None = None, **top: object
) -> Plan:
    """Compile a workflow given as plain values; every component that it names is there."""
    text = msgspec.json.encode({"stretto": 1, "steps": steps, **top}).decode()
    spec = parse_workflow(text, name="w.yaml")
    if sla:
        spec = msgspec.structs.replace(
            spec, contract=parse_contract(msgspec.json.encode({"sla": sla}).decode(), name="c.yaml")
        )
    shelf = Shelf(_components(steps))
    return compile_workflow(spec, shelf, Report(), lambda place: (plans or {}).get(place.value))


def call(name: str, **resilience: object) -> dict[str, Any]:
    """A step that calls a component of its own name."""
    step: dict[str, Any] = {"name": name, "component": name}
    return {**step, "resilience": resilience} if resilience else step


def _components(steps: object) -> list[Probe]:
    found: list[Probe] = []
    if isinstance(steps, dict):
        if isinstance(steps.get("component"), str):
            found.append(component(steps["component"]))
        steps = list(steps.values())
    if isinstance(steps, list):
        for step in steps:
            found += _components(step)
    return found


milliseconds = st.integers(1, 5000)
rates = st.floats(0.5, 1.0)


@st.composite
def resiliences(draw: st.DrawFn, name: str) -> dict[str, object]:
    """A retry, a fallback, both or neither; what stands in may be the component of another step."""
    keys: dict[str, object] = {}
    if draw(st.booleans()):
        quota = {"ratio": draw(st.floats(0, 1))}
        keys["retry"] = {"attempts": draw(st.integers(1, 4)), "base": "10ms", "cap": "1s", "quota": quota}
    if draw(st.booleans()):
        stands_in = [{"component": other} for other in (*NAMES, "z") if other != name]
        keys["fallback"] = draw(st.sampled_from([{"output": {"said": "no"}}, *stands_in]))
    return keys


@st.composite
def workflows(draw: st.DrawFn) -> tuple[list[dict[str, Any]], dict[str, dict[str, Any]]]:
    """Steps, in a row, side by side, in loops and in maps, and what is promised of each."""
    sla: dict[str, dict[str, Any]] = {}
    steps: list[dict[str, Any]] = []
    for name in NAMES[: draw(st.integers(1, len(NAMES)))]:
        p95 = draw(milliseconds)
        sla[name] = {
            "p95_latency": f"{p95}ms",
            "max_latency": f"{p95 + draw(milliseconds)}ms",
            "min_success_rate": draw(rates),
        }
        step = call(name, **draw(resiliences(name)))
        earlier = [each["name"] for each in steps]
        needs = draw(st.lists(st.sampled_from(earlier), unique=True)) if earlier else []
        shape = draw(st.sampled_from(["plain", "loop", "nest", "map"]))
        if shape in {"loop", "nest"}:
            step = _loop(f"l{name}", draw(st.integers(1, 3)), step)
            if shape == "nest":
                step = _loop(f"n{name}", draw(st.integers(1, 3)), step)
        elif shape == "map":
            step["for_each"] = "input.items"
        steps.append({**step, "needs": needs} if needs else step)
    return steps, sla


def _loop(name: str, rounds: int, step: object) -> dict[str, Any]:
    return {"name": name, "repeat": {"max_rounds": rounds, "steps": [step]}}

"""Which components a workflow can do without is read from every place that calls them."""

from pathlib import Path

import pytest

import stretto
from stretto.plan.dispensable import dispensable

COMPONENTS = """
from typing import Any
import stretto

@stretto.component(effects="pure")
async def a(n: Any = None) -> dict[str, Any]:
    return {"n": n}

@stretto.component(effects="pure")
async def b(n: Any = None) -> dict[str, Any]:
    return {"n": n}

memory = stretto.RecencyMemory("memory")
"""

FIXED = "resilience: {fallback: {output: {n: 0}}}"
WITH = f"{{name: with, component: a, {FIXED}}}"


@pytest.mark.parametrize(
    ("steps", "found"),
    [
        pytest.param([WITH], {"a"}, id="every step has a fallback"),
        pytest.param([WITH, "{name: more, component: a}"], set(), id="one has none"),
        pytest.param([WITH, "{name: more, component: b}"], {"a"}, id="another component"),
        pytest.param(["{name: with, component: a, resilience: {fallback: {component: b}}}"], {"a"}, id="b stands in"),
        pytest.param(
            [WITH, "{name: more, component: b, resilience: {fallback: {component: a}}}"], {"b"}, id="a stands in for b"
        ),
        pytest.param(
            [WITH, "{name: each, for_each: 'input.many', as: it, component: a}"], set(), id="a map calls it too"
        ),
        pytest.param(
            [f"{{name: each, for_each: 'input.many', as: it, component: a, {FIXED}}}"],
            {"a"},
            id="a map with a fallback",
        ),
        pytest.param(
            [f"{{name: some, repeat: {{max_rounds: 2, steps: [{WITH}, {{name: more, component: a}}]}}}}"],
            set(),
            id="in a loop",
        ),
        pytest.param([WITH, "{name: inside, workflow: inner.yaml}"], set(), id="in a workflow inside"),
        pytest.param(["{name: inside, workflow: without.yaml}"], {"a"}, id="a workflow inside does without"),
        pytest.param(
            [WITH, "{name: reads, component: b, input_mapping: {n: memory.recent}}"], {"a"}, id="memory is needed"
        ),
    ],
)
def test_it_is_what_nothing_else_needs(tmp_path: Path, steps: list[str], found: set[str]) -> None:
    (tmp_path / "components.py").write_text(COMPONENTS)
    head = "stretto: 1\ncomponents: components.py\nsteps:\n"
    for name, inside in (
        ("inner.yaml", ["{name: x, component: a}"]),
        ("without.yaml", [WITH]),
        ("workflow.yaml", steps),
    ):
        (tmp_path / name).write_text(head + "".join(f"  - {step}\n" for step in inside))
    assert dispensable(stretto.load(tmp_path / "workflow.yaml").plan) == found

"""What the promises come to, as it is read: durations as a file has them, and nothing that pasting would break."""

import re
from typing import Any

import pytest
from hypothesis import given, strategies as st
from rich.console import Console

from stretto.cli.sla_lines import sla_lines
from stretto.plan.sla.compose import compose
from tests.unit.plan.sla.worlds import call, compiled

KNOWN = {"p95_latency": "200ms", "max_latency": "20s", "min_success_rate": 0.99}


def lines(steps: list[Any], sla: dict[str, Any], *, width: int = 140, **top: Any) -> list[str]:
    console = Console(width=width, no_color=True)
    with console.capture() as told:
        console.print(sla_lines(compiled(steps, sla, **top), width))
    return [line.strip() for line in told.get().splitlines()]


def loop(*steps: Any, rounds: int) -> dict[str, Any]:
    return {"name": "talk", "repeat": {"max_rounds": rounds, "steps": [*steps]}}


class TestWorkflow:
    def test_what_the_steps_come_to_stands_beside_what_is_promised(self) -> None:
        sla = {"a": KNOWN, "workflow": {"p95_latency": "1m30s", "max_latency": "5m", "min_success_rate": 0.9}}
        told = lines([loop(call("a"), rounds=7)], sla)
        assert "p95       1.4s, promised 1m30s" in told
        assert "at worst  2m20s, promised 5m" in told
        assert "success   0.932, promised 0.9" in told  # 0.93206

    def test_a_deadline_that_is_shorter_ends_the_run(self) -> None:
        told = lines([loop(call("a"), rounds=7)], {"a": KNOWN, "workflow": {"max_latency": "1m"}}, budget=MINUTE)
        held = "at worst  1m, promised 1m: the deadline ends every run by then; without it its steps could take 2m20s"
        assert held in told

    def test_what_its_steps_come_to_is_a_lower_limit_where_one_promises_nothing(self) -> None:
        steps = [loop(call("a", timeout="32.3s", retry={"attempts": 2, "base": "1ms"}), rounds=7), call("b")]
        told = lines(steps, {"workflow": {"max_latency": "1m"}}, budget=MINUTE)
        assert told[1].endswith("; without it its steps could take 7m32s or longer")

    def test_a_deadline_that_no_step_reaches_is_not_told_of(self) -> None:
        assert "at worst  20s, promised 1m" in lines(
            [call("a")], {"a": KNOWN, "workflow": {"max_latency": "1m"}}, budget=MINUTE
        )

    def test_what_is_not_known_is_said_to_be(self) -> None:
        told = lines(
            [call("a"), call("b")],
            {"a": {"min_success_rate": 0.99}, "workflow": {"p95_latency": "1s", "min_success_rate": 0.9}},
        )
        assert "p95      not known, promised 1s" in told
        assert "success  0.99 or less, promised 0.9" in told

    def test_fallbacks_are_told(self) -> None:
        steps = [call("a", fallback={"output": {}})]
        told = lines(steps, {"a": {"min_success_rate": 0.99}, "workflow": {"max_fallback_rate": 0.02}})
        assert "fallback  0.01, promised 0.02" in told

    def test_sums_that_no_duration_holds_are_told(self) -> None:
        step = call("a", timeout="8760h", retry={"attempts": 100})
        for depth in range(4):
            step = {"name": f"loop{depth}", "repeat": {"max_rounds": 10_000, "steps": [step]}}
        assert any("3.15e+25s" in line for line in lines([step], {"a": {"min_success_rate": 0.5}}))


MINUTE = {"deadline": "1m"}


class TestSteps:
    def test_a_promise_stands_beside_what_would_do(self) -> None:
        told = lines([call("a")], {"a": KNOWN, "workflow": {"p95_latency": "1s", "min_success_rate": 0.9}})
        assert "a  p95 200ms, 1s would do  at worst 20s  success 0.99, 0.9 would do" in told

    def test_where_there_is_no_room_it_says_so(self) -> None:
        told = lines([call("a")], {"a": KNOWN, "workflow": {"p95_latency": "200ms", "min_success_rate": 0.99}})
        assert "a  p95 200ms and no more  at worst 20s  success 0.99 and no less" in told

    def test_a_step_that_promises_nothing_is_told_what_would_do(self) -> None:
        told = lines([call("a")], {"workflow": {"p95_latency": "1s"}})
        assert "a  p95 not promised, 1s would do" in told
        assert "What is not promised counts as no time and no failure." in " ".join(told)

    def test_a_map_is_told_of_each_item(self) -> None:
        assert any(
            line.startswith("a, each item  p95 200ms")
            for line in lines([{**call("a"), "for_each": "input.items"}], {"a": KNOWN})
        )

    @pytest.mark.parametrize("width", [40, 80, 120])
    def test_no_line_is_wider_than_the_terminal(self, width: int) -> None:
        sla = {"a": KNOWN, "workflow": {"max_latency": "1m", "min_success_rate": 0.9}}
        assert max(map(len, lines([loop(call("a"), rounds=7)], sla, width=width, budget=MINUTE))) <= width


@given(st.integers(1, 14), st.integers(100, 400_000), st.floats(0.1, 0.9999))
def test_what_would_do_does_when_it_is_pasted(rounds: int, limit_ms: int, least: float) -> None:
    steps = [loop(call("a"), rounds=rounds)]
    whole = {"p95_latency": f"{limit_ms}ms", "min_success_rate": least}
    (told,) = [line for line in lines(steps, {"workflow": whole}) if line.startswith("talk/a ")]
    p95, success = re.findall(r"(\S+) would do", told)
    pasted = {"a": {"p95_latency": p95, "min_success_rate": float(success)}, "workflow": whole}
    assert compose(compiled(steps, pasted)).composed.success.is_whole  # compiled: what breaks a promise is no plan

"""What stands above a run of its kin on other servers."""

from rich.console import Console

from stretto.cli.runs.header import header
from stretto.record.model import Run
from tests.unit.record.generated import a_run, a_step

HERE = "01a22ac9-5c9f-767c-9464-aa45ae351687"
THERE = "01a22ac9-6166-71fd-90b8-8c6c2a0a2602"


def shown(run: Run) -> list[str]:
    console = Console(width=120)
    with console.capture() as captured:
        console.print(header(run, 120))
    return [" ".join(line.split()) for line in captured.get().splitlines()]


def test_a_run_tells_which_runs_on_other_servers_answered_its_steps() -> None:
    run = a_run(
        steps=[
            a_step("pay", evidence={"acp": {"run_id": THERE}}),
            a_step("talk[2]/ask", evidence={"acp": {"run_id": HERE}}),
            a_step("plain", evidence={"acp": {"service_ms": 3.2}}),
        ]
    )
    lines = shown(run)
    at = lines.index(f"ran elsewhere pay: run {THERE}")
    assert lines[at + 1] == f"talk[2]/ask: run {HERE}"
    assert not any("plain" in line for line in lines)


def test_a_run_tells_which_run_started_it_and_which_call_it_answers() -> None:
    lines = shown(a_run(parent=HERE, effect_key=f"{HERE}/pay"))
    assert f"started by run {HERE}" in lines
    assert f"answers the call with the effect key {HERE}/pay" in lines


def test_a_run_tells_which_step_another_version_answered() -> None:
    by = {"version": "1.3.0", "digest": "0123456789abcdef"}
    lines = shown(a_run(steps=[a_step("pay", evidence={"acp": {"answered_by": by}}), a_step("plain")]))
    assert "warning pay: answered by 1.3.0@01234567, another than it is pinned to" in lines

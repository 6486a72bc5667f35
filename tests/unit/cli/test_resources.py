"""`stretto resources`, and what other verbs show of probes."""

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from rich.text import Text

from stretto.cli.resources import _redrawn, _table
from tests.unit.cli.conftest import Cli

PROBED = """
stretto: 1
name: probed
resources: {threads: {every: 2s}, components: {}, host: {}}
steps:
  - {name: book, component: book, condition: "resources.threads_busy >= 0", input_mapping: {plan: input.plan}}
  - {name: never, component: book, condition: "resources.cpu_load_percent > 101.0", input_mapping: {plan: input.plan}}
"""


@pytest.fixture
def probed(folder: Path) -> Path:
    (folder / "workflow.yaml").write_text(PROBED)
    return folder


def test_it_prints_each_value_with_its_unit_and_each_probe_with_its_age(cli: Cli, probed: Path) -> None:
    told = cli("resources")
    assert (told.code, told.err) == (0, "")
    lines = {line.split()[0]: line for line in told.out.splitlines()}
    assert lines["threads_busy"].split() == ["threads_busy", "0"]
    assert lines["cpu_load_percent"].endswith(" %")
    assert "iB" in lines["memory_free_bytes"]
    assert lines["book_latency_ms"].split() == ["book_latency_ms", "null"]
    assert "probe threads " in told.out
    assert "ago" in told.out


def test_json_is_what_steps_read(cli: Cli, probed: Path) -> None:
    document = cli("resources", "--json").document
    assert document["stale"] == []
    assert document["age_ms"].keys() == {"host", "threads", "components"}
    assert document["book_in_flight"] == 0


def test_a_stale_value_is_marked_and_the_exit_code_says_so(cli: Cli, folder: Path) -> None:
    server = 'models: {m: {url: "http://127.0.0.1:9/metrics", timeout: 5s}}, host: {}'
    (folder / "workflow.yaml").write_text(PROBED.replace("host: {}", server))
    told = cli("resources")
    assert told.code == 1
    assert any(line.split() == ["gpu_queue_length", "null", "stale"] for line in told.out.splitlines())
    assert any(line.split() == ["probe", "models.m", "never", "read"] for line in told.out.splitlines())


def test_devices_are_rows_of_their_own() -> None:
    device = {"index": 0, "name": "H100", "free_bytes": 2**30, "temperature_celsius": 40.0}
    told: dict[str, Any] = {"gpus": [device], "stale": [], "age_ms": {"gpu": 61000.0}}
    console = Console(width=100)
    with console.capture() as shown:
        console.print(_table(told))
    lines = [line.split() for line in shown.get().splitlines()]
    assert ["gpus[0].free_bytes", "1.0", "GiB"] in lines
    assert ["gpus[0].temperature_celsius", "40", "°C"] in lines
    assert ["gpus[0].name", "H100"] in lines


@pytest.mark.parametrize(
    ("flags", "told_so"), [((), "declares no probes"), (("--watch", "--json"), "leave one of them out")]
)
def test_what_cannot_be_shown_is_told(cli: Cli, flags: tuple[str, ...], told_so: str) -> None:
    told = cli("resources", *flags)
    assert told.code == 2
    assert told_so in told.err + told.out


def test_check_lists_the_probes(cli: Cli, probed: Path) -> None:
    assert "threads     every 2s, within 500ms" in cli("check").out
    assert cli("check", "--json").document["probes"] == ["host", "components", "threads"]


def test_runs_show_has_what_each_step_saw(cli: Cli, probed: Path) -> None:
    assert cli("run", "--input", '{"plan": "go"}').code == 0
    out = cli("runs", "show", "last").out
    assert "resources seen" in out
    assert "book   threads_busy 0" in out
    assert "never  cpu_load_percent " in out
    assert '"threads_busy": 0' in cli("runs", "show", "last", "--step", "book").out


def test_on_a_terminal_a_reading_is_drawn_over_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    told = io.StringIO()
    terminal = Console(file=told, force_terminal=True, width=80, _environ={"TERM": "xterm"})
    monkeypatch.setattr("stretto.cli.resources.results", lambda: terminal)
    with _redrawn() as draw:
        draw(Text("first\nfigure"))
        draw(Text("second\nfigure"))
    assert told.getvalue().count("\x1b[1A") >= 1, "the cursor goes up again"


def test_elsewhere_readings_follow_one_another(capsys: pytest.CaptureFixture[str]) -> None:
    with _redrawn() as draw:
        draw(Text("first"))
        draw(Text("second"))
    assert capsys.readouterr().out == "first\n\nsecond\n\n"

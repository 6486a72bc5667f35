"""Two processes on one store: one runs, the other changes a figure, and the first obeys."""

import json
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest

STRETTO = Path(sys.executable).with_name("stretto")

WORKFLOW = """
stretto: 1
name: desk
components: components.py
steps:
  - {name: ask, component: api, resilience: {timeout: 50ms}}
"""

COMPONENTS = """
import asyncio
import stretto

@stretto.component(effects="read")
async def api() -> dict:
    await asyncio.sleep(0.2)
    return {}
"""

RUNNING = """
import asyncio
import stretto

async def main():
    async with stretto.load("workflow.yaml") as workflow:
        while True:
            run = await workflow.run({})
            print(run.status, run.settings, flush=True)

asyncio.run(main())
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {"workflow.yaml": WORKFLOW, "components.py": COMPONENTS, "running.py": RUNNING}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def config(folder: Path, *words: str) -> dict[str, object]:
    typed = [str(STRETTO), "config", *words, "--json"]
    done = subprocess.run(typed, cwd=folder, capture_output=True, text=True, check=True, timeout=60)
    document: dict[str, object] = json.loads(done.stdout)
    return document


def wait_for(lines: IO[str], wanted: str) -> None:
    """Read until a run says so; the runs go on for ever, so it is the effect alone that ends it."""
    for line in lines:
        if line.strip() == wanted:
            return
    raise AssertionError(f"it ended before a run said {wanted!r}")


def test_a_process_that_runs_obeys_what_another_sets(folder: Path) -> None:
    with subprocess.Popen([sys.executable, "running.py"], cwd=folder, stdout=subprocess.PIPE, text=True) as running:
        try:
            assert running.stdout is not None
            wait_for(running.stdout, "failed 0")
            config(folder, "set", "workflow.yaml", "steps.ask.timeout", "5s", "--by", "ada", "--reason", "slow")
            wait_for(running.stdout, "ok 1")
            config(folder, "unset", "workflow.yaml", "steps.ask.timeout")
            wait_for(running.stdout, "failed 2")
        finally:
            running.kill()
    changes = config(folder, "history", "workflow.yaml")["changes"]
    assert isinstance(changes, list)
    assert [(each["value"], each["revision"]) for each in changes] == [("5s", 1), (None, 2)]
    assert (changes[0]["by"], changes[0]["reason"]) == ("ada", "slow")

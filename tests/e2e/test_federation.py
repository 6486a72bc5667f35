"""Two real servers: one mounts the other's workflow as a component, and a run is one run across both."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from openai import OpenAI

from stretto.record.model import Run
from stretto.store.sqlite import Store
from stretto.types.enums import RunStatus

STRETTO = (sys.executable, "-m", "stretto")

WAREHOUSE = """
stretto: 1
name: warehouse
version: 3.1.0
durability: step
contract: { input: { order: string }, output: { shelf: string }, sla: { workflow: { p95_latency: 2s } } }
budget: { deadline: 60s }
steps:
  - { name: pick, component: pick, input_mapping: { order: input.order } }
output: { shelf: steps.pick.shelf }
"""

PICK = '''
import os
from pathlib import Path

import stretto
from stretto import Context

PICKED = Path(__file__).parent / "picked"


@stretto.component("pick", "1.0.0", effects="write")
class Pick:
    """Notes each order that it picks; the process dies with the first answer where it is told to."""

    async def __call__(self, order: str, context: Context) -> dict:
        with PICKED.open("a") as picked:
            picked.write(context.effect_key + "\\n")
        if os.environ.get("CRASH"):
            os.kill(os.getpid(), 9)
        return {"shelf": "B7"}

    async def confirm(self, order: str, context: Context) -> dict | None:
        made = PICKED.read_text() if PICKED.exists() else ""
        return {"shelf": "B7"} if context.effect_key in made else None
'''

SHOP = """
stretto: 1
name: shop
version: 1.0.0
durability: step
contract: {{ input: {{ query: string }}, output: {{ reply: string }} }}
budget: {{ deadline: 20s, retries: 3 }}
steps:
  - name: fetch
    component: "{address}"
    input_mapping: {{ order: input.query }}
    resilience: {{ retry: {retry} }}
output: {{ reply: steps.fetch.shelf }}
"""


def place(folder: Path, name: str, text: str, components: str = "") -> Path:
    """A folder of its own for each server."""
    home = folder / name
    home.mkdir(exist_ok=True)
    (home / "workflow.yaml").write_text(text)
    if components:
        (home / "components.py").write_text(components)
    return home


@contextmanager
def serving(home: Path, *options: str, **env: str) -> Iterator[tuple[Any, "subprocess.Popen[str]"]]:
    """A server in a process of its own: what it says of itself, and the process."""
    command = [*STRETTO, "serve", "workflow.yaml", "--json", "--store", "runs.db", *(options or ("--http", ":0"))]
    process = subprocess.Popen(
        command, cwd=home, env={**os.environ, **env}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, process.stderr.read() if process.stderr else ""
        yield json.loads(line), process
    finally:
        process.kill()
        process.communicate()


def allowing(address: str) -> dict[str, str]:
    return {"STRETTO_ACP_ALLOW": address.partition("://")[2].partition("#")[0]}


def runs_in(home: Path) -> list[Run]:
    with Store(home / "runs.db") as store:
        return [store.get(each.id) for each in reversed(store.list())]


def shown(home: Path) -> str:
    told = subprocess.run(
        [*STRETTO, "runs", "show", "last", "--store", "runs.db"], cwd=home, capture_output=True, text=True, check=True
    )
    return " ".join(told.stdout.split())


@pytest.mark.parametrize("door", ["http", "grpc"])
def test_one_run_is_shown_across_two_servers(tmp_path: Path, door: str) -> None:
    warehouse = place(tmp_path, "warehouse", WAREHOUSE, PICK)
    with serving(warehouse, f"--{door}", ":0") as (there, _):
        address = f"acp+{there[door]}#warehouse"
        shop = place(tmp_path, "shop", SHOP.format(address=address, retry="{ attempts: 2 }"))
        with (
            serving(shop, **allowing(address)) as (here, process),
            OpenAI(base_url=f"{here['http']}/v1", api_key="none", max_retries=0) as client,
        ):
            answer = client.chat.completions.create(model="shop", messages=[{"role": "user", "content": "#W1"}])
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) == 0
    assert answer.choices[0].message.content == "B7"
    (ours,), (theirs,) = runs_in(shop), runs_in(warehouse)
    assert answer.id == f"chatcmpl-{ours.id}"
    told: Any = ours.steps[0].evidence["acp"]
    assert (told["run_id"], told["gradient_handle"]) == (theirs.id, theirs.id)
    assert (theirs.parent, theirs.effect_key) == (ours.id, f"{ours.id}/fetch")
    assert theirs.labels["caller"] == ours.workflow_run_id
    assert (theirs.seed, theirs.tenant) == (ours.seed, ours.tenant)
    assert theirs.budget is not None
    assert theirs.budget.deadline_ms is not None
    assert (theirs.budget.deadline_ms <= 20_000, theirs.budget.retries) == (True, 3)
    assert f"ran elsewhere fetch: run {theirs.id}" in shown(shop)
    assert f"started by run {ours.id}" in shown(warehouse)


def test_a_server_that_dies_over_a_write_goes_on_with_its_run_when_it_is_asked_again(tmp_path: Path) -> None:
    warehouse = place(tmp_path, "warehouse", WAREHOUSE, PICK)
    with serving(warehouse, "--http", ":0", CRASH="1") as (there, dying):
        address = f"acp+{there['http']}#warehouse"
        port = there["http"].rpartition(":")[2]
        shop = place(tmp_path, "shop", SHOP.format(address=address, retry="{ attempts: 1 }"))
        asked = [*STRETTO, "run", "workflow.yaml", "--store", "runs.db", "--input", '{"query": "#W1"}']
        env = {**os.environ, **allowing(address)}
        first = subprocess.run(asked, cwd=shop, env=env, capture_output=True, text=True, check=False)
        assert dying.wait(20) == -signal.SIGKILL
    assert first.returncode != 0, first.stdout
    assert [run.status for run in runs_in(shop)] == [RunStatus.PARKED]
    with serving(warehouse, "--http", f":{port}"):
        again = subprocess.run(
            [*STRETTO, "runs", "resume", "last", "--store", "runs.db"],
            cwd=shop, env=env, capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert again.returncode == 0, again.stderr
    (ours,), (theirs,) = runs_in(shop), runs_in(warehouse)
    assert (ours.status, ours.output_value) == (RunStatus.OK, {"reply": "B7"})
    assert (theirs.status, theirs.parent) == (RunStatus.OK, ours.id)
    assert len((warehouse / "picked").read_text().splitlines()) == 1


@pytest.mark.parametrize("door", ["http", "grpc"])
def test_a_served_workflow_keeps_to_the_protocol(tmp_path: Path, door: str) -> None:
    safe = PICK.replace('effects="write")', 'effects="write", idempotent=True)')
    with serving(place(tmp_path, "warehouse", WAREHOUSE, safe), f"--{door}", ":0") as (there, _):
        held = subprocess.run(
            [*STRETTO, "acp", "verify", there[door], "--writes"], capture_output=True, text=True, check=False
        )
    assert held.returncode == 0, held.stdout
    assert "'warehouse' keeps to the protocol" in held.stdout

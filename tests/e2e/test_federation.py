"""Two real servers: one mounts the other's workflow as a component, and a run is one run across both."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from openai import OpenAI

from stretto.components.policy import build_policy
from stretto.learn.samples import collect
from stretto.learn.usable import Recorded
from stretto.record.model import Annotation, Run
from stretto.store.sqlite import Store
from stretto.types.enums import RunStatus
from stretto.types.ids import StepPath

pytestmark = pytest.mark.ci

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


CHOOSING = """
stretto: 1
name: warehouse
version: 4.0.0
contract: { input: { order: string }, output: { shelf: string } }
components: { pick: { kind: policy, alternatives: [A1, B7], text: [order], state: [], output: shelf } }
steps:
  - { name: pick, component: pick, input_mapping: { order: input.order } }
output: { shelf: steps.pick.shelf }
"""


@pytest.mark.parametrize("door", ["http", "grpc"])
def test_what_was_chosen_there_stays_with_the_run_there_and_is_judged_by_the_run_here(
    tmp_path: Path, door: str
) -> None:
    warehouse = place(tmp_path, "warehouse", CHOOSING)
    with serving(warehouse, f"--{door}", ":0") as (there, process):
        address = f"acp+{there[door]}#warehouse"
        shop = place(tmp_path, "shop", SHOP.format(address=address, retry="{ attempts: 2 }"))
        labels = ("--label", "task=t1", "--seed", "7")
        ran = stretto_in(shop, "run", "workflow.yaml", "--input", '{"query": "#W1"}', *labels, **allowing(address))
        assert ran.returncode == 0, ran.stderr
        (ours,) = runs_in(shop)
        with Store(shop / "runs.db") as store:
            store.annotate(Annotation(run_id=ours.id, name="reward", value=0.75, at_ns=1))
        told = stretto_in(shop, "acp", "reflect", "workflow.yaml", **allowing(address))
        assert told.returncode == 0, told.stdout
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    (theirs,) = runs_in(warehouse)
    assert [len(step.actions) for step in (*ours.steps, *theirs.steps)] == [0, 1]
    assert ours.steps[0].evidence["acp"]["run_id"] == theirs.id  # type: ignore[index, call-overload]  # JSON
    with Store(warehouse / "runs.db") as store:
        recorded = Recorded(run=theirs, annotations=tuple(store.annotations(theirs.id)))
    policy = build_policy("pick", {"alternatives": ["A1", "B7"], "text": ["order"], "state": [], "output": "shelf"})
    samples = collect([recorded], policy)
    assert (samples.decisions, samples.rewards_R.tolist(), samples.groups[0].task) == (1, [0.75], "t1")


@pytest.mark.parametrize("door", ["http", "grpc"])
def test_a_served_workflow_keeps_to_the_protocol(tmp_path: Path, door: str) -> None:
    safe = PICK.replace('effects="write")', 'effects="write", idempotent=True)')
    with serving(place(tmp_path, "warehouse", WAREHOUSE, safe), f"--{door}", ":0") as (there, _):
        held = subprocess.run(
            [*STRETTO, "acp", "verify", there[door], "--writes"], capture_output=True, text=True, check=False
        )
    assert held.returncode == 0, held.stdout
    assert "'warehouse' keeps to the protocol" in held.stdout


def stretto_in(home: Path, *arguments: str, **env: str) -> "subprocess.CompletedProcess[str]":
    command = [*STRETTO, *arguments, "--store", "runs.db"]
    return subprocess.run(command, cwd=home, env={**os.environ, **env}, capture_output=True, text=True, check=False)


def test_a_write_in_doubt_there_parks_the_run_here_until_a_person_settled_it_there(tmp_path: Path) -> None:
    lost = PICK.replace('        return {"shelf": "B7"}\n\n', '        raise OSError("the line broke")\n\n', 1)
    lost = lost[: lost.index("    async def confirm")]
    warehouse = place(tmp_path, "warehouse", WAREHOUSE, lost)
    with serving(warehouse) as (there, _):
        address = f"acp+{there['http']}#warehouse"
        shop = place(tmp_path, "shop", SHOP.format(address=address, retry="{ attempts: 2 }"))
        ask = ("run", "workflow.yaml", "--input", '{"query": "#W1"}')
        parked = stretto_in(shop, *ask, **allowing(address))
        assert parked.returncode != 0
        assert [run.status for run in (*runs_in(shop), *runs_in(warehouse))] == [RunStatus.PARKED] * 2
        assert runs_in(warehouse)[0].id in parked.stderr
        too_soon = stretto_in(shop, "runs", "resume", "last", **allowing(address))
        assert (too_soon.returncode != 0, runs_in(shop)[0].status) == (True, RunStatus.PARKED)
        settled = stretto_in(warehouse, "runs", "resume", "last", "--happened", '{"shelf": "B7"}')
        assert settled.returncode == 0, settled.stderr
        gone_on = stretto_in(shop, "runs", "resume", "last", **allowing(address))
        assert gone_on.returncode == 0, gone_on.stderr
    (ours,), (theirs,) = runs_in(shop), runs_in(warehouse)
    assert (ours.status, ours.output_value, theirs.status) == (RunStatus.OK, {"reply": "B7"}, RunStatus.OK)
    assert len((warehouse / "picked").read_text().splitlines()) == 1


def test_what_a_step_earned_comes_back_to_the_run_that_answered_it(tmp_path: Path) -> None:
    warehouse = place(tmp_path, "warehouse", WAREHOUSE, PICK)
    with serving(warehouse) as (there, _):
        address = f"acp+{there['http']}#warehouse"
        shop = place(tmp_path, "shop", SHOP.format(address=address, retry="{ attempts: 2 }"))
        assert (
            stretto_in(shop, "run", "workflow.yaml", "--input", '{"query": "#W1"}', **allowing(address)).returncode == 0
        )
        (ours,) = runs_in(shop)
        with Store(shop / "runs.db") as store:
            store.annotate(
                Annotation(run_id=ours.id, name="reward", value=1.0, at_ns=time.time_ns()),
                Annotation(run_id=ours.id, name="credit", value=0.5, at_ns=time.time_ns(), path=StepPath("fetch")),
            )
        told = stretto_in(shop, "acp", "reflect", "workflow.yaml", **allowing(address))
        assert told.returncode == 0, told.stderr
    with Store(warehouse / "runs.db") as store:
        (note,) = store.annotations(runs_in(warehouse)[0].id)
    assert (note.name, note.value, note.by, note.reason) == ("reward", 0.5, ours.workflow_run_id, "credit, step fetch")


def test_half_of_a_workflow_is_not_made_twice_until_a_person_undid_it(tmp_path: Path) -> None:
    pack = "  - { name: pack, component: pack, input_mapping: { shelf: steps.pick.shelf } }"
    text = WAREHOUSE.replace("\noutput: {", f"\n{pack}\noutput: {{")
    packs = (
        PICK
        + """

@stretto.component("pack", "1.0.0", effects="pure")
async def pack(shelf: str) -> dict:
    if not (Path(__file__).parent / "boxes").exists():
        raise stretto.ComponentError("there are no boxes", stretto.Code.UNAVAILABLE)
    return {"packed": shelf}
"""
    )
    warehouse = place(tmp_path, "warehouse", text, packs)
    with serving(warehouse) as (there, _):
        address = f"acp+{there['http']}#warehouse"
        shop = place(tmp_path, "shop", SHOP.format(address=address, retry="{ attempts: 3 }"))
        assert stretto_in(shop, "run", "workflow.yaml", "--input", '{"query": "#W1"}', **allowing(address)).returncode
        (half,) = runs_in(warehouse)
        assert (half.status, runs_in(shop)[0].status) == (RunStatus.FAILED, RunStatus.PARKED)
        (warehouse / "boxes").touch()
        again = ("runs", "resume", "last", "--did-not-happen")
        assert stretto_in(shop, *again, **allowing(address)).returncode
        assert len((warehouse / "picked").read_text().splitlines()) == 1
        assert stretto_in(warehouse, "runs", "delete", half.id, "--yes").returncode == 0
        gone_on = stretto_in(shop, *again, **allowing(address))
        assert gone_on.returncode == 0, gone_on.stderr
    assert [run.status for run in (*runs_in(shop), *runs_in(warehouse))] == [RunStatus.OK] * 2

"""What is left of a run that was interrupted, and what people can do about it: seen, taken over, refused, settled."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from stretto.cli.boundary import execute
from stretto.cli.stopping import TOLD
from stretto.runtime.load import load
from stretto.store.sqlite import Store
from stretto.types.enums import Durability, Reason, RunStatus
from stretto.types.errors import ReplayError, StoreError

STRETTO = Path(sys.executable).with_name("stretto")

COMPONENTS = '''
import asyncio
from pathlib import Path
from stretto import component

async def held(name):
    """Say that the work began, and wait until it may go on."""
    Path(f"{name}.begun").touch()
    while not Path(f"{name}.go").exists():
        await asyncio.sleep(0.01)

@component("look", effects="read")
async def look(query: str) -> dict[str, str]:
    await held("look")
    return {"found": query}

@component("pay", effects="write")
async def pay(query: str) -> dict[str, str]:
    with open("payments", "a") as payments:
        payments.write(query + "\\n")
    await held("pay")
    return {"paid": query}
'''

WORKFLOW = """
stretto: 1
name: till
version: 1.0.0
durability: {durability}
components: components.py
steps:
  - name: look
    component: look
    input_mapping: {{ query: input.query }}
  - name: pay
    component: pay
    input_mapping: {{ query: steps.look.found }}
output: {{ paid: steps.pay.paid }}
"""

INPUT = '{"query": "oslo"}'


class Till:
    """A folder with a workflow that reads, then writes; each step waits until it may go on."""

    def __init__(self, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capfd = capfd
        (folder / "components.py").write_text(COMPONENTS)
        self.declare(Durability.STEP)

    def declare(self, durability: Durability) -> None:
        (self.folder / "workflow.yaml").write_text(WORKFLOW.format(durability=durability))

    def let(self, *steps: str) -> None:
        """These steps may go on."""
        for step in steps:
            (self.folder / f"{step}.go").touch()

    def hold(self, *steps: str) -> None:
        for step in steps:
            (self.folder / f"{step}.go").unlink(missing_ok=True)
            (self.folder / f"{step}.begun").unlink(missing_ok=True)

    def wait_for(self, step: str) -> None:
        for _ in range(1200):
            if (self.folder / f"{step}.begun").exists():
                return
            time.sleep(0.02)
        raise AssertionError(f"step '{step}' did not begin")

    def begin(self, *arguments: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [STRETTO, *arguments],
            cwd=self.folder,
            env={name: value for name, value in os.environ.items() if not name.startswith("STRETTO")},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def tell(self, *arguments: str) -> tuple[int, str, str]:
        """Exit code, stdout, stderr."""
        process = self.begin(*arguments)
        out, err = process.communicate(timeout=60)
        return process.returncode, out, err

    def json(self, *arguments: str) -> Any:
        """What a command that only reads tells, run in this process."""
        self._capfd.readouterr()
        with contextlib.chdir(self.folder):
            execute([*arguments, "--json"])
        return json.loads(self._capfd.readouterr().out)

    def run(self, run_id: str) -> Any:
        return self.json("runs", "show", run_id)["run"]

    def interrupt(self, during: str, sign: signal.Signals = signal.SIGKILL, times: int = 1) -> tuple[int, str]:
        """Run, and end the process in the middle of a step; returns its exit code and what it said."""
        process = self.begin("run", "workflow.yaml", "--input", INPUT)
        self.wait_for(during)
        for _ in range(times):
            process.send_signal(sign)
        _, err = process.communicate(timeout=60)
        return process.returncode, err

    @property
    def payments(self) -> list[str]:
        file = self.folder / "payments"
        return file.read_text().splitlines() if file.exists() else []

    @property
    def store(self) -> Store:
        return Store(self.folder / ".stretto" / "runs.db")


@pytest.fixture
def till(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Till:
    monkeypatch.delenv("STRETTO_STORE", raising=False)
    return Till(tmp_path, capfd)


# seen


def test_a_run_that_was_killed_while_it_read_is_listed_and_goes_on(till: Till) -> None:
    till.interrupt("look")
    (run,) = till.json("runs", "list")["runs"]
    assert (run["status"], run["interrupted"], run["in_doubt"]) == (None, True, False)
    code, _, _ = till.tell("doctor")
    findings = {finding["name"]: finding for finding in till.json("doctor")["checks"]}
    assert (code, findings["interrupted"]["state"]) == (1, "wrong")
    assert run["id"] in findings["interrupted"]["text"]
    assert f"stretto runs resume {run['id']}" in findings["interrupted"]["remedy"]
    till.let("look", "pay")
    code, out, err = till.tell("runs", "resume", run["id"])
    assert (code, json.loads(out)) == (0, {"paid": "oslo"}), err
    assert till.tell("doctor")[0] == 0


def test_a_run_that_was_killed_while_it_wrote_is_shown_as_in_doubt_and_never_as_ok(till: Till) -> None:
    till.let("look")
    till.interrupt("pay")
    (run,) = till.json("runs", "list")["runs"]
    assert (run["status"], run["interrupted"], run["in_doubt"]) == (None, True, True)
    findings = {finding["name"]: finding for finding in till.json("doctor")["checks"]}
    assert findings["in doubt"]["text"] == f"1 write: {run['id']} pay"
    assert "--happened" in findings["in doubt"]["remedy"]
    assert "write in doubt" in till.tell("runs", "list")[1]
    code, _, err = till.tell("runs", "resume", run["id"])
    assert code == 1
    assert "--did-not-happen" in err
    assert (till.run(run["id"])["status"], till.payments) == ("parked", ["oslo"])


# settled by a person


def parked(till: Till) -> str:
    till.let("look")
    till.interrupt("pay", signal.SIGINT)
    (run,) = till.json("runs", "list")["runs"]
    assert (run["status"], run["reason"], run["in_doubt"]) == ("parked", "in_doubt", True)
    return str(run["id"])


def test_a_person_who_saw_that_it_happened_lets_the_run_go_on_without_writing(till: Till) -> None:
    run_id = parked(till)
    answer = '{"paid": "by hand"}'
    code, out, err = till.tell("runs", "resume", run_id, "--happened", answer, "--reason", "saw it in the till")
    assert (code, json.loads(out)) == (0, {"paid": "by hand"}), err
    assert till.payments == ["oslo"]
    shown = till.json("runs", "show", run_id)
    assert [effect["confirmed"] for effect in shown["effects"]] == [True]
    assert shown["annotations"][0]["reason"] == "saw it in the till"


def test_an_answer_that_the_component_could_not_have_given_is_refused_and_nothing_is_settled(till: Till) -> None:
    run_id = parked(till)
    code, _, err = till.tell("runs", "resume", run_id, "--happened", '{"paid": 7}')
    assert code == 2
    assert "the answer given for 'pay', a write of 'pay', does not fit its schema" in " ".join(err.split())
    (run,) = till.json("runs", "list")["runs"]
    assert (run["status"], run["in_doubt"]) == ("parked", True)


def test_a_person_who_saw_that_it_did_not_happen_lets_the_run_write_again(till: Till) -> None:
    run_id = parked(till)
    till.let("pay")
    code, out, err = till.tell("runs", "resume", run_id, "--did-not-happen")
    assert (code, json.loads(out)) == (0, {"paid": "oslo"}), err
    assert till.payments == ["oslo", "oslo"]


# taken over


def test_of_two_processes_that_resume_a_run_one_gets_it(till: Till) -> None:
    till.interrupt("look")
    (run,) = till.json("runs", "list")["runs"]
    till.hold("look")
    both = [till.begin("runs", "resume", run["id"]) for _ in range(2)]
    till.wait_for("look")
    while all(process.poll() is None for process in both):
        time.sleep(0.02)
    till.let("look", "pay")
    ends = sorted((process.wait(timeout=60), *process.communicate()) for process in both)
    assert [code for code, _, _ in ends] == [0, 1]
    assert "is being executed by process" in ends[1][2]
    assert "Traceback" not in ends[1][2]
    assert (till.run(run["id"])["status"], till.payments) == ("ok", ["oslo"])


async def test_a_process_does_not_resume_what_it_is_at_work_on(till: Till, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(till.folder)
    async with load("workflow.yaml", store="runs.db") as workflow:
        running = asyncio.ensure_future(workflow.run({"query": "oslo"}))
        await asyncio.to_thread(till.wait_for, "look")
        (run,) = workflow.store.list()
        with pytest.raises(StoreError, match="is being executed by this very process"):
            await workflow.resume(run.id)
        till.let("look", "pay")
        assert (await running).status is RunStatus.OK
    assert till.payments == ["oslo"]


# refused


async def test_other_versions_are_refused_and_the_run_stays_as_it_was(
    till: Till, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = parked(till)
    (till.folder / "components.py").write_text(COMPONENTS.replace('{"found": query}', '{"found": query + "!"}'))
    code, _, err = till.tell("runs", "resume", run_id)
    assert code == 1
    assert "changed since: look. Resume it with the versions it was pinned to" in err
    with till.store as store:
        run = store.get(run_id)
        assert (run.status, run.reason) == (RunStatus.PARKED, Reason.IN_DOUBT)
        assert store.pending() == []
        assert [effect.path for effect in store.in_doubt()] == ["pay"]
    workflow = load(till.folder / "workflow.yaml", store=till.folder / ".stretto" / "runs.db")
    with pytest.raises(ReplayError, match="changed since: look"):
        await workflow.resume(run_id)
    workflow.store.close()


# Ctrl-C


@pytest.mark.parametrize("durability", list(Durability))
def test_ctrl_c_in_a_read_seals_the_run_as_cancelled(till: Till, durability: Durability) -> None:
    till.declare(durability)
    code, err = till.interrupt("look", signal.SIGINT)
    assert code == 130
    assert err.startswith("cancelled by Ctrl-C; look at the run: stretto runs show ")
    (run,) = till.json("runs", "list")["runs"]
    assert (run["status"], run["interrupted"]) == ("cancelled", False)
    assert [(step["path"], step["reason"]) for step in till.run(run["id"])["steps"]] == [("look", "cancelled")]
    assert till.tell("doctor")[0] == 0


@pytest.mark.parametrize("durability", list(Durability))
def test_ctrl_c_in_a_write_parks_the_run(till: Till, durability: Durability) -> None:
    till.declare(durability)
    till.let("look")
    code, err = till.interrupt("pay", signal.SIGINT)
    assert code == 130
    assert "parked" in err
    (run,) = till.json("runs", "list")["runs"]
    assert run["status"] == "parked"
    with till.store as store:
        assert [effect.path for effect in store.in_doubt()] == (["pay"] if durability is Durability.STEP else [])


DEAF = """
import asyncio, time
from pathlib import Path
from stretto import component

@component("look", effects="read")
async def look(query: str) -> dict[str, str]:
    Path("look.begun").touch()
    while True:
        try:
            {waits}
        except asyncio.CancelledError:
            pass

@component("pay", effects="read")
async def pay(query: str) -> dict[str, str]:
    return {{"paid": query}}
"""


@pytest.mark.parametrize("waits", ["await asyncio.sleep(3600)", "time.sleep(3600)"])
def test_a_component_that_does_not_listen_to_ctrl_c_is_told_of_and_ends_with_a_second(till: Till, waits: str) -> None:
    (till.folder / "components.py").write_text(DEAF.format(waits=waits))
    process = till.begin("run", "workflow.yaml", "--input", INPUT)
    till.wait_for("look")
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    assert process.stderr.readline() == f"{TOLD}\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert " by Ctrl-C; " in err
    assert "stretto runs show " in err


@pytest.mark.parametrize("times", [2, 5])
def test_an_impatient_ctrl_c_loses_no_accepted_run(till: Till, times: int) -> None:
    till.let("look")
    code, err = till.interrupt("pay", signal.SIGINT, times)
    assert code in (130, -signal.SIGINT)
    assert "Traceback" not in err
    (run,) = till.json("runs", "list")["runs"]
    assert run["status"] == "parked" or run["interrupted"]
    assert run["in_doubt"]

"""A workflow whose steps run real programs: time limits, writes in doubt, queues."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from stretto.runtime.load import load
from stretto.runtime.workflow import Workflow
from stretto.types.enums import RunStatus

Start = Callable[..., Workflow]


@pytest.fixture
async def start(tmp_path: Path) -> AsyncIterator[Start]:
    """`start(script, step, **options)`: a workflow of one step that asks a shell script."""
    living: list[Workflow] = []

    def begin(script: str, step: str = "", **options: Any) -> Workflow:
        both = {"format": "json"}
        declared = {"kind": "exec", "command": ["sh", "-c", script], "request": both, "response": both, **options}
        text = orjson.dumps({"it": declared}).decode()
        steps = f"steps: [{{ name: ask, component: it, input_mapping: {{ order: input.order }}, {step} }}]"
        (tmp_path / "workflow.yaml").write_text(
            f"stretto: 1\nname: w\ndurability: step\ncomponents: {text}\n{steps}\noutput: {{ got: steps.ask }}\n"
        )
        living.append(load(tmp_path / "workflow.yaml", store=tmp_path / "runs.db"))
        return living[-1]

    yield begin
    for workflow in living:
        await workflow.aclose()


async def test_what_reads_and_is_too_slow_fails_at_its_time_limit_and_is_ended(start: Start, tmp_path: Path) -> None:
    workflow = start("echo $$ > pid; exec sleep 1000", "resilience: { timeout: 1s }", effects="read")
    run = await workflow.run({"order": 1})
    assert (run.status, run.error.rpc_code if run.error else "") == (RunStatus.FAILED, "deadline_exceeded")
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


async def test_a_write_that_is_too_slow_is_in_doubt(start: Start) -> None:
    run = await start("exec sleep 1000", "resilience: { timeout: 300ms }").run({"order": 1})
    assert run.status is RunStatus.PARKED
    assert run.error is not None
    assert "did not answer within 0.3 s" in run.error.message


@pytest.mark.parametrize(
    ("script", "status", "code"),
    [
        ("exit 2", RunStatus.FAILED, "not_found"),
        ("exit 3", RunStatus.PARKED, ""),
        ("kill -9 $$", RunStatus.PARKED, ""),
        ("echo booked", RunStatus.PARKED, ""),
    ],
)
async def test_an_exit_code_says_whether_a_write_may_have_happened(
    start: Start, script: str, status: RunStatus, code: str
) -> None:
    run = await start(script, exit_codes={"2": "not_found"}).run({"order": 1})
    assert run.status is status
    assert run.error is not None
    assert run.error.rpc_code == code or not code


async def test_a_write_that_cannot_be_sent_did_not_happen(start: Start) -> None:
    fields = [{"name": "order", "picture": "9(2)"}]
    run = await start("cat", request={"format": "fixed", "fields": fields}).run({"order": 100})
    assert (run.status, run.error.code if run.error else "") == (RunStatus.FAILED, "component.contract")


BOOK = 'echo "$STRETTO_EFFECT_KEY" >> ledger; exit 9'
WAS_BOOKED = 'grep -q "$STRETTO_EFFECT_KEY" ledger || exit 2; echo "{\\"booked\\": true}"'


async def test_a_write_in_doubt_is_settled_by_the_program_that_can_tell(start: Start, tmp_path: Path) -> None:
    options = {"confirm": ["sh", "-c", WAS_BOOKED], "exit_codes": {"2": "not_found"}}
    run = await start(BOOK, **options).run({"order": 1})
    assert (run.status, run.output_value) == (RunStatus.OK, {"got": {"booked": True}})
    assert (tmp_path / "ledger").read_text() == f"{run.id}/ask\n"


async def test_an_idempotent_write_is_sent_again_under_the_same_key(start: Start, tmp_path: Path) -> None:
    once = 'echo "$STRETTO_EFFECT_KEY" >> ledger; [ "$(wc -l < ledger)" -gt 1 ] || exit 75; echo "{}"'
    workflow = start(once, "resilience: { retry: { attempts: 2 } }", idempotent=True, exit_codes={"75": "unavailable"})
    run = await workflow.run({"order": 1})
    assert run.status is RunStatus.OK
    assert (tmp_path / "ledger").read_text() == f"{run.id}/ask\n" * 2


async def test_a_call_that_waited_for_a_process_until_its_deadline_was_not_sent(start: Start) -> None:
    """The first holds the only process beyond the deadline of all, since it does not end when it is asked to."""
    workflow = start("trap '' TERM; while :; do sleep 0.01; done", "resilience: { timeout: 500ms }", processes=1)
    runs = await asyncio.gather(*(workflow.run({"order": n}) for n in range(3)))
    assert sorted(str(run.status) for run in runs) == [RunStatus.FAILED, RunStatus.FAILED, RunStatus.PARKED]
    shed = next(run for run in runs if run.status is RunStatus.FAILED)
    assert shed.error is not None
    assert shed.error.code == "component.shed"
    assert "s for a process, until its deadline, and was not asked: its one process is at work" in shed.error.message


async def test_a_run_that_is_cancelled_ends_its_program(start: Start, tmp_path: Path) -> None:
    workflow = start("echo $$ > pid; exec sleep 1000", effects="read")
    task = asyncio.create_task(workflow.run({"order": 1}))
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():  # noqa: ASYNC110  # another process
        await asyncio.sleep(0.005)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


async def test_a_persistent_program_serves_many_runs_at_once(start: Start) -> None:
    workflow = start('while read line; do echo "$line"; done', process="persistent", processes=2, effects="pure")
    runs = await asyncio.gather(*(workflow.run({"order": n}) for n in range(40)))
    assert [run.output_value for run in runs] == [{"got": {"order": n}} for n in range(40)]


async def test_a_program_that_is_not_there_fails_before_a_run_begins(start: Start) -> None:
    with pytest.raises(Exception, match="there is no program 'no-such-program' on the PATH"):
        await start("", command=["no-such-program"]).run({"order": 1})

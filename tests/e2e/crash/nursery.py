"""Starts processes that are meant to die, each in milliseconds: everything is imported before it forks.

Reads one job a line from stdin. What the processes say goes to stdout, and when one has ended, `ended` and its exit
code, negative for the signal that killed it.
"""

import asyncio
import os
import sys
import traceback
from typing import NoReturn

import mcp.client  # noqa: F401  # half a second that no process that is forked here has to spend
import msgspec

from stretto.runtime.load import load
from stretto.runtime.workflow import Workflow
from stretto.testing.request import request_for
from stretto.types.json import JsonObject
from stretto.types.protocols import OpensPerRun
from tests.e2e.crash.tripwire import TrippedStore, Tripwire, say


class Job(msgspec.Struct, kw_only=True):
    """What a process is to do, and when it is to die."""

    folder: str
    """Of everything that the process reads and writes."""
    workflow: str
    store: str
    run_input: JsonObject = {}
    serve: int = 0
    """How many runs to begin, all at once."""
    resume: list[str] = []
    """Ids of runs to go on with, all at once."""
    logs_of: list[str] = []
    """Ids of runs whose call log is asked for at the end, from the server itself."""
    at: int = 0
    """Moment to be killed at; 0 is never."""
    after_s: float = 0.0


async def do(job: Job) -> None:
    """Serve or resume; dies of its tripwire, or ends."""
    os.environ["CRASH_FOLDER"] = job.folder
    with TrippedStore(job.store) as store:
        store.wire = Tripwire(job.at, job.after_s)
        async with load(job.workflow, store=store) as workflow:
            begun = [workflow.run(job.run_input) for _ in range(job.serve)]
            begun += [workflow.resume(run_id) for run_id in job.resume]
            await asyncio.gather(*begun)
            for run_id in job.logs_of:
                say("log", run_id, msgspec.json.encode(await call_log(workflow, run_id)).decode())


async def call_log(workflow: Workflow, run_id: str) -> object:
    """What the server says that it was asked to do in a run."""
    shop = workflow.component("shop")
    assert isinstance(shop, OpensPerRun)
    request = request_for(_run=run_id, tool="get_call_log")
    session = await shop.open_run(request.call.run)
    answer = await session(request)
    await session.close()
    return answer.output


def begin(job: Job) -> int:
    """Fork a process that does the job; returns its id."""
    pid = os.fork()
    if pid == 0:
        _do_and_exit(job)
    return pid


def _do_and_exit(job: Job) -> NoReturn:
    code = 1
    try:
        asyncio.run(do(job))
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def main() -> None:
    """One job after the other, until stdin ends."""
    for line in sys.stdin:
        pid = begin(msgspec.json.decode(line, type=Job))
        _, status = os.waitpid(pid, 0)
        say("ended", str(os.waitstatus_to_exitcode(status)))


if __name__ == "__main__":
    main()

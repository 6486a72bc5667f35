"""`make bench-acp`: what the protocol costs over the libraries that carry it, and whether a server stays as it is.

Stdout ends with one line of JSON; progress and a table go to stderr. Exits with 1 when a figure is missing, never
because one is bad.

- `http_vs_bare`: calls a second with 64 under way, of a component of kind `acp` at `stretto acp serve`, as part of
  those of a bare aiohttp client at a bare ASGI application under the same uvicorn (httptools, uvloop) that answers the
  same bytes. `grpc_vs_bare`: the same over gRPC, against grpc.aio on both sides with the same messages.
- `http_server_vs_bare`, `grpc_server_vs_bare`: the same with the bare client on both sides.
- `http_added_p50_us`, `grpc_added_p50_us`: what one call after the other takes more, median, microseconds.
- `soak_errors`, `soak_rss_growth_mb`: calls that failed at half of the capacity, half of the time over HTTP and half
  over gRPC, and what the server's memory grew by after the first tenth.

Clients are in this process, servers in processes of their own. Ratios are medians over pairs of blocks, one of each
side in turn.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from statistics import median
from typing import Final, TypeAlias

import aiohttp
import grpc
import grpc.aio
import uvloop

from benchmarks.environment import ROOT
from stretto.acp.v1 import acp_pb2 as pb
from stretto.components.acp.declaration import make_acp
from stretto.types.budget import Budget, Pool
from stretto.types.enums import Effect
from stretto.types.errors import ComponentError
from stretto.types.ids import RunId, StepPath
from stretto.types.messages import Call as MadeCall, Request, RunInfo
from stretto.types.protocols import Component, Opens

COMPONENTS: Final = ROOT / "benchmarks" / "workflows" / "acp_components.py"

AT_ONCE: Final = 64

BLOCK: Final = 3_000
"""Calls of one side before the other has its turn: about half a second."""

PAIRS: Final = 12

SINGLES: Final = 300
"""Calls, one after the other, of one side before the other has its turn."""

SOAK: Final = "10m"

WARM_PART: Final = 0.1
"""Of the soak, before its memory is looked at for the first time."""

TARGETS: Final = {
    "http_vs_bare": ("at least", 0.6),
    "grpc_vs_bare": ("at least", 0.6),
    "http_server_vs_bare": ("at least", 0.6),
    "grpc_server_vs_bare": ("at least", 0.6),
    "http_added_p50_us": ("at most", 300.0),
    "grpc_added_p50_us": ("at most", 300.0),
    "soak_errors": ("at most", 0.0),
    "soak_rss_growth_mb": ("at most", 5.0),
}

INPUT: Final = {"action": "get_order_details", "order_id": "#W2378156"}

RUN: Final = "0192f1c0-6f6e-7c3a-9d5e-0a1b2c3d4e5f"

ENVELOPE: Final = {
    "protocol": "1.0",
    "runId": RUN,
    "stepPath": "talk[3]/executor",
    "attempt": 1,
    "component": {"name": "orders"},
    "remainingMs": 30_000,
    "effectKey": f"{RUN}/talk[3]/executor",
    "effect": "read",
    "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    "tenant": "default",
    "labels": {"task": "17", "split": "test"},
}

Call: TypeAlias = Callable[[], Awaitable[bool]]
"""One call; whether it was answered."""

Say: TypeAlias = Callable[[str], None]


def request_message() -> pb.ExecuteRequest:
    """What is asked over gRPC."""
    envelope = pb.Envelope(
        protocol="1.0",
        run_id=RUN,
        step_path=str(ENVELOPE["stepPath"]),
        attempt=1,
        component=pb.ComponentRef(name="orders"),
        remaining_ms=30_000,
        effect_key=str(ENVELOPE["effectKey"]),
        effect="read",
        traceparent=str(ENVELOPE["traceparent"]),
        tenant="default",
        labels={"task": "17", "split": "test"},
    )
    return pb.ExecuteRequest(envelope=envelope, input_json=json.dumps(INPUT))


@contextmanager
def process(command: list[str]) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """A server and the first line that it prints."""
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        try:
            yield running, running.stdout.readline().strip()
        finally:
            running.kill()


def bare(which: str, answer: bytes, folder: Path) -> list[str]:
    """The command of a bare server that answers these bytes."""
    file = folder / f"{which}.bin"
    file.write_bytes(answer)
    return [sys.executable, "-m", "benchmarks.acp_bare", which, str(file)]


def http_call(session: aiohttp.ClientSession, url: str) -> Call:
    """A POST by a bare aiohttp."""
    body = json.dumps({"envelope": ENVELOPE, "input": INPUT}).encode()
    headers = {"Content-Type": "application/json"}

    async def call() -> bool:
        async with session.post(f"{url}/acp/v1/execute", data=body, headers=headers) as response:
            await response.read()
            return response.status == 200

    return call


def grpc_call(channel: grpc.aio.Channel) -> Call:
    """A call by a bare grpc.aio."""
    execute = channel.unary_unary(
        "/acp.v1.Component/Execute",
        request_serializer=pb.ExecuteRequest.SerializeToString,
        response_deserializer=pb.ExecuteResponse.FromString,
    )
    request = request_message()

    async def call() -> bool:
        try:
            await execute(request)
        except grpc.RpcError:
            return False
        return True

    return call


@asynccontextmanager
async def component_at(url: str) -> AsyncIterator[Component]:
    """The component on a server, as a workflow would have it."""
    options = {"url": f"acp+{url}#orders", "max_connections": AT_ONCE}
    component = await asyncio.to_thread(make_acp, options, "orders", ROOT)
    assert isinstance(component, Opens)
    await component.open()
    try:
        yield component
    finally:
        await component.close()


def component_call(component: Component) -> Call:
    """A call of a component, as a step makes it."""
    now = asyncio.get_running_loop().time
    run = RunInfo(
        id=RunId(RUN),
        workflow_run_id="",
        workflow="shop",
        version="1",
        labels={"task": "17", "split": "test"},
        traceparent=str(ENVELOPE["traceparent"]),
    )
    path, pool = StepPath(str(ENVELOPE["stepPath"])), Pool()

    async def call() -> bool:
        deadline = now() + 30.0
        budget = Budget(pool, deadline, deadline)
        try:
            await component(Request({**INPUT}, MadeCall(run, path, 1, "", Effect.READ, deadline, budget)))
        except ComponentError:
            return False
        return True

    return call


async def block_s(call: Call, calls: int, at_once: int) -> float:
    """Seconds that so many calls take with so many under way. Raises RuntimeError when one fails."""
    left = iter(range(calls))

    async def caller() -> None:
        for _ in left:
            if not await call():
                raise RuntimeError("a call was not answered")

    began = time.perf_counter()
    await asyncio.gather(*(caller() for _ in range(at_once)))
    return time.perf_counter() - began


async def ratio(ours: Call, theirs: Call) -> tuple[float, float]:
    """Calls a second of ours as part of theirs, and ours."""
    for call in (ours, theirs):
        await block_s(call, BLOCK, AT_ONCE)
    pairs = [(await block_s(ours, BLOCK, AT_ONCE), await block_s(theirs, BLOCK, AT_ONCE)) for _ in range(PAIRS)]
    return median(b / a for a, b in pairs), BLOCK / median(a for a, _ in pairs)


async def singles_us(call: Call) -> float:
    """Median microseconds of calls, one after the other."""
    times = []
    for _ in range(SINGLES):
        began = time.perf_counter()
        await call()
        times.append(time.perf_counter() - began)
    return median(times) * 1e6


async def added_us(ours: Call, theirs: Call) -> float:
    """What a call of ours takes more."""
    return median([await singles_us(ours) - await singles_us(theirs) for _ in range(PAIRS)])


async def soak(call: Call, rate: float, seconds: float) -> int:
    """Call so often a second for so long; how many failed. A call that cannot begin in time is begun late."""
    failed = 0
    under_way: set[asyncio.Task[None]] = set()

    async def one() -> None:
        nonlocal failed
        try:
            failed += not await call()
        except (aiohttp.ClientError, OSError, TimeoutError):
            failed += 1

    began, begun = time.perf_counter(), 0
    while (passed := time.perf_counter() - began) < seconds:
        while begun < passed * rate and len(under_way) < AT_ONCE:
            task = asyncio.ensure_future(one())
            under_way.add(task)
            task.add_done_callback(under_way.discard)
            begun += 1
        await asyncio.sleep(0.002)
    await asyncio.gather(*under_way)
    return failed


def rss_mb(pid: int) -> float:
    """Resident memory of a process (proc(5), status)."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) / 1024.0


async def soaked(calls: list[tuple[Call, float]], pid: int, seconds: float) -> tuple[int, float]:
    """Failures and growth in MB, each call at half of its capacity for its part of the time."""
    errors, started = 0, 0.0
    for part in (WARM_PART, 1.0 - WARM_PART):
        for call, capacity in calls:
            errors += await soak(call, capacity / 2.0, seconds * part / len(calls))
        if not started:
            started = rss_mb(pid)
    return errors, rss_mb(pid) - started


async def measure(folder: Path, soak_s: float, tell: Callable[[str, float], None], say: Say) -> None:
    """Every figure."""
    command = [
        sys.executable,
        "-m",
        "stretto",
        "acp",
        "serve",
        str(COMPONENTS),
        "--http",
        ":0",
        "--grpc",
        ":0",
        "--json",
    ]
    with process(command) as (running, line):
        served = json.loads(line)
        async with (
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session,
            grpc.aio.insecure_channel(served["grpc"].removeprefix("grpc://")) as channel,
            AsyncExitStack() as stack,
        ):
            answers = {"http": await http_answer(session, served["http"]), "grpc": await grpc_answer(channel)}
            capacities: list[tuple[Call, float]] = []
            for which, answer in answers.items():
                ours = component_call(await stack.enter_async_context(component_at(served[which])))
                server = http_call(session, served["http"]) if which == "http" else grpc_call(channel)
                with process(bare(which, answer, folder)) as (_, address):
                    async with grpc.aio.insecure_channel(address) as other:
                        theirs = http_call(session, address) if which == "http" else grpc_call(other)
                        part, rate = await ratio(ours, theirs)
                        say(f"{which}: {rate:,.0f} calls a second, {rate / part:,.0f} bare")
                        tell(f"{which}_vs_bare", part)
                        tell(f"{which}_server_vs_bare", (await ratio(server, theirs))[0])
                        tell(f"{which}_added_p50_us", await added_us(ours, theirs))
                        capacities.append((ours, rate))
            errors, grown = await soaked(capacities, running.pid, soak_s)
            tell("soak_errors", errors)
            tell("soak_rss_growth_mb", grown)


async def http_answer(session: aiohttp.ClientSession, url: str) -> bytes:
    """The body that ours answers."""
    async with session.post(f"{url}/acp/v1/execute", json={"envelope": ENVELOPE, "input": INPUT}) as response:
        return await response.read()


async def grpc_answer(channel: grpc.aio.Channel) -> bytes:
    """The message that ours answers."""
    execute = channel.unary_unary(
        "/acp.v1.Component/Execute",
        request_serializer=pb.ExecuteRequest.SerializeToString,
        response_deserializer=pb.ExecuteResponse.FromString,
    )
    response: pb.ExecuteResponse = await execute(request_message())
    return response.SerializeToString()


def seconds_of(text: str) -> float:
    """``90s``, ``10m``."""
    return float(text[:-1]) * {"s": 1.0, "m": 60.0}[text[-1]]


def table_line(key: str, value: float) -> str:
    """A row of the table: the value, what is aimed at, and whether it is met."""
    how, target = TARGETS[key]
    met = value <= target if how == "at most" else value >= target
    return f"{key:26} {value:9g}   {how} {target:g}   {'met' if met else 'NOT MET'}"


def main() -> int:
    parser = argparse.ArgumentParser(description="What the protocol costs, and whether a server stays as it is.")
    parser.add_argument("--soak", default=SOAK, type=seconds_of, metavar="TIME", help="30s or 10m")
    found: dict[str, float] = {}

    def say(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def tell(key: str, value: float) -> None:
        found[key] = float(f"{value:.4g}")
        say(table_line(key, found[key]))

    os.environ["STRETTO_ACP_ALLOW"] = "127.0.0.1:*"
    with (
        tempfile.TemporaryDirectory(prefix="stretto-bench-") as folder,
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        runner.run(measure(Path(folder), parser.parse_args().soak, tell, say))
    print(json.dumps({**found, "missing": {key: "it was not measured" for key in TARGETS if key not in found}}))
    return 0 if found.keys() == TARGETS.keys() else 1


if __name__ == "__main__":
    sys.exit(main())

"""`make bench-gateway`: milliseconds to the first byte that the gateway adds, and calls a second with 64 at once.

Each figure stands beside that of a proxy that only copies, and both are taken in turn with the bare server's: the
machine's moods meet all three alike. One JSON line last.
"""

import asyncio
import json
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Final

import aiohttp

ROUNDS: Final = 6
BLOCK: Final = 100
"""Calls of one in a row, then the next one's: so each is measured warm, and the moods of the machine meet all."""

AT_ONCE: Final = 64
CALLS: Final = 2_000
TURNS: Final = 20
"""Calls of one run."""

MESSAGE: Final = {"role": "user", "content": "word " * 100}
SIZES: Final = {"short": 1, "long": 50}
"""Messages of a call: half a kilobyte, and 25."""


@contextmanager
def processes() -> Iterator[dict[str, str]]:
    """The model server, the proxy and the gateway; their addresses."""
    ports = [_free_port() for _ in range(3)]
    model, proxy, gateway = (f"http://127.0.0.1:{port}" for port in ports)
    stretto = str(Path(sys.executable).with_name("stretto"))
    servers = [sys.executable, "-m", "benchmarks.gateway.servers"]
    with tempfile.TemporaryDirectory() as folder:
        store = str(Path(folder) / "runs.db")
        options = ["--upstream", f"{model}/v1", "--store", store, "--port", str(ports[2]), "--max-runs", "100000"]
        begun = [
            subprocess.Popen([*servers, "model", str(ports[0])]),
            subprocess.Popen([*servers, "proxy", str(ports[1]), model]),
            subprocess.Popen([stretto, "gateway", *options], stderr=subprocess.DEVNULL),
        ]
        try:
            yield {"bare": model, "proxy": proxy, "gateway": gateway}
        finally:
            for each in begun:
                each.terminate()
                each.wait()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port


async def first_byte_ms(session: aiohttp.ClientSession, url: str, body: dict[str, Any]) -> float:
    began = time.perf_counter()
    async with session.post(url, json=body) as response:
        await response.content.readany()
        took_ms = (time.perf_counter() - began) * 1000.0
        await response.read()
        response.raise_for_status()
    return took_ms


def path(system: str, number: int, case: str) -> str:
    """Where a call goes; at the gateway one run has so many of them."""
    key = f"/run/{case}-{number // TURNS}" if system == "gateway" else ""
    return f"{key}/v1/chat/completions"


async def ready(session: aiohttp.ClientSession, urls: dict[str, str]) -> None:
    for system, url in urls.items():
        for _ in range(200):
            try:
                await first_byte_ms(session, url + path(system, 0, "warm"), {"model": "m", "messages": [MESSAGE]})
                break
            except aiohttp.ClientError:
                await asyncio.sleep(0.05)


async def added(
    session: aiohttp.ClientSession, urls: dict[str, str], case: str, body: dict[str, Any]
) -> dict[str, float]:
    """Milliseconds that proxy and gateway add at the median, the gateway at the ninetieth percentile too."""
    took: dict[str, list[float]] = {system: [] for system in urls}
    for begun in range(0, ROUNDS * BLOCK, BLOCK):
        for system, url in urls.items():
            for number in range(begun, begun + BLOCK):
                took[system].append(await first_byte_ms(session, url + path(system, number, case), body))
    bare, proxy, gateway = (took[system] for system in ("bare", "proxy", "gateway"))
    return {
        "proxy_added_p50_ms": round(median(proxy) - median(bare), 3),
        "added_p50_ms": round(median(gateway) - median(bare), 3),
        "added_p90_ms": round(quantiles(gateway, n=10)[8] - quantiles(bare, n=10)[8], 3),
    }


async def calls_per_s(session: aiohttp.ClientSession, url: str, system: str) -> float:
    """With so many calls at once, as fast as they come."""
    numbers = iter(range(CALLS))
    body = {"model": "m", "messages": [MESSAGE]}

    async def work() -> None:
        for number in numbers:
            await first_byte_ms(session, url + path(system, number, "rate"), body)

    began = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(AT_ONCE)))
    return CALLS / (time.perf_counter() - began)


async def measure(urls: dict[str, str]) -> dict[str, Any]:
    findings: dict[str, Any] = {}
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=AT_ONCE)) as session:
        await ready(session, urls)
        for size, count in SIZES.items():
            for how in ("whole", "stream"):
                case, body = f"{size}_{how}", {"model": "m", "messages": [MESSAGE] * count, "stream": how == "stream"}
                findings[case] = await added(session, urls, case, body)
                print(f"{case:14} {findings[case]}", file=sys.stderr, flush=True)
        rates = {system: await calls_per_s(session, url, system) for system, url in urls.items()}
    findings["calls_per_s"] = {system: round(rate) for system, rate in rates.items()}
    findings["rate_vs_proxy"] = round(rates["gateway"] / rates["proxy"], 3)
    return findings


if __name__ == "__main__":
    with processes() as addresses:
        print(json.dumps(asyncio.run(measure(addresses))))

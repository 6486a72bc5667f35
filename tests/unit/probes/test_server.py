"""A model server's queue, from metrics that a real HTTP server serves."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from aiohttp import web

from stretto.probes.exposition import server_values
from stretto.probes.probe import ProbeError
from stretto.probes.server import MAX_BODY_BYTES, ServerProbe
from stretto.spec.resources_model import ServerKind, ServerSpec
from stretto.types.errors import MissingExtraError

RECORDED = Path(__file__).parent / "recorded"
VLLM, SGLANG = (RECORDED / "vllm.txt").read_text(), (RECORDED / "sglang.txt").read_text()

Serve = Callable[[Callable[[], web.StreamResponse]], Awaitable[str]]


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    runners = []

    async def served(answer: Callable[[], web.StreamResponse]) -> str:
        async def handle(_request: web.Request) -> web.StreamResponse:
            return answer()

        app = web.Application()
        app.router.add_get("/metrics", handle)
        runner = web.AppRunner(app)
        runners.append(runner)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        return f"http://127.0.0.1:{runner.addresses[0][1]}/metrics"

    yield served
    for runner in runners:
        await runner.cleanup()


@pytest.mark.parametrize(
    ("text", "engine", "expected"),
    [
        (VLLM, ServerKind.VLLM, {"queue_length": 9, "running": 16, "cache_used_percent": 81.25}),
        (VLLM, None, {"queue_length": 9, "running": 16, "cache_used_percent": 81.25}),
        (SGLANG, ServerKind.SGLANG, {"queue_length": 2826, "running": 161, "cache_used_percent": 28.000000000000004}),
        (SGLANG, None, {"queue_length": 2826, "running": 161, "cache_used_percent": 28.000000000000004}),
    ],
)
async def test_it_tells_what_waits_and_what_runs(
    serve: Serve, text: str, engine: ServerKind | None, expected: dict[str, float]
) -> None:
    probe = ServerProbe("planner", ServerSpec(url=await serve(lambda: web.Response(text=text)), engine=engine))
    assert await probe.read() == expected
    assert await probe.read() == expected
    await probe.close()


def test_the_older_name_of_the_cache_is_read_too() -> None:
    text = VLLM.replace("kv_cache_usage_perc", "gpu_cache_usage_perc")
    assert server_values(text, None)["cache_used_percent"] == 81.25


def test_engines_beside_each_other_are_added_up_and_processes_of_one_are_not() -> None:
    text = "\n".join(
        f'sglang:num_queue_reqs{{dp_rank="{dp}",model_name="m",tp_rank="{tp}"}} {waiting}'
        for dp, tp, waiting in ((0, 0, 3.0), (0, 1, 3.0), (1, 0, 4.0), (1, 1, 4.0))
    )
    assert server_values(text, None) == {"queue_length": 7, "running": None, "cache_used_percent": None}
    two = 'vllm:kv_cache_usage_perc{engine="0"} 0.25\nvllm:kv_cache_usage_perc{engine="1"} 0.5\n'
    assert server_values(two, None)["cache_used_percent"] == 50.0


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (
            lambda: web.Response(text="# nothing\n"),
            "no vllm:num_requests_waiting or sglang:num_queue_reqs",
        ),
        (lambda: web.Response(status=503, text="busy"), "answered 503"),
        (lambda: web.Response(status=302, headers={"Location": "/elsewhere"}), "answered 302"),
        (lambda: web.Response(body=b"x" * (MAX_BODY_BYTES + 1)), "sent more than 4,194,304 bytes"),
    ],
)
async def test_what_a_server_answers_in_place_of_metrics_is_told(
    serve: Serve, answer: Callable[[], web.Response], why: str
) -> None:
    probe = ServerProbe("planner", ServerSpec(url=await serve(answer)))
    with pytest.raises(ProbeError, match=why):
        await probe.read()
    await probe.close()


async def test_metrics_that_cannot_be_parsed_raise() -> None:
    with pytest.raises(ValueError, match=r"."):
        server_values('vllm:num_requests_waiting{engine="0" nine\n', None)


async def test_a_server_that_is_not_there_is_told_by_its_address() -> None:
    probe = ServerProbe("planner", ServerSpec(url="http://127.0.0.1:9/metrics"))
    with pytest.raises(ProbeError, match=r"127\.0\.0\.1:9/metrics cannot be reached: "):
        await probe.read()
    await probe.close()


def test_without_the_package_it_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stretto.probes.server.find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"\[probes\]"):
        ServerProbe("planner", ServerSpec(url="http://127.0.0.1:9/metrics"))

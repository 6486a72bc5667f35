"""A gateway that is killed again and again under agents that call on: what was answered is on the record.

Kills come after so many answers, not after so much time. What may be missing is known without a clock too: an agent's
last answer before its connection broke, which was still to be written behind.
"""

import asyncio
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import openai
import orjson
import pytest
from aiohttp import web
from openai import AsyncOpenAI

from stretto.record.conversation import request_at
from stretto.store.sqlite import Store
from tests.e2e.test_gateway import Process
from tests.unit.serve.gateway.model_server import chunk

pytestmark = pytest.mark.ci

AGENTS = 5
TURNS = 18
TURNS_OF_A_RUN = 6
KILL_AFTER = (15, 50)
"""Answers, of all agents together."""


class Model:
    """Answers no two calls alike, whole or in pieces; refuses some, and breaks others off."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._count = 0

    async def answer(self, request: web.Request) -> web.StreamResponse:
        asked = await request.json()
        self._count += 1
        mood = self._random.random()
        if mood < 0.1:
            return web.json_response({"error": {"message": "busy"}}, status=429)
        if mood < 0.15 and request.transport is not None:
            request.transport.abort()
        return await self._stream(request) if asked.get("stream") else self._whole()

    def _choice(self) -> tuple[str, dict[str, Any], list[int]]:
        ids = [self._count, self._count + 1]
        tokens = [{"token": "t", "logprob": -0.5 * each, "bytes": [], "top_logprobs": []} for each in ids]
        return f"answer {self._count}", {"content": tokens}, ids

    def _whole(self) -> web.Response:
        text, logprobs, ids = self._choice()
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": logprobs, "token_ids": ids}
        head = {"id": f"c{ids[0]}", "object": "chat.completion", "created": 1, "model": "m"}
        return web.json_response({**head, "choices": [choice]})

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        text, logprobs, ids = self._choice()
        pieces = [
            chunk({"content": text}, logprobs=logprobs, token_ids=ids),
            chunk({}, finish_reason="stop"),
        ]
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for piece in pieces:
            await response.write(b"data: " + orjson.dumps({**piece, "id": f"c{ids[0]}"}) + b"\n\n")
        await response.write(b"data: [DONE]\n\n")
        return response


@dataclass
class World:
    """The gateway that runs at the moment, and what its agents were answered."""

    upstream: str
    folder: Path
    url: str = ""
    up: asyncio.Event = field(default_factory=asyncio.Event)
    answers: dict[str, tuple[str, list[Any], str]] = field(default_factory=dict)
    """Key, messages and text by the answer's id."""
    at_risk: set[str] = field(default_factory=set)
    """Last answers of agents before a gateway was killed."""
    kills: int = 0
    counted: asyncio.Condition = field(default_factory=asyncio.Condition)

    def note_kills(self, seen: int, last: str) -> int:
        """How many there were by now; an agent that had seen fewer may have had its last answer just before one, also
        where it saw no connection break, since the next gateway was there already."""
        if seen != self.kills:
            self.at_risk.add(last)
        return self.kills

    async def start(self) -> Process:
        process = await asyncio.to_thread(Process, self.upstream, self.folder)
        self.url = process.url
        self.up.set()
        return process


@pytest.fixture
async def upstream() -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_post("/v1/chat/completions", Model(seed=7).answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    await runner.cleanup()


async def asked(world: World, key: str, messages: list[Any], *, stream: bool) -> tuple[str, str]:
    """Id and text of an answer."""
    async with AsyncOpenAI(base_url=f"{world.url}/run/{key}/v1", api_key="none", max_retries=0) as client:
        if not stream:
            whole = await client.chat.completions.create(model="m", messages=messages)
            return whole.id, whole.choices[0].message.content or ""
        pieces = await client.chat.completions.create(model="m", messages=messages, stream=True)
        text, answer_id, is_whole = "", "", False
        async for piece in pieces:
            answer_id = piece.id
            text += "".join(choice.delta.content or "" for choice in piece.choices)
            is_whole |= any(choice.finish_reason for choice in piece.choices)
        if not is_whole:
            raise openai.APIConnectionError(message="it broke off", request=pieces.response.request)
        return answer_id, text


async def agent(world: World, number: int) -> None:
    """So many turns, in runs of some, each asked until it is answered."""
    last, kills, random = "", 0, Random(number)
    for turn in range(TURNS):
        if turn % TURNS_OF_A_RUN == 0:
            key, messages = f"k{number}-{turn}", [{"role": "user", "content": f"{number}: begin"}]
        while True:
            await world.up.wait()
            kills = world.note_kills(kills, last)
            try:
                answer_id, text = await asked(world, key, messages, stream=random.random() < 0.5)
                break
            except openai.APIConnectionError:  # the gateway is gone, or going
                pass
            except openai.APIStatusError as error:
                if error.status_code not in (429, 502):
                    raise
            except openai.APIError:  # told within a stream
                pass
            await asyncio.sleep(0)
        last = answer_id
        async with world.counted:
            world.answers[answer_id] = (key, messages, text)
            world.counted.notify_all()
        messages = [*messages, {"role": "assistant", "content": text}, {"role": "user", "content": f"turn {turn}"}]
    world.note_kills(kills, last)


async def killer(world: World, process: Process) -> Process:
    """Kill the gateway after so many answers, and start the next one."""
    for count in KILL_AFTER:
        async with world.counted:
            await world.counted.wait_for(lambda: len(world.answers) >= count)  # noqa: B023  # awaited at once
        world.up.clear()
        world.kills += 1
        await asyncio.to_thread(process.end, signal.SIGKILL)
        process = await world.start()
    return process


async def test_what_agents_were_answered_is_recorded_however_often_the_gateway_is_killed(
    upstream: str, tmp_path: Path
) -> None:
    world = World(upstream, tmp_path)
    first = await world.start()
    killing = asyncio.ensure_future(killer(world, first))
    await asyncio.gather(*(agent(world, number) for number in range(AGENTS)))
    code, _ = await asyncio.to_thread((await killing).end, signal.SIGTERM)
    assert code == 0
    with Store(tmp_path / "runs.db") as store:
        runs = [store.get(summary.id) for summary in store.list()]
        assert (store.losses(), store.stats().lost) == ([], 0)
    kept = {
        step.evidence["response_id"]: (run, step)
        for run in runs
        for step in run.steps
        if step.component and step.status == "ok"
    }
    assert len(runs) == AGENTS * TURNS // TURNS_OF_A_RUN
    assert len(world.answers) == AGENTS * TURNS
    assert set(world.answers) - set(kept) <= world.at_risk
    for answer_id, (key, messages, text) in world.answers.items():
        if answer_id in kept:
            run, step = kept[answer_id]
            assert run.labels["gateway_key"] == key
            assert request_at(run, step.path)["messages"] == messages
            assert step.output_value["text"] == text
            (call,) = step.model_calls
            assert call.completion_ids is not None
            assert call.completion_ids.tolist() == [int(answer_id[1:]), int(answer_id[1:]) + 1]

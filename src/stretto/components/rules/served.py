"""Asks rules that run in a process of their own, within a time limit; says why when they do not answer."""

import asyncio
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

import aiohttp
import msgspec
import orjson

from stretto.components.waiting import Wait
from stretto.components.web.waiting import connections, telling_waits
from stretto.types.ids import Digest
from stretto.types.json import JsonObject
from stretto.types.os_error import reason_of

DECIDE: Final = "/v1/decide"
"""What is posted to, below the served rules' address."""

OTHER_TRAFFIC: Final = "X-Stretto-Other-Traffic"
"""Header of what no customer waits for: an exercise, a replay, a training. It is answered, and counted apart."""

MAX_ANSWER_BYTES: Final = 1 << 20

MAX_CONNECTIONS: Final = 100
"""At once; the client's own default."""

PAUSE_S: Final = 5.0
"""After a failure the served rules are not asked for so long: a server that hangs must not cost every run its limit."""

FAIR_S: Final = 0.05
"""Who waits less than this tells nothing of the server: it was the asker who had no time left."""

_REFUSED: Final = frozenset(
    {HTTPStatus.BAD_REQUEST, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.UNPROCESSABLE_ENTITY}
)
"""This input is refused; the next may be answered."""


class Silence(msgspec.Struct, frozen=True, kw_only=True):
    """Why the served rules gave no answer."""

    why: str
    is_ill: bool = True
    """They would not have answered another input either, and are left alone for `PAUSE_S`."""


class ServedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What the served rules answered."""

    output: JsonObject
    digest: Digest
    """Of the rules that the server has."""
    rows: tuple[JsonObject, ...] = ()


_ANSWER: Final = msgspec.json.Decoder(ServedAnswer)


class ServedRules:
    """A client of one server, in one event loop."""

    def __init__(self, url: str, limit_s: float) -> None:
        self._url = url.rstrip("/") + DECIDE
        self._limit_s = limit_s
        self.loop = asyncio.get_running_loop()
        self._not_before = 0.0
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=MAX_CONNECTIONS),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None),
            trace_configs=[telling_waits(connections(MAX_CONNECTIONS, "Bound the calls at once by a bulkhead"))],
        )

    async def ask(
        self, given: JsonObject, headers: Mapping[str, str], wait: Wait, deadline: float | None = None
    ) -> ServedAnswer | Silence:
        """The answer, or why there is none. Only cancellation is raised; a wait for a connection is told.

        With a deadline, in event-loop time, half of what is left is not exceeded: the copy in this process is to
        answer within the rest.
        """
        now = self.loop.time()
        limit_s = self._limit_s if deadline is None else min(self._limit_s, (deadline - now) / 2)
        if now < self._not_before:
            return Silence(why=f"not asked: it failed less than {PAUSE_S:g} s ago", is_ill=False)
        answer = await self._within(limit_s, given, headers, wait)
        if isinstance(answer, Silence) and answer.is_ill:
            self._not_before = self.loop.time() + PAUSE_S
        return answer

    async def _within(
        self, limit_s: float, given: JsonObject, headers: Mapping[str, str], wait: Wait
    ) -> ServedAnswer | Silence:
        try:
            async with asyncio.timeout(limit_s):
                return await self._post(given, headers, wait)
        except TimeoutError:
            is_ill = limit_s >= min(self._limit_s, FAIR_S)
            return Silence(why=f"no answer within {max(0.0, limit_s) * 1000:.3g} ms", is_ill=is_ill)
        except aiohttp.ClientConnectorError as error:
            return Silence(why=f"unreachable: {reason_of(error.os_error)}")
        except aiohttp.ClientError as error:
            return Silence(why=f"unreachable: {error}")
        except (orjson.JSONEncodeError, ValueError) as error:  # what JSON, or a header, cannot hold
            return Silence(why=f"it cannot be asked about this: {error}", is_ill=False)

    async def close(self) -> None:
        """Drop the connections."""
        await self._session.close()

    async def _post(self, given: JsonObject, headers: Mapping[str, str], wait: Wait) -> ServedAnswer | Silence:
        body = orjson.dumps({"input": given})
        sent = {"Content-Type": "application/json", **headers}
        async with self._session.post(
            self._url, data=body, headers=sent, allow_redirects=False, trace_request_ctx=wait
        ) as response:
            content = await response.content.read(MAX_ANSWER_BYTES + 1)
            while not response.content.at_eof() and len(content) <= MAX_ANSWER_BYTES:
                content += await response.content.read(MAX_ANSWER_BYTES + 1)
        if response.status != HTTPStatus.OK:
            is_ill = response.status not in _REFUSED
            return Silence(why=f"it answered with status {response.status}", is_ill=is_ill)
        if len(content) > MAX_ANSWER_BYTES:
            return Silence(why=f"its answer is larger than {MAX_ANSWER_BYTES >> 20} MiB")
        try:
            return _ANSWER.decode(content)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            return Silence(why=f"its answer cannot be read: {error}")

"""A server of the protocol in a thread of its own, over HTTP and gRPC, whose components pull gradients back."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from stretto.acp import messages as m
from stretto.acp.failure import AcpError
from stretto.acp.names import Verb
from stretto.acp.server import Desk
from stretto.types.protocols import Component
from tests.unit.components.acp.standin import Answer, StandIn

Change: TypeAlias = Callable[[Verb, Any, Any], Answer]
"""What becomes of an answer, by the verb and the request."""


async def _at_once(_: Verb) -> None:
    pass


class Elsewhere(StandIn):
    """Answers as its components do, unless `change` makes something else of it."""

    def __init__(self, *components: Component) -> None:
        super().__init__()
        self.components = components
        self.change: Change = lambda _verb, _request, answer: answer
        self.before: Callable[[Verb], Awaitable[object]] = _at_once
        self._desk: Desk | None = None

    def lie(self, verb: Verb, lie: Callable[[Any], Answer]) -> None:
        """Make something else of its answers to a verb from now on."""
        self.change = lambda asked, _request, answer: lie(answer) if asked is verb else answer

    def times(self, verb: Verb) -> int:
        """How often it was asked so."""
        return sum(asked is verb for asked, _ in self.asked)

    async def _answer(self, verb: Verb, request: Any, headers: dict[str, str]) -> Answer:
        if self._desk is None:
            self._desk = Desk(self.components)
        self.asked.append((verb, request))
        await self.before(verb)
        now = asyncio.get_running_loop().time()
        try:
            answer: m.Message
            if verb is Verb.DESCRIBE:
                answer = self._desk.describe(request)
            elif verb is Verb.VJP:
                answer = await self._desk.vjp(request, now)
            else:
                answer = (await self._desk.call(verb, request, now)).response(as_text=bool(request.input_json))
        except AcpError as error:
            return error
        return self.change(verb, request, answer)

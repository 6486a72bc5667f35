"""A desk over components that do as a test says, asked without a transport."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from stretto.acp import messages as m
from stretto.acp.failure import AcpError, Failure
from stretto.acp.names import Verb
from stretto.acp.server import Answer, Desk
from stretto.types.card import Card
from stretto.types.enums import Effect
from stretto.types.ids import Digest
from stretto.types.messages import Request, Response

Does = Callable[[Request], Awaitable[object]]

WRITES = {"*": Effect.WRITE}


class Doing:
    """A component that does what it is given, and counts."""

    def __init__(self, does: Does, **card: Any) -> None:
        self.card = Card(**{"name": "desk", "version": "1", "kind": "test", "digest": Digest("0" * 64), **card})
        self.does = does
        self.asked: list[Request] = []

    async def __call__(self, request: Request) -> Response:
        self.asked.append(request)
        output = await self.does(request)
        return output if isinstance(output, Response) else Response(output=output)


class Confirming(Doing):
    """One that can be asked what became of a write: it says `said`, or raises it."""

    said: object = None

    def __init__(self, does: Does, **card: Any) -> None:
        super().__init__(does, **{"confirms": True, **card})

    async def confirm(self, request: Request) -> Response | None:
        if isinstance(self.said, BaseException):
            raise self.said
        return None if self.said is None else Response(output=self.said)


async def at_once(request: Request) -> object:
    """Says what it was asked."""
    return {"said": request.input}


def request(value: dict[str, Any] | None = None, *, confirm_only: bool = False, **envelope: Any) -> m.CallRequest:
    """One in which nothing is missing."""
    whole = m.Envelope(
        **{"protocol": "1.0", "run_id": "r", "step_path": "s", "attempt": 1, "effect_key": "r/s", **envelope}
    )
    return m.CallRequest(envelope=whole, input=value or {"n": 1}, confirm_only=confirm_only)


async def ask(desk: Desk, asked: m.CallRequest, verb: Verb = Verb.EXECUTE) -> Answer:
    """The answer; the call arrives now."""
    return await desk.call(verb, asked, asyncio.get_running_loop().time())


async def refused(desk: Desk, asked: m.CallRequest, verb: Verb = Verb.EXECUTE) -> Failure:
    """The failure of a call that must fail."""
    with pytest.raises(AcpError) as raised:
        await ask(desk, asked, verb)
    return raised.value.failure


def output(answer: Answer) -> Any:
    """What the component said."""
    return msgspec.json.decode(answer.output)

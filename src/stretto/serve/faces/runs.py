"""Workflows asked in Stretto's own words: ``POST /v1/workflows/NAME/runs``."""

import logging
import re
from typing import Annotated, ClassVar, Final

import msgspec
import orjson

from stretto.acp.failure import AcpError, Failure
from stretto.acp.messages import MAX_UINT32
from stretto.acp.server import Answer
from stretto.acp.server.refusal import malformed
from stretto.acp.server.tokens import Tokens
from stretto.serve.acp_body import Receive
from stretto.serve.acp_guard import CLIENT, Client
from stretto.serve.acp_http import Reply, Scope, Send, not_by, problem_reply
from stretto.serve.faces.answered import EVIDENCE
from stretto.serve.faces.asking import Ask, Asking
from stretto.serve.faces.heads import Heads, heads_in
from stretto.serve.faces.receiving import received
from stretto.types.arguments import INT64_MAX, INT64_MIN
from stretto.types.errors import Code
from stretto.types.json import Json, JsonObject

_PATH: Final = re.compile(r"/v1/workflows/([^/]+)/runs")

_log: Final = logging.getLogger(__name__)


class RunRequestBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a run is asked for."""

    input: dict[str, Json]
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    baggage: dict[str, str] = msgspec.field(default_factory=dict)
    seed: Annotated[int, msgspec.Meta(ge=INT64_MIN, le=INT64_MAX)] | None = None
    deadline_ms: Annotated[int, msgspec.Meta(ge=0)] | None = None


class RunsFace:
    """The ASGI application for these paths."""

    PATHS: ClassVar = "POST /v1/workflows/NAME/runs"

    def __init__(self, asking: Asking, tokens: Tokens | None) -> None:
        self._asking = asking
        self._tokens = tokens

    def serves(self, path: str) -> bool:
        """Whether a path is one of these."""
        return _PATH.fullmatch(path) is not None

    async def __call__(self, scope: Scope, receive: Receive, _: Send) -> None:
        """Answer, whatever happens; nothing where the client hung up."""
        try:
            reply = await self._answer(scope, receive)
        except AcpError as error:
            reply = problem_reply(error.failure)
        except ConnectionError:  # nobody is there to be answered
            return
        except Exception:  # noqa: BLE001  # the boundary: nothing of it goes over the wire
            _log.exception("a run was asked for, and the server failed")
            reply = problem_reply(Failure(code=Code.INTERNAL, message="the server failed; its log says how"))
        client: Client = scope[CLIENT]
        client.reply(reply.status, reply.headers, reply.body)

    async def _answer(self, scope: Scope, receive: Receive) -> Reply:
        headers = dict(scope["headers"])
        if self._tokens is not None:
            self._tokens.hold(headers.get(b"authorization"))
        if scope["method"] != "POST":
            return not_by(scope, "POST")
        async with received(scope, receive, self._asking.desk.limits) as body:
            answer = await self._asking.answer(_ask(scope["path"], body, heads_in(scope["headers"])))
        return Reply(200, ((b"content-type", b"application/json"),), orjson.dumps(_told(answer)))


def _ask(path: str, body: bytes, heads: Heads) -> Ask:
    found = _PATH.fullmatch(path)
    try:
        asked = msgspec.json.decode(body, type=RunRequestBody)
    except (msgspec.DecodeError, RecursionError) as error:
        raise malformed(f"the body asks for no run: {error}") from error
    return Ask(
        workflow="" if found is None else found[1],
        input=asked.input,
        face="runs",
        heads=heads,
        labels=asked.labels,
        baggage=asked.baggage,
        seed=asked.seed,
        remaining_ms=None if asked.deadline_ms is None else min(asked.deadline_ms, MAX_UINT32),
    )


def _told(answer: Answer) -> JsonObject:
    result = answer.result
    kept = result.evidence.get(EVIDENCE)
    return {
        "run_id": result.run_id,
        "status": kept.get("status") if isinstance(kept, dict) else None,
        "output": orjson.loads(answer.output),
        "replayed": result.replayed,
        "usage": msgspec.to_builtins(result.usage),
    }

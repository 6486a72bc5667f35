"""Why runs went as they did, over HTTP: for programs as JSON, for people as pages."""

import asyncio
import logging
import re
from collections.abc import Sequence
from typing import ClassVar, Final
from urllib.parse import parse_qsl

import msgspec

from stretto.acp.failure import AcpError, Failure
from stretto.acp.names import Reason
from stretto.acp.server.refusal import malformed, refusal
from stretto.acp.server.tokens import Tokens
from stretto.learn.explain.explained import RunExplained
from stretto.learn.explain.fields import MOST
from stretto.learn.explain.page import page
from stretto.learn.explain.run import MOST_TRIED, explain
from stretto.record.model import Run
from stretto.runtime.finding import LAST, find_run
from stretto.runtime.workflow import Workflow
from stretto.serve.acp_body import Receive
from stretto.serve.acp_guard import CLIENT, Client
from stretto.serve.acp_http import Reply, Scope, Send, not_by, problem_reply
from stretto.serve.faces.browsers import hold_reader, hold_to_own_name, html_reply, refused_reader
from stretto.serve.faces.receiving import while_it_waits
from stretto.serve.faces.runs_page import LINK, LISTED, runs_page
from stretto.store.reading import RunSummary
from stretto.types.errors import Code, StoreError, UsageError

PAGES: Final = "/runs"

_PAGE: Final = re.compile(r"/runs/([^/]+)/explanation")

_RECORD: Final = re.compile(r"/v1/workflows/([^/]+)/runs/([^/]+)/explanation")

_READING: Final = frozenset({"GET", "HEAD"})

MOST_WAITING: Final = 8
"""Readers at once, one of whose runs is explained: each explanation makes hundreds of replays."""

AGAIN_MS: Final = 2_000

_log: Final = logging.getLogger(__name__)


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked for beside the run."""

    step: str | None = None
    tried: int = MOST


class ExplainFace:
    """The ASGI application for these paths. It shows all runs of its workflows to whoever may call."""

    PATHS: ClassVar = "GET /runs, /runs/RUN/explanation, /v1/workflows/NAME/runs/RUN/explanation"

    def __init__(self, workflows: Sequence[Workflow], tokens: Tokens | None, *, max_s: float, own_only: bool) -> None:
        """`own_only` answers only whoever calls this machine by a name of its own."""
        self._workflows = {workflow.name: workflow for workflow in workflows}
        self._tokens = tokens
        self._max_s = max_s
        self._own_only = own_only
        self._one = asyncio.Lock()
        self._under_way: set[asyncio.Task[RunExplained]] = set()

    def serves(self, path: str) -> bool:
        """Whether a path is one of these."""
        return path == PAGES or _PAGE.fullmatch(path) is not None or _RECORD.fullmatch(path) is not None

    async def __call__(self, scope: Scope, _: Receive, __: Send) -> None:
        """Answer, whatever happens; nothing where the client hung up."""
        client: Client = scope[CLIENT]
        is_page = _RECORD.fullmatch(scope["path"]) is None
        try:
            async with while_it_waits(client):
                reply = await self._answer(scope)
        except AcpError as error:
            reply = refused_reader(error.failure) if is_page else problem_reply(error.failure)
        except ConnectionError:  # nobody is there to be answered
            return
        except Exception:  # noqa: BLE001  # the boundary: nothing of it goes over the wire
            _log.exception("an explanation was asked for, and the server failed")
            reply = problem_reply(Failure(code=Code.INTERNAL, message="the server failed; its log says how"))
        client.reply(reply.status, reply.headers, reply.body)

    async def _answer(self, scope: Scope) -> Reply:
        path = scope["path"]
        if self._own_only:
            hold_to_own_name(scope["headers"])
        record, shown = _RECORD.fullmatch(path), _PAGE.fullmatch(path)
        authorization = dict(scope["headers"]).get(b"authorization")
        if record is not None and self._tokens is not None:
            self._tokens.hold(authorization)
        elif record is None:
            hold_reader(self._tokens, authorization)
        if scope["method"] not in _READING:
            return not_by(scope, "GET, HEAD")
        wanted = _wanted(scope["query_string"])
        if record is not None:
            told = await self._explained(record[2], wanted, of=record[1])
            return Reply(200, ((b"content-type", b"application/json"),), msgspec.json.encode(told))
        if shown is not None:
            return html_reply(page(await self._explained(shown[1], wanted), links=LINK))
        return html_reply(await self._listed())

    async def _listed(self) -> str:
        return runs_page(await self._newest(list(self._workflows), LISTED))

    async def _newest(self, names: Sequence[str], limit: int) -> list[RunSummary]:
        """Of these workflows alone: a store may hold any number of runs of others."""
        found = [
            each
            for name in names
            for each in await asyncio.to_thread(self._workflows[name].store.list, limit=limit, workflow=name)
        ]
        return sorted(found, key=lambda each: -each.started_at_ns)[:limit]

    async def _explained(self, run_id: str, wanted: Wanted, *, of: str | None = None) -> RunExplained:
        """The explanation. One that is given up stays under way until nothing of it is computed any more."""
        if len(self._under_way) >= MOST_WAITING:
            message = f"{len(self._under_way)} explanations wait already; ask again"
            raise refusal(Code.RESOURCE_EXHAUSTED, Reason.SHED, message, retry_after_ms=AGAIN_MS)
        task = asyncio.create_task(self._next(run_id, wanted, of))
        self._under_way.add(task)
        task.add_done_callback(self._ended)
        try:
            async with asyncio.timeout(self._max_s):
                return await asyncio.shield(task)
        except TimeoutError as error:
            message = (
                f"the run was not explained in {self._max_s:g} s; explain one step: ?step=PATH, or try less: ?tried=1"
            )
            raise AcpError(Failure(code=Code.DEADLINE_EXCEEDED, message=message)) from error
        except UsageError as error:
            raise malformed(str(error)) from error
        except StoreError as error:
            raise AcpError(Failure(code=Code.UNAVAILABLE, message=str(error))) from error
        finally:
            task.cancel()

    async def _next(self, run_id: str, wanted: Wanted, of: str | None) -> RunExplained:
        """One at a time: what it computes takes a core, and calls have the others."""
        async with self._one:
            workflow, run = await self._found(run_id, of)
            return await explain(workflow, run, step=wanted.step, tried=wanted.tried)

    def _ended(self, task: asyncio.Task[RunExplained]) -> None:
        self._under_way.discard(task)
        if not task.cancelled():
            task.exception()  # told to whoever still waits, and to nobody as never looked at

    async def _found(self, run_id: str, of: str | None) -> tuple[Workflow, Run]:
        """The run, and the workflow that made it. Raises AcpError where there is none, or it is another's."""
        names = [of] if of in self._workflows else [] if of else [*self._workflows]
        newest = await self._newest(names, 1) if run_id == LAST else []
        meant = newest[0].id if newest else run_id
        for name in [] if run_id == LAST and not newest else names:
            try:
                run = await asyncio.to_thread(find_run, self._workflows[name].store, meant)
            except UsageError:
                continue
            if run.manifest.workflow in self._workflows and of in (None, run.manifest.workflow):
                return self._workflows[run.manifest.workflow], run
        served = ", ".join(self._workflows)
        message = f"there is no run {run_id[:100]!r} of {of or 'a workflow that is served here'}; served are {served}"
        raise AcpError(Failure(code=Code.NOT_FOUND, message=message))


def _wanted(query: bytes) -> Wanted:
    try:
        pairs = dict(parse_qsl(query.decode("ascii"), keep_blank_values=True, strict_parsing=bool(query)))
        if unknown := [*pairs.keys() - {"step", "tried"}]:
            raise malformed(f"?{sorted(unknown)[0][:100]} is not known; expected step=PATH or tried=N")
    except ValueError as error:
        raise malformed(f"the query cannot be read: {error}; expected step=PATH or tried=N") from error
    try:
        tried = int(pairs.get("tried", MOST))
    except ValueError as error:
        raise malformed(f"tried is {pairs['tried'][:100]!r}; expected 1 to {MOST_TRIED:,}") from error
    if not 1 <= tried <= MOST_TRIED:
        raise malformed(f"tried is {tried}; expected 1 to {MOST_TRIED:,}")
    return Wanted(step=pairs.get("step"), tried=tried)

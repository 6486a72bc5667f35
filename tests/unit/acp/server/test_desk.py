"""What a component sees of a call, and what a caller is told of it."""

import asyncio
import hashlib
from contextlib import suppress
from typing import Any

import pytest

from stretto.acp import messages as m
from stretto.acp.names import Reason, Verb
from stretto.acp.server import Desk, Limits
from stretto.testing import run_virtual
from stretto.types.budget import UNLIMITED
from stretto.types.enums import Effect, Outcome, Scope
from stretto.types.errors import Code, ComponentError, UsageError
from stretto.types.json import JsonObject
from stretto.types.messages import Request, Response, RunInfo, Usage
from tests.unit.acp.server.desks import Doing, ask, at_once, output, refused, request

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

ENVELOPE = request().envelope


def test_the_component_sees_what_the_envelope_says() -> None:
    desk = Doing(at_once)

    async def main() -> None:
        now = asyncio.get_running_loop().time()
        asked = request(
            run_id="0192", step_path="talk[3]/executor", attempt=2, previous_attempts=3, effect_key="mine",
            remaining_ms=1500, budget=m.BudgetLeft(tokens=100), tenant="acme", labels={"task": "7"}, seed="12",
            baggage={"who": "me"}, traceparent=TRACE, workflow_run_id="shop@1.2.0.aaaaaaaa.bbbbbbbb.0192",
        )  # fmt: skip
        await ask(Desk([desk]), asked)
        call = desk.asked[0].call
        assert (call.path, call.attempt, call.previous_attempts, call.effect_key) == ("talk[3]/executor", 2, 3, "mine")
        assert call.deadline == pytest.approx(now + 1.5)
        assert (call.budget.pool.tokens, call.budget.pool.retries) == (100, UNLIMITED)
        assert call.effect is Effect.READ
        run = call.run
        assert (run.id, run.workflow, run.version, run.tenant) == ("0192", "shop", "1.2.0", "acme")
        assert (run.labels, run.seed, run.baggage) == ({"task": "7"}, 12, {"who": "me"})
        assert run.traceparent == TRACE

    run_virtual(main())


@pytest.mark.parametrize("odd", ["00-1-2-01", f"{TRACE}\r\nX-Admin: 1", f"{TRACE}-\x00", TRACE.upper(), "ünder"])
def test_a_trace_context_that_is_none_goes_no_further(odd: str) -> None:
    async def main() -> None:
        desk = Doing(at_once)
        await ask(Desk([desk]), request(traceparent=odd))
        assert desk.asked[0].call.run.traceparent == ""

    run_virtual(main())


def test_what_the_component_reports_is_told() -> None:
    async def does(_: Request) -> object:
        return Response(
            output={"a": 1},
            outcome=Outcome.PARTIAL,
            usage=Usage(input_tokens=3, output_tokens=2, cost=0.5),
            evidence={"why": ["x"], "gradient_handle": "g7"},
            queue_ms=4.0,
        )

    async def main() -> None:
        answer = await ask(Desk([Doing(does)]), request())
        result = answer.result
        assert (result.outcome, result.queue_ms) == ("partial", 4.0)
        assert result.usage == m.Spent(input_tokens=3, output_tokens=2, cost=0.5)
        assert (result.evidence["why"], answer.gradient_handle) == (["x"], "g7")

    run_virtual(main())


@pytest.mark.parametrize(
    ("said", "has"),
    [
        ({"execute_action": {"action": "refund", "input": {"n": 1}}}, m.ExecuteAction(action="refund", input={"n": 1})),
        ({"execute_action": {"action": "refund"}}, m.ExecuteAction(action="refund")),
        ({"execute_action": None}, None),
        ({"execute_action": {"action": 3}}, None),
        ({}, None),
    ],
    ids=str,
)
def test_a_plan_that_wants_something_done_says_so_beside_its_output(said: Any, has: object) -> None:
    async def does(_: Request) -> object:
        return said

    async def main() -> None:
        desk = Desk([Doing(does)])
        assert (await ask(desk, request(), Verb.PLAN)).execute_action == has
        assert (await ask(desk, request(effect_key="2"), Verb.EXECUTE)).execute_action is None

    run_virtual(main())


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ([1], "returned no JSON object"),
        (float("nan"), "is not JSON"),
        ({"a": "one"}, "breaks its schema"),
        (Response(output={"a": 1}, queue_ms=-1.0), "queued for -1.0 milliseconds"),
        (Response(output={"a": 1}, usage=Usage(input_tokens=-1)), "tokens; expected whole numbers"),
        (Response(output={"a": 1}, usage=Usage(cost=float("inf"))), "the cost inf"),
        (Response(output={"a": 1}, evidence={"a": float("nan")}), "the evidence of 'desk' is not JSON"),
    ],
    ids=str,
)
def test_an_answer_that_may_not_stand_is_refused(said: object, message: str) -> None:
    async def does(_: Request) -> object:
        return said

    async def main() -> None:
        wants = {"type": "object", "properties": {"a": {"type": "integer"}}}
        failure = await refused(Desk([Doing(does, output=wants)]), request())
        assert (failure.code, failure.reason) == (Code.FAILED_PRECONDITION, Reason.CONTRACT)
        assert message in failure.message

    run_virtual(main())


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (ComponentError("full", Code.RESOURCE_EXHAUSTED, retry_after_s=2.0), Code.RESOURCE_EXHAUSTED, "full"),
        (ConnectionError("no route"), Code.UNAVAILABLE, "raised ConnectionError: no route"),
        (TimeoutError("slow"), Code.DEADLINE_EXCEEDED, "raised TimeoutError: slow"),
        (KeyError("x"), Code.UNKNOWN, "raised KeyError: 'x'"),
        (SystemExit(3), Code.INTERNAL, "raised SystemExit: 3"),
        (asyncio.CancelledError(), Code.CANCELLED, "was cancelled"),
    ],
    ids=str,
)
def test_what_the_component_raises_is_told_in_one_sentence(error: BaseException, code: Code, says: str) -> None:
    async def does(_: Request) -> object:
        raise error

    async def main() -> None:
        desk = Desk([Doing(does)])
        failure = await refused(desk, request())
        assert failure.code is code
        assert says in failure.message
        assert "\n" not in failure.message
        assert failure.retry_after_ms == (2000.0 if code is Code.RESOURCE_EXHAUSTED else None)
        assert desk.in_progress == 0

    run_virtual(main())


async def _sleeps(_: Request) -> object:
    await asyncio.sleep(10)
    return {}


def test_a_component_has_the_time_that_is_left() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        failure = await refused(Desk([Doing(_sleeps)]), request(remaining_ms=2000))
        assert (failure.code, failure.reason) == (Code.DEADLINE_EXCEEDED, Reason.DEADLINE_PASSED)
        assert loop.time() - began == pytest.approx(2.0)
        assert "sent" not in failure.metadata

    run_virtual(main())


def test_no_call_takes_longer_than_the_server_allows() -> None:
    async def main() -> None:
        began = asyncio.get_running_loop().time()
        assert (await refused(Desk([Doing(_sleeps)], Limits(max_call_s=3.0)), request())).code is Code.DEADLINE_EXCEEDED
        assert asyncio.get_running_loop().time() - began == pytest.approx(3.0)

    run_virtual(main())


def test_a_component_that_ignores_its_cancellation_holds_its_place_and_not_its_caller() -> None:
    async def deaf(_: Request) -> object:
        end = asyncio.get_running_loop().time() + 10
        while (left := end - asyncio.get_running_loop().time()) > 0:
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(left)
        return {}

    async def main() -> None:
        loop = asyncio.get_running_loop()
        desk = Desk([Doing(deaf)], Limits(max_concurrent=1, give_up_s=1.0))
        began = loop.time()
        assert (await refused(desk, request(remaining_ms=2000))).reason == Reason.DEADLINE_PASSED
        assert loop.time() - began == pytest.approx(3.0)
        assert (await refused(desk, request(remaining_ms=1000))).reason == Reason.SHED
        await asyncio.sleep(10)
        assert (await refused(desk, request(remaining_ms=1000))).reason == Reason.DEADLINE_PASSED

    run_virtual(main())


def test_a_call_that_arrived_too_long_ago_is_not_begun() -> None:
    desk = Doing(at_once)

    async def main() -> None:
        server = Desk([desk])
        arrived = asyncio.get_running_loop().time()
        await asyncio.sleep(3)
        with pytest.raises(Exception, match="none was left"):
            await server.call(Verb.EXECUTE, request(remaining_ms=2000), arrived)
        assert not desk.asked

    run_virtual(main())


def test_calls_wait_for_a_place_and_say_how_long() -> None:
    async def does(_: Request) -> object:
        await asyncio.sleep(2)
        return {}

    async def main() -> None:
        desk = Desk([Doing(does)], Limits(max_concurrent=2, max_queued=1))
        calls = [asyncio.create_task(ask(desk, request(effect_key=str(n)))) for n in range(3)]
        await asyncio.sleep(1)
        assert (desk.in_progress, desk.waiting) == (3, 1)
        failure = await refused(desk, request(effect_key="4"))
        assert (failure.code, failure.reason) == (Code.RESOURCE_EXHAUSTED, Reason.SHED)
        assert failure.retry_after_ms
        began = asyncio.get_running_loop().time()
        await calls[2]
        assert asyncio.get_running_loop().time() - began == pytest.approx(3.0)
        assert (desk.in_progress, desk.waiting) == (0, 0)

    run_virtual(main())


def test_a_call_that_would_wait_beyond_its_deadline_is_told_at_once() -> None:
    async def does(_: Request) -> object:
        await asyncio.sleep(2)
        return {}

    async def main() -> None:
        loop = asyncio.get_running_loop()
        desk = Desk([Doing(does)], Limits(max_concurrent=1))
        for n in range(30):  # it learns how long one takes
            await ask(desk, request(effect_key=str(n)))
        holder = asyncio.create_task(ask(desk, request(effect_key="h")))
        await asyncio.sleep(0)
        began = loop.time()
        assert (await refused(desk, request(remaining_ms=1000))).reason == Reason.SHED
        assert loop.time() == began
        await holder

    run_virtual(main())


def test_a_place_goes_to_the_next_when_who_was_let_in_has_left() -> None:
    async def main() -> None:
        desk = Desk([Doing(_sleeps)], Limits(max_concurrent=1))
        first = asyncio.create_task(ask(desk, request(effect_key="1")))
        await asyncio.sleep(1)
        second = asyncio.create_task(ask(desk, request(effect_key="2")))
        third = asyncio.create_task(ask(desk, request(effect_key="3")))
        await asyncio.sleep(1)
        second.cancel()
        await first
        await third
        assert desk.waiting == 0
        await ask(desk, request(effect_key="4"))

    run_virtual(main())


def test_draining_answers_what_is_in_progress_and_takes_no_more() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        desk = Desk([Doing(_sleeps)])
        call = asyncio.create_task(ask(desk, request()))
        await asyncio.sleep(1)
        draining = asyncio.create_task(desk.drain(60))
        await asyncio.sleep(1)
        failure = await refused(desk, request())
        assert (failure.code, failure.reason, failure.metadata) == (Code.UNAVAILABLE, Reason.DRAINING, {"sent": "no"})
        assert failure.retry_after_ms == 1000.0
        assert await draining
        assert call.done()
        assert loop.time() == pytest.approx(began + 10.0)

    run_virtual(main())


def test_draining_ends_with_its_grace() -> None:
    async def main() -> None:
        desk = Desk([Doing(_sleeps)])
        call = asyncio.create_task(ask(desk, request()))
        await asyncio.sleep(1)
        assert not await desk.drain(2)
        assert not call.done()
        call.cancel()

    run_virtual(main())


def test_several_components_are_told_apart_by_name() -> None:
    async def main() -> None:
        desk = Desk([Doing(at_once), Doing(_sleeps, name="other")])
        assert output(await ask(desk, request(component=m.ComponentRef(name="desk")))) == {"said": {"n": 1}}
        failure = await refused(desk, request())
        assert (failure.reason, failure.metadata["components"]) == (Reason.COMPONENT_UNKNOWN, "desk, other")
        assert [card.name for card in desk.describe(m.DescribeRequest()).cards] == ["desk", "other"]
        assert [card.name for card in desk.describe(m.DescribeRequest(component="other")).cards] == ["other"]

    run_virtual(main())


@pytest.mark.parametrize("components", [[], [Doing(at_once), Doing(at_once)]], ids=["none", "two of a name"])
def test_there_must_be_components_of_different_names(components: list[Doing]) -> None:
    with pytest.raises(UsageError):
        Desk(components)


def _blob(content: bytes, media_type: str = "application/json") -> m.Blob:
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    return m.Blob(digest=digest, content=content, media_type=media_type)


@pytest.mark.parametrize(
    ("blob", "value"),
    [
        (_blob(b'{"a": [1]}'), {"a": [1]}),
        (_blob(b"[2]", ""), [2]),
        (_blob("grüße".encode(), "text/plain; charset=utf-8"), "grüße"),
        (_blob(b"\x00\xff", "image/png"), "AP8="),
    ],
    ids=str,
)
def test_a_blob_is_sent_once_and_named_afterwards(blob: m.Blob, value: object) -> None:
    async def main() -> None:
        desk = Desk([Doing(at_once)])
        named = m.CallRequest(envelope=ENVELOPE, input={"x": [{"$blob": blob.digest}]})
        failure = await refused(desk, named)
        assert (failure.reason, failure.metadata) == (Reason.BLOB_MISSING, {"digests": blob.digest})
        sent = m.CallRequest(envelope=named.envelope, input=named.input, blobs=(blob,))
        assert output(await ask(desk, sent)) == {"said": {"x": [value]}}
        assert output(await ask(desk, named)) == {"said": {"x": [value]}}

    run_virtual(main())


@pytest.mark.parametrize(
    ("blob", "says"),
    [
        (m.Blob(digest="sha256:0", content=b"1"), "the digest of its content is"),
        (
            m.Blob(digest="../../etc/passwd"),
            "names the content '../../etc/passwd'; expected sha256: and 64 hexadecimal",
        ),
        (_blob(b"{"), "is no application/json"),
        (_blob(b"\xff", "text/plain"), "is no text/plain"),
    ],
    ids=str,
)
def test_a_blob_that_is_not_what_it_says_is_malformed(blob: m.Blob, says: str) -> None:
    async def main() -> None:
        asked = m.CallRequest(envelope=ENVELOPE, input={"x": {"$blob": blob.digest}}, blobs=(blob,))
        failure = await refused(Desk([Doing(at_once)]), asked)
        assert (failure.code, failure.reason) == (Code.INVALID_ARGUMENT, Reason.MALFORMED)
        assert says in failure.message

    run_virtual(main())


def test_contents_that_are_named_often_are_bounded() -> None:
    """A request of a few kilobytes would else make gigabytes of input."""

    async def main() -> None:
        blob = _blob(b'"%s"' % (b"x" * 100_000))
        named: JsonObject = {"x": [{"$blob": blob.digest}] * 1000}
        failure = await refused(Desk([Doing(at_once)]), m.CallRequest(envelope=ENVELOPE, input=named, blobs=(blob,)))
        assert (failure.code, failure.reason) == (Code.INVALID_ARGUMENT, Reason.MALFORMED)
        assert "names contents of more than 8,388,608 bytes in all" in failure.message

    run_virtual(main())


def test_a_content_that_is_named_too_deep_is_refused() -> None:
    async def main() -> None:
        named: Any = {"$blob": _blob(b"1").digest}
        for _ in range(100_000):
            named = [named]
        failure = await refused(Desk([Doing(at_once)]), m.CallRequest(envelope=ENVELOPE, input={"x": named}))
        assert (failure.reason, failure.message) == (Reason.MALFORMED, "the input is nested too deeply")

    run_virtual(main())


def test_contents_that_are_not_here_are_told_as_far_as_a_refusal_carries() -> None:
    async def main() -> None:
        names = [_blob(b"%d" % number).digest for number in range(400)]
        named: JsonObject = {"x": [{"$blob": name} for name in names * 2]}
        failure = await refused(Desk([Doing(at_once)]), m.CallRequest(envelope=ENVELOPE, input=named))
        assert failure.message == f"the content of {names[0]}, and of 399 more, is not here; send it in `blobs`"
        assert failure.metadata == {"digests": ",".join(names[:24])}

    run_virtual(main())


def test_blobs_are_forgotten_by_size() -> None:
    async def main() -> None:
        desk = Desk([Doing(at_once)], Limits(max_blob_bytes=100))
        blobs = [_blob(b'"%s"' % (letter * 60)) for letter in (b"a", b"b")]
        for blob in blobs:
            named: JsonObject = {"x": {"$blob": blob.digest}}
            await ask(desk, m.CallRequest(envelope=ENVELOPE, input=named, blobs=(blob,)))
        named = {"x": {"$blob": blobs[0].digest}}
        failure = await refused(desk, m.CallRequest(envelope=ENVELOPE, input=named))
        assert failure.reason == Reason.BLOB_MISSING

    run_virtual(main())


class _PerRun(Doing):
    """A component of scope ``run``: it says which session answered."""

    def __init__(self) -> None:
        super().__init__(at_once, scope=Scope.RUN)
        self.opened: list[str] = []
        self.closed: list[str] = []

    async def open_run(self, run: RunInfo) -> "_Session":
        self.opened.append(run.id)
        await asyncio.sleep(1)
        return _Session(self, run.id)


class _Session:
    def __init__(self, component: _PerRun, run: str) -> None:
        self._component = component
        self._run = run

    async def __call__(self, asked: Request) -> Response:
        await asyncio.sleep(3600 if self._run == "long" else 0)
        return Response(output={"session": self._run})

    async def close(self) -> None:
        self._component.closed.append(self._run)


def test_a_long_call_keeps_no_session_but_its_own() -> None:
    component = _PerRun()

    async def main() -> None:
        desk = Desk([component], Limits(session_idle_s=100.0, max_sessions=2))
        long = asyncio.ensure_future(ask(desk, request(run_id="long", effect_key="long", remaining_ms=7_200_000)))
        await asyncio.sleep(2)
        for run in ("a", "b", "c"):
            await ask(desk, request(run_id=run, effect_key=run))
        await asyncio.sleep(0)
        assert component.closed == ["a", "b"]
        long.cancel()
        await asyncio.wait([long])
        await desk.close()

    run_virtual(main())


def test_a_component_of_scope_run_has_a_session_for_each_run() -> None:
    component = _PerRun()

    async def main() -> None:
        desk = Desk([component], Limits(session_idle_s=100.0, max_sessions=2))
        both = await asyncio.gather(*(ask(desk, request(run_id="a", effect_key=key)) for key in "12"))
        assert [output(each) for each in both] == [{"session": "a"}] * 2
        await asyncio.sleep(200)
        await ask(desk, request(run_id="b"))
        await asyncio.sleep(0)
        assert (component.opened, component.closed) == (["a", "b"], ["a"])
        for run in "cd":
            await ask(desk, request(run_id=run))
        await asyncio.sleep(0)
        assert component.closed == ["a", "b"]
        await desk.close()
        assert component.closed == ["a", "b", "c", "d"]

    run_virtual(main())


class Held(Doing):
    """One that tells when it cleans up, and when it is closed."""

    def __init__(self, cleans_s: float) -> None:
        self.told: list[str] = []

        async def hangs(_: Request) -> object:
            try:
                await asyncio.sleep(3600)
            finally:
                await asyncio.sleep(cleans_s)
                self.told.append("clean")
            return None

        super().__init__(hangs)

    async def open(self) -> None: ...

    async def close(self) -> None:
        self.told.append("closed")


@pytest.mark.parametrize(
    ("cleans_s", "end_s", "told"), [(0.5, 2.0, ["clean", "closed"]), (9.0, 2.0, ["closed"]), (0.5, 0.0, ["closed"])]
)
def test_what_was_cancelled_cleans_up_before_its_component_is_closed(
    cleans_s: float, end_s: float, told: list[str]
) -> None:
    async def main() -> None:
        component = Held(cleans_s)
        desk = Desk([component])
        await desk.open()
        calling = asyncio.ensure_future(ask(desk, request()))
        await asyncio.sleep(1)
        calling.cancel()
        with suppress(asyncio.CancelledError):
            await calling
        await desk.close(end_s)
        assert component.told == told

    run_virtual(main())

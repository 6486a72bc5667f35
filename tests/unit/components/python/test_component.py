"""Functions and classes behind the component protocol."""

import asyncio
import os
import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

from stretto.components.python import (
    ClassComponent,
    Context,
    PerRunPythonComponent,
    PythonComponent,
    component,
    component_of,
)
from stretto.components.threads import THREADS
from stretto.types.card import ANY_ACTION
from stretto.types.enums import Effect, Outcome, Scope
from stretto.types.errors import BudgetError, Code, ComponentError, InDoubtError, SpecError
from stretto.types.json import JsonObject
from stretto.types.learning import Action, ModelCall, Reward
from stretto.types.messages import Response, Usage


def made(target: Any) -> PythonComponent:
    found = component_of(target)
    assert isinstance(found, PythonComponent)
    return found


def made_class(target: Any) -> ClassComponent:
    found = made(target)
    assert isinstance(found, ClassComponent)
    return found


@pytest.fixture
async def opened() -> AsyncIterator[Any]:
    """Opens components that hold something, and closes them at the end."""
    living: list[ClassComponent] = []

    async def open_one(target: Any) -> PythonComponent:
        found = made(target)
        if isinstance(found, ClassComponent):
            living.append(found)
            await found.open()
        return found

    yield open_one
    for one in living:
        await one.close()


async def test_an_async_function_is_awaited_in_the_loop(make_request: Any, opened: Any) -> None:
    @component("llm-planner-v2", "2.1.0", effects="pure")
    async def plan(query: str) -> dict[str, str]:
        """Choose a tool.

        More words.
        """
        return {"tool": query, "thread": threading.current_thread().name}

    planner = await opened(plan)
    response = await planner(make_request(query="q"))
    assert response.output == {"tool": "q", "thread": threading.current_thread().name}
    assert (planner.card.name, planner.card.version, planner.card.kind) == ("llm-planner-v2", "2.1.0", "python")
    assert planner.card.effects == {ANY_ACTION: Effect.PURE}
    assert planner.card.description == "Choose a tool."
    assert await plan(query="q") == response.output, "the function stays callable as it is"


async def test_a_plain_function_runs_in_a_thread_and_reads_unless_told_otherwise(
    make_request: Any, opened: Any
) -> None:
    @component
    def lookup(key: str) -> str:
        return threading.current_thread().name

    reader = await opened(lookup)
    response = await reader(make_request(key="k"))
    assert response.output["result"].startswith("stretto-")
    assert reader.card.effect_of("") is Effect.READ
    assert reader.card.name == "lookup"


async def test_an_inline_function_runs_in_the_loop(make_request: Any, opened: Any) -> None:
    @component(inline=True)
    def here() -> str:
        return threading.current_thread().name

    assert (await (await opened(here))(make_request())).output == {"result": threading.current_thread().name}


@pytest.mark.parametrize("inline", [False, True])
async def test_a_plain_function_may_return_an_awaitable(make_request: Any, opened: Any, inline: bool) -> None:
    async def answer() -> str:
        return "later"

    @component(inline=inline)
    def late() -> Any:
        return answer()

    assert (await (await opened(late))(make_request())).output == {"result": "later"}


async def test_the_context_tells_about_the_call_and_takes_what_is_to_be_recorded(
    make_request: Any, opened: Any
) -> None:
    @component
    async def planner(query: str, ctx: Context) -> JsonObject:
        ctx.action(Action(name="tool", chosen="a", support=("a", "b"), logprob=-0.7, propensity=0.5, policy="p"))
        ctx.model_call(ModelCall(model="m"))
        ctx.reward("api_success", None, reason="no answer")
        ctx.usage(input_tokens=3, cost=0.5)
        ctx.usage(output_tokens=2)
        ctx.evidence("why", query)
        return {
            "seed": ctx.run.seed,
            "path": ctx.path,
            "attempt": ctx.attempt,
            "key": ctx.effect_key,
            "ref": ctx.reference,
        }

    response = await (await opened(planner))(make_request(query="q", _seed=7, _attempt=2, _path="a/b"))
    assert response.output == {"seed": 7, "path": "a/b", "attempt": 2, "key": "run-1/a/b", "ref": None}
    assert [action.chosen for action in response.actions] == ["a"]
    assert [call.model for call in response.model_calls] == ["m"]
    assert response.rewards == (Reward(name="api_success", value=None, reason="no answer"),)
    assert response.usage == Usage(input_tokens=3, output_tokens=2, cost=0.5)
    assert response.evidence == {"why": "q"}


async def test_random_numbers_depend_on_seed_and_path_alone(make_request: Any, opened: Any) -> None:
    @component(inline=True)
    def draw(ctx: Context) -> float:
        return ctx.rng.random()

    drawn = await opened(draw)

    async def number(**envelope: Any) -> float:
        value: float = (await drawn(make_request(**envelope))).output["result"]
        return value

    first = await number(_seed=1, _path="p", _run="x", _attempt=1)
    assert first == await number(_seed=1, _path="p", _run="y", _attempt=2)
    assert first != await number(_seed=2, _path="p")
    assert first != await number(_seed=1, _path="q")


async def test_the_time_left_is_told_and_never_negative(make_request: Any, opened: Any) -> None:
    @component
    def left(ctx: Context) -> float | None:
        return ctx.remaining_ms()

    late = await opened(left)
    now = asyncio.get_running_loop().time()
    assert (await late(make_request())).output == {"result": None}
    assert 0 < (await late(make_request(_deadline=now + 60))).output["result"] <= 60_000
    assert (await late(make_request(_deadline=now - 1))).output == {"result": 0.0}


class Calls:
    """Answers calls as the engine would."""

    async def call(self, component: str, request_input: JsonObject) -> JsonObject:
        return {"called": component, "with": request_input}


async def test_an_async_component_calls_others_through_the_engine(make_request: Any, opened: Any) -> None:
    @component
    async def executor(ctx: Context) -> JsonObject:
        return await ctx.call("retail/get_order", order_id="#1")

    caller = await opened(executor)
    assert caller.card.capabilities == ("call",)
    response = await caller(make_request(_caller=Calls()))
    assert response.output == {"called": "retail/get_order", "with": {"order_id": "#1"}}
    with pytest.raises(ComponentError, match="'executor' cannot call 'retail/get_order'"):
        await caller(make_request())


async def test_who_says_that_it_calls_nobody_is_held_to_it(make_request: Any, opened: Any) -> None:
    @component(calls=False)
    class Quiet:
        async def __call__(self, ctx: Context) -> JsonObject:
            return await ctx.call("retail/get_order", order_id="#1")

    quiet = await opened(Quiet)
    assert quiet.card.capabilities == ()
    with pytest.raises(ComponentError, match=r"'Quiet' cannot call 'retail/get_order': .* calls=False") as caught:
        await quiet(make_request(_caller=Calls()))
    assert caught.value.rpc_code == "failed_precondition"


def test_a_plain_function_does_not_claim_that_it_calls_others() -> None:
    @component
    def plain(ctx: Context) -> None: ...

    assert made(plain).card.capabilities == ()


async def test_a_response_of_the_functions_own_is_kept_and_completed(make_request: Any, opened: Any) -> None:
    @component
    async def own(ctx: Context) -> Response:
        ctx.evidence("b", 2)
        return Response(output={"x": 1}, outcome=Outcome.PARTIAL, evidence={"a": 1})

    response = await (await opened(own))(make_request())
    assert response.outcome is Outcome.PARTIAL
    assert response.evidence == {"a": 1, "b": 2}


class Teapot(Exception):
    pass


@pytest.mark.parametrize("style", ["async", "thread", "inline"])
@pytest.mark.parametrize(
    ("error", "code", "retryable"),
    [
        (TimeoutError("slow"), Code.DEADLINE_EXCEEDED, True),
        (ConnectionResetError("gone"), Code.UNAVAILABLE, True),
        (OSError("disk"), Code.UNAVAILABLE, True),
        (KeyError("x"), Code.INTERNAL, False),
        (ZeroDivisionError("division by zero"), Code.INTERNAL, False),
        (AssertionError(), Code.INTERNAL, False),
        (SystemExit(2), Code.INTERNAL, False),
        (Teapot("short and stout"), Code.UNKNOWN, True),
    ],
    ids=repr,
)
async def test_an_exception_is_classified_and_its_place_is_named(
    make_request: Any, opened: Any, style: str, error: BaseException, code: Code, retryable: bool
) -> None:
    def work() -> None:
        os.fspath("")  # something before, so that the line is the raise's own
        raise error

    async def work_async() -> None:
        work()

    failing = await opened(component("failing", inline=style == "inline")(work_async if style == "async" else work))
    with pytest.raises(ComponentError) as caught:
        await failing(make_request())
    assert (caught.value.rpc_code, caught.value.retryable) == (code, retryable)
    assert caught.value.__cause__ is error
    assert f"component 'failing' raised {type(error).__name__}: {str(error) or 'no message'}" in str(caught.value)
    assert str(caught.value).endswith(f"({Path(__file__).name}:{work.__code__.co_firstlineno + 2})")


@pytest.mark.parametrize("error", [ComponentError("busy", Code.RESOURCE_EXHAUSTED), BudgetError("spent")], ids=repr)
async def test_errors_in_our_own_words_pass(make_request: Any, opened: Any, error: Exception) -> None:
    @component
    async def own() -> None:
        raise error

    with pytest.raises(type(error)) as caught:
        await (await opened(own))(make_request())
    assert caught.value is error


@component(scope="process")
class Counter:
    """Counts its calls."""

    def __init__(self) -> None:
        self.calls = 0
        self.log: list[str] = []

    def open(self) -> None:
        self.log.append("open")

    async def __call__(self, ctx: Context, step: int = 1) -> dict[str, Any]:
        self.calls += step
        return {"calls": self.calls, "log": list(self.log), "run": ctx.run.id}


async def test_a_class_lives_for_the_process(make_request: Any, opened: Any) -> None:
    counter = await opened(Counter)
    await counter(make_request())
    assert (await counter(make_request(step=2))).output == {"calls": 3, "log": ["open"], "run": "run-1"}
    assert counter.card.description == "Counts its calls."
    assert set(counter.card.input["properties"]) == {"step"}
    await counter.close()
    assert (await counter(make_request())).output["calls"] == 1, "opened again when it is called again"


class Ledger:
    """What the outside world knows."""

    booked: set[str] = set()  # noqa: RUF012
    closed = 0


@component(scope="run", effects="write")
class Booking:
    async def open(self) -> None:
        self.seen = 0

    async def __call__(self, order: str, amount: int, ctx: Context) -> dict[str, Any]:
        self.seen += 1
        Ledger.booked.add(ctx.effect_key)
        return {"order": order, "seen": self.seen}

    async def confirm(self, order: str, ctx: Context) -> dict[str, Any] | None:
        return {"order": order, "seen": -1} if ctx.effect_key in Ledger.booked else None

    def close(self) -> None:
        Ledger.closed += 1


async def test_a_class_of_scope_run_has_an_instance_for_each_run(make_request: Any) -> None:
    booking = made(Booking)
    assert isinstance(booking, PerRunPythonComponent)
    assert booking.card.scope is Scope.RUN
    first, second = [await booking.open_run(make_request(_run=run).call.run) for run in ("a", "b")]
    request = make_request(order="#1", amount=2, _run="a")
    await first(request)
    assert (await first(request)).output == {"order": "#1", "seen": 2}
    assert (await second(request)).output == {"order": "#1", "seen": 1}
    before = Ledger.closed
    await booking.open()
    await booking.close()
    assert Ledger.closed == before, "an instance that serves no run"
    await first.close()
    await second.close()
    assert Ledger.closed == before + 2


async def test_a_class_tells_whether_a_write_in_doubt_happened(make_request: Any) -> None:
    booking = made(Booking)
    assert isinstance(booking, PerRunPythonComponent)
    assert booking.card.confirms
    asked = make_request(order="#7", amount=1, _run="doubt")
    assert await booking.confirm(asked) is None
    session = await booking.open_run(asked.call.run)
    await session(asked)
    for confirmed in (await booking.confirm(asked), await session.confirm(asked)):
        assert confirmed is not None
        assert confirmed.output == {"order": "#7", "seen": -1}
    await session.close()


ENTERED, GATE = threading.Event(), threading.Event()


@component(effects="write")
class Slowly:
    """Writes in a thread, which goes on when the call is given up."""

    def __call__(self) -> dict[str, Any]:
        ENTERED.set()
        GATE.wait(10)
        return {"done": True}

    def confirm(self) -> dict[str, Any] | None:
        return None


async def test_a_write_whose_thread_goes_on_is_not_said_to_have_failed(make_request: Any) -> None:
    slowly = made(Slowly)
    calling = asyncio.ensure_future(slowly(make_request()))
    await asyncio.to_thread(ENTERED.wait)
    calling.cancel()
    await asyncio.wait([calling])
    with pytest.raises(InDoubtError, match="a call of 'Slowly' that was given up still runs in its thread"):
        await slowly.confirm(make_request())
    GATE.set()
    await asyncio.to_thread(lambda: [None for _ in iter(lambda: THREADS.hung, {})])
    assert await slowly.confirm(make_request()) is None


async def test_a_component_without_confirm_cannot_tell(make_request: Any) -> None:
    assert not made(Counter).card.confirms
    with pytest.raises(InDoubtError, match="'Counter' has no `confirm`"):
        await made(Counter).confirm(make_request())


@pytest.mark.parametrize("where", ["__init__", "open"])
async def test_an_instance_that_cannot_be_made_is_named(where: str) -> None:
    def fail(self: Any) -> None:
        raise ConnectionRefusedError("no database")

    async def call(self: Any) -> None: ...

    broken = component("broken")(type("Broken", (), {"__call__": call, where: fail}))
    with pytest.raises(ComponentError, match="'broken' raised ConnectionRefusedError: no database") as caught:
        await made_class(broken).open()
    assert caught.value.rpc_code is Code.UNAVAILABLE


async def test_cancellation_reaches_an_async_function_and_is_let_through(make_request: Any, opened: Any) -> None:
    cleaned = asyncio.Event()

    @component
    async def slow() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.set()

    task = asyncio.ensure_future((await opened(slow))(make_request()))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert cleaned.is_set()


def test_a_digest_covers_the_source_and_the_options() -> None:
    def declare(effects: Literal["read", "pure"], number: int) -> str:
        namespace: dict[str, Any] = {}
        exec(f"def f(x):\n    return {number}", namespace)
        return made(component("f", effects=effects)(namespace["f"])).card.digest

    assert declare("read", 1) == declare("read", 1)
    assert len({declare("read", 1), declare("read", 2), declare("pure", 1)}) == 3
    assert made(Counter).card.digest != made(Booking).card.digest


class NoCall: ...


class NeedsArguments:
    def __init__(self, url: str) -> None: ...

    def __call__(self) -> None: ...


class WrongLimit:
    open_limit = 60

    def __call__(self) -> None: ...


class WrongConfirm:
    def __call__(self, order: str) -> None: ...

    def confirm(self, ordr: str) -> None: ...


def takes_order(order: str, tool: str) -> None: ...


wrongly: Any = component
"""For options that a type checker would refuse."""


@pytest.mark.parametrize(
    ("declare", "message", "suggestion"),
    [
        (lambda: component("9 lives")(takes_order), "'9 lives' cannot be the name", "a-name"),
        (lambda: component("a/b")(takes_order), "'a/b' cannot be the name", "a-name"),
        (lambda: wrongly(effects="wirte")(takes_order), "effects='wirte' is not known", "effects='write'"),
        (lambda: wrongly(scope="runs")(takes_order), "scope='runs' is not known", "scope='run'"),
        (lambda: component(scope="run")(takes_order), "scope='run' needs a class", "remove scope='run'"),
        (lambda: made(component(action_field="tol")(takes_order)).card, "names no parameter", 'action_field="tool"'),
        (
            lambda: made(component(effects={"a": "write"})(takes_order)).card,
            "no field names the action",
            "action_field=",
        ),
        (lambda: made(component(NoCall)).card, "has no __call__", "async def __call__"),
        (lambda: made(component(NeedsArguments)).card, "needs 'url'", "give 'url' a default"),
        (lambda: made(component(WrongLimit)).card, "open_limit of 'WrongLimit' is 60", "timedelta(minutes=5)"),
        (lambda: made(component(WrongConfirm)).card, "`confirm` takes 'ordr'", "remove 'ordr'"),
    ],
)
def test_a_declaration_that_cannot_work_is_refused_with_its_place(declare: Any, message: str, suggestion: str) -> None:
    with pytest.raises(SpecError) as caught:
        declare()
    problem = caught.value.problems[0]
    assert message in problem.message
    assert suggestion in problem.suggestion
    assert problem.file == __file__
    assert problem.excerpt.lstrip().startswith(("def ", "class "))


def test_effects_may_be_given_by_action(make_request: Any) -> None:
    @component(effects={"get": "read", "*": "write"}, action_field="tool")
    async def api(tool: str, **arguments: Any) -> dict[str, Any]:
        return {}

    card = made(api).card
    assert card.effect_of(card.action_of({"tool": "get"})) is Effect.READ
    assert card.effect_of(card.action_of({"tool": "buy"})) is Effect.WRITE


def test_a_subclass_is_not_a_component_because_its_base_is() -> None:
    class Sub(Counter):
        pass

    assert component_of(Sub) is None
    assert component_of(3) is None


@dataclass
class Plan:
    tool: str


async def test_a_dataclass_may_be_taken_and_returned(make_request: Any, opened: Any) -> None:
    @component
    async def refine(plan: Plan) -> Plan:
        return Plan(plan.tool.upper())

    assert (await (await opened(refine))(make_request(plan={"tool": "x"}))).output == Plan("X")

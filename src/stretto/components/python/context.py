"""What a component's function may know of its call, and tell about it, beside its arguments and its value."""

import random
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, TypeAlias

import msgspec

from stretto.types.errors import Code, ComponentError
from stretto.types.ids import StepPath
from stretto.types.json import Json, JsonObject
from stretto.types.learning import Action, ModelCall, Reward
from stretto.types.messages import Call, Response, RunInfo, Usage

Watch: TypeAlias = Callable[[Call], None]
"""Told of a call whose function asks which run it is in."""

_WATCH: Final[ContextVar[Watch | None]] = ContextVar("watch", default=None)


@contextmanager
def watched(watch: Watch) -> Iterator[None]:
    """Tell of every call made inside, in this task and its children, whose answer may depend on its run: its function
    reads `Context.run`, or draws by the run's seed."""
    token = _WATCH.set(watch)
    try:
        yield
    finally:
        _WATCH.reset(token)


class _Told(msgspec.Struct):
    """What a function recorded beside its value."""

    actions: list[Action] = msgspec.field(default_factory=list)
    model_calls: list[ModelCall] = msgspec.field(default_factory=list)
    rewards: list[Reward] = msgspec.field(default_factory=list)
    evidence: dict[str, Json] = msgspec.field(default_factory=dict)
    usage: Usage | None = None


class Context:
    """One call of a function. A parameter annotated with this class receives it."""

    __slots__ = ("_call", "_component", "_may_call", "_now", "_rng", "_told", "_watch")

    def __init__(self, call: Call, component: str, now: Callable[[], float], may_call: bool) -> None:
        self._call = call
        self._may_call = may_call
        self._component = component
        self._now = now
        self._rng: random.Random | None = None
        self._told: _Told | None = None
        self._watch = _WATCH.get()

    @property
    def run(self) -> RunInfo:
        """The run that this call belongs to: ids, labels, tenant, seed."""
        if self._watch is not None:
            self._watch(self._call)
        return self._call.run

    @property
    def path(self) -> StepPath:
        """The step's place in the run."""
        return self._call.path

    @property
    def attempt(self) -> int:
        """1 for the first."""
        return self._call.attempt

    @property
    def previous_attempts(self) -> int:
        """How often this step, and the calls around it, were tried and failed before this attempt."""
        return self._call.previous_attempts

    @property
    def effect_key(self) -> str:
        """Idempotency key of this step, the same for every attempt."""
        return self._call.effect_key

    @property
    def reference(self) -> Json:
        """Gold answers; None unless the component is of kind ``reward`` and the run was given some."""
        return self._call.run.reference

    @property
    def rng(self) -> random.Random:
        """Random numbers that depend on the run's seed and the step's path alone: a replay draws the same."""
        if self._rng is None:
            self._rng = random.Random(f"{self.run.seed}/{self.path}")  # noqa: S311  # for choices, not for secrets
        return self._rng

    def remaining_ms(self) -> float | None:
        """Milliseconds until an answer is useless, 0 when that time has passed; None when there is no deadline."""
        if self._call.deadline is None:
            return None
        return max(0.0, (self._call.deadline - self._now()) * 1000.0)

    def call(self, component: str, /, **fields: Json) -> Awaitable[JsonObject]:
        """Call another component of the workflow; it is checked, bounded and recorded like a step.

        Raises the ComponentError that its last attempt raised.
        """
        if not self._may_call:
            raise ComponentError(
                f"'{self._component}' cannot call '{component}': it is declared with calls=False. Leave that out, or "
                "let it call nobody",
                Code.FAILED_PRECONDITION,
            )
        caller = self._call.caller
        if caller is None:
            raise ComponentError(
                f"'{self._component}' cannot call '{component}': only an 'async def' component whose parameter is "
                "annotated with Context may call others, and only while a run calls it",
                Code.FAILED_PRECONDITION,
            )
        return caller.call(component, fields)

    def action(self, action: Action) -> None:
        """Record a discrete choice, to learn from."""
        self._telling.actions.append(action)

    def model_call(self, model_call: ModelCall) -> None:
        """Record a completion of a language model."""
        self._telling.model_calls.append(model_call)

    def reward(self, name: str, value: float | None, *, weight: float = 1.0, reason: str = "") -> None:
        """Record one term of the run's reward; None is unknown, which is not 0."""
        self._telling.rewards.append(Reward(name=name, value=value, weight=weight, reason=reason))

    def usage(self, *, input_tokens: int = 0, output_tokens: int = 0, cost: float = 0.0) -> None:
        """Add to what this call consumed."""
        used = Usage(input_tokens=input_tokens, output_tokens=output_tokens, cost=cost)
        self._telling.usage = added_usage(self._telling.usage, used)

    def evidence(self, key: str, value: Json) -> None:
        """Keep a value on the step's record that no other step reads."""
        self._telling.evidence[key] = value

    def added_to(self, response: Response) -> Response:
        """The response with what was recorded here beside its own."""
        told = self._told
        if told is None:
            return response
        return msgspec.structs.replace(
            response,
            actions=(*response.actions, *told.actions),
            model_calls=(*response.model_calls, *told.model_calls),
            rewards=(*response.rewards, *told.rewards),
            evidence={**response.evidence, **told.evidence},
            usage=added_usage(response.usage, told.usage),
        )

    @property
    def _telling(self) -> _Told:
        """What was recorded so far; made when the first thing is, since most calls record nothing."""
        if self._told is None:
            self._told = _Told()
        return self._told


def added_usage(a: Usage | None, b: Usage | None) -> Usage | None:
    """What two calls consumed together; None when neither says."""
    if a is None or b is None:
        return b if a is None else a
    return Usage(
        input_tokens=a.input_tokens + b.input_tokens,
        output_tokens=a.output_tokens + b.output_tokens,
        cost=a.cost + b.cost,
    )

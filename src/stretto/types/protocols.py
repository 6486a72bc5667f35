"""What users and adapters implement. The engine knows components only by these."""

from collections.abc import Iterable
from typing import Protocol, runtime_checkable

from stretto.types.card import Card
from stretto.types.errors import ComponentError
from stretto.types.json import JsonObject
from stretto.types.messages import Request, Response, RunInfo
from stretto.types.signals import Cotangents, Signal


class Component(Protocol):
    """Something callable with a card.

    Raise `ComponentError` with a google.rpc code to say what went wrong; any other exception is taken as
    ``unknown``. Cancellation (`asyncio.CancelledError`) must be let through after cleaning up.
    """

    @property
    def card(self) -> Card: ...

    async def __call__(self, request: Request) -> Response: ...


@runtime_checkable
class Opens(Protocol):
    """A component that holds something while the process lives: opened before its first call, closed at the end."""

    async def open(self) -> None: ...

    async def close(self) -> None: ...


@runtime_checkable
class OpensPerRun(Protocol):
    """A component of scope ``run``: a session is opened at its first call in a run and closed when the run ends."""

    async def open_run(self, run: RunInfo) -> "Session": ...


class Session(Protocol):
    """One run's instance of a component of scope ``run``."""

    async def __call__(self, request: Request) -> Response: ...

    async def close(self) -> None:
        """Release what the session holds; called once, also when the run was cancelled."""
        ...


@runtime_checkable
class KeepsBetweenRuns(Protocol):
    """A component whose answers depend on earlier runs: a memory."""

    def per_run(self) -> Component:
        """The same, except that every run begins with nothing and leaves nothing: for runs to learn from or measure."""
        ...


@runtime_checkable
class Confirms(Protocol):
    """A component that can be asked whether a write in doubt happened."""

    async def confirm(self, request: Request) -> Response | None:
        """The write's response if it happened, None if it surely did not; raise `InDoubtError` when it cannot tell."""
        ...


@runtime_checkable
class Reflects(Protocol):
    """A component that learns on its own side from how its answers were judged."""

    async def reflect(self, signal: Signal) -> bool | str:
        """Whether the signal will be learnt from; a text says why it will not."""
        ...


@runtime_checkable
class Differentiates(Protocol):
    """A differentiable component."""

    async def vjp(self, asked: Cotangents) -> bytes:
        """The vector-Jacobian product, named as the inputs, safetensors bytes."""
        ...


@runtime_checkable
class Trainable(Protocol):
    """A component with weights that can be read, replaced and learnt."""

    @property
    def card(self) -> Card: ...

    def with_weights(self, checkpoint: str) -> Component:
        """The same component with the weights of a checkpoint file; its card has another digest."""
        ...


class Catalog(Protocol):
    """Where the compiler finds components."""

    def find(self, name: str) -> Component | None:
        """The component of that name, or None. A name may carry a version: ``llm-planner@2.1.0``."""
        ...

    def names(self) -> Iterable[str]:
        """Every name, for suggestions."""
        ...


class Clock(Protocol):
    """Time of day and time that only grows; tests bring their own."""

    def time_ns(self) -> int:
        """Nanoseconds since the epoch, UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds from an arbitrary start, the event loop's own."""
        ...


class Live(Protocol):
    """What `resources.*` reads beside what the caller gave: probes refresh it in the background."""

    def read(self, given: JsonObject) -> JsonObject:
        """The values as they stand, those that the caller gave over those of probes. Cheap: it waits for nothing."""
        ...


class RetryRule(Protocol):
    """Whether and when a failed attempt is made again. Pure: the engine owns time, budget and randomness."""

    @property
    def max_attempts(self) -> int: ...

    def delay_s(self, attempt: int, error: ComponentError, draw: float, last_s: float = 0.0) -> float | None:
        """Seconds to wait after failed attempt number `attempt` (1-based), None to give up.

        `draw` is U[0,1); `last_s` is how long the wait before this one was, 0 for the first.
        """
        ...

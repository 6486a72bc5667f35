"""Something between the engine and a component: faults, or what answers in its place.

What stands there has the component's card, digest and all, so that runs are pinned to the same manifest; it opens,
confirms and aligns as the component does.
"""

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Any, Protocol, cast

from stretto.types.abilities import with_abilities
from stretto.types.card import Card
from stretto.types.meaning import Aligned, AlignerComponent
from stretto.types.messages import Request, Response, RunInfo
from stretto.types.protocols import Component, Confirms, Opens, OpensPerRun, Session

Ask = Callable[[Request], Awaitable[Response]]
"""Asks the component itself."""


class Between(Protocol):
    """What happens to the calls of a component."""

    async def deliver(self, card: Card, ask: Ask, request: Request, /) -> Response:
        """Ask the component, or not, and give what arrives."""
        ...

    async def confirm(self, component: Confirms, card: Card, request: Request, /) -> Response | None:
        """Ask about a write in doubt."""
        ...

    def working(self) -> AbstractContextManager[None]:
        """The component itself is at work meanwhile."""
        ...


class Wrapped:
    """A component with something before it."""

    def __init__(self, way: Between, inner: Component) -> None:
        self._way = way
        self._inner = inner

    @property
    def card(self) -> Card:
        """The component's own."""
        return self._inner.card

    async def __call__(self, request: Request) -> Response:
        return await self._way.deliver(self._inner.card, self._inner, request)


class _Opening:
    _inner: Any  # Any: what the mixed-in class holds

    async def open(self) -> None:
        await self._inner.open()

    async def close(self) -> None:
        await self._inner.close()


class _LimitsOpening:
    _inner: Any  # Any: as above

    @property
    def open_limit(self) -> timedelta | None:
        """How long `open` may take."""
        return cast("timedelta | None", self._inner.open_limit)


class _OpeningPerRun:
    _inner: Any  # Any: as above
    _way: Between

    async def open_run(self, run: RunInfo) -> Session:
        """The run's session, behind the same."""
        with self._way.working():
            session = await self._inner.open_run(run)
        return _WrappedSession(self._way, self._inner.card, session)


class _Confirming:
    _inner: Any  # Any: as above
    _way: Between

    async def confirm(self, request: Request) -> Response | None:
        """Whether a write in doubt happened, from the component itself."""
        return await self._way.confirm(self._inner, self._inner.card, request)


class _Aligning:
    _inner: Any  # Any: as above

    def align(self, text: str) -> Aligned | None:
        """What the component takes a text for."""
        return cast("Aligned | None", self._inner.align(text))


class _WrappedSession:
    def __init__(self, way: Between, card: Card, inner: Session) -> None:
        self._way = way
        self._card = card
        self._inner = inner

    async def __call__(self, request: Request) -> Response:
        return await self._way.deliver(self._card, self._inner, request)

    async def close(self) -> None:
        with self._way.working():
            await self._inner.close()


def between(way: Between, component: Component) -> Component:
    """The component with something before it: it can what the component can, and is not taken for more."""
    abilities = (
        (_Opening, isinstance(component, Opens)),
        (_LimitsOpening, hasattr(component, "open_limit")),
        (_OpeningPerRun, isinstance(component, OpensPerRun)),
        (_Confirming, isinstance(component, Confirms)),
        (_Aligning, isinstance(component, AlignerComponent)),
    )
    return with_abilities(Wrapped, abilities)(way, component)

"""Real components behind a trial's faults: what the workflow calls in their place.

    engine ──▶ struck by the schedule's fault? ──▶ counted ──▶ the real component

A wrapper has its component's card, digest and all, so that runs are pinned to the same manifest; it opens, leases,
confirms and aligns as the component does, and no more than that.
"""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, Final, Protocol, cast

from stretto.chaos.faults import Work, gone
from stretto.chaos.lapse import Lapse
from stretto.chaos.ledger import Ledger
from stretto.types.abilities import with_abilities
from stretto.types.card import Card
from stretto.types.meaning import Aligned, AlignerComponent
from stretto.types.messages import Call, Request, Response, RunInfo
from stretto.types.protocols import Component, Confirms, Opens, OpensPerRun, Session

INDEX: Final = "chaos"
"""Label of a trial's runs: their index, by which faults are drawn."""


class Strike(Protocol):
    """What happens to one call."""

    async def deliver(self, harness: "Harness", card: Card, work: Work, request: Request, /) -> Response:
        """Ask the component, or not, and give what arrives."""
        ...


class Schedule(Protocol):
    """Chooses what strikes."""

    def strike(self, card: Card, call: Call, run: int, /) -> Strike | None:
        """What strikes this call; None when nothing does."""
        ...

    def is_away(self, card: Card, call: Call, run: int, /) -> bool:
        """Whether the component is lost in this run now, so that it cannot even be asked about a write."""
        ...


class Harness:
    """What the wrapped components of one trial share."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.ledger = Ledger()
        self.lapse = Lapse()
        self.asked: set[int] = set()
        """Indices of the runs in which a component was asked: these were accepted, whoever says otherwise."""
        self.again: set[int] = set()
        """Indices of the runs that are to be delivered again."""
        self._wrapped: dict[int, tuple[Component, Component]] = {}

    def wrap(self, component: Component) -> Component:
        """The component behind the faults; the same wrapper each time, so that it is opened once."""
        if id(component) not in self._wrapped:
            self._wrapped[id(component)] = (component, _wrapper(component)(self, component))
        return self._wrapped[id(component)][1]

    async def deliver(self, card: Card, ask: Callable[[Request], Awaitable[Response]], request: Request) -> Response:
        """One attempt at one call, whatever strikes it."""

        async def work(request: Request) -> Response:
            with self.lapse.working():
                response = await ask(request)
            self.ledger.carried_out(card, request.call)
            return response

        self.ledger.asked(card.name, request.call)
        run = index_of(request.call.run)
        if run is None:
            return await work(request)
        self.asked.add(run)
        strike = self.schedule.strike(card, request.call, run)
        return await work(request) if strike is None else await strike.deliver(self, card, work, request)

    async def confirm(self, component: Confirms, card: Card, request: Request) -> Response | None:
        """Ask about a write in doubt, unless the component is away."""
        run = index_of(request.call.run)
        if run is not None and self.schedule.is_away(card, request.call, run):
            raise gone(card)
        with self.lapse.working():
            return await component.confirm(request)


def index_of(run: RunInfo) -> int | None:
    """The index of a trial's run; None for any other."""
    text = run.labels.get(INDEX, "")
    return int(text) if text.isdecimal() else None


class Wrapped:
    """A component behind the faults of a trial."""

    def __init__(self, harness: Harness, inner: Component) -> None:
        self._harness = harness
        self._inner = inner

    @property
    def card(self) -> Card:
        """The component's own."""
        return self._inner.card

    async def __call__(self, request: Request) -> Response:
        return await self._harness.deliver(self._inner.card, self._inner, request)


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
    _harness: Harness

    async def open_run(self, run: RunInfo) -> Session:
        """The run's session, behind the same faults."""
        with self._harness.lapse.working():
            session = await self._inner.open_run(run)
        return _WrappedSession(self._harness, self._inner.card, session)


class _Confirming:
    _inner: Any  # Any: as above
    _harness: Harness

    async def confirm(self, request: Request) -> Response | None:
        """Whether a write in doubt happened, from the component itself."""
        return await self._harness.confirm(self._inner, self._inner.card, request)


class _Aligning:
    _inner: Any  # Any: as above

    def align(self, text: str) -> Aligned | None:
        """What the component takes a text for."""
        return cast("Aligned | None", self._inner.align(text))


class _WrappedSession:
    def __init__(self, harness: Harness, card: Card, inner: Session) -> None:
        self._harness = harness
        self._card = card
        self._inner = inner

    async def __call__(self, request: Request) -> Response:
        return await self._harness.deliver(self._card, self._inner, request)

    async def close(self) -> None:
        with self._harness.lapse.working():
            await self._inner.close()


def _wrapper(component: Component) -> type[Wrapped]:
    """A wrapper that can what the component can, and is not taken for more."""
    abilities = (
        (_Opening, isinstance(component, Opens)),
        (_LimitsOpening, hasattr(component, "open_limit")),
        (_OpeningPerRun, isinstance(component, OpensPerRun)),
        (_Confirming, isinstance(component, Confirms)),
        (_Aligning, isinstance(component, AlignerComponent)),
    )
    return with_abilities(Wrapped, abilities)

"""Real components behind a trial's faults: what the workflow calls in their place.

    engine ──▶ struck by the schedule's fault? ──▶ counted ──▶ the real component

A wrapper can what its component can, and no more than that (`runtime/between`).
"""

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from typing import Final, Protocol

from stretto.chaos.faults import Work, gone
from stretto.chaos.lapse import Lapse
from stretto.chaos.ledger import Ledger
from stretto.runtime.between import between
from stretto.types.card import Card
from stretto.types.messages import Call, Request, Response, RunInfo
from stretto.types.protocols import Component, Confirms

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
            self._wrapped[id(component)] = (component, between(self, component))
        return self._wrapped[id(component)][1]

    async def deliver(self, card: Card, ask: Callable[[Request], Awaitable[Response]], request: Request) -> Response:
        """One attempt at one call, whatever strikes it."""

        async def work(request: Request) -> Response:
            with self.working():
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

    def working(self) -> AbstractContextManager[None]:
        """A real component is at work meanwhile."""
        return self.lapse.working()

    async def confirm(self, component: Confirms, card: Card, request: Request) -> Response | None:
        """Ask about a write in doubt, unless the component is away."""
        run = index_of(request.call.run)
        if run is not None and self.schedule.is_away(card, request.call, run):
            raise gone(card)
        with self.working():
            return await component.confirm(request)


def index_of(run: RunInfo) -> int | None:
    """The index of a trial's run; None for any other."""
    text = run.labels.get(INDEX, "")
    return int(text) if text.isdecimal() else None

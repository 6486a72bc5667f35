"""One component behind the desk: what is asked of it is known, and compiled, before the first call."""

from collections.abc import Awaitable

from stretto.acp import messages as m
from stretto.acp.server.cards import verbs_of, wire_card
from stretto.acp.server.limits import Limits
from stretto.acp.server.sessions import Sessions
from stretto.plan.check import Check
from stretto.types.card import ANY_OBJECT
from stretto.types.json import Schema
from stretto.types.messages import Request, Response
from stretto.types.protocols import Component, Opens, OpensPerRun


class Served:
    """A component, its card in both forms, and the checks of its schemas."""

    def __init__(self, component: Component, limits: Limits) -> None:
        """Raises SpecError when the component's card cannot be read."""
        self.component = component
        self.card = component.card
        self.wire = wire_card(component, limits)
        self.verbs = frozenset(verbs_of(component))
        self.ref = m.ComponentRef(name=self.card.name, version=self.card.version, digest=self.card.digest)
        self.withheld = limits.withheld
        """Of what it reports for learning."""
        self.input_check = _check(self.card.input)
        self.output_check = _check(self.card.output)
        self._sessions = Sessions(component, limits) if isinstance(component, OpensPerRun) else None

    async def open(self) -> None:
        """Open what the component holds while the process lives."""
        if isinstance(self.component, Opens) and self._sessions is None:
            await self.component.open()

    async def close(self) -> None:
        """Close it, and every session."""
        if self._sessions is not None:
            await self._sessions.close()
        elif isinstance(self.component, Opens):
            await self.component.close()

    def ask(self, request: Request) -> Awaitable[Response]:
        """The component's answer, or its session's for this run."""
        return self.component(request) if self._sessions is None else self._sessions.ask(request)


def _check(schema: Schema) -> Check | None:
    """None where every object fits: that it is one is known."""
    return None if schema == ANY_OBJECT else Check(schema)

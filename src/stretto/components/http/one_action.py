"""One action of a service as a component of its own: ``shop/refund``."""

from stretto.components.http.action import Action
from stretto.components.http.desk import Desk
from stretto.types.card import ANY_ACTION, Card
from stretto.types.enums import Effect
from stretto.types.ids import digest_of
from stretto.types.messages import Request, Response


class HttpAction:
    """Shares its service's connections and token with all other actions. Made by `HttpService.tool`."""

    def __init__(self, desk: Desk, name: str, action: Action) -> None:
        self._desk = desk
        self._action = action
        settings = desk.settings
        self._card = Card(
            name=f"{desk.name}/{name}",
            version=settings.version,
            kind="http",
            digest=digest_of(f"{settings.digest()}/{name}".encode()),
            input=action.input,
            output=action.output,
            effects={ANY_ACTION: action.effect},
            idempotent=settings.idempotent and action.effect is Effect.WRITE,
            confirms=action.confirm is not None,
            description=settings.description,
        )

    @property
    def card(self) -> Card:
        """With the action's own schemas, in which nothing names it."""
        return self._card

    async def open(self) -> None:
        """As `Desk.open`."""
        self._desk.open()

    async def close(self) -> None:
        """As `Desk.close`."""
        await self._desk.close()

    async def __call__(self, request: Request) -> Response:
        """As `Desk.ask`."""
        return await self._desk.ask(self._action, request.input, request.call)

    async def confirm(self, request: Request) -> Response | None:
        """As `Desk.confirm`."""
        return await self._desk.confirm(self._action, request.input, request.call)

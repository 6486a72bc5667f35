"""An HTTP service as a component, by declaration."""

from typing import TYPE_CHECKING

from stretto.components.http.action import Action
from stretto.components.http.desk import Desk
from stretto.components.http.one_action import HttpAction
from stretto.components.http.schemas import input_schema, output_schema
from stretto.components.http.settings import ONLY, HttpSettings
from stretto.types.card import ANY_ACTION, Card
from stretto.types.errors import Code, ComponentError
from stretto.types.json import JsonObject
from stretto.types.messages import Request, Response

if TYPE_CHECKING:
    from ssl import SSLContext


class HttpService:
    """Makes a request of each input, and an output of the answer; made by a declaration of kind ``http``.

    An attempt is one request, or one for each page. Raises ComponentError with the service's own words when it does not
    answer as declared; `sent` is false where no request surely left.
    """

    def __init__(self, name: str, settings: HttpSettings, *, ssl: "SSLContext | None" = None) -> None:
        self._desk = Desk(name, settings, ssl)
        self._actions = settings.compiled
        self._tools = {
            action: HttpAction(self._desk, action, compiled)
            for action, compiled in settings.compiled.items()
            if action != ONLY
        }
        self._card = _card(name, settings)

    @property
    def card(self) -> Card:
        """Its digest covers the declaration; not secrets and limits."""
        return self._card

    def tool(self, name: str) -> HttpAction:
        """One action as a component of its own. Raises ComponentError when there is none of that name."""
        found = self._tools.get(name)
        if found is None:
            raise self._no_action(name)
        return found

    async def open(self) -> None:
        """As `Desk.open`."""
        self._desk.open()

    async def close(self) -> None:
        """As `Desk.close`."""
        await self._desk.close()

    async def __call__(self, request: Request) -> Response:
        """As `Desk.ask`."""
        action, data = self._named(request.input)
        return await self._desk.ask(action, data, request.call)

    async def confirm(self, request: Request) -> Response | None:
        """As `Desk.confirm`."""
        action, data = self._named(request.input)
        return await self._desk.confirm(action, data, request.call)

    def _named(self, data: JsonObject) -> tuple[Action, JsonObject]:
        """Which action is asked for, and its own input."""
        if ONLY in self._actions:
            return self._actions[ONLY], data
        field = self._card.action_field
        named = data.get(field)
        if not isinstance(named, str) or named not in self._actions:
            raise self._no_action(named)
        return self._actions[named], {name: value for name, value in data.items() if name != field}

    def _no_action(self, named: object) -> ComponentError:
        known = ", ".join(self._tools) or "none"
        text = f"component '{self._card.name}' has no action {named!r}; expected one of {known}"
        return ComponentError(text, Code.INVALID_ARGUMENT, sent=False)


def _card(name: str, settings: HttpSettings) -> Card:
    actions = settings.compiled
    return Card(
        name=name,
        version=settings.version,
        kind="http",
        digest=settings.digest(),
        input=input_schema(actions, settings.action_field),
        output=output_schema(actions),
        effects={action or ANY_ACTION: compiled.effect for action, compiled in actions.items()},
        action_field=settings.action_field,
        idempotent=settings.idempotent,
        confirms=any(action.confirm is not None for action in actions.values()),
        description=settings.description,
    )

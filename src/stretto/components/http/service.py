"""An HTTP service as a component, by declaration."""

from typing import TYPE_CHECKING

from stretto.components.http.action import Action
from stretto.components.http.answering import Asking, checked, response_of
from stretto.components.http.asker import Asker
from stretto.components.http.gathering import gathered
from stretto.components.http.requests import request_of
from stretto.components.http.schemas import input_schema, output_schema
from stretto.components.http.scope import answered, frame_of
from stretto.components.http.secrets import Secrets
from stretto.components.http.settings import ONLY, HttpSettings
from stretto.components.waiting import Wait
from stretto.components.web.connections import Connections
from stretto.types.card import ANY_ACTION, Card
from stretto.types.errors import Code, ComponentError, ExpressionError, InDoubtError
from stretto.types.json import JsonObject
from stretto.types.messages import Call, Request, Response

if TYPE_CHECKING:
    from ssl import SSLContext


class HttpService:
    """Makes a request of each input, and an output of the answer; made by a declaration of kind ``http``.

    An attempt is one request, or one for each page. Raises ComponentError with the service's own words when it does not
    answer as declared; `sent` is false where no request surely left.
    """

    def __init__(self, name: str, settings: HttpSettings, *, ssl: "SSLContext | None" = None) -> None:
        self._name = name
        self._settings = settings
        self._card = _card(name, settings)
        self._connections = Connections(
            f"component '{name}'",
            max_connections=settings.max_connections,
            max_response_bytes=settings.max_response_bytes,
            ssl=ssl,
            proxy=settings.proxy,
        )
        self._asker = Asker(name, self._connections, settings.auth)

    @property
    def card(self) -> Card:
        """Its digest covers the declaration; not secrets and limits."""
        return self._card

    async def open(self) -> None:
        """Make ready to connect; nothing is sent. Every `open` needs its `close`.

        Raises UsageError while another event loop that has not ended has it open.
        """
        self._connections.open()

    async def close(self) -> None:
        """Drop the connections with the last user; the next call connects again. Raises UsageError as `open` does."""
        await self._connections.close()

    async def __call__(self, request: Request) -> Response:
        """Ask once, or page by page."""
        action, data = self._named(request.input)
        settings = self._settings
        key_header = settings.idempotency_header if settings.idempotent else ""
        with Wait() as waited:
            asking = self._asking(action, data, request.call, waited)
            outgoing = request_of(self._name, action, key_header, request.call, asking.frame, asking.secrets)
            if action.paging is not None:
                return await gathered(self._asker, asking, action.paging, outgoing, settings.max_response_bytes)
            asked = await self._asker.ask(asking, outgoing)
            return response_of(asked, answered(asking.frame, checked(asked).value))

    async def confirm(self, request: Request) -> Response | None:
        """Ask as `confirm` declares: the write's response if it happened, None if it surely did not.

        Raises InDoubtError when the answer does not tell, ComponentError when there is none.
        """
        action, data = self._named(request.input)
        confirm = action.confirm
        if confirm is None:
            raise InDoubtError(f"component '{self._name}' declares no `confirm` for this, so it cannot tell")
        with Wait() as waited:
            asking = self._asking(confirm.action, data, request.call, waited)
            outgoing = request_of(self._name, confirm.action, "", request.call, asking.frame, asking.secrets)
            asked = await self._asker.ask(asking, outgoing)
            frame = answered(asking.frame, checked(asked).value)
            try:
                happened = confirm.happened.evaluate(frame)
            except ExpressionError as error:
                raise InDoubtError(asking.secrets.out_of(str(error))) from error
            if happened is None:
                raise InDoubtError(f"{asked.peer.who} gave an answer in which `{confirm.happened.source}` is null")
            return response_of(asked, frame) if happened else None

    def _asking(self, action: Action, data: JsonObject, call: Call, waited: Wait) -> Asking:
        frame = frame_of(data, call.effect_key)
        return Asking(action=action, frame=frame, secrets=Secrets(self._name), waited=waited)

    def _named(self, data: JsonObject) -> tuple[Action, JsonObject]:
        """Which action is asked for, and its own input."""
        settings = self._settings
        if ONLY in settings.compiled:
            return settings.compiled[ONLY], data
        named = data.get(settings.action_field)
        if not isinstance(named, str) or named not in settings.compiled:
            text = f"component '{self._name}' has no action {named!r}; expected one of {', '.join(settings.compiled)}"
            raise ComponentError(text, Code.INVALID_ARGUMENT, sent=False)
        own = {field: value for field, value in data.items() if field != settings.action_field}
        return settings.compiled[named], own


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

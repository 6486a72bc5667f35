"""Where the calls of one service are made, whichever component they come through: connections, token and limits are
shared."""

from typing import TYPE_CHECKING

from stretto.components.http.action import Action
from stretto.components.http.answering import Asking, checked, response_of
from stretto.components.http.asker import Asker
from stretto.components.http.gathering import gathered
from stretto.components.http.requests import request_of
from stretto.components.http.scope import answered, frame_of
from stretto.components.http.secrets import Secrets
from stretto.components.http.settings import HttpSettings
from stretto.components.waiting import Wait
from stretto.components.web.connections import Connections
from stretto.types.errors import ExpressionError, InDoubtError
from stretto.types.json import JsonObject
from stretto.types.messages import Call, Response

if TYPE_CHECKING:
    from ssl import SSLContext


class Desk:
    """Asks one service."""

    def __init__(self, name: str, settings: HttpSettings, ssl: "SSLContext | None") -> None:
        self.name = name
        self.settings = settings
        self._connections = Connections(
            f"component '{name}'",
            max_connections=settings.max_connections,
            max_response_bytes=settings.max_response_bytes,
            ssl=ssl,
            proxy=settings.proxy,
        )
        self._asker = Asker(name, self._connections, settings.auth)

    def open(self) -> None:
        """Make ready to connect; nothing is sent. Every `open` needs its `close`.

        Raises UsageError while another event loop that has not ended has it open.
        """
        self._connections.open()

    async def close(self) -> None:
        """Drop the connections with the last user; the next call connects again. Raises UsageError as `open` does."""
        await self._connections.close()

    async def ask(self, action: Action, data: JsonObject, call: Call) -> Response:
        """Ask once, or page by page. Raises ComponentError."""
        settings = self.settings
        key_header = settings.idempotency_header if settings.idempotent else ""
        with Wait() as waited:
            asking = self._asking(action, data, call, waited)
            outgoing = request_of(self.name, action, key_header, call, asking.frame, asking.secrets)
            if action.paging is not None:
                return await gathered(self._asker, asking, action.paging, outgoing, settings.max_response_bytes)
            asked = await self._asker.ask(asking, outgoing)
            return response_of(asked, answered(asking.frame, checked(asked).value))

    async def confirm(self, action: Action, data: JsonObject, call: Call) -> Response | None:
        """Ask as `confirm` declares: the write's response if it happened, None if it surely did not.

        Raises InDoubtError when the answer does not tell, ComponentError when there is none.
        """
        confirm = action.confirm
        if confirm is None:
            raise InDoubtError(f"component '{self.name}' declares no `confirm` for this, so it cannot tell")
        with Wait() as waited:
            asking = self._asking(confirm.action, data, call, waited)
            outgoing = request_of(self.name, confirm.action, "", call, asking.frame, asking.secrets)
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
        return Asking(action=action, frame=frame, secrets=Secrets(self.name), waited=waited)

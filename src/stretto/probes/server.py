"""A model server's queue, asked of its Prometheus endpoint over HTTP."""

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from stretto.probes.exposition import server_values
from stretto.probes.probe import ProbeError, Reading, by_name
from stretto.spec.resources_model import ServerSpec
from stretto.types.errors import MissingExtraError
from stretto.types.os_error import reason_of
from stretto.types.resources import SERVER, Measure

if TYPE_CHECKING:  # aiohttp takes 0.2 s to import
    import aiohttp

MAX_BODY_BYTES: Final = 4 * 1024 * 1024
"""Of metrics: ten times what a busy server shows; one that sends without end must not fill the memory."""


class ServerProbe:
    """Connects anew for each reading: a connection that is kept would be left open where the event loop ends before it
    is closed. Raises MissingExtraError without prometheus-client.
    """

    def __init__(self, name: str, spec: ServerSpec) -> None:
        if find_spec("prometheus_client") is None:
            raise MissingExtraError(f"the probe 'models.{name}'", "probes")
        import_module("aiohttp")  # here, for that takes as long as a reading may
        import_module("prometheus_client.parser")
        self._spec = spec
        self._session: aiohttp.ClientSession | None = None

    @property
    def measures(self) -> Mapping[str, Measure | None]:
        return by_name(SERVER)

    async def read(self) -> Reading:
        import aiohttp

        try:
            async with self._connected().get(self._spec.url, allow_redirects=False) as response:
                if response.status != 200:  # of HTTP, a page as asked for
                    raise ProbeError(f"{self._spec.url} answered {response.status}")
                body = await self._body(response)
        except aiohttp.ClientConnectorError as error:
            raise ProbeError(f"{self._spec.url} cannot be reached: {reason_of(error.os_error)}") from error
        except aiohttp.ClientError as error:
            raise ProbeError(f"{self._spec.url} cannot be read: {str(error) or type(error).__name__}") from error
        return server_values(body.decode("utf-8", "replace"), self._spec.engine)

    def _connected(self) -> "aiohttp.ClientSession":
        import aiohttp

        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=1, force_close=True),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None),  # whoever asks has a limit
            )
        return self._session

    async def _body(self, response: "aiohttp.ClientResponse") -> bytes:
        body = bytearray()
        async for chunk in response.content.iter_any():
            body += chunk
            if len(body) > MAX_BODY_BYTES:
                raise ProbeError(f"{self._spec.url} sent more than {MAX_BODY_BYTES:,} bytes")
        return bytes(body)

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

"""The protocol over gRPC: one channel, which multiplexes the calls. Needs the extra ``grpc``."""

import asyncio
import re
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from stretto.acp import messages as m
from stretto.acp.failure import AcpError
from stretto.acp.names import Verb
from stretto.components.acp.link import blotted, peer_of, token_of
from stretto.components.acp.settings import AcpSettings
from stretto.components.acp.target import Target
from stretto.components.acp.trust import trusting
from stretto.components.loop_lock import open_elsewhere
from stretto.components.web.failures import Peer, unreachable, untrusted
from stretto.types.errors import Code, ComponentError, MissingExtraError
from stretto.types.messages import TRACEPARENT, TRACESTATE

if TYPE_CHECKING:
    import grpc

_NO_CONNECTION: Final = ("failed to connect to all addresses", "errors resolving ", "DNS resolution failed")
"""How gRPC's core says that a request never left; no status tells it apart from a connection that broke later."""

_BEFORE_WHY: Final = "Failed to connect to remote host: "
"""What stands before the reason that people know: ``Connection refused``."""

_UNTRUSTED: Final = re.compile(r"CERTIFICATE_VERIFY_FAILED: ([^:]+)")
"""How it says that a certificate is not believed, and why."""

_UNREAD: Final = (
    "CLIENT: Received message larger than max",  # the other side's limit has the same words after SERVER
    "Decompressed message larger than max",
    "received metadata size exceeds",
)
"""How it says that it did not read an answer. Its code for that, RESOURCE_EXHAUSTED, says that nothing happened."""

_KEEP_ALIVE_MS: Final = 30_000
"""A peer that went away without a word is found out within this and gRPC's 20 s for the answer. Pings are sent only
while calls are in flight, which is when servers take them."""


_RECONNECT_MS: Final = 100
"""Until a server that was away is looked for again. gRPC's own wait grows to two minutes, in which every call fails
though the server is back; when to try again is for the step, its quota and its breaker to say."""


def need_grpc(name: str) -> None:
    """Raises MissingExtraError where the packages are not installed."""
    if find_spec("grpc") is None or find_spec("google.protobuf") is None or find_spec("google.rpc") is None:
        raise MissingExtraError(f"component '{name}', which is asked over gRPC,", "grpc")


class GrpcLink:
    """Calls to one server."""

    takes_text = True

    def __init__(self, settings: AcpSettings, target: Target) -> None:
        self._settings = settings
        self._target = target
        self._peer = peer_of(settings, target)
        trusting(settings.ca)  # gRPC's core would tell of a file that holds none at the first call only, on stderr
        self._channel: _Channel | None = None
        self._users = 0

    def open(self) -> None:
        """As `Link.open`. Raises UsageError while another event loop that has not ended has it open."""
        self._of_this_loop()
        self._users += 1

    async def close(self) -> None:
        """As `Link.close`."""
        self._hold_to_loop()
        self._users = max(0, self._users - 1)
        channel = self._channel
        if self._users == 0 and channel is not None:
            self._channel = None
            await channel.close()

    async def ask(self, verb: Verb, request: m.Message, envelope: m.Envelope | None = None) -> tuple[m.Message, float]:
        """As `Link.ask`; a channel has no queue of its own."""
        import grpc

        from stretto.acp.proto_form import request_bytes, response_of

        token = token_of(self._settings)
        metadata = _metadata(token, envelope)
        channel = self._of_this_loop()
        try:
            wire = request_bytes(verb, request)
        except (TypeError, ValueError) as error:
            raise ComponentError(f"a message cannot be written: {error}", Code.INVALID_ARGUMENT, sent=False) from error
        try:
            answer = await channel.calls[verb](wire, metadata=metadata)
        except grpc.aio.AioRpcError as error:
            raise self._error_of(error, token, is_connected=channel.is_connected()) from error
        try:
            return response_of(verb, blotted(answer, token)), 0.0
        except Exception as error:
            text = f"{self._peer.who} answered what is no {verb.capitalize()}Response: {error}"
            raise ComponentError(text, Code.INTERNAL) from error

    def _error_of(self, error: "grpc.aio.AioRpcError", token: str, *, is_connected: bool) -> AcpError | ComponentError:
        """The failure that the peer told, or that of a connection that brought no answer."""
        from stretto.acp.status import DETAILS, failure_of_status

        said = error.details() or ""
        if said.startswith(_NO_CONNECTION) and not is_connected:
            return _unconnected(self._peer, said)
        if any(mark in said for mark in _UNREAD):
            text = f"{self._peer.who} answered more than is read: {said}; {self._peer.limit_remedy}"
            return ComponentError(text, self._peer.limit_code)
        trailing: Any = error.trailing_metadata() or ()  # stubs know no pairs in it
        details = dict(trailing).get(DETAILS)
        number: int = error.code().value[0]
        told = failure_of_status(number, blotted(said, token), blotted(details, token) if details else None)
        return AcpError(told)

    def _of_this_loop(self) -> "_Channel":
        if self._channel is not None and self._channel.loop is asyncio.get_running_loop():
            return self._channel
        self._hold_to_loop()
        if self._channel is not None:
            self._users = 0
        self._channel = _Channel(self._settings, self._target)
        return self._channel

    def _hold_to_loop(self) -> None:
        loop = None if self._channel is None else self._channel.loop
        if loop is not None and loop is not asyncio.get_running_loop() and not loop.is_closed():
            raise open_elsewhere(f"component '{self._settings.name}'", loop)


def _unconnected(peer: Peer, said: str) -> ComponentError:
    untold = _UNTRUSTED.search(said)
    if untold is not None:
        return untrusted(peer, untold[1])
    return unreachable(peer, said.rpartition(_BEFORE_WHY)[2])


def _metadata(token: str, envelope: m.Envelope | None) -> tuple[tuple[str, str], ...]:
    said = [("authorization", f"Bearer {token}" if token else "")]
    if envelope is not None:
        said += [(TRACEPARENT, envelope.traceparent), (TRACESTATE, envelope.tracestate)]
    return tuple((name, text) for name, text in said if text)


class _Channel:
    """A channel, which belongs to the event loop in which it was made."""

    def __init__(self, settings: AcpSettings, target: Target) -> None:
        self.loop = asyncio.get_running_loop()
        self._channel = channel_to(settings, target)
        self.calls: dict[Verb, Any] = {
            verb: self._channel.unary_unary(verb.method, request_serializer=None, response_deserializer=None)
            for verb in Verb
        }

    def is_connected(self) -> bool:
        """Whether there is a connection: then a server that says what gRPC's core says of none tells of another's."""
        import grpc

        return self._channel.get_state() is grpc.ChannelConnectivity.READY

    async def close(self) -> None:
        await self._channel.close(grace=None)


def channel_to(settings: AcpSettings, target: Target) -> "grpc.aio.Channel":
    """A channel of the running event loop to a server; nothing is sent."""
    import grpc
    import grpc.aio

    options = [
        ("grpc.max_receive_message_length", settings.max_response_bytes),
        ("grpc.keepalive_time_ms", _KEEP_ALIVE_MS),
        ("grpc.initial_reconnect_backoff_ms", _RECONNECT_MS),
        ("grpc.max_reconnect_backoff_ms", _RECONNECT_MS),
        ("grpc.enable_http_proxy", 0),  # a proxy that the environment names sees every secret
        ("grpc.enable_retries", 0),  # an attempt is one request
    ]
    place = f"dns:///{target.place}"  # else a host called `unix` or `dns` is taken for a way to find one
    if not target.is_secure:
        return grpc.aio.insecure_channel(place, options=options)
    roots = settings.ca.read_bytes() if settings.ca else None
    credentials = grpc.ssl_channel_credentials(root_certificates=roots)
    return grpc.aio.secure_channel(place, credentials, options=options)

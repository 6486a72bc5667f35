"""Several faces at one address: each request goes to the face that its path belongs to."""

from collections.abc import Sequence
from typing import ClassVar, Protocol

from stretto.acp.failure import AcpError
from stretto.serve.acp_body import Receive
from stretto.serve.acp_guard import CLIENT
from stretto.serve.acp_http import BESIDE, App, Scope, Send, problem_reply
from stretto.serve.acp_metrics import AcpMetrics
from stretto.serve.faces.asking import Asking
from stretto.serve.faces.pages import hold_to_own_pages


class Face(Protocol):
    """An ASGI application for some paths."""

    PATHS: ClassVar[str]
    """Them, for whoever asks for one that is not there."""

    def serves(self, path: str) -> bool:
        """Whether a path is one of its own."""
        ...

    async def __call__(self, scope: Scope, receive: Receive, send: Send, /) -> None: ...


class Dispatch:
    """The ASGI application over all of them; what is nobody's is the protocol's, health and figures too."""

    def __init__(self, protocol: App, faces: Sequence[Face], *, own_pages_only: bool = False) -> None:
        self._protocol = protocol
        self._faces = faces
        self._own_pages_only = own_pages_only
        self._paths = ", ".join(face.PATHS for face in faces)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._own_pages_only:
            try:
                hold_to_own_pages(scope["headers"])
            except AcpError as error:
                reply, client = problem_reply(error.failure), scope[CLIENT]
                client.reply(reply.status, reply.headers, reply.body)
                return
        path = scope.get("path", "")
        for face in self._faces:
            if face.serves(path):
                await face(scope, receive, send)
                return
        await self._protocol({**scope, BESIDE: self._paths} if self._faces else scope, receive, send)


def beside(
    asking: Asking, faces: Sequence[Face], protocol: App, metrics: AcpMetrics, *, own_pages_only: bool = False
) -> App:
    """The application to serve, whose calls are counted together; to web pages from elsewhere it may be closed."""
    asking.metrics = metrics
    return Dispatch(protocol, faces, own_pages_only=own_pages_only)

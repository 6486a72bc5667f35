"""Several faces at one address: each request goes to the face that its path belongs to."""

from collections.abc import Sequence
from typing import ClassVar, Protocol

from stretto.serve.acp_body import Receive
from stretto.serve.acp_http import BESIDE, App, Scope, Send
from stretto.serve.acp_metrics import AcpMetrics
from stretto.serve.faces.asking import Asking


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

    def __init__(self, protocol: App, faces: Sequence[Face]) -> None:
        self._protocol = protocol
        self._faces = faces
        self._paths = ", ".join(face.PATHS for face in faces)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        for face in self._faces:
            if face.serves(path):
                await face(scope, receive, send)
                return
        await self._protocol({**scope, BESIDE: self._paths} if self._faces else scope, receive, send)


def beside(asking: Asking, faces: Sequence[Face], protocol: App, metrics: AcpMetrics) -> App:
    """The application to serve, whose calls are counted together."""
    asking.metrics = metrics
    return Dispatch(protocol, faces)

"""A server that sends the bytes that it is told, whatever it is asked."""

import socket
import threading
from pathlib import Path
from types import TracebackType
from typing import Any

from stretto.acp import json_form, messages as m
from stretto.components.acp.component import AcpComponent
from stretto.components.acp.declaration import make_acp
from tests.unit.components.acp.standin import EXECUTOR

OK = b'{"output":{"status":"done"}}'


def reply(status: str, body: bytes = b"", media_type: str = "application/json", **headers: str) -> bytes:
    """A reply that is well formed."""
    told = {"Content-Type": media_type, "Content-Length": str(len(body)), **headers}
    lines = [f"HTTP/1.1 {status}", *(f"{name.replace('_', '-')}: {text}" for name, text in told.items())]
    return "\r\n".join([*lines, "", ""]).encode() + body


class RawServer:
    """Answers each request of each connection with the same bytes."""

    def __init__(self, *answers: bytes, closes: bool = False) -> None:
        self._answers = answers
        self._closes = closes
        self.asked: list[bytes] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._connections: list[socket.socket] = []
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self) -> "RawServer":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for connection in self._connections:
            connection.close()
        self._thread.join(10)

    @property
    def port(self) -> int:
        port: int = self._listening.getsockname()[1]
        return port

    def component(self, folder: Path, **options: Any) -> AcpComponent:
        """A component that is asked there; its card was kept."""
        card = m.DescribeResponse(protocols=("1.0",), cards=(EXECUTOR,))
        (folder / "card.json").write_bytes(json_form.encode(card))
        given = {"url": f"acp+http://127.0.0.1:{self.port}", "card": Path("card.json"), **options}
        made = make_acp(given, "shop", folder)
        assert isinstance(made, AcpComponent)
        return made

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            self._connections.append(connection)
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        try:
            while request := connection.recv(1 << 20):
                self.asked.append(request)
                connection.sendall(self._answers[min(len(self.asked), len(self._answers)) - 1])
                if self._closes:
                    connection.close()
                    return
        except OSError:
            return

"""Rules for a bank's advice, and a server that serves them on loopback."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from starlette.types import ASGIApp

from stretto.components.rules.analysis import check_rules
from stretto.components.rules.decision import Decision
from stretto.serve.listening import address_of, listen
from stretto.serve.rules_app import rules_app
from tests.unit.components.rules.building import fields, single, table, write

RISK = fields(risk={"enum": ["low", "high"]})
ADVICE = [{"risk": '"low"', "product": '"bond"'}, {"product": '"fund"', "_description": "all others"}]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Two rows: a bond for low risk, a fund for all others."""
    return write(tmp_path, single(table(ADVICE, ["risk"], ["product"]), RISK))


class Serving(uvicorn.Server):
    """An application that listens on a free port of loopback, in the event loop of the test."""

    def __init__(self, app: ASGIApp) -> None:
        super().__init__(uvicorn.Config(app, log_config=None, lifespan="off", access_log=False))
        self.listening = listen("127.0.0.1", 0)
        self.url = address_of(self.listening)
        self.is_ready = asyncio.Event()
        self._is_over = asyncio.Event()
        self.running = asyncio.ensure_future(self._serve([self.listening]))

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.is_ready.set()

    async def main_loop(self) -> None:
        """Uvicorn's own looks ten times a second whether it is over."""
        await self.on_tick(0)
        await self._is_over.wait()

    async def stop(self) -> None:
        self._is_over.set()
        await self.running
        self.listening.close()


@pytest.fixture
async def serving() -> AsyncIterator[Callable[..., Awaitable[str]]]:
    """`await serving(file)` serves a file of rules; gives the address."""
    begun: list[Serving] = []

    async def begin(path: Path, **options: int) -> str:
        begun.append(Serving(rules_app(Decision(check_rules(path).files), path.name, **options)))
        await begun[-1].is_ready.wait()
        return begun[-1].url

    yield begin
    for each in begun:
        await each.stop()


def document(path: Path) -> Any:
    return json.loads(path.read_text())

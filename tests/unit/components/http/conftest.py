"""A stand-in server for a test, and services that ask it."""

from collections.abc import AsyncIterator, Callable

import pytest

from stretto.components.http.service import HttpService
from tests.unit.components.http.declaring import service
from tests.unit.components.http.standin import StandIn

ServiceOf = Callable[[str], HttpService]


@pytest.fixture
async def server() -> AsyncIterator[StandIn]:
    """A server that has started; script its replies."""
    standing = StandIn()
    await standing.start()
    yield standing
    await standing.stop()


@pytest.fixture
async def service_of(server: StandIn) -> AsyncIterator[ServiceOf]:
    """Makes services by declaration, ``HERE`` being the server's origin; they are closed at the end."""
    made: list[HttpService] = []

    def make(declaration: str) -> HttpService:
        made.append(service(declaration.replace("HERE", server.origin)))
        return made[-1]

    yield make
    for each in made:
        await each.close()

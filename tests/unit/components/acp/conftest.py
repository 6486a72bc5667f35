"""A server that speaks the protocol, and components on it."""

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from stretto.components.acp.component import AcpComponent
from stretto.components.acp.declaration import make_acp
from tests.unit.components.acp.standin import StandIn


@pytest.fixture
def server() -> Iterator[StandIn]:
    """A server that has started."""
    with StandIn() as standing:
        yield standing


@pytest.fixture(params=["http", "grpc"])
def url(request: pytest.FixtureRequest, server: StandIn) -> str:
    """Its address, over each of the two."""
    return str(getattr(server, request.param))


@pytest.fixture
async def make(url: str, tmp_path: Path) -> AsyncIterator[Callable[..., AcpComponent]]:
    """Makes components that ask it; they are closed at the end."""
    made: list[AcpComponent] = []

    def component(**options: Any) -> AcpComponent:
        each = make_acp({"url": url, **options}, "shop", tmp_path)
        assert isinstance(each, AcpComponent)
        made.append(each)
        return each

    yield component
    for each in made:
        await each.close()

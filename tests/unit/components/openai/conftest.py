"""A stand-in server for a test, and a model that asks it."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from stretto.components.openai import OpenAiModel
from tests.unit.components.openai.standin import StandIn


@pytest.fixture
async def server() -> AsyncIterator[StandIn]:
    """A server that has started; script its replies."""
    standing = StandIn()
    await standing.start()
    yield standing
    await standing.stop()


@pytest.fixture
async def model_of(server: StandIn) -> AsyncIterator[Callable[..., OpenAiModel]]:
    """Makes models that ask the server; they are closed at the end."""
    made: list[OpenAiModel] = []

    def make(**options: Any) -> OpenAiModel:
        made.append(OpenAiModel("llm", **{"model": "small", "base_url": server.base_url, **options}))
        return made[-1]

    yield make
    for model in made:
        await model.close()

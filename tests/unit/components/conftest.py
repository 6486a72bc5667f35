"""A request as the engine would send it, for tests that call a component directly."""

from collections.abc import Callable

import pytest

from stretto.testing.request import request_for
from stretto.types.messages import Request


@pytest.fixture
def make_request() -> Callable[..., Request]:
    """`make_request(field=value, _run=...)`."""
    return request_for

"""Components that are asked what they are are made side by side, and every problem of them is told."""

import threading
from collections.abc import Callable

import pytest

from stretto.runtime.side_by_side import made_side_by_side
from stretto.types.card import Card
from stretto.types.errors import Problem, SpecError
from stretto.types.ids import Digest
from stretto.types.messages import Request, Response
from stretto.types.protocols import Component


class Named:
    """A component that has a name only."""

    def __init__(self, name: str) -> None:
        self.card = Card(name=name, version="1.0.0", kind="test", digest=Digest(""))

    async def __call__(self, request: Request) -> Response:
        raise AssertionError("nobody asks")


def test_they_are_made_at_the_same_time_and_stay_in_order() -> None:
    together = threading.Barrier(3, timeout=10)

    def maker(name: str) -> Callable[[], Component]:
        def make() -> Component:
            together.wait()
            return Named(name)

        return make

    made = made_side_by_side([maker(name) for name in "abc"])
    assert [give().card.name for give in made] == ["a", "b", "c"]


def test_one_that_fails_says_so_in_its_place() -> None:
    def failing() -> Component:
        raise SpecError([Problem(code="spec.x", message="no")])

    first, second = made_side_by_side([failing, lambda: Named("fine")])
    assert second().card.name == "fine"
    with pytest.raises(SpecError, match="no"):
        first()

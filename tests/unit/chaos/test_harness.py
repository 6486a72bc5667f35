"""What stands in a component's place can what the component can."""

import pytest

from stretto.chaos.harness import Harness
from stretto.chaos.schedule import MutantSchedule
from stretto.types.card import Card
from stretto.types.ids import digest_of
from stretto.types.meaning import Aligned, AlignedBy, AlignerComponent
from stretto.types.messages import Request, Response
from stretto.types.protocols import Confirms, Opens, OpensPerRun


class Plain:
    card = Card(name="plain", version="1", kind="python", digest=digest_of(b""))

    async def __call__(self, request: Request) -> Response:
        return Response(output={})


class Aligning(Plain):
    def align(self, text: str) -> Aligned | None:
        return Aligned(value=text, by=AlignedBy.LEARNED)


class Confirming(Plain):
    async def confirm(self, request: Request) -> Response | None:
        return None


class Opening(Plain):
    async def open(self) -> None: ...

    async def close(self) -> None: ...


@pytest.mark.parametrize("component", [Plain(), Aligning(), Confirming(), Opening()])
def test_a_wrapper_is_taken_for_no_more_and_no_less(component: Plain) -> None:
    harness = Harness(MutantSchedule({}))
    wrapped = harness.wrap(component)
    assert wrapped is harness.wrap(component)
    assert wrapped.card is component.card
    for able in (AlignerComponent, Confirms, Opens, OpensPerRun):
        assert isinstance(wrapped, able) is isinstance(component, able)


def test_a_wrapped_aligner_aligns_as_it_does() -> None:
    wrapped = Harness(MutantSchedule({})).wrap(Aligning())
    assert isinstance(wrapped, AlignerComponent)
    assert wrapped.align("refund") == Aligned(value="refund", by=AlignedBy.LEARNED)

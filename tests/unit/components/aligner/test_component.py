"""The component: it answers what it learnt, abstains below its threshold, and stands in a manifest by its digest."""

from collections.abc import Callable

import msgspec
import pytest

from stretto.components.aligner.component import LearnedAligner
from stretto.components.aligner.model import AlignerModel
from stretto.types.errors import ComponentError
from stretto.types.meaning import AlignedBy
from stretto.types.messages import Request


def _at(model: AlignerModel, threshold: float) -> LearnedAligner:
    return LearnedAligner(model.with_meta(msgspec.structs.replace(model.meta, threshold=threshold)))


def test_it_answers_from_its_threshold_on(model: AlignerModel) -> None:
    guess = _at(model, 0.0).align("where is a parcel")
    assert guess is not None
    assert (guess.value, guess.by) == ("track", AlignedBy.LEARNED)
    unsure = _at(model, 1.0).align("where is a parcel")
    assert unsure is not None
    assert (unsure.value, unsure.by, unsure.confidence) == ("track", AlignedBy.ABSTAINED, guess.confidence)


@pytest.mark.parametrize("text", ["", "   ", "???", "\ud800", "雨", "\0", "🙂" * 5000])
def test_a_text_that_shares_nothing_with_what_was_learnt_gets_no_guess(model: AlignerModel, text: str) -> None:
    assert _at(model, 0.0).align(text) is None


def test_its_card_says_kind_version_and_digest(model: AlignerModel) -> None:
    card = LearnedAligner(model).card
    assert (card.name, card.kind, card.version, card.digest) == ("intent-aligner", "aligner", "1", model.digest)
    assert card.effect_of("").value == "pure"


def test_another_threshold_is_another_digest_and_another_date_is_not(model: AlignerModel) -> None:
    assert _at(model, 0.123).card.digest != LearnedAligner(model).card.digest
    lineage = msgspec.structs.replace(model.meta.lineage, trained_at="2027-01-01T00:00:00+00:00")
    again = model.with_meta(msgspec.structs.replace(model.meta, lineage=lineage))
    assert LearnedAligner(again).card.digest == LearnedAligner(model).card.digest


async def test_it_may_be_called_as_a_component(model: AlignerModel, make_request: Callable[..., Request]) -> None:
    request = make_request(text="cancel an order")
    sure = (await _at(model, 0.0)(request)).output
    unsure = (await _at(model, 1.0)(request)).output
    assert isinstance(sure, dict)
    assert isinstance(unsure, dict)
    assert (sure["value"], unsure["value"]) == ("cancel", None)
    with pytest.raises(ComponentError, match="expected a text"):
        await _at(model, 0.0)(make_request(text=7))

"""Which value of a domain a text means: in which order that is asked, and how sure it must be."""

import pytest
from hypothesis import given, strategies as st

from stretto.plan.meaning.domain import Domain, compile_domain
from stretto.spec.contract import parse_contract
from stretto.types.meaning import MAX_ALIGNED_CHARS, Aligned, AlignedBy, MeaningMode

CONTRACT = """
semantics_mode: quarantine
semantics:
  intent:
    values: [track, cancel, Cancel]
    at: [planner.intent]
    synonyms: {track: [Where Is It, 查快递]}
    rules: [{match: "where.*parcel", value: track}, {match: "parcel", value: cancel}]
"""


class Guesses:
    """An aligner that always guesses the same, and counts how often it was asked."""

    def __init__(self, guess: Aligned | None) -> None:
        self.guess = guess
        self.asked = 0

    def align(self, text: str) -> Aligned | None:
        self.asked += 1
        return self.guess


def learned(value: str, confidence: float, by: AlignedBy = AlignedBy.LEARNED) -> Aligned:
    return Aligned(value=value, by=by, confidence=confidence)


@pytest.fixture
def domain() -> Domain:
    contract = parse_contract(CONTRACT)
    return compile_domain(contract.semantics[0], contract.semantics_mode, None)


@pytest.mark.parametrize(
    ("text", "value", "by"),
    [
        ("track", "track", "exact"),
        ("Cancel", "Cancel", "exact"),
        ("TRACK", "track", "synonym"),
        ("where  is it", "track", "synonym"),
        ("查快递", "track", "synonym"),
        ("Where is my parcel", "track", "rule"),
        ("no parcel", "cancel", "rule"),
        ("CANCEL", "", "abstained"),
        ("", "", "abstained"),
        ("something else", "", "abstained"),
        ("parcel" + " " * MAX_ALIGNED_CHARS, "", "abstained"),
    ],
)
def test_a_text_means_a_value_by_the_first_that_says_so(domain: Domain, text: str, value: str, by: str) -> None:
    found = domain.align(text)
    assert (found.value, found.by.value) == (value, by)


def test_a_domain_that_does_not_say_has_the_mode_of_its_contract(domain: Domain) -> None:
    assert domain.mode is MeaningMode.QUARANTINE
    assert domain.is_closed


@pytest.mark.parametrize(
    ("guess", "threshold", "expected"),
    [
        (learned("a", 0.7), None, learned("a", 0.7)),
        (learned("a", 0.7, AlignedBy.ABSTAINED), None, learned("a", 0.7, AlignedBy.ABSTAINED)),
        (learned("a", 0.7, AlignedBy.ABSTAINED), 0.6, learned("a", 0.7)),
        (learned("a", 0.7), 0.8, learned("a", 0.7, AlignedBy.ABSTAINED)),
        (learned("a", 0.7), 0.7, learned("a", 0.7)),
        (learned("z", 1.0), None, learned("", 0.0, AlignedBy.ABSTAINED)),
        (None, 0.0, learned("", 0.0, AlignedBy.ABSTAINED)),
    ],
)
def test_a_guess_is_believed_from_the_threshold_on(
    guess: Aligned | None, threshold: float | None, expected: Aligned
) -> None:
    domain = Domain(name="d", values=("a", "b"), aligner=Guesses(guess), threshold=threshold)
    assert domain.align("some words") == expected


def test_what_was_declared_is_never_asked_of_the_aligner(domain: Domain) -> None:
    aligner = Guesses(learned("cancel", 1.0))
    both = Domain(
        name=domain.name, values=domain.values, spellings=domain.spellings, rules=domain.rules, aligner=aligner
    )
    for text in ("track", "TRACK", "查快递", "my parcel", "", "  ", "x" * (MAX_ALIGNED_CHARS + 1)):
        both.align(text)
    assert aligner.asked == 0


def make(aligner: Guesses | None) -> Domain:
    return Domain(name="d", values=("a", "b"), spellings={"a": "a", "b": "b", "say a": "a"}, aligner=aligner)


@given(st.text(), st.sampled_from([None, learned("b", 0.9), learned("b", 0.1, AlignedBy.ABSTAINED)]))
def test_what_is_meant_is_a_value_and_means_itself(text: str, guess: Aligned | None) -> None:
    domain = make(Guesses(guess))
    found = domain.align(text)
    if found.by is not AlignedBy.ABSTAINED:
        assert found.value in domain.values
        assert domain.align(found.value) == Aligned(value=found.value, by=AlignedBy.EXACT)

"""What crosses into a domain is a value of it, or does not cross; the record tells of all that was none before."""

import logging
from typing import Any

import pytest
from hypothesis import given, strategies as st

from stretto.engine.meaning import ALIGNMENTS, Crossed, crossed, evidence_of
from stretto.plan.meaning import Crossing, Domain
from stretto.plan.meaning.crossing import exact_of
from stretto.plan.model import Fallback
from stretto.record.model import Run
from stretto.types.enums import Durability, Effect, Reason, RunStatus
from stretto.types.errors import MeaningError
from stretto.types.json import Json
from stretto.types.meaning import Aligned, AlignedBy, MeaningMode
from tests.unit.engine.plans import Ledger, Probe, S, call, linear, read, returning, run

VALUES = ("track", "cancel")


class Guess:
    """An aligner that is sure of long texts only."""

    def align(self, text: str) -> Aligned | None:
        sure = min(1.0, len(text) / 20)
        return Aligned(value="cancel", by=AlignedBy.LEARNED if sure > 0.5 else AlignedBy.ABSTAINED, confidence=sure)


def into(path: str = "a", *, mode: MeaningMode = MeaningMode.ENFORCE, **fields: Any) -> tuple[Crossing, ...]:
    domain = Domain(
        name="intent",
        values=VALUES,
        spellings={"track": "track", "cancel": "cancel", "find": "track"},
        mode=mode,
        **fields,
    )
    return (
        Crossing(
            at=f"step.{path}", path=tuple(path.split(".")), domain=domain, exact=exact_of(domain, frozenset({"intent"}))
        ),
    )


def told(found: Crossed | None) -> list[tuple[Any, ...]]:
    notes: Any = [] if found is None else found.alignments
    return [(note["value"], note["to"], note["by"]) for note in notes]


@pytest.mark.parametrize("value", [{"a": "track"}, {"a": None}, {}, {"b": 1}, {"a": ["track", None, "cancel"]}])
def test_of_what_is_a_value_already_nothing_is_told(value: Any) -> None:
    assert crossed(value, into()) is None


def test_an_alignment_is_told_and_the_given_object_stays_as_it_was() -> None:
    given: dict[str, Json] = {"a": "FIND", "b": 1}
    found = crossed(given, into())
    assert found is not None
    assert found.value == {"a": "track", "b": 1}
    assert given == {"a": "FIND", "b": 1}
    assert evidence_of([found]) == {
        ALIGNMENTS: [
            {"at": "step.a", "domain": "intent", "value": "FIND", "to": "track", "by": "synonym", "confidence": 1.0}
        ]
    }


@pytest.mark.parametrize("value", ["nonsense", "", 5, 1.5, True, {"x": 1}])
def test_what_means_nothing_is_refused_and_null_stands_in_its_place(value: Any) -> None:
    found = crossed({"a": value}, into())
    assert found is not None
    assert found.value == {"a": None}
    with pytest.raises(MeaningError) as caught:
        found.hold("the request")
    assert [violation.pointer for violation in caught.value.violations] == ["/a"]
    assert not caught.value.retryable


def test_a_guess_that_is_not_sure_is_told_beside_the_refusal() -> None:
    found = crossed({"a": "hm"}, into(aligner=Guess()))
    assert found is not None
    (note,) = found.alignments
    assert isinstance(note, dict)
    assert (note["to"], note["guess"], note["confidence"]) == (None, "cancel", 0.1)
    assert "the nearest is 'cancel', with confidence 0.10" in str(found.violations[0])


def test_only_quarantine_marks() -> None:
    for mode, is_marked in ((MeaningMode.ENFORCE, False), (MeaningMode.QUARANTINE, True), (MeaningMode.WARN, False)):
        found = crossed({"a": "x"}, into(mode=mode))
        assert found is not None
        assert found.is_quarantined is is_marked


def test_under_warn_it_passes_and_the_log_has_it_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    for text in ("once", "twice"):
        found = crossed({"only_here": text}, into("only_here", mode=MeaningMode.WARN))
        assert found is not None
        assert found.value == {"only_here": text}
        assert told(found) == [(text, None, "abstained")]
        found.hold("nothing is refused")
    (line,) = caplog.messages
    assert "'once'" not in line
    assert "`stretto semantics label --domain intent` lists all such values with their runs" in line


def test_a_value_that_nobody_translates_is_not_guessed_at() -> None:
    (crossing,) = into(aligner=Guess())
    foreign = Crossing(
        at=crossing.at,
        path=crossing.path,
        domain=crossing.domain,
        exact=crossing.exact,
        untranslated=frozenset({"find", "a refund of all that I paid"}),
    )
    for text in ("find", "a refund of all that I paid"):
        assert told(crossed({"a": text}, (foreign,))) == [(text, None, "abstained")]


def test_a_long_text_is_cut_on_the_record() -> None:
    found = crossed({"a": "x" * 10_000}, into())
    assert found is not None
    assert len(told(found)[0][0]) < 2_100


TEXTS = st.one_of(st.sampled_from([*VALUES, "FIND", "nonsense", "a text of many words here"]), st.text(max_size=30))
JSON = st.recursive(st.one_of(st.none(), st.booleans(), st.integers(-9, 9), TEXTS), lambda x: st.lists(x, max_size=3))


def leaves(value: Json) -> list[Json]:
    return [leaf for item in value for leaf in leaves(item)] if isinstance(value, list) else [value]


@given(JSON, st.booleans())
def test_what_has_crossed_is_of_the_domain_and_crosses_again_unchanged(value: Json, is_learned: bool) -> None:
    crossings = into(aligner=Guess() if is_learned else None)
    found = crossed({"a": value}, crossings)
    after: Any = {"a": value} if found is None else found.value
    assert all(leaf is None or leaf in VALUES for leaf in leaves(after["a"]))
    assert crossed(after, crossings) is None


@given(JSON)
def test_a_refusal_is_told_for_each_value_that_means_nothing(value: Json) -> None:
    found = crossed({"a": value}, into())
    refused = [] if found is None else found.violations
    assert len(refused) == sum(1 for _, to, _ in told(found) if to is None)


def order_api(said: str, **fields: Any) -> tuple[Probe, Run, Ledger]:
    """A run whose one step asks an API that reads or writes by what it is told."""
    effects = {"track": Effect.READ, "cancel": Effect.WRITE}
    api = returning("api", {"done": "yes"}, effects=effects, action_field="a")
    op = call(api, S, {"a": read(0, "said")}, action_field="a", crossings_in=into(), **fields)
    ledger = Ledger()
    return api, run(linear(op), {"said": said}, ledger=ledger, durability=Durability.STEP), ledger


def test_what_a_call_does_to_the_world_is_told_by_what_was_meant() -> None:
    _, asked, ledger = order_api("FIND")
    assert (asked.steps[0].action, asked.steps[0].effect) == ("track", Effect.READ)
    assert not ledger.effects
    _, asked, ledger = order_api("Cancel")
    assert (asked.steps[0].action, asked.steps[0].effect) == ("cancel", Effect.WRITE)
    assert [effect.request_value for effect in ledger.effects.values()] == [{"a": "cancel"}]


def test_what_means_nothing_asks_nobody_and_intends_nothing() -> None:
    api, asked, ledger = order_api("nonsense", fallback=Fallback(output=b'{"done": "by hand"}'))
    assert (api.requests, ledger.effects) == ([], {})
    assert (asked.status, asked.reason) == (RunStatus.DEGRADED, Reason.CONTRACT)


def test_a_write_whose_answer_means_nothing_has_its_receipt() -> None:
    api = returning("api", {"a": "nonsense"}, effects={"*": Effect.WRITE})
    ledger = Ledger()
    asked = run(linear(call(api, S, crossings_out=into())), ledger=ledger, durability=Durability.STEP)
    assert (asked.status, asked.error and asked.error.code) == (RunStatus.FAILED, MeaningError.code)
    (effect,) = ledger.effects.values()
    assert not effect.in_doubt
    assert effect.receipt_value == {"a": "nonsense"}


def test_a_write_keeps_what_it_answered_and_gives_what_that_means() -> None:
    ledger = Ledger()
    api = returning("api", {"a": "FIND"}, effects={"*": Effect.WRITE})
    asked = run(linear(call(api, S, crossings_out=into())), ledger=ledger, durability=Durability.STEP)
    (effect,) = ledger.effects.values()
    assert effect.receipt_value == {"a": "FIND"}
    assert asked.steps[0].output_value == {"a": "track"}

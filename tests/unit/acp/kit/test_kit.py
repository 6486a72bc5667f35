"""A case is asked as its card allows, and what comes back is held against what the case expects."""

from collections.abc import Sequence
from typing import Any
from xml.etree.ElementTree import fromstring

import msgspec
import pytest

from stretto.acp import messages as m
from stretto.acp.failure import Failure
from stretto.acp.kit.case import Case, Exchange, Expect, Group, When
from stretto.acp.kit.good import merged, subjects_of
from stretto.acp.kit.judge import complaints
from stretto.acp.kit.kit import Verdict, claimed_by, judged
from stretto.acp.kit.report import as_document, as_junit
from stretto.acp.kit.seen import Seen, shown
from stretto.acp.names import Verb
from stretto.types.enums import Effect
from stretto.types.errors import Code, UsageError, Violation
from stretto.types.json import JsonObject

DESK = m.WireCard(
    name="desk",
    version="1.0.0",
    digest="d1",
    input={
        "type": "object",
        "properties": {"do": {"enum": ["refund", "look"]}, "n": {"type": "integer"}},
        "required": ["do", "n"],
    },
    output={"type": "object", "properties": {"did": {"type": "string"}}, "required": ["did"]},
    effects={"refund": "write", "look": "read"},
    action_field="do",
    idempotent=True,
    verbs=("reflect", "execute"),
)


class Scripted:
    """A wire whose server answers as it is told."""

    form = "http"

    def __init__(self, *seen: Seen) -> None:
        self._seen = list(seen)
        self.asked: list[tuple[Verb, JsonObject]] = []

    async def send(self, verb: Verb, request: JsonObject, exchange: Exchange) -> Seen:
        self.asked.append((verb, request))
        return self._seen.pop(0)

    async def close(self) -> None:
        pass


def answered(output: JsonObject, **result: Any) -> Seen:
    return Seen(
        sent="s", got="g", took_ms=5.0, status=200, response=m.CallResponse(output=output, result=m.Result(**result))
    )


def refused(code: Code, **more: Any) -> Seen:
    return Seen(sent="s", got="g", took_ms=5.0, failure=Failure(code=code, message="no", **more))


def case(*exchanges: Exchange, group: Group = Group.CORE, **more: Any) -> Case:
    return Case(name="a case", group=group, why="why not", exchanges=exchanges, **more)


async def verdicts(wire: Scripted, *cases: Case, card: m.WireCard = DESK, may_write: bool = True) -> list[Verdict]:
    held = judged(cases, subjects_of(card, None), wire, claimed_by(card), may_write=may_write)
    return [each async for each in held]


def test_what_writes_nothing_is_asked_first() -> None:
    first, second = subjects_of(DESK, None)
    assert (first.verb, first.action, first.effect, first.input) == (
        Verb.EXECUTE,
        "look",
        Effect.READ,
        {"do": "look", "n": 0},
    )
    assert (second.action, second.effect) == ("refund", Effect.WRITE)


def test_what_was_given_is_asked_as_the_card_says_of_its_action() -> None:
    [subject] = subjects_of(DESK, {"do": "refund", "n": 4})
    assert (subject.effect, subject.input) == (Effect.WRITE, {"do": "refund", "n": 4})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"verbs": ("vjp",)}, "offers no verb of a step; its card says vjp"),
        (
            {
                "input": {
                    "type": "object",
                    "required": ["x"],
                    "properties": {"x": {"type": "string", "pattern": "^[0-9]{9}$"}},
                }
            },
            "--input",
        ),
    ],
)
def test_a_component_that_nobody_can_ask_is_told(change: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        subjects_of(msgspec.structs.replace(DESK, **change), None)


def test_a_card_decides_what_it_is_held_to() -> None:
    assert claimed_by(DESK) == {Group.CORE, Group.IDEMPOTENT, Group.REFLECT}


async def test_a_case_that_is_not_claimed_or_would_write_is_not_asked() -> None:
    wire = Scripted()
    groups = [Group.VJP, Group.IDEMPOTENT]
    found = await verdicts(wire, *(case(Exchange(), group=group) for group in groups), may_write=False)
    assert [each.skipped for each in found] == ["its card does not claim vjp", "it would write; allow it with --writes"]
    assert wire.asked == []


@pytest.mark.parametrize(
    ("change", "skipped"),
    [
        ({}, ["", ""]),
        ({"verbs": ("execute", "vjp")}, ["it offers vjp", ""]),
        ({"input": {}, "action_field": ""}, ["", "its schema asks for nothing"]),
    ],
)
async def test_a_case_that_says_nothing_of_a_component_is_not_asked(change: dict[str, Any], skipped: list[str]) -> None:
    wire = Scripted(*[refused(Code.UNIMPLEMENTED)] * 2)
    cases = (case(Exchange(), when=When.NO_VJP), case(Exchange(), when=When.NEEDS_INPUT))
    found = await verdicts(wire, *cases, card=msgspec.structs.replace(DESK, **change))
    assert [each.skipped for each in found] == skipped


async def test_exchanges_of_a_case_share_a_key_until_a_fresh_one_is_asked_for() -> None:
    wire = Scripted(*[answered({"did": "x"})] * 3)
    [verdict] = await verdicts(wire, case(Exchange(), Exchange(), Exchange(fresh_key=True)))
    assert verdict.passed
    keys = [request["envelope"]["effectKey"] for _, request in wire.asked]  # type: ignore[index,call-overload]  # JSON
    assert keys[0] == keys[1] != keys[2]


async def test_a_verdict_says_which_exchange_went_wrong() -> None:
    wire = Scripted(answered({"did": "x"}, replayed=False), answered({"did": "y"}, replayed=False))
    again = Exchange(expect=Expect(ok=True, replayed=True, same_output_as=1))
    [verdict] = await verdicts(wire, case(Exchange(expect=Expect(ok=True)), again, group=Group.IDEMPOTENT))
    assert verdict.complaints == (
        "exchange 2 of 2: `replayed` is false; expected true",
        "exchange 2 of 2: its output is another than that of the same request before",
    )


@pytest.mark.parametrize(
    ("expect", "seen", "said"),
    [
        (Expect(ok=True), answered({}), "the output does not fit the card's own schema"),
        (Expect(ok=True), answered({"did": "x"}, outcome="great"), "its outcome is 'great'"),
        (Expect(ok=True), answered({"did": "x"}, queue_ms=100.0), "`queueMs` is 100.0, and the whole took 5.0 ms"),
        (Expect(ok=True), answered({"did": "x"}, service_ms=-1.0), "`serviceMs` is -1.0"),
        (Expect(ok=True), refused(Code.INTERNAL), "expected an answer, got a failure"),
        (Expect(ok=False), answered({"did": "x"}), "expected a refusal, got an answer"),
        (Expect(codes=(Code.NOT_FOUND,)), answered({"did": "x"}), "expected a refusal (not_found), got an answer"),
        (
            Expect(ok=False, reason="R", metadata=("a",), violations=True),
            answered({"did": "x"}),
            "expected a refusal (reason R, metadata `a`, violations), got an answer",
        ),
        (Expect(codes=(Code.NOT_FOUND,)), refused(Code.INTERNAL), "its code is internal; expected not_found"),
        (Expect(ok=False, reason="ENVELOPE"), refused(Code.INTERNAL), "its reason is ''; expected ENVELOPE"),
        (Expect(ok=False, metadata=("a",)), refused(Code.INTERNAL), "its metadata has no `a`"),
        (Expect(ok=False, pointer="/a"), refused(Code.INTERNAL), "its violations name no place; expected /a"),
        (Expect(violations=True, ok=False), refused(Code.INTERNAL), "it has no `violations`"),
        (Expect(within_ms=1.0), answered({"did": "x"}), "it took 5 ms; expected an end within 1 ms"),
        (Expect(status=404), answered({"did": "x"}), "expected status 404"),
        (Expect(text="ok"), answered({"did": "x"}), "expected a body that holds 'ok'"),
        (Expect(), Seen(sent="", got="", took_ms=1.0, complaints=("it hangs",)), "it hangs"),
    ],
)
def test_what_is_wrong_is_said(expect: Expect, seen: Seen, said: str) -> None:
    found = list(complaints(expect, seen, (), subjects_of(DESK, None)[0], Verb.EXECUTE))
    assert len(found) == 1
    assert said in found[0]


@pytest.mark.parametrize(
    ("expect", "seen"),
    [
        (Expect(ok=True), answered({"did": "x"}, outcome="partial", queue_ms=1.0, service_ms=2.0)),
        (Expect(), answered({})),
        (Expect(), refused(Code.INTERNAL)),
        (Expect(ok=False), Seen(sent="s", got="g", took_ms=1.0, hung_up=True)),
        (Expect(codes=(Code.NOT_FOUND, Code.INTERNAL)), refused(Code.INTERNAL)),
        (Expect(ok=False, reason="X", metadata=("a",)), refused(Code.INTERNAL, reason="X", metadata={"a": "b"})),
        (Expect(ok=False, pointer="/a"), refused(Code.INTERNAL, violations=(Violation(pointer="/a/b", message=""),))),
    ],
)
def test_what_is_right_passes(expect: Expect, seen: Seen) -> None:
    assert list(complaints(expect, seen, (), subjects_of(DESK, None)[0], Verb.EXECUTE)) == []


@pytest.mark.parametrize(
    ("cards", "said"),
    [
        ((), ["`protocols` is empty", "no card of 'desk'; there are none"]),
        (
            (msgspec.structs.replace(DESK, version="", output={"type": 3}),),
            [
                "`protocols` is empty",
                "the card of 'desk' has no version",
                "the card of 'desk' is another than a moment ago: `version`, `output`",
                "the card's output is no JSON Schema",
            ],
        ),
    ],
)
def test_a_description_is_held_to_what_a_card_may_say(cards: tuple[m.WireCard, ...], said: list[str]) -> None:
    seen = Seen(sent="", got="", took_ms=1.0, response=m.DescribeResponse(cards=cards))
    found = list(complaints(Expect(ok=True), seen, (), subjects_of(DESK, None)[0], Verb.DESCRIBE))
    assert [each.startswith(expected) for each, expected in zip(found, said, strict=True)] == [True] * len(said)


@pytest.mark.parametrize(
    ("value", "patch", "expected"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [1]}, {"a": {"b": 1}}, {"a": {"b": 1}}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_a_request_is_changed_by_a_merge_patch(value: JsonObject, patch: JsonObject, expected: JsonObject) -> None:
    assert merged(value, patch) == expected  # examples of RFC 7396, appendix A


def _three() -> Sequence[Verdict]:
    one = case(Exchange())
    broken = ("its code is \x00 & <b>",)
    return (
        Verdict(case=one, took_ms=1.5),
        Verdict(case=one, skipped="it would write"),
        Verdict(case=one, complaints=broken, sent="s", got="g"),
    )


def test_a_ci_system_can_read_the_verdicts() -> None:
    suite = fromstring(as_junit("desk", _three()))
    assert [suite.get(name) for name in ("tests", "failures", "skipped")] == ["3", "1", "1"]
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert failure.get("message") == "its code is ? & <b>"


def test_a_program_can_read_the_verdicts() -> None:
    document = as_document("http://x", "desk", _three())
    assert [document[name] for name in ("passed", "failed", "skipped")] == [1, 1, 1]


def test_a_long_body_is_shown_by_its_beginning() -> None:
    assert shown(b"a\n b" + b"x" * 1000).startswith("a bxxx")
    assert shown(b"a\n b" + b"x" * 1000).endswith("... (1,004 bytes)")

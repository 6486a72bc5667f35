"""A server that keeps to the page passes every case, and one that departs from it in one thing is told which."""

import itertools
from collections.abc import Callable
from typing import Any, cast

import msgspec
import pytest

from stretto.acp import messages as m
from stretto.acp.kit.case import Case, Http, load_cases
from stretto.acp.kit.good import subjects_of
from stretto.acp.kit.http_wire import HttpWire
from stretto.acp.kit.kit import Verdict, claimed_by, judged
from tests.unit.acp.kit.by_the_page import CARD, Lie, Said, Serving

TINY = msgspec.convert(CARD, m.WireCard)

Change = Callable[..., dict[str, Any]]


def _is_quick(case: Case) -> bool:
    """Without what stops half-way, ends half-way or is very large: http.server has no guard against that."""
    sent = [each.http or Http() for each in case.exchanges]
    return not any(each.stall or each.cut or each.gone or each.pad_bytes for each in sent)


CASES = tuple(filter(_is_quick, load_cases()))


async def verdicts(lie: Lie | None, *cases: Case) -> list[Verdict]:
    with Serving(lie) as url:
        wire = HttpWire(url, {})
        try:
            held = judged(cases, subjects_of(TINY, None), wire, claimed_by(TINY), may_write=True)
            return [each async for each in held]
        finally:
            await wire.close()


def hears(**envelope: Any) -> Lie:
    """Takes these fields of the envelope for what they are not."""

    def change(_path: str, message: dict[str, Any]) -> dict[str, Any]:
        if not isinstance(message.get("envelope"), dict):
            return message
        return {**message, "envelope": {**message["envelope"], **envelope}}

    return Lie(hears=change)


def says(change: Change) -> Lie:
    """Says of a call that it answered what the change makes of its answer."""

    def lie(path: str, message: dict[str, Any], said: Said) -> Said:
        status, headers, body = said
        if status != 200 or "result" not in body:
            return said
        return status, headers, change(message, body)

    return Lie(says=lie)


def of_result(**changed: Any) -> Lie:
    return says(lambda _message, body: {**body, "result": {**body["result"], **changed}})


def of_stored(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Lie:
    return says(lambda _message, body: change(body) if body["result"].get("replayed") else body)


def of_failure(change: Callable[[Said], Said]) -> Lie:
    return Lie(says=lambda _path, _message, said: said if said[0] == 200 else change(said))


def of_card(change: Callable[[dict[str, Any], int], dict[str, Any]]) -> Lie:
    times = itertools.count()

    def lie(path: str, _message: dict[str, Any], said: Said) -> Said:
        if path != "/acp/v1/describe" or said[0] != 200:
            return said
        return said[0], said[1], {**said[2], "cards": [change(card, next(times)) for card in said[2]["cards"]]}

    return Lie(says=lie)


def _without(body: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in body.items() if key != name}


def _same_input(_path: str, message: dict[str, Any]) -> dict[str, Any]:
    return {**message, "input": {"do": "book", "order": "W1"}} if message.get("input") else message


def _without_contents(_path: str, message: dict[str, Any]) -> dict[str, Any]:
    return {**message, "blobs": [], "input": {"do": "look", "order": "W1"}} if message.get("blobs") else message


def _more_cards(_path: str, _message: dict[str, Any], said: Said) -> Said:
    cards = said[2].get("cards")
    return (*said[:2], {**said[2], "cards": cards * 2}) if cards else said


CHOSEN = {"name": "tool", "chosen": "a", "support": ["a", "b"], "logprob": -0.7, "propensity": 0.5}

_COUNT = itertools.count()

LIES = [
    ("ignores the digest", hears(component={}), "another digest is refused", "(failed_precondition, reason COMPONENT_"),
    ("ignores the deadline", hears(remainingMs=9), "a call whose time has passed is refused", "(deadline_exceeded, m"),
    ("ignores mirrors", hears(variant={}), "a mirror writes nothing", "expected a refusal, got an answer"),
    ("one key for all", hears(effectKey="k"), "another key is another effect", "`replayed` is true; expected false"),
    ("ignores the version", hears(protocol="1.0"), "an unknown major version is refused", "reason VERSION_UNSUPPORTED"),
    ("ignores what is asked", Lie(hears=_same_input), "another request under the same key is refused", "KEY_CONFLICT"),
    ("ignores contents", Lie(hears=_without_contents), "a content that is not there is asked for", "BLOB_MISSING"),
    ("another component's answer", of_result(component={"name": "other"}), "*", "`component.name` of its result is"),
    ("another digest's answer", of_result(component={"digest": "d2"}), "*", "'d2', and its card says 'tiny-1'"),
    ("spent less than nothing", of_result(usage={"inputTokens": -1}), "*", "`usage.inputTokens` is -1; expected 0 to"),
    ("was paid for it", of_result(usage={"cost": -0.5}), "*", "`usage.cost` is -0.5; expected a number of 0 or more"),
    ("waited before it was asked", of_result(queueMs=60_000), "*", "`queueMs` is 60000.0, and the whole took"),
    ("another outcome of its own", of_result(outcome="splendid"), "*", "its outcome is 'splendid'; expected one of"),
    (
        "stored with another outcome",
        of_stored(lambda body: {**body, "result": {**body["result"], "outcome": "ok"}}),
        *("the same request under the same key is one effect", "its `outcome` is another than when it was answered"),
    ),
    (
        "stored with another handle",
        of_stored(lambda body: {**body, "gradientHandle": "g2"}),
        *("the same request under the same key is one effect", "its `gradientHandle` is another than when"),
    ),
    (
        "stored with another output",
        of_stored(lambda body: {**body, "output": {"status": "x"}}),
        *("a third time is the same again", "its output is another than that of the same request before"),
    ),
    (
        "stored with another choice",
        says(lambda _, body: {**body, "actions": [{**CHOSEN, "policy": str(next(_COUNT))}]}),
        *("the same request under the same key is one effect", "its `actions` are others than those of the same"),
    ),
    (
        "chose what was not to be had",
        says(lambda _, body: {**body, "actions": [{**CHOSEN, "chosen": "c"}]}),
        *("*", "learning may not stand: component 'tiny' reported the action 'tool' with 'c' chosen"),
    ),
    (
        "sampled nothing that can be read",
        says(lambda _, body: {**body, "modelCalls": [{"mask": {"content": "AAAA"}}]}),
        *("*", "`mask` of a model call is no array"),
    ),
    (
        "stored, and does not say so",
        of_result(replayed=False),
        *("the same request under the same key is one effect", "`replayed` is false; expected true"),
    ),
    (
        "does it while it is asked whether",
        Lie(hears=lambda _, message: _without(message, "confirmOnly")),
        *("asking does nothing", "expected a refusal, got an answer"),
    ),
    (
        "pure, and counts",
        says(lambda _, body: {**body, "output": {"status": str(next(_COUNT))}}),
        *("a pure action answers the same to the same", "its output is another than"),
    ),
    (
        "answers text with an object",
        says(lambda _, body: {**_without(body, "outputJson"), "output": {"status": "x"}}),
        *("an input as text is answered with text", "its output is not written as text; expected the form in which"),
    ),
    (
        "another digest each time",
        of_card(lambda card, times: {**card, "digest": f"tiny-{times + 2}"}),
        *("describing twice says the same", "the card of 'tiny' is another than a moment ago: `digest`"),
    ),
    ("no digest", of_card(lambda card, _: _without(card, "digest")), "it describes itself", "has no digest"),
    (
        "all cards to whoever asks for one",
        Lie(says=_more_cards),
        *("it describes one component by name", "it has 2 cards: tiny, tiny; expected 1"),
    ),
    (
        "a verb of the card that is not served",
        Lie(hears=lambda path, message: {} if path.endswith("observe") else message),
        *("every verb that the card names is served", "exchange 2 of 2: expected an answer, got a failure"),
    ),
    (
        "refuses without saying that nothing was sent",
        of_failure(lambda said: (*said[:2], _without(said[2], "metadata"))),
        *("a call whose time has passed is refused", "its metadata has no `sent`"),
    ),
    (
        "two times to ask again",
        of_failure(lambda said: (said[0], {**said[1], "Retry-After": "1"}, {**said[2], "retryAfterMs": 60_000})),
        *("a call whose time has passed is refused", "Retry-After is '1', and `retryAfterMs` 60000; expected '60'"),
    ),
    (
        "a status of its own",
        of_failure(lambda said: (500, said[1], {**said[2], "status": 500})),
        *("another component is refused", "status 500 for code not_found; expected 404"),
    ),
    (
        "a type of its own",
        of_failure(lambda said: (*said[:2], {**said[2], "type": "about:blank"})),
        *("another component is refused", "`type` is 'about:blank'; expected 'urn:acp:not_found'"),
    ),
    (
        "a failure in a list",
        of_failure(lambda said: (*said[:2], cast("dict[str, Any]", [said[2]]))),
        *("another component is refused", "and the body is no problem document, which is an object"),
    ),
    (
        "refuses with status 200",
        of_failure(lambda said: (200, *said[1:])),
        *("another component is refused", "Content-Type is 'application/problem+json'; expected application/json"),
    ),
]  # fmt: skip


async def test_whoever_keeps_to_the_page_passes_every_case() -> None:
    found = await verdicts(None, *CASES)
    assert [(each.case.name, each.complaints, each.got) for each in found if each.complaints] == []
    assert sum(each.passed for each in found) > 60


@pytest.mark.parametrize(("lie", "case", "said"), [each[1:] for each in LIES], ids=[each[0] for each in LIES])
async def test_who_departs_from_it_in_one_thing_is_told_which(lie: Lie, case: str, said: str) -> None:
    case = "a good request is answered as the card says" if case == "*" else case
    [verdict] = await verdicts(lie, next(each for each in CASES if each.name == case))
    assert said in "; ".join(verdict.complaints)

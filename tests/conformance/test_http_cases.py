"""Runs the data cases of `http/`: what is sent for a declaration and an input, and what is made of the answer."""

import re
from pathlib import Path
from typing import Any

import orjson
import pytest
from lxml import etree
from ruamel.yaml import YAML

from stretto.components.http.service import HttpService
from stretto.testing.request import request_for
from stretto.types.card import Card
from stretto.types.enums import Effect
from stretto.types.errors import ComponentError
from tests.unit.components.http.declaring import problems_of, service
from tests.unit.components.http.standin import Asked, StandIn

CASES_DIR = Path(__file__).parent / "http"
KEYS = {"name", "service", "env", "input", "requests", "responses", "output", "error", "problems", "card"}
ENDINGS = ("output", "error", "problems", "card")


def _all_cases() -> list[dict[str, Any]]:
    yaml = YAML(typ="safe", pure=True)
    return [case for file in sorted(CASES_DIR.glob("*.yaml")) for case in yaml.load(file)]


CASES = _all_cases()
CALLS = [case for case in CASES if "output" in case or "error" in case]


def test_cases_are_well_formed_and_many() -> None:
    assert [case["name"] for case in CASES if set(case) - KEYS or sum(key in case for key in ENDINGS) != 1] == []
    names = [case["name"] for case in CASES]
    assert len(set(names)) == len(names) >= 50


@pytest.mark.parametrize("case", CALLS, ids=lambda case: case["name"])
async def test_a_call_does_what_the_case_expects(case: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in case.get("env", {}).items():
        monkeypatch.setenv(name, value)
    server = StandIn()
    await server.start()
    try:
        for answer in case.get("responses", []):
            headers = {"Content-Type": _types(answer), **answer.get("headers", {})}
            here = {name: _here(str(value), server) for name, value in headers.items()}
            server.reply(_body(answer, server), status=answer.get("status", 200), headers=here)
        asking = service(case["service"].replace("HERE", server.origin))
        await _check_call(case, asking, server)
    finally:
        await server.stop()


async def _check_call(case: dict[str, Any], asking: HttpService, server: StandIn) -> None:
    given = case.get("input", {})
    effect = asking.card.effect_of(asking.card.action_of(given))
    try:
        response = await asking(request_for(_run="run-1", _path="step", _effect=effect, **given))
    except ComponentError as error:
        _check_error(error, case.get("error"))
    else:
        assert response.output == case.get("output"), response.output
    finally:
        await asking.close()
    wanted = case.get("requests")
    if wanted is not None:
        assert len(server.asked) == len(wanted), [asked.target for asked in server.asked]
        for asked, expected in zip(server.asked, wanted, strict=True):
            _check_request(asked, expected)


def _check_error(error: ComponentError, expected: dict[str, Any] | None) -> None:
    assert expected is not None, error
    found = {
        "code": error.rpc_code.value,
        "sent": error.sent,
        "retryable": error.retryable,
        "retry_after_s": error.retry_after_s,
    }
    assert {key: found[key] for key in expected if key in found} == {
        key: value for key, value in expected.items() if key in found
    }, error
    assert [text for text in expected.get("contains", []) if text not in str(error)] == [], error
    assert [text for text in expected.get("hides", []) if text in str(error)] == [], error


def _check_request(asked: Asked, expected: dict[str, Any]) -> None:
    assert f"{asked.method} {asked.target}" == expected["line"]
    headers = {name: asked.headers.get(name) for name in expected.get("headers", {})}
    assert headers == expected.get("headers", {})
    if "json" in expected:
        assert orjson.loads(asked.body) == expected["json"]
    if "form" in expected:
        assert asked.body.decode() == expected["form"]
    if "xml" in expected:
        assert _canonical(asked.body) == _canonical(expected["xml"].encode())
    if not {"json", "form", "xml"} & set(expected):
        assert asked.body == b""


def _canonical(document: bytes) -> str:
    """The document without what does not count: white space between elements, the order of attributes, prefixes."""
    text = etree.canonicalize(re.sub(rb">\s+<", b"><", document.strip()).decode(), rewrite_prefixes=True)
    return str(text)


def _body(answer: dict[str, Any], server: StandIn) -> bytes:
    if "hex" in answer:
        return bytes.fromhex(answer["hex"])
    if "json" in answer:
        return _here(orjson.dumps(answer["json"]).decode(), server).encode()
    return _here(str(answer.get("xml", answer.get("text", ""))).strip(), server).encode()


def _here(text: str, server: StandIn) -> str:
    return text.replace("HERE", server.origin).replace("HOST", server.origin.partition("//")[2])


def _types(answer: dict[str, Any]) -> str:
    return "application/json" if "json" in answer else "text/xml" if "xml" in answer else "text/plain"


@pytest.mark.parametrize("case", [case for case in CASES if "problems" in case], ids=lambda case: case["name"])
def test_a_declaration_is_refused_as_the_case_expects(case: dict[str, Any]) -> None:
    found = problems_of(case["service"].replace("HERE", "http://127.0.0.1:9"))
    shown = "\n\n".join(map(str, found))
    wanted = case["problems"]
    assert [problem.code for problem in found] == [each["code"] for each in wanted], shown
    for problem, each in zip(found, wanted, strict=True):
        assert [text for text in each.get("contains", []) if text not in str(problem)] == [], shown
        if "under" in each:
            column = problem.column - problem.excerpt_column
            assert problem.excerpt[column : column + problem.width] == each["under"], shown


@pytest.mark.parametrize("case", [case for case in CASES if "card" in case], ids=lambda case: case["name"])
def test_a_declaration_makes_the_card_that_the_case_expects(case: dict[str, Any]) -> None:
    card = service(case["service"].replace("HERE", "http://127.0.0.1:9")).card
    assert {key: _plain(card, key) for key in case["card"]} == case["card"]


def _plain(card: Card, key: str) -> object:
    value = getattr(card, key)
    return {name: str(each) for name, each in value.items()} if key == "effects" else value


def test_effects_are_told_in_words() -> None:
    assert _plain(service("url: http://127.0.0.1:9/").card, "effects") == {"*": str(Effect.READ)}

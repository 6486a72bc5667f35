"""Digests cover what was declared, so that a release may add an option without changing any."""

from typing import Any

import msgspec
import pytest

import stretto
from stretto.components.declared import declared
from stretto.components.python.decorator import component_of


class Inner(msgspec.Struct, frozen=True):
    one: int
    two: str = "two"


class Before(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    limit: int = 3
    tags: dict[str, str] = msgspec.field(default_factory=dict)
    inner: Inner | None = None
    secret: str = ""


class After(Before, frozen=True, kw_only=True):
    """A later release has another option."""

    added: tuple[str, ...] = ()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, b'{"name":"a"}'),
        ({"limit": 4, "tags": {"y": "1", "x": "2"}}, b'{"limit":4,"name":"a","tags":{"x":"2","y":"1"}}'),
        ({"limit": 3, "tags": {}, "inner": None}, b'{"name":"a"}'),
        ({"inner": Inner(1, "two")}, b'{"inner":{"one":1},"name":"a"}'),
        ({"secret": "s"}, b'{"name":"a"}'),
    ],
)
def test_what_holds_its_default_or_is_left_out_does_not_count(options: dict[str, Any], expected: bytes) -> None:
    assert declared(Before(name="a", **options), but=("secret",)) == expected
    assert declared(After(name="a", **options), but=("secret",)) == expected


def test_an_option_that_is_given_counts_though_it_is_new() -> None:
    assert declared(After(name="a", added=("x",))) == b'{"added":["x"],"name":"a"}'


def same(text: str) -> dict[str, str]:
    return {"text": text}


def digest_of_same(**options: Any) -> str:
    found = component_of(stretto.component("same", **options)(same))
    assert found is not None
    return found.card.digest


@pytest.mark.parametrize("given", [{"idempotent": False}, {"version": "0.0.0"}, {"scope": "process"}])
def test_a_default_that_is_written_out_changes_no_components_digest(given: dict[str, Any]) -> None:
    assert digest_of_same(**given) == digest_of_same()
    assert digest_of_same(**given, effects="pure") != digest_of_same()

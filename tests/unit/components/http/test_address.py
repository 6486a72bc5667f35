"""No value of the input leads anywhere but into its own part of the path."""

from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given, strategies as st
from yarl import URL

from stretto.components.http.address import AddressTemplate, compile_address
from stretto.components.http.exchange import origin_of
from stretto.components.http.paging import with_parameter
from stretto.components.http.pairs import as_query
from stretto.components.http.scope import frame_of, of_request
from stretto.components.http.secrets import Secrets
from stretto.components.http.values import UnfitError
from stretto.plan.valuetype import DYN
from stretto.spec.report import Report
from stretto.spec.source import Located, Source, Span


def compiled(url: str) -> AddressTemplate:
    report = Report()
    source = Source("url", url)
    template = compile_address(Located(url, Span(source, 0, len(url))), of_request(DYN), report)
    report.raise_if_any()
    assert template is not None
    return template


TEMPLATE = compiled("https://orders.example:8443/v1/{a}/x-{b}.json?fixed=1")
TEXT = st.text() | st.text(alphabet="./\\%2eEfF?#&=;@:{}[] \r\n\0aé")


@given(TEXT, TEXT | st.integers() | st.booleans())
def test_a_value_stays_in_its_part_of_the_path(a: str, b: str | int | bool) -> None:
    try:
        url = TEMPLATE.fill(frame_of({"a": a, "b": b}, "run/step"), Secrets("it"))
    except UnfitError:
        return
    assert url.isascii()
    parts = urlsplit(url)
    assert (parts.scheme, parts.netloc, parts.query, parts.fragment) == ("https", "orders.example:8443", "fixed=1", "")
    empty, version, first, second = parts.path.split("/")
    assert (empty, version, unquote(first)) == ("", "v1", a)
    text = str(b).lower() if isinstance(b, bool) else str(b)
    assert unquote(second) == f"x-{text}.json"
    assert URL(url, encoded=True).raw_path == parts.path


@given(TEXT)
def test_a_value_that_is_refused_would_have_led_elsewhere(a: str) -> None:
    try:
        TEMPLATE.fill(frame_of({"a": a, "b": "x"}, "run/step"), Secrets("it"))
    except UnfitError:
        steps = {step for text in (a, unquote(a)) for step in text.replace("\\", "/").split("/")}
        assert not a or steps & {".", ".."} or any(ord(mark) < 32 or ord(mark) == 127 for mark in a)


@given(st.text(min_size=1), st.text())
def test_a_parameter_brings_no_other(name: str, value: str) -> None:
    url = with_parameter("http://h/x?a=1", name, value)
    head, _, query = url.partition("?")
    assert head == "http://h/x"
    pairs = [part.split("=") for part in query.split("&")]
    assert [unquote(name), unquote(value)] in [[unquote(key), unquote(text)] for key, text in pairs] or name == "a"
    assert len(pairs) == (1 if name == "a" else 2)


def test_a_parameter_takes_the_place_of_one_of_its_name() -> None:
    assert with_parameter("http://h/x?page=1&b=2&page=3", "page", "4") == "http://h/x?b=2&page=4"
    assert with_parameter("http://h/x", "a b", "c&d") == f"http://h/x?{as_query([('a b', 'c&d')])}"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://h/x", "http://h:80/y"),
        ("https://h:443", "https://h"),
        ("http://H/x", "http://h/x"),
    ],
)
def test_an_origin_is_the_same_however_it_is_written(one: str, other: str) -> None:
    assert origin_of(one) == origin_of(other) != ""


@pytest.mark.parametrize("url", ["/x", "h/x", "file:///x", "http://h:99999/", "javascript:alert(1)", "http://[::1", ""])
def test_what_is_no_address_has_no_origin(url: str) -> None:
    assert origin_of(url) == ""


def test_https_is_another_origin_than_http() -> None:
    assert len({origin_of("http://h"), origin_of("https://h"), origin_of("http://h:443"), origin_of("http://h2")}) == 4


def test_the_root_is_an_address_too() -> None:
    assert compiled("http://h").fill(frame_of({}, "run/step"), Secrets("it")) == "http://h/"
    assert compiled("http://h/").fill(frame_of({}, "run/step"), Secrets("it")) == "http://h/"
    assert compiled("http://h?wsdl").fill(frame_of({}, "run/step"), Secrets("it")) == "http://h/?wsdl"

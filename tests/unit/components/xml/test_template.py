"""Whatever is put into a template comes out of it as the same text."""

import re
from typing import Any

import pytest
from hypothesis import given, strategies as st
from lxml import etree

from stretto.components.xml.parse import XmlError
from stretto.components.xml.template import Items, Marks, Node, Text, read_template, render

MARK = re.compile(r"\{([^{}]*)\}")


class ByName:
    """Reads placeholders from a mapping, and items by the name of their list."""

    def text(self, inner: str) -> Text:
        return lambda frame: frame[inner]

    def each(self, inner: str) -> tuple[Items, Marks]:
        return (lambda frame: frame[inner]), self


def template(text: str) -> Node:
    return read_template(text, MARK, ByName())


def rendered(text: str, **values: Any) -> str:
    document = render(template(text), values)
    return document.partition(b"\n")[2].decode()


_TEXT = st.text(alphabet=st.characters(exclude_categories=("Cc", "Cs"), exclude_characters="\ufffe\uffff"))
TWO = template('<a b="{x}" c="-{y}-"><d>{x}</d>t{y}<e/>{x}u</a>')


@given(_TEXT, _TEXT)
def test_every_text_comes_out_as_it_went_in(x: str, y: str) -> None:
    root = etree.fromstring(render(TWO, {"x": x, "y": y}))
    assert (root.get("b"), root.get("c"), root.findtext("d")) == (x, f"-{y}-", x)
    assert [child.tag for child in root] == ["d", "e"]
    assert (root[0].tail, root[1].tail) == (f"t{y}", f"{x}u")


def test_an_element_goes_with_its_only_value() -> None:
    assert rendered('<a b="{x}" c="{y}"><d>{x}</d><e>{y}</e><f>{x}{y}</f></a>', x=None, y="1") == (
        '<a c="1"><e>1</e><f>1</f></a>'
    )


def test_the_root_stays_when_nothing_is_left() -> None:
    assert rendered("<a>{x}</a>", x=None) == "<a></a>"


def test_text_around_what_is_left_out_stays_in_order() -> None:
    assert rendered("<a>1<b>{x}</b>2<c/>3</a>", x=None) == "<a>12<c/>3</a>"


def test_an_element_stands_for_each_item() -> None:
    text = '<a xmlns:s="urn:stretto"><r s:each="l" n="{n}"><v>{v}</v></r><z/></a>'
    items = [{"n": "1", "v": "x"}, {"n": None, "v": None}]
    assert rendered(text, l=items) == '<a><r n="1"><v>x</v></r><r/><z/></a>'
    assert rendered(text, l=[]) == "<a><z/></a>"


@pytest.mark.parametrize("value", ["\0", "\x1b", "\ufffe", "\ud800"])
def test_what_no_document_can_hold_is_refused(value: str) -> None:
    for text in ("<a>{x}</a>", '<a b="{x}"/>'):
        with pytest.raises(XmlError):
            rendered(text, x=value)


def test_what_is_no_document_is_refused() -> None:
    with pytest.raises(XmlError):
        template("<a>{x}</b>")


def test_prefixes_are_kept() -> None:
    text = '<p:a xmlns:p="urn:p" xmlns:q="urn:q"><b t="q:x">{x}</b></p:a>'
    assert rendered(text, x="1") == text.replace("{x}", "1")

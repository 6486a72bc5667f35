import pytest
from hypothesis import given, strategies as st

from stretto.spec.codes import SpecCode
from stretto.spec.nodes import MapNode, ScalarNode
from stretto.spec.read import read_mapping
from stretto.spec.report import Report
from stretto.spec.source import Located, Mark, Source
from stretto.spec.yaml_syntax import in_quotes


@pytest.mark.parametrize(
    ("text", "offset", "line", "column"),
    [
        ("abc", 0, 1, 1),
        ("abc", 2, 1, 3),
        ("a\nbc", 2, 2, 1),
        ("a\r\nbc", 3, 2, 1),
        ("a\rbc", 2, 2, 1),
        ("a\n\nb", 3, 3, 1),
        ("a\n", 2, 2, 1),
        ("世界x", 2, 1, 3),
    ],
)
def test_an_offset_becomes_line_and_column(text: str, offset: int, line: int, column: int) -> None:
    assert Source("f", text).mark(offset) == Mark("f", line, column)


def test_a_problem_shows_its_line_and_underlines_no_further() -> None:
    problem = Source("f.yaml", "a: 1\nkey: value\nb: 2").problem(10, 99, SpecCode.TYPE, "wrong")
    assert (problem.excerpt, problem.column, problem.width) == ("key: value", 6, 5)


def test_a_long_line_is_shown_around_the_place() -> None:
    text = "x" * 500 + "HERE" + "y" * 500
    problem = Source("f.json", text).problem(500, 504, SpecCode.TYPE, "wrong")
    assert len(problem.excerpt) == 160
    shown = str(problem).splitlines()
    assert shown[1][shown[2].index("^") :][:4] == "HERE"


def test_control_characters_do_not_reach_the_terminal() -> None:
    problem = Source("f", "a\x1b[31mb\u202e").problem(0, 1, SpecCode.TYPE, "wrong")
    assert problem.excerpt == "a\ufffd[31mb\ufffd"


def test_the_caret_stands_under_the_place_in_wide_text_and_after_tabs() -> None:
    problem = Source("f", "世\tx").problem(2, 3, SpecCode.TYPE, "wrong")
    assert str(problem).splitlines()[2] == "      |   \t^"


def _scalar(text: str) -> Located[str]:
    node = read_mapping(Source("f.yaml", text), "workflow", Report()).get("a")
    assert isinstance(node, ScalarNode)
    assert isinstance(node.value, str)
    return Located(node.value, node.span)


@pytest.mark.parametrize(
    "text",
    [
        "a: x == HERE",
        "a: 'x == ''y'' && HERE'",
        'a: "x == \\"y\\" && \\u0041 \\x41 HERE"',
        'a: "\\ud83d\\ude00 HERE"',
        "a: x ==\n  y && HERE",
        'a: "x ==\n    y\n\n   && HERE"',
        'a: "x \\\n    && HERE"',
        "a: |\n  x ==\n  HERE && y\n",
        "a: |-\n    x ==\n      HERE && y\n",
        "a: >\n  x ==\n  y\n\n  HERE\n",
        "a: &anchor HERE",
        "a: &anchor 'it''s HERE'",
    ],
)
def test_a_place_inside_a_text_is_found_in_the_file(text: str) -> None:
    located = _scalar(text)
    span = located.part(located.value.index("HERE"), 4)
    assert text[span.start : span.end] == "HERE"


def test_a_place_behind_the_text_is_its_end() -> None:
    span = _scalar("a: 'x =='").part(4)
    assert span.mark.column == 9


@given(st.text(alphabet="ab'\"\\ {}[]:#&*!|>%@`é世", min_size=1, max_size=30), st.data())
def test_every_visible_character_of_a_quoted_text_is_found(value: str, data: st.DataObject) -> None:
    visible = [index for index, char in enumerate(value) if not char.isspace()]
    if not visible:
        return
    offset = data.draw(st.sampled_from(visible))
    text = f"a: {in_quotes(value)}"
    located = _scalar(text)
    assert located.value == value
    span = located.part(offset)
    assert text[span.start] == value[offset]


def test_keys_and_values_know_their_places() -> None:
    top = read_mapping(Source("f.yaml", "a:\n  - b: 1\n"), "workflow", Report())
    entry = top.entries["a"]
    assert entry.key.mark == Mark("f.yaml", 1, 1)
    assert entry.node.span.mark == Mark("f.yaml", 2, 3)
    inner = getattr(entry.node, "items")[0]  # noqa: B009  (a ListNode, whose type the test does not care for)
    assert isinstance(inner, MapNode)
    assert inner.entries["b"].node.span.mark == Mark("f.yaml", 2, 8)

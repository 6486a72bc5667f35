"""The reader of CEL: it never fails otherwise than with a place, and reads what the library reads."""

import sys
from dataclasses import dataclass

import pytest
from hypothesis import given, settings, strategies as st

from stretto.plan.expr.parse import MAX_DEPTH, parse
from stretto.plan.expr.problem import ExprCode, ExprProblems
from stretto.plan.expr.syntax import Binary, Comprehension, Conditional, Index, Literal, Logic, Node, Select
from stretto.plan.expr.tokens import MAX_SOURCE_CHARS

pieces = st.sampled_from(
    [
        *("a", "b.c", "a[0]", "1", "1.5", "0x1f", "2u", "'x'", '"y"', "'''z'''", "r'\\'", "b'q'", "true", "null"),
        *("(", ")", "[", "]", "{", "}", ",", ":", "?", ".", "!", "-", "+", "*", "/", "%", "==", "!=", "<", ">=", "in"),
        *(
            "&&",
            "||",
            "=",
            "&",
            "has(",
            "size(",
            ".all(x, ",
            ".?",
            "'",
            '"',
            "\\",
            "`f g`",
            "//c\n",
            "\n",
            " ",
            "é",
            "“",
        ),
    ]
)
scribbles = st.text(max_size=40) | st.lists(pieces, max_size=14).map("".join)


@settings(max_examples=800)
@given(source=scribbles)
def test_any_text_gives_a_tree_or_one_problem_with_a_place_inside_it(source: str) -> None:
    try:
        tree = parse(source)
    except ExprProblems as refused:
        (problem,) = refused.problems
        assert 0 <= problem.offset <= len(source)
        assert 1 <= problem.width <= max(1, len(source) - problem.offset)
        assert problem.message
    else:
        assert 0 <= tree.start < tree.end <= len(source)


def _at(source: str, node: Node) -> str:
    return source[node.start : node.end]


def test_nodes_know_where_they_stand() -> None:
    source = "a.b[0] == 'x' && (c ? d : e)"
    tree = parse(source)
    assert isinstance(tree, Logic)
    compared, chosen = tree.operands
    assert (_at(source, compared), _at(source, chosen)) == ("a.b[0] == 'x'", "c ? d : e")
    assert isinstance(compared, Binary)
    assert isinstance(chosen, Conditional)
    assert isinstance(compared.left, Index)
    assert isinstance(compared.left.operand, Select)
    assert source[compared.left.operand.field_start :].startswith("b[0]")


def test_logic_is_flat_however_long() -> None:
    tree = parse(" || ".join(f"a == {n}" for n in range(200)))
    assert isinstance(tree, Logic)
    assert len(tree.operands) == 200
    assert tree.depth == 3


def test_a_sign_belongs_to_its_number() -> None:
    tree = parse("-9223372036854775808")
    assert isinstance(tree, Literal)
    assert tree.value == -(2**63)


def test_macros_are_told_from_methods_by_their_name() -> None:
    tree = parse("a.existsOne(x, x > 0)")
    assert isinstance(tree, Comprehension)
    assert tree.macro == "exists_one"


@dataclass(frozen=True)
class Repetition:
    """32 of each kind in a row is what every reader of CEL takes (cel-spec langdef, Syntax)."""

    source: str


REPETITIONS = [
    Repetition("(" * 32 + "a" + ")" * 32),
    Repetition("[" * 32 + "a" + "]" * 32),
    Repetition(" + ".join("a" * 33)),
    Repetition(" && ".join("a" * 33)),
    Repetition(" == ".join("a" * 33)),
    Repetition("a" + ".b" * 32),
    Repetition("a" + "[0]" * 32),
    Repetition("!" * 32 + "a"),
    Repetition("f(" + ", ".join("a" * 32) + ")"),
    Repetition("a ? b : " * 32 + "c"),
]


@pytest.mark.parametrize("repetition", REPETITIONS, ids=lambda one: one.source[:12])
def test_thirty_two_of_a_kind_are_read(repetition: Repetition) -> None:
    assert parse(repetition.source).depth <= MAX_DEPTH


@pytest.mark.parametrize(
    "source",
    [
        "(" * 1000 + "a" + ")" * 1000,
        "[" * 1000 + "a" + "]" * 1000,
        "!" * 2000 + "a",
        "-" * 2000 + "a",
        "a" + ".b" * 1000,
        "a" + "[0]" * 1000,
        "+".join("a" * 2000),
        "a?b:" * 1000 + "c",
        "a||a&&a==a+a*(" * 200 + "a" + ")" * 200,
        "size(" * 500 + "a" + ")" * 500,
        "{'a':" * 500 + "a" + "}" * 500,
    ],
    ids=lambda source: source[:14],
)
def test_nesting_bombs_are_refused_before_they_go_off(source: str) -> None:
    frames = sys.getrecursionlimit()
    with pytest.raises(ExprProblems) as refused:
        parse(source)
    assert refused.value.problems[0].code is ExprCode.TOO_LARGE
    assert sys.getrecursionlimit() == frames


def test_an_expression_has_a_longest_length() -> None:
    longest = "'" + "x" * (MAX_SOURCE_CHARS - 2) + "'"
    assert isinstance(parse(longest), Literal)
    with pytest.raises(ExprProblems) as refused:
        parse(longest + " ")
    assert refused.value.problems[0].message == "the expression has 4,097 characters"

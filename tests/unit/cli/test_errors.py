"""How errors look: every problem with its line and a caret that stands where it should."""

import pytest
from rich.cells import cell_len

from stretto.cli.errors import error_document, error_text, problem_text
from stretto.types.errors import ComponentError, InputError, Problem, SpecError, UsageError, Violation


def problem(excerpt: str, column: int, width: int = 1, first: int = 1) -> Problem:
    return Problem(
        code="spec.test", message="wrong", file="a.yaml", line=7, column=column, excerpt=excerpt, width=width,
        excerpt_column=first,
    )  # fmt: skip


def under_caret(text: str) -> str:
    """What stands over the carets."""
    _, line, carets, *_ = text.split("\n")
    start = cell_len(carets[: carets.index("^")])
    over, taken = "", 0
    for char in line:
        if start <= taken < start + carets.count("^"):
            over += char
        taken += cell_len(char)
    return over


@pytest.mark.parametrize(
    ("excerpt", "column", "width", "over"),
    [
        ("key: value", 6, 5, "value"),
        ("名前: 値", 5, 1, "値"),
        ("x" * 300 + "HERE" + "y" * 300, 301, 4, "HERE"),
        ("HERE" + "y" * 300, 1, 4, "HERE"),
        ("x" * 300 + "HERE", 301, 4, "HERE"),
        ("值" * 60 + "HERE" + "值" * 60, 61, 4, "HERE"),
    ],
)
@pytest.mark.parametrize("columns", [50, 80, 140])
def test_the_caret_stands_under_the_place(excerpt: str, column: int, width: int, over: str, columns: int) -> None:
    text = problem_text(problem(excerpt, column, width), columns).plain
    assert under_caret(text) == over
    assert max(cell_len(line) for line in text.split("\n")) <= columns


def test_an_excerpt_that_begins_inside_its_line_is_underlined_at_its_own_columns() -> None:
    assert under_caret(problem_text(problem("abcHEREdef", 104, 4, first=101), 80).plain) == "HERE"


def test_a_tab_before_the_place_stays_a_tab() -> None:
    carets = problem_text(problem("\tkey", 2, 3), 80).plain.split("\n")[2]
    assert carets.endswith("| \t^^^")


def test_escape_sequences_never_reach_the_terminal() -> None:
    nasty = "evil\x1b[31m\x9b0m\u202e"
    spec = SpecError([Problem(code="c", message=nasty, file="a", line=1, column=1, excerpt=nasty)])
    for error in (spec, ComponentError(nasty)):
        assert not set("\x1b\x9b\u202e") & set(error_text(error, 80).plain)


def test_problems_are_counted_at_the_end() -> None:
    two = SpecError([problem("a", 1), problem("b", 1)])
    assert error_text(two, 80).plain.endswith("\n\n2 problems in a.yaml; nothing was run")


def test_violations_are_told_with_their_pointers() -> None:
    error = InputError("the input", [Violation(pointer="/a/0", message="expected a string")])
    assert "/a/0: expected a string" in error_text(error, 80).plain
    assert error_document(error)["error"]["violations"] == [  # type: ignore[index,call-overload]  # JSON
        {"pointer": "/a/0", "message": "expected a string"}
    ]


def test_the_document_says_whose_fault_it_is_and_whether_a_retry_helps() -> None:
    assert error_document(UsageError("no")) == {
        "error": {"code": "usage", "message": "no", "fault": "caller", "retryable": False, "problems": []}
    }

"""Both readers build the same tree, of JSON values and nothing else."""

import json
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from stretto.spec.json_tree import json_tree
from stretto.spec.nodes import Node, to_json
from stretto.spec.report import Report
from stretto.spec.source import Source
from stretto.spec.yaml_tree import yaml_tree
from stretto.types.errors import Problem, SpecError

TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)


def _value(root: Node | None) -> Any:
    assert root is not None
    return to_json(root)


@given(VALUES, st.sampled_from([None, 2, "\t"]), st.booleans())
def test_json_is_read_as_the_standard_library_does(value: Any, indent: Any, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    report = Report()
    assert _value(json_tree(Source("f.json", text), report)) == value
    report.raise_if_any()


@given(VALUES)
def test_json_is_yaml(value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False)
    report = Report()
    assert _value(yaml_tree(Source("f.yaml", text), report)) == value
    report.raise_if_any()


@settings(max_examples=300)
@given(st.text(alphabet='{}[]:,"\\ \n0129.-+eEtruefalsn/#aN', max_size=25))
def test_the_json_reader_takes_what_the_standard_library_takes(text: str) -> None:
    try:
        json.loads(text)
        is_json = True
    except ValueError:
        is_json = False
    try:
        taken = json_tree(Source("f.json", text), Report()) is not None
    except SpecError:
        taken = False
    assert taken == is_json


@settings(max_examples=300)
@given(st.text(alphabet="ab:-? \n\t'\"[]{},&*!|>%@`#01.~\\", max_size=40))
def test_no_text_makes_the_yaml_reader_fail_in_another_way(text: str) -> None:
    report = Report()
    problems: tuple[Problem, ...] = ()
    try:
        yaml_tree(Source("f.yaml", text), report)
        report.raise_if_any()
    except SpecError as error:
        problems = error.problems
    assert all(problem.code.startswith("spec.") and str(problem) for problem in problems)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", "yes"),
        ("no", "no"),
        ("on", "on"),
        ("off", "off"),
        ("y", "y"),
        ("true", True),
        ("True", True),
        ("FALSE", False),
        ("tRue", "tRue"),
        ("null", None),
        ("~", None),
        ("", None),
        ("Null", None),
        ("nULL", "nULL"),
        ("12", 12),
        ("-7", -7),
        ("+7", 7),
        ("007", 7),
        ("0o17", 15),
        ("0x1F", 31),
        ("017", 17),
        ("1_000", "1_000"),
        ("12:30:45", "12:30:45"),
        ("1.5", 1.5),
        (".5", 0.5),
        ("1.", 1.0),
        ("1e3", 1000.0),
        ("-1.5E-2", -0.015),
        ("1.2.3", "1.2.3"),
        ("2026-01-31", "2026-01-31"),
        ("0b11", "0b11"),
        ("'12'", "12"),
        ('"true"', "true"),
        ("<<", "<<"),
        ("=", "="),
    ],
)
def test_plain_words_mean_what_yaml_1_2_says(text: str, value: object) -> None:
    report = Report()
    read = _value(yaml_tree(Source("f.yaml", f"a: {text}"), report))["a"]
    report.raise_if_any()
    assert read == value
    assert type(read) is type(value)


def test_an_alias_is_the_value_it_repeats() -> None:
    text = "a: &x {k: [1, 2]}\nb: *x\nc: &y word\nd: *y\n"
    assert _value(yaml_tree(Source("f.yaml", text), Report())) == {
        "a": {"k": [1, 2]},
        "b": {"k": [1, 2]},
        "c": "word",
        "d": "word",
    }


def test_aliases_cannot_build_a_tree_deeper_than_one_written_out() -> None:
    lines = ["a0: &a0 [x]"] + [f"a{i}: &a{i} [*a{i - 1}]" for i in range(1, 120)]
    with pytest.raises(SpecError) as caught:
        yaml_tree(Source("f.yaml", "\n".join(lines)), Report())
    assert caught.value.problems[-1].code == "spec.too_deep"


def test_what_was_found_before_the_reading_stopped_is_told_as_well() -> None:
    with pytest.raises(SpecError) as caught:
        yaml_tree(Source("f.yaml", "a: 1\na: 2\nb: [\n"), Report())
    assert [problem.code for problem in caught.value.problems] == ["spec.duplicate_key", "spec.syntax"]


@pytest.mark.parametrize("text", ["!" * 1_000_000, "a: *" + "x" * 1_000_000, "a: " + "[{" * 500_000, "? " * 500_000])
def test_a_hostile_megabyte_is_refused_in_few_words(text: str) -> None:
    with pytest.raises(SpecError) as caught:
        yaml_tree(Source("f.yaml", text), Report())
    assert len(str(caught.value)) < 2_000

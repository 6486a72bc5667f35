"""Values typed on the command line."""

import re

import pytest
from hypothesis import given, strategies as st

from stretto.cli.values import read_json_pairs, read_outputs, read_pairs, read_value
from stretto.cli.words import bytes_text, ms_text
from stretto.types.errors import UsageError

NAMES = st.text("abcdefghijklmnopqrstuvwxyz_", min_size=1)


@given(st.dictionaries(NAMES, st.text()))
def test_pairs_keep_every_value_as_it_was_typed(pairs: dict[str, str]) -> None:
    assert read_pairs([f"{name}={value}" for name, value in pairs.items()], "--label") == pairs


def test_text_stays_text_unless_it_is_said_to_be_json() -> None:
    assert read_json_pairs(["version=1.10", "limit:=1.10", "on:=true"], "--resource") == {
        "version": "1.10", "limit": 1.1, "on": True,
    }  # fmt: skip


def test_a_steps_path_may_hold_anything_but_an_equals_sign() -> None:
    assert read_outputs(['talk[3]/executor={"a": "b=c"}']) == {"talk[3]/executor": {"a": "b=c"}}


@pytest.mark.parametrize("text", ["{'a': 1}", "{a: 1}", "nan", "", '{"a": 1', '{"a": NaN}'])
def test_what_is_no_json_is_told_with_its_place(text: str) -> None:
    with pytest.raises(UsageError, match=r"--input.* is not JSON: .* at line \d+ column \d+"):
        read_value(text, "--input")


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('{"a": 1, "a": 2}', "'a'"),
        ('{"a": 1, "\\u0061": 1}', "'a'"),
        ('{"b": [{"": 1, "c": 2, "": 3}]}', "''"),
        ('{"a": {"a": 1}, "b": {"a": 1, "b": 2, "b": 2}}', "'b'"),
        ('{"' + "k" * 99 + '": 1, "' + "k" * 99 + '": 2}', f"'{'k' * 60}'…"),
        ('{"a\\n": 1, "a\\n": 2}', r"'a\n'"),
    ],
)
def test_a_key_that_stands_twice_is_refused_by_name(text: str, key: str) -> None:
    with pytest.raises(UsageError, match=re.escape(f"--input has the key {key} twice in one object")):
        read_value(text, "--input")


@pytest.mark.parametrize("text", ['{"a": {"a": 1}, "b": {"a": 2}}', "[1, 1]", '"a"', "[" * 300 + "]" * 300])
def test_keys_of_different_objects_may_be_equal(text: str) -> None:
    read_value(text, "--input")


@pytest.mark.parametrize("texts", [["a=1", "a:=2"], ["a:=1", "a=2"], ["a=1", "a=2"], ["a:=1", "a:=1"]])
def test_a_name_stands_once_whether_its_value_is_text_or_json(texts: list[str]) -> None:
    with pytest.raises(UsageError, match=r"--resource a:? is given twice"):
        read_json_pairs(texts, "--resource")


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0.0, "0 ms"), (0.4237, "0.424 ms"), (12.3456, "12.3 ms"), (999.4, "1 s"), (1000, "1.00 s"),
        (59_994, "59.99 s"), (60_000, "1 min 00 s"), (247_000, "4 min 07 s"),
    ],
)  # fmt: skip
def test_times_carry_three_digits_and_their_unit(ms: float, text: str) -> None:
    assert ms_text(ms) == text


@pytest.mark.parametrize(("size", "text"), [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (5 << 30, "5.0 GiB")])
def test_sizes_carry_their_unit(size: int, text: str) -> None:
    assert bytes_text(size) == text

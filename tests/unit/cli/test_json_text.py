"""JSON that people give: what a record could not hold is refused by name, and nothing is rounded on the way there."""

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from stretto.cli.json_text import parse_json
from tests.unit.cli.conftest import Cli

NUMBERS = """
stretto: 1
name: numbers
components: numbers.py
steps: [{name: echo, component: echo, input_mapping: {n: input.n}}]
output: {n: steps.echo.n}
"""

ECHO = """
import stretto

@stretto.component("echo", effects="pure")
def echo(n: object) -> dict[str, object]:
    return {"n": n}
"""

WIDE = ["-9223372036854775809", "9223372036854775808", "18446744073709551616", "99999999999999999999", "-1" + "0" * 60]

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@given(JSON)
def test_every_value_is_read_as_it_stands_there(value: object) -> None:
    read = parse_json(json.dumps(value).encode(), "--input")
    assert json.dumps(read) == json.dumps(value)


@pytest.fixture
def numbers(folder: Path) -> Path:
    (folder / "numbers.yaml").write_text(NUMBERS)
    (folder / "numbers.py").write_text(ECHO)
    return folder


@pytest.mark.parametrize("wide", WIDE)
@pytest.mark.parametrize("where", ["in place", "in a file", "on stdin"])
def test_an_integer_that_a_record_cannot_hold_is_refused_wherever_the_input_stands(
    cli: Cli, numbers: Path, monkeypatch: pytest.MonkeyPatch, wide: str, where: str
) -> None:
    text = f'{{"n": [1, {wide}]}}'
    (numbers / "n.json").write_text(text)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    given = {"in place": text, "in a file": "@n.json", "on stdin": "-"}[where]
    told = cli("run", "numbers.yaml", "--input", given)
    assert (told.code, told.out) == (2, "")
    assert f"/n/1: {wide} lies outside [-2^63, 2^63)" in told.err
    assert "no store" in cli("runs", "list").err or "no such run" in cli("runs", "list").err


@pytest.mark.parametrize("wide", WIDE)
@pytest.mark.parametrize(
    "flags",
    [
        lambda n: ("run", "numbers.yaml", "--resource", f"n:={n}"),
        lambda n: ("run", "numbers.yaml", "--reference", n),
        lambda n: ("replay", "last", "--workflow", "numbers.yaml", "--output", f'echo={{"n": {n}}}'),
        lambda n: ("replay", "last", "--workflow", "numbers.yaml", "--input", f'{{"n": {n}}}'),
        lambda n: ("runs", "resume", "last", "--happened", f'{{"booked": {n}}}'),
    ],
)
def test_so_it_is_in_every_flag_that_takes_json(
    cli: Cli, numbers: Path, flags: Callable[[str], tuple[str, ...]], wide: str
) -> None:
    typed = flags(wide)
    cli("run", "numbers.yaml", "-i", '{"n": 1}')
    if typed[0] == "runs":
        cli("run", "-i", '{"query": "doubt"}')
    told = cli(*typed)
    assert told.code == 2
    assert f"{wide} lies outside [-2^63, 2^63)" in told.err
    assert "settled" not in told.err


@pytest.mark.parametrize("n", [-(2**63), 2**63 - 1, 2**53 + 1])
def test_an_integer_of_64_bits_keeps_its_digits(cli: Cli, numbers: Path, n: int) -> None:
    assert cli("run", "numbers.yaml", "-i", f'{{"n": {n}}}').out == f'{{"n":{n}}}\n'


def test_a_number_beyond_every_double_is_told_with_its_place(cli: Cli, numbers: Path) -> None:
    told = cli("run", "numbers.yaml", "-i", f'{{"n": {"9" * 5000}}}')
    assert told.code == 2
    assert "--input is not JSON" in told.err
    assert "at line 1 column" in told.err

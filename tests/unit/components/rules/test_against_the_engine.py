"""What the analysis says of random tables is what the engine does when it is asked everything there is to ask."""

import json
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import zen
from hypothesis import given, settings, strategies as st

from stretto.components.rules.analysis import check_rules
from stretto.components.rules.codes import RuleCode
from stretto.types.errors import Problem, SpecError
from tests.unit.components.rules.building import fields, single, table, write

NUMBERS = [1, 2.5, 4]
TEXTS = ["a", "b", "c"]

number_texts = st.sampled_from(NUMBERS).map(str)
number_cells = st.one_of(
    st.just(""),
    number_texts,
    st.tuples(st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), number_texts).map(" ".join),
    st.tuples(st.sampled_from("[("), number_texts, number_texts, st.sampled_from("])")).map(
        lambda each: f"{each[0]}{each[1]}..{each[2]}{each[3]}"
    ),
    st.lists(number_texts, min_size=2, max_size=3).map(", ".join),
    st.tuples(number_texts, number_texts).map(lambda each: f"> {each[0]} and < {each[1]}"),
    st.tuples(number_texts, number_texts).map(lambda each: f"not in [{each[0]}..{each[1]}]"),
    st.tuples(number_texts, number_texts).map(lambda each: f"< {each[0]} or > {each[1]}"),
    st.tuples(number_texts, number_texts).map(lambda each: f"$ >= {each[0]} and not ($ == {each[1]})"),
)
quoted = st.sampled_from(TEXTS).map(json.dumps)
text_cells = st.one_of(
    st.just(""),
    quoted,
    st.lists(quoted, min_size=2, max_size=3).map(", ".join),
    quoted.map(lambda text: f"!= {text}"),
    st.lists(quoted, min_size=1, max_size=2).map(lambda texts: f"not in [{', '.join(texts)}]"),
)
flag_cells = st.sampled_from(["", "true", "false"])
mixed_cells = st.one_of(number_cells, text_cells, flag_cells, st.sampled_from(["null", '1, "a"', "> 2, true"]))

rows = st.lists(
    st.fixed_dictionaries({"n": number_cells, "t": text_cells, "f": flag_cells, "m": mixed_cells}),
    min_size=1,
    max_size=5,
)

VALUES_OF_N = [0, 1, 2, 2.5, 3, 4, 5]
"""Every part of the line that a cell can tell from another."""
VALUES_OF_T = [*TEXTS, "z"]
VALUES_OF_M: list[Any] = [None, True, False, "z", *TEXTS, *VALUES_OF_N, [], {}]

SCHEMA = fields(n={"type": "number"}, t={"type": "string"}, f={"type": "boolean"}, m={})


def answers(cells: list[dict[str, str]]) -> list[int | None]:
    """The row that the engine answers by, for every input there is."""
    numbered = [{**row, "o": str(index)} for index, row in enumerate(cells)]
    model = single(table(numbered, inputs=("n", "t", "f", "m")))
    decision = zen.ZenEngine().create_decision(zen.ZenDecisionContent(json.dumps(model)))
    inputs = product(VALUES_OF_N, VALUES_OF_T, [True, False], VALUES_OF_M)
    return [decision.evaluate(json.dumps(dict(zip("ntfm", each, strict=True))))["result"].get("o") for each in inputs]


def problems_of(cells: list[dict[str, str]]) -> tuple[Problem, ...]:
    model = single(
        table([{**row, "o": str(index)} for index, row in enumerate(cells)], inputs=("n", "t", "f", "m")), SCHEMA
    )
    with TemporaryDirectory() as folder:
        try:
            verdict = check_rules(write(Path(folder), model)).tables[0]
        except SpecError as error:
            return error.problems
    assert verdict.is_exact
    assert verdict.always_answers
    return ()


@settings(max_examples=40, deadline=None)
@given(rows)
def test_gaps_and_rows_that_never_answer_are_those_of_the_engine(cells: list[dict[str, str]]) -> None:
    found = answers(cells)
    problems = problems_of(cells)
    assert any(problem.code == RuleCode.GAP for problem in problems) == (None in found)
    silent = {f"row {index + 1}" for index in range(len(cells)) if index not in found}
    told = {
        problem.message.split(" of ")[0]
        for problem in problems
        if problem.code in (RuleCode.NEVER, RuleCode.UNREACHABLE)
    }
    assert told == silent

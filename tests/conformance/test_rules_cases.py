"""Runs the data cases of `rules/`: what Stretto says of decision models before they are asked."""

from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from stretto.components.rules.analysis import Analysis, check_rules
from stretto.types.errors import Problem, SpecError
from tests.unit.components.rules.building import single, table, write

CASES_DIR = Path(__file__).parent / "rules"
KEYS = {"name", "files", "table", "input", "expect"}


def _all_cases() -> list[dict[str, Any]]:
    yaml = YAML(typ="safe", pure=True)
    return [case for file in sorted(CASES_DIR.glob("*.yaml")) for case in yaml.load(file)]


CASES = _all_cases()


def _write(case: dict[str, Any], folder: Path) -> Path:
    if "table" in case:
        return write(folder, single(table(**case["table"]), case.get("input")))
    paths = [write(folder, content, name) for name, content in case["files"].items()]
    return paths[0]


def test_cases_are_well_formed_and_many() -> None:
    assert [case["name"] for case in CASES if set(case) - KEYS or ("table" in case) == ("files" in case)] == []
    names = [case["name"] for case in CASES]
    assert len(set(names)) == len(names) >= 40


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_analysis_says_what_the_case_expects(case: dict[str, Any], tmp_path: Path) -> None:
    path = _write(case, tmp_path)
    expected = case["expect"]
    try:
        analysis = check_rules(path)
    except SpecError as error:
        _check_problems(error.problems, expected.get("problems", []), path)
        return
    assert "problems" not in expected, analysis.notes
    _check_notes(analysis, expected)


def _check_problems(found: tuple[Problem, ...], expected: list[dict[str, Any]], path: Path) -> None:
    shown = "\n\n".join(map(str, found))
    assert [problem.code for problem in found] == [wanted["code"] for wanted in expected], shown
    for problem, wanted in zip(found, expected, strict=True):
        assert Path(problem.file).name == wanted.get("file", path.name), shown
        assert problem.line == wanted.get("line", problem.line), shown
        assert [text for text in wanted.get("contains", []) if text not in str(problem)] == [], shown


def _check_notes(analysis: Analysis, expected: dict[str, Any]) -> None:
    told = [note.text for note in analysis.notes]
    wanted = expected.get("notes", [])
    assert len(told) == len(wanted), told
    for text, parts in zip(told, wanted, strict=True):
        assert [part for part in parts if part not in text] == [], text
    assert all(each.is_exact for each in analysis.tables) == expected.get("exact", True)

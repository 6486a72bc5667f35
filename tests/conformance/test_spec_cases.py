"""Runs the data cases of `spec/`: what Stretto says of files that people write (format: spec/README.md)."""

from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from ruamel.yaml import YAML

import stretto
from stretto.chaos.check import check_places
from stretto.spec.chaos import load_chaos
from stretto.spec.contract import load_contract
from stretto.spec.nodes import to_json
from stretto.spec.published import chaos_schema, contract_schema, workflow_schema
from stretto.spec.read import read_mapping, read_source
from stretto.spec.report import Report
from stretto.spec.workflow import load_workflow
from stretto.types.errors import Problem, SpecError

CASES_DIR = Path(__file__).parent / "spec"
KEYS = {"name", "files", "command", "input", "parse_only", "schema_can_tell", "expect"}


def _all_cases() -> list[dict[str, Any]]:
    yaml = YAML(typ="safe", pure=True)
    return [case for file in sorted(CASES_DIR.glob("*.yaml")) for case in yaml.load(file)]


CASES = _all_cases()
each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])


def _content(part: Any) -> bytes:
    """Text, raw bytes, a repetition, or several of these joined."""
    if isinstance(part, list):
        return b"".join(_content(piece) for piece in part)
    if isinstance(part, str):
        return part.encode()
    if "bytes_hex" in part:
        return bytes.fromhex(part["bytes_hex"])
    return str(part["repeat"]).encode() * int(part["times"])


def _write(case: dict[str, Any], folder: Path) -> Path:
    paths: list[Path] = [folder / name for name in case["files"]]
    for path, content in zip(paths, case["files"].values(), strict=True):
        path.write_bytes(_content(content))
    return paths[0]


def _problems(path: Path) -> tuple[Problem, ...]:
    try:
        if path.name == "chaos.yaml":
            _read_chaos(path)
        else:
            load_workflow(path)
    except SpecError as error:
        return error.problems
    return ()


def _read_chaos(path: Path) -> None:
    """Read a chaos plan, and hold it to the workflow beside it where there is one."""
    chaos, workflow = load_chaos(path), path.parent / "workflow.yaml"
    if workflow.is_file():
        check_places(chaos, stretto.load(workflow, store=path.parent / "runs.db").plan)


def test_cases_are_well_formed_and_many() -> None:
    assert [case["name"] for case in CASES if set(case) - KEYS] == []
    names = [case["name"] for case in CASES]
    assert len(set(names)) == len(names) >= 60


@each_case
def test_the_parser_says_what_the_case_expects(case: dict[str, Any], tmp_path: Path) -> None:
    path = _write(case, tmp_path)
    found = _problems(path)
    expected = case["expect"].get("problems", [])
    shown = "\n\n".join(map(str, found))
    assert [problem.code for problem in found] == [problem["code"] for problem in expected], shown
    for problem, wanted in zip(found, expected, strict=True):
        _check(problem, wanted, path)


def _check(problem: Problem, wanted: dict[str, Any], path: Path) -> None:
    shown = str(problem)
    assert Path(problem.file).name == wanted.get("file", path.name), shown
    assert problem.line == wanted.get("line", problem.line), shown
    assert problem.column == wanted.get("column", problem.column), shown
    assert [text for text in wanted.get("contains", []) if text not in shown] == [], shown
    assert not problem.line or problem.code == "spec.encoding" or problem.excerpt, shown


SCHEMAS = {
    "workflow": jsonschema_rs.Draft202012Validator(workflow_schema()),
    "contract": jsonschema_rs.Draft202012Validator(contract_schema()),
    "chaos": jsonschema_rs.Draft202012Validator(chaos_schema()),
}


def _readable(path: Path, what: str) -> Any:
    """The plain value of a file, or None when it cannot be read at all."""
    try:
        return to_json(read_mapping(read_source(path), what, Report()))
    except SpecError:
        return None


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.get("schema_can_tell", True)], ids=lambda case: case["name"]
)
def test_the_published_schema_agrees_with_the_parser(case: dict[str, Any], tmp_path: Path) -> None:
    path = _write(case, tmp_path)
    documents = {
        name: _readable(tmp_path / name, name.partition(".")[0])
        for name in case["files"]
        if name.partition(".")[0] in SCHEMAS and not name.endswith(".py")
    }
    if None in documents.values():
        return  # it is not even YAML or JSON: there is no document to compare on
    verdicts = {name: SCHEMAS[name.partition(".")[0]].is_valid(document) for name, document in documents.items()}
    assert all(verdicts.values()) == ("problems" not in case["expect"]), (path, verdicts)


def test_a_contract_file_can_be_read_alone(tmp_path: Path) -> None:
    (tmp_path / "contract.yaml").write_text('input: {a: "int[0,9]"}')
    contract = load_contract(tmp_path / "contract.yaml")
    assert contract.input is not None
    assert contract.input.schema["required"] == ["a"]

from pathlib import Path

import pytest

from stretto.spec.read import MAX_BYTES, read_source
from stretto.spec.workflow import load_workflow, parse_workflow
from stretto.types.errors import Problem, SpecError

STEPS = "steps: [{name: a, component: b}]\n"


def _only_problem(path: Path) -> Problem:
    with pytest.raises(SpecError) as caught:
        read_source(path)
    (problem,) = caught.value.problems
    return problem


def test_a_missing_file_names_the_nearest_one_beside_it(tmp_path: Path) -> None:
    (tmp_path / "workflow.yaml").write_text(STEPS)
    problem = _only_problem(tmp_path / "workflow.yml")
    assert problem.code == "spec.not_found"
    assert problem.suggestion == str(tmp_path / "workflow.yaml")


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    problem = _only_problem(tmp_path / "nowhere" / "workflow.yaml")
    assert "nowhere does not exist" in problem.message


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    assert _only_problem(tmp_path).code == "spec.not_a_file"
    (tmp_path / "workflow.yaml").write_text("stretto: 1\n")
    assert _only_problem(tmp_path).expected == f"the path of a file, such as {tmp_path / 'workflow.yaml'}"


def test_a_file_that_may_not_be_read_says_why(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    problem = _only_problem(tmp_path / "file" / "workflow.yaml")
    assert problem.code == "spec.unreadable"
    assert "Not a directory" in problem.message


def test_a_nul_in_a_path_is_no_crash() -> None:
    assert _only_problem(Path("a\0b")).code == "spec.unreadable"


def test_a_file_of_the_largest_size_is_read(tmp_path: Path) -> None:
    path = tmp_path / "workflow.yaml"
    path.write_text(STEPS + "#" * (MAX_BYTES - len(STEPS)))
    assert load_workflow(path).steps[0].name.value == "a"


def test_one_byte_more_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "workflow.yaml"
    path.write_text(STEPS + "#" * (MAX_BYTES - len(STEPS) + 1))
    assert _only_problem(path).code == "spec.too_large"


def test_a_text_of_too_many_characters_is_refused_too() -> None:
    with pytest.raises(SpecError, match=r"spec\.too_large"):
        parse_workflow("#" * (MAX_BYTES + 1))


def test_the_place_of_a_bad_byte_counts_characters(tmp_path: Path) -> None:
    path = tmp_path / "workflow.yaml"
    path.write_bytes("a: 1\nn: é".encode() + b"\xe9")
    problem = _only_problem(path)
    assert (problem.line, problem.column) == (2, 5)

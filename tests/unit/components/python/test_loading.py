"""A user's file of components is imported under a name of its own, and what is wrong with it is told at its line."""

import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from stretto.components.python import load_components
from stretto.types.errors import SpecError
from stretto.types.extras import install_command

HEAD = "from stretto.components.python import Context, component\n"


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(HEAD + dedent(text))
    return path


def refusal(path: Path) -> Any:
    with pytest.raises(SpecError) as caught:
        load_components(path)
    return caught.value.problems[0]


async def test_functions_classes_instances_and_imported_components_are_collected(
    tmp_path: Path, make_request: Any
) -> None:
    write(tmp_path / "sibling.py", "@component\ndef from_sibling() -> int:\n    return 1\n")
    path = write(
        tmp_path / "components.py",
        """
        from dataclasses import dataclass
        from sibling import from_sibling
        from stretto.types.card import Card
        from stretto.types.messages import Response

        @component("llm-planner-v2")
        async def planner(query: str) -> "Plan":
            return Plan(query)

        @dataclass
        class Plan:
            tool: str

        @component
        class Executor:
            def __call__(self, tool: str) -> dict[str, str]:
                return {"tool": tool}

        class Adapter:
            card = Card(name="adapter", version="1", kind="python", digest="0" * 64)
            async def __call__(self, request):
                return Response(output={})

        adapter = also_adapter = Adapter()
        not_a_component = 3
        """,
    )
    before = list(sys.path)
    found = load_components(path)
    assert sorted(found) == ["Executor", "adapter", "from_sibling", "llm-planner-v2"]
    assert sys.path == before
    assert (await found["llm-planner-v2"](make_request(query="q"))).output.tool == "q"  # type: ignore[attr-defined]


def test_two_folders_may_have_siblings_of_one_name(tmp_path: Path) -> None:
    paths = []
    for name in ("one", "two"):
        write(tmp_path / name / "shared_rules.py", f"NAME = 'from-{name}'\n")
        text = "import shared_rules\n@component(shared_rules.NAME)\ndef f() -> None: ...\n"
        paths.append(write(tmp_path / name / "components.py", text))
    assert [list(load_components(path)) for path in paths] == [["from-one"], ["from-two"]]
    assert list(load_components(paths[0])) == ["from-one"]


def test_loading_again_reads_the_file_again(tmp_path: Path) -> None:
    path = write(tmp_path / "components.py", "@component\ndef a() -> None: ...\n")
    assert list(load_components(path)) == ["a"]
    write(path, "@component\ndef bb() -> None: ...\n")
    assert list(load_components(path)) == ["bb"]


@pytest.mark.parametrize(("package", "extra"), [("torch", "torch"), ("peft", "transformers")])
def test_a_package_of_an_extra_that_is_not_installed_is_told_with_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str, extra: str
) -> None:
    path = write(tmp_path / "components.py", f"import {package}\n")
    monkeypatch.setitem(sys.modules, package, None)  # as Python has it: what is not to be found
    expected = refusal(path).expected
    assert expected == f"the packages of extra '{extra}'; run: {install_command(extra)}"


def test_an_import_that_raises_is_told_at_the_users_own_line(tmp_path: Path) -> None:
    problem = refusal(write(tmp_path / "components.py", "import json\n\njson.loads('{')\n"))
    assert problem.code == "spec.component_import"
    assert "raised JSONDecodeError" in problem.message
    assert (problem.file, problem.line) == (str(tmp_path / "components.py"), 4)
    assert problem.excerpt == "json.loads('{')"


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("def broken(:\n", "not valid Python", 2),
        ("import nowhere_to_be_found\n", "No module named 'nowhere_to_be_found'", 2),
        ("raise SystemExit(1)\n", "raised SystemExit", 2),
        ("@component\ndef f(*a): ...\n", "'*a' cannot be filled", 3),
        ("@component\ndef f() -> 'Plann': ...\n", "name 'Plann' is not defined", 3),
        (
            "@component('x')\ndef f() -> None: ...\n@component('x')\ndef g() -> None: ...\n",
            "both components called 'x'",
            5,
        ),
        ("x = 1\n", "defines no component", 0),
    ],
)
def test_a_file_that_cannot_serve_is_refused(tmp_path: Path, text: str, message: str, line: int) -> None:
    problem = refusal(write(tmp_path / "components.py", text))
    assert message in problem.message
    assert problem.line == line
    assert problem.file.endswith("components.py")


@pytest.mark.parametrize(
    ("text", "expected", "suggestion"),
    [
        ('@component(effect="pure")\ndef f() -> None: ...\n', "effects", "effects"),
        ("def own(*, colour: str) -> None: ...\nown(color='red')\n", "one of colour", "colour"),
        ("class Own:\n    def __init__(self, size: int) -> None: ...\nOwn(siez=1)\n", "one of size", "size"),
        ("import stretto\n@stretto.component(idempotnt=True)\ndef f() -> None: ...\n", "idempotent", "idempotent"),
    ],
)
def test_a_keyword_that_a_function_does_not_have_names_the_one_meant(
    tmp_path: Path, text: str, expected: str, suggestion: str
) -> None:
    problem = refusal(write(tmp_path / "components.py", text))
    assert expected in problem.expected
    assert problem.suggestion == suggestion


def test_a_mistake_in_a_sibling_is_told_there(tmp_path: Path) -> None:
    write(tmp_path / "helper_with_mistake.py", "x = 1 / 0\n")
    problem = refusal(write(tmp_path / "components.py", "import helper_with_mistake\n"))
    assert problem.file.endswith("helper_with_mistake.py")
    assert problem.line == 2


def test_every_problem_is_told_at_once(tmp_path: Path) -> None:
    path = write(tmp_path / "components.py", "@component\ndef f(*a): ...\n@component\ndef g(x: type): ...\n")
    with pytest.raises(SpecError) as caught:
        load_components(path)
    assert len(caught.value.problems) == 2


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("component('f')(len)", "@component cannot mark 'len'"),
        ("component('f')(3)", "this is an instance of int"),
        ("component(partial(print, 'a'))", "'' cannot be the name"),
    ],
)
def test_what_has_no_place_is_told_at_the_line_that_made_a_component_of_it(
    tmp_path: Path, line: str, message: str
) -> None:
    problem = refusal(write(tmp_path / "components.py", f"from functools import partial\n{line}\n"))
    assert message in problem.message
    assert (Path(problem.file).name, problem.line, problem.excerpt) == ("components.py", 3, line)


def test_a_partial_of_what_has_no_place_is_told_in_its_file(tmp_path: Path) -> None:
    path = write(tmp_path / "components.py", "from functools import partial\np = component('f')(partial(print, 'a'))\n")
    assert Path(refusal(path).file).name == "components.py"


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    assert "there is no Python file 'nope.py'" in refusal(tmp_path / "nope.py").message


def test_an_instance_whose_card_is_its_own_is_found_and_what_answers_anything_is_not(tmp_path: Path) -> None:
    path = write(
        tmp_path / "components.py",
        """
        from unittest.mock import MagicMock
        import stretto
        notes = stretto.RecencyMemory("notes")
        anything = MagicMock()
        """,
    )
    assert list(load_components(path)) == ["notes"]

"""What a file has to serve: Python, declarations, workflows."""

from pathlib import Path

import pytest

from stretto.cli.acp.served_file import components_of
from stretto.types.errors import SpecError, UsageError

PYTHON = "import stretto\n\n\n@stretto.component\ndef add(a: int) -> dict[str, int]:\n    return {'a': a}\n"


SHOP = """
stretto: 1
name: shop
components: {notes: {kind: memory}}
steps: [{name: a, component: notes}]
output: {x: '1'}
"""


@pytest.mark.parametrize(
    ("name", "text", "served"),
    [
        ("adder.py", PYTHON, ["add"]),
        ("notes.yaml", "kind: memory\nlimit: 3\n", ["notes"]),
        ("notes.json", '{"kind": "memory", "name": "turns"}', ["turns"]),
        ("two.yaml", "notes: {kind: memory}\nturns: {kind: memory}\n", ["notes", "turns"]),
        ("all.yaml", "components: [components.py, {notes: {kind: memory}}]\n", ["add", "notes"]),
        ("shop.yaml", SHOP, ["notes"]),
        ("bare.yaml", "stretto: 1\nname: bare\nsteps: [{name: a, component: add}]\noutput: {x: '1'}\n", ["add"]),
    ],
)
def test_a_file_serves_what_it_has(tmp_path: Path, name: str, text: str, served: list[str]) -> None:
    (tmp_path / "components.py").write_text(PYTHON)
    (tmp_path / name).write_text(text)
    assert [each.card.name for each in components_of(tmp_path / name)] == served


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("kind: spoon\n", "spoon"),
        ("notes: {limit: 3}\n", "has no `kind`"),
        ("kind: memory\nlimt: 3\n", "limt"),
        ("[1]", "mapping"),
        ("kind: memory\nname: a name\n", "a name"),
    ],
)
def test_what_is_wrong_with_a_declaration_is_told(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "odd.yaml"
    file.write_text(text)
    with pytest.raises(SpecError, match=says):
        components_of(file)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(SpecError):
        components_of(tmp_path / "nowhere.yaml")


def test_a_workflow_without_components_serves_none(tmp_path: Path) -> None:
    file = tmp_path / "shop.yaml"
    file.write_text("stretto: 1\nname: shop\nsteps: [{name: a, component: add}]\noutput: {x: '1'}\n")
    with pytest.raises(UsageError, match="there is none to serve"):
        components_of(file)

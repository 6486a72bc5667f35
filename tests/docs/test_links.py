"""Links lead somewhere, the first page stays short, and files are as long as is said of them."""

import re
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, read_page

PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for folder in (
        "",
        "docs",
        "docs/how-to",
        "docs/reference",
        "docs/decisions",
        "examples/retail",
        "examples/polyglot",
        "examples/hotline",
    )
    for path in (ROOT / folder).glob("*.md")
)

README_LINES = 150
"""STYLE: the README is shorter than this."""


@pytest.mark.parametrize("name", PAGES)
def test_every_link_inside_the_project_resolves(name: str) -> None:
    page = read_page(ROOT / name)
    broken = [target for target in page.links if not _resolves(page.path, target)]
    assert not broken, f"{name} links to {broken}"


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) < README_LINES


def test_the_servers_in_other_languages_have_the_lines_that_their_page_says() -> None:
    page = ROOT / "examples" / "polyglot" / "README.md"
    said = re.findall(r"^\| \w+ \| \[(.+?)\]\(.+?\) \| (\d+) \|", page.read_text(), re.MULTILINE)
    assert len(said) == 4
    assert {name: int(lines) for name, lines in said} == {
        name: len((page.parent / name).read_text().splitlines()) for name, _ in said
    }


def test_every_recipe_is_in_the_index_of_recipes() -> None:
    index = ROOT / "docs" / "how-to" / "README.md"
    recipes = {path.name for path in index.parent.glob("*.md")} - {index.name}
    assert set(read_page(index).links) == recipes


def _resolves(page: Path, target: str) -> bool:
    if "://" in target or target.startswith("mailto:"):
        return True
    file, _, anchor = target.partition("#")
    path = (page.parent / file).resolve() if file else page
    if not path.exists():
        return False
    return not anchor or path.suffix != ".md" or anchor in read_page(path).anchors

"""Every example of the documentation runs, and prints what the page says."""

import shutil
from difflib import unified_diff
from pathlib import Path

import pytest

from tests.docs.normal import normal
from tests.docs.pages import ROOT, read_page
from tests.docs.playing import Outcome, play
from tests.docs.settings import NEEDED, setting_of

PAGES = (
    "README.md",
    "docs/tutorial.md",
    "docs/architecture.md",
    *sorted(f"docs/how-to/{path.name}" for path in (ROOT / "docs" / "how-to").glob("*.md")),
    *sorted(f"docs/reference/{path.name}" for path in (ROOT / "docs" / "reference").glob("*.md")),
)


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_the_examples_of_a_page_do_what_it_says(name: str, tmp_path: Path) -> None:
    page = read_page(ROOT / name)
    program, package = NEEDED.get(name, ("", ""))
    if program and shutil.which(program) is None:
        pytest.skip(f"no {program} here: apt-get install {package}")
    with setting_of(page) as setting:
        for outcome in play(page, tmp_path, setting):
            assert outcome.as_written, _difference(name, outcome)


def _difference(name: str, outcome: Outcome) -> str:
    typed = outcome.typed
    lines = unified_diff(normal(typed.expected), normal(outcome.printed), "the page says", "it prints", lineterm="")
    exits = "" if outcome.code == typed.exit else f"\nit exits with {outcome.code}, and the page says {typed.exit}"
    return "\n".join(
        [
            f"{name}:{typed.line}: {typed.what}{exits}",
            *lines,
            f"if the output is right: python -m tests.docs.refresh {name}",
        ]
    )

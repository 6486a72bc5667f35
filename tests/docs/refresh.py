"""Rewrite the outputs that a page shows where they are no longer what its commands print:

    python -m tests.docs.refresh docs/tutorial.md ...

Write ``?`` under a new command to see what it prints. An output with a line ``...`` in it is left alone, and named
when it is wrong.
"""

import sys
import tempfile
from pathlib import Path

from tests.docs.normal import ANY_LINES
from tests.docs.pages import Page, read_page
from tests.docs.playing import Outcome, play, renamed
from tests.docs.settings import setting_of


def refreshed(page: Page, outcomes: list[Outcome]) -> str:
    """The page's text with what was really printed, all of it, so that ids in commands stay those of the outputs."""
    if all(outcome.as_written for outcome in outcomes):
        return page.text
    lines = page.text.splitlines()
    ids: dict[str, str] = {}
    for outcome in reversed(outcomes):  # from the end, so that the lines above keep their numbers
        typed = outcome.typed
        shown = typed.expected.splitlines()
        if shown and ANY_LINES not in shown:
            lines[typed.line - 1 : typed.line - 1 + len(shown)] = outcome.printed.splitlines()
            ids |= outcome.ids
    return renamed("\n".join(lines), ids) + "\n"


def main() -> int:
    """Refresh the pages named on the command line; returns how many outcomes a person must look at."""
    left = 0
    for name in sys.argv[1:]:
        page = read_page(Path(name).resolve())
        with tempfile.TemporaryDirectory() as folder, setting_of(page) as setting:
            outcomes = list(play(page, Path(folder), setting))
        page.path.write_text(refreshed(page, outcomes))
        for outcome in outcomes:
            typed = outcome.typed
            elided = ANY_LINES in typed.expected.splitlines() and not outcome.as_written
            if outcome.code != typed.exit or elided or (outcome.printed and not typed.line):
                left += 1
                print(f"{name}:{typed.line}: $ {typed.what}\nexit {outcome.code}\n{outcome.printed}\n")
    return left


if __name__ == "__main__":
    sys.exit(min(main(), 1))

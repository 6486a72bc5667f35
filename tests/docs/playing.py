"""Plays a page: writes its files, types its commands, and compares what they print with what the page says."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Final

from tests.docs.normal import ID, same
from tests.docs.pages import ROOT, Block, Page
from tests.docs.settings import Setting

WIDTH: Final = "100"
"""Columns of the terminal whose output the pages show."""

LIMIT_S: Final = 120.0
"""No command of a page takes so long; one that hangs fails."""

SIGNALLED: Final = 128
"""A shell reports a process that a signal ended as 128 and the signal's number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """One command or script of a page, with what the page says that it prints."""

    what: str
    line: int
    """1-based line of the page where its output begins."""
    expected: str
    exit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of it."""

    typed: Typed
    printed: str
    code: int

    @property
    def ids(self) -> dict[str, str]:
        """Each id that the page shows, and the one printed in its place."""
        shown, printed = ID.findall(self.typed.expected), ID.findall(self.printed)
        return dict(zip(shown, printed, strict=False)) if len(shown) == len(printed) else {}

    @property
    def as_written(self) -> bool:
        """Whether the page tells the truth; where it shows no output, only the exit code is asked."""
        shows = not self.typed.expected or same(self.typed.expected, self.printed)
        return self.code == self.typed.exit and shows


def play(page: Page, folder: Path, setting: Setting) -> Iterator[Outcome]:
    """Play a page in an empty folder, block after block.

    ``cd NAME`` moves all that follows. An id or digest that the page shows in an output stands in all that follows for
    the one that was really printed there.
    """
    environment = _environment(folder, setting.variables)
    for name, source in setting.files.items():
        _write(folder / name, source.read_text())
    blocks = page.blocks
    here = folder
    ids: dict[str, str] = {}
    for block, after in zip_longest(blocks, blocks[1:]):
        if block.file:
            _write(here / block.file, replaced(renamed(block.text, ids), setting))
        elif block.language == "diff" and block.text.startswith("--- "):
            _change(here, renamed(block.text, ids), f"{page.name}:{block.line}")
        elif block.language == "console":
            for typed in commands(block):
                if typed.what.startswith("cd "):
                    here = (here / typed.what.removeprefix("cd ")).resolve()
                else:
                    what = replaced(renamed(_command(typed.what), ids), setting)
                    outcome = _as_shown(_run(["bash", "-c", what], typed, here, environment), setting)
                    ids |= outcome.ids
                    yield outcome
        elif block.language == "python":
            typed = _script(block, after)
            yield _run([sys.executable, "-"], typed, here, environment, typed.what)


def replaced(text: str, setting: Setting) -> str:
    """The text as it can be played here."""
    for shown, real in setting.replaced.items():
        text = text.replace(shown, real)
    return text


def _as_shown(outcome: Outcome, setting: Setting) -> Outcome:
    """The same, its addresses those of the page."""
    printed = outcome.printed
    for shown, real in setting.replaced.items():
        printed = printed.replace(real, shown)
    return replace(outcome, printed=printed)


def renamed(text: str, ids: Mapping[str, str]) -> str:
    """The text with other ids."""
    return ID.sub(lambda found: ids.get(found[0], found[0]), text)


def commands(block: Block) -> list[Typed]:
    """The commands of a console block."""
    found: list[Typed] = []
    lines = block.text.splitlines()
    at = 0
    while at < len(lines):
        assert lines[at].startswith("$ "), f"line {block.line + at} stands before the first command"
        what = lines[at][2:]
        at += 1
        while what.endswith("\\"):
            what += f"\n{lines[at]}"
            at += 1
        start = at
        while at < len(lines) and not lines[at].startswith("$ "):
            at += 1
        is_last = at == len(lines)
        code = int(block.options.get("exit", "0")) if is_last else 0
        found.append(Typed(what=what, line=block.line + start, expected="\n".join(lines[start:at]), exit=code))
    return found


def _script(block: Block, after: Block | None) -> Typed:
    shown = after if after is not None and after.language == "text" and after.follows else None
    code = int(block.options.get("exit", "0"))
    return Typed(
        what=block.text, line=shown.line if shown else 0, expected=shown.text.rstrip("\n") if shown else "", exit=code
    )


def _command(line: str) -> str:
    """What to type for a line of a page: `make` is asked what it would do, in the repository."""
    if not line.startswith("make "):
        return line
    return f"make -C {ROOT} -n {line.removeprefix('make ').partition('#')[0]} > /dev/null"


def _environment(folder: Path, variables: Mapping[str, str]) -> dict[str, str]:
    kept = {
        name: value for name, value in os.environ.items() if name in ("LANG", "TMPDIR", "SYSTEMROOT", "OMP_NUM_THREADS")
    }
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return kept | {
        "PATH": programs,
        "HOME": str(folder),
        "LOGNAME": "ada",
        "COLUMNS": WIDTH,
        "NO_COLOR": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONUTF8": "1",
        "PYTHONUNBUFFERED": "1",
        **variables,
    }


def _run(
    command: list[str], typed: Typed, folder: Path, environment: Mapping[str, str], stdin: str | None = None
) -> Outcome:
    done = subprocess.run(
        command,
        cwd=folder,
        env=dict(environment),
        input=stdin or "",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        timeout=LIMIT_S,
        check=False,
    )
    code = SIGNALLED - done.returncode if done.returncode < 0 else done.returncode
    printed = done.stdout.replace(f"{folder}/", "").replace(str(folder), ".")
    return Outcome(typed=typed, printed=printed.rstrip("\n"), code=code)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _change(folder: Path, diff: str, where: str) -> None:
    """Replace the lines that a diff takes away, found by themselves and the lines around them."""
    first, *lines = diff.splitlines()
    path = folder / first.removeprefix("--- ").strip()
    old = "".join(f"{line[1:]}\n" for line in lines if not line.startswith("+"))
    new = "".join(f"{line[1:]}\n" for line in lines if not line.startswith("-"))
    text = path.read_text()
    assert text.count(old) == 1, f"{where}: these lines stand {text.count(old)} times in {path.name}:\n{old}\n{text}"
    path.write_text(text.replace(old, new))

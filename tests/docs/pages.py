"""A page of Markdown as the tests see it: its fenced blocks, its headings, its links.

What a block means follows from its language and its first line, both of which a reader sees:

- ``yaml``, ``python`` or ``js`` whose first line is a comment with a file's name is that file;
- ``diff`` whose first line is ``--- NAME`` changes that file;
- ``console`` holds commands after ``$``, each followed by what it prints; ``exit=1`` in the fence's own line is the
  exit code of the last one; a line ``...`` stands for any lines;
- ``python`` without a name is a script, and a ``text`` block right after it is what it prints;
- anything else is only read.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]

_FENCE: Final = re.compile(r"^```(\S*)[ ]*(.*)$")
_FILE_NAME: Final = re.compile(r"^(?:#|//) ([\w./-]+\.(?:yaml|yml|py|mjs|json|jsonl|txt))(?:\s|$)")
_HEADING: Final = re.compile(r"^(#{1,6}) +(.*?)\s*$")
_LINK: Final = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One fenced block."""

    language: str
    options: dict[str, str]
    text: str
    """Without the fences; ends with a line break unless it is empty."""
    line: int
    """1-based line of the page where the text begins."""
    follows: bool
    """Nothing but blank lines stands between the block before and this one."""

    @property
    def file(self) -> str:
        """The file that the block is, or empty."""
        found = _FILE_NAME.match(self.text) if self.language in ("yaml", "python", "js") else None
        return found[1] if found else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One Markdown file."""

    path: Path
    text: str

    @property
    def name(self) -> str:
        """Path from the repository's root."""
        return self.path.relative_to(ROOT).as_posix()

    @property
    def blocks(self) -> list[Block]:
        """The fenced blocks, in order."""
        return list(_blocks(self.text.splitlines()))

    @property
    def prose(self) -> list[str]:
        """The lines outside fenced blocks."""
        return list(_prose(self.text.splitlines()))

    @property
    def links(self) -> list[str]:
        """Targets of all links in the prose."""
        return _LINK.findall(re.sub(r"`[^`]*`", "", "\n".join(self.prose)))

    @property
    def anchors(self) -> set[str]:
        """What a link may name after ``#``, as GitHub makes it of the headings."""
        return {anchor_of(found[2]) for line in self.prose if (found := _HEADING.match(line))}


def read_page(path: Path) -> Page:
    """Read a Markdown file."""
    return Page(path=path, text=path.read_text())


def anchor_of(heading: str) -> str:
    """GitHub's anchor: lower case, punctuation dropped, spaces to hyphens."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
    return re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")


def rows(page: Page, heading: str) -> dict[str, list[str]]:
    """The rows of all tables under a heading: the first cell, without its backticks, to the other cells."""
    lines = [line for line in section(page, heading) if line.startswith("|")]
    found: dict[str, list[str]] = {}
    for line, below in zip_longest(lines, lines[1:], fillvalue=""):
        if _is_rule(line) or _is_rule(below):  # the line under a table's head, and the head
            continue
        cells = [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        found[cells[0].strip("`")] = cells[1:]
    return found


def _is_rule(line: str) -> bool:
    return bool(line) and set(line) <= set("|-: ")


def section(page: Page, heading: str) -> list[str]:
    """Lines of prose from a heading to the next one of any level; raises AssertionError when there is none."""
    lines = iter(page.prose)
    for line in lines:
        found = _HEADING.match(line)
        if found and found[2].replace("`", "") == heading:
            break
    else:
        raise AssertionError(f"{page.name} has no heading '{heading}'")
    inside = []
    for line in lines:
        if _HEADING.match(line):
            break
        inside.append(line)
    return inside


def _blocks(lines: list[str]) -> Iterator[Block]:
    at, touching = 0, False
    while at < len(lines):
        fence = _FENCE.match(lines[at])
        if fence is None:
            touching = touching and not lines[at].strip()
            at += 1
            continue
        start = at + 1
        at = next((n for n in range(start, len(lines)) if lines[n].rstrip() == "```"), len(lines))
        text = "".join(f"{line}\n" for line in lines[start:at])
        options = dict(re.findall(r"(\w+)=(\S+)", fence[2]))
        yield Block(language=fence[1], options=options, text=text, line=start + 1, follows=touching)
        at, touching = at + 1, True


def _prose(lines: list[str]) -> Iterator[str]:
    inside = False
    for line in lines:
        if _FENCE.match(line):
            inside = not inside
        elif not inside:
            yield line

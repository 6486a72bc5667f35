"""Calls the hotline: builds and starts what it needs, asks, and stops it all: ``python examples/hotline/call.py``.

Without words of your own it makes three calls of one person: who does not say their number, who says it, and who is
known by then.
"""

import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import stretto
from examples.polyglot.servers import Server, build, missing, started, workflow_at

HERE: Final = Path(__file__).resolve().parent

SERVERS: Final = (
    Server(
        name="planner",
        folder=HERE,
        sources=("planner.mjs", "../polyglot/planner.mjs"),
        tool="node",
        debian="nodejs",
        port=8104,
        start=("node", "planner.mjs", "--port"),
    ),
    Server(
        name="memory",
        folder=HERE,
        sources=("Journal.java", "../polyglot/Memory.java"),
        tool="javac",
        debian="default-jdk-headless",
        port=8105,
        build=("javac", "-d", "build/journal", "../polyglot/Memory.java", "Journal.java"),
        makes="build/journal/Journal.class",
        start=("java", "-cp", "build/journal", "Journal", "--port"),
    ),
    Server(
        name="social-insurance",
        folder=HERE,
        sources=("social/social.cob",),
        tool="cobc",
        debian="gnucobol",
        build=("cobc", "-x", "-o", "build/social", "social/social.cob"),
        makes="build/social",
    ),
)

CALLER: Final = "+49 30 555 0101"
CALLS: Final = (
    "How much is my sick pay?",
    "What will my pension be in 2 years? My number is 6512148803.",
    "And how much is my sick pay?",
)


@contextmanager
def running(folder: Path) -> Iterator[Path]:
    """The servers run; gives the workflow that asks them, a file in the folder."""
    build(SERVERS)
    with started(SERVERS, free=True) as ports:
        file = folder / "workflow.yaml"
        file.write_text(workflow_at(HERE / "workflow.yaml", SERVERS, ports), encoding="utf-8")
        yield file


def calls(words: Sequence[str], file: Path) -> list[Any]:
    """What one caller is told, call after call. The runs are kept beside the workflow's file."""
    with stretto.load(file, store=file.with_name("runs.db")) as workflow:
        return [workflow.run_sync({"caller": CALLER, "words": each}) for each in words]


def main() -> None:
    """Call, and print what was said."""
    if missing(SERVERS):
        raise SystemExit(f"not installed: {', '.join(missing(SERVERS))}")
    words = sys.argv[1:] or CALLS
    with tempfile.TemporaryDirectory() as folder, running(Path(folder)) as file:
        for asked, run in zip(words, calls(words, file), strict=True):
            print(f"caller   {asked}\nhotline  {run.output_value['say']}")


if __name__ == "__main__":
    main()

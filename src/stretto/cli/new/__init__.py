"""`stretto new`: from the four questions of a whiteboard to a workflow that runs."""

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from stretto.cli.compiled import compiled
from stretto.cli.diagram import boxes_of
from stretto.cli.drawing import ASCII, UNICODE, Box, draw
from stretto.cli.help import VerbCommand
from stretto.cli.new.scaffold import FILES, example_request, write_scaffold
from stretto.cli.new.whiteboard import Question, Whiteboard, read_answers
from stretto.cli.options import AsJson
from stretto.cli.terminal import is_unicode, notes, print_json, results, show
from stretto.spec.texts import WORKFLOW_NAME
from stretto.spec.workflow import load_workflow
from stretto.types.errors import UsageError

app = typer.Typer(add_completion=False)


@app.command(cls=VerbCommand)
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of the workflow and its folder.", show_default=False)],
    planner: Annotated[
        str | None, typer.Option("--planner", metavar="TEXT", help="Answers: what does the planner decide?")
    ] = None,
    systems: Annotated[
        str | None,
        typer.Option("--systems", metavar="NAMES", help="Answers: which real systems does the executor call?"),
    ] = None,
    memory: Annotated[
        str | None, typer.Option("--memory", metavar="TEXT", help="Answers: what does memory keep?")
    ] = None,
    measures: Annotated[
        str | None,
        typer.Option("--measures", metavar="NAMES", help="Answers: by which business measures does the reward judge?"),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Ask nothing; take the defaults.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make a new workflow from the four questions of a whiteboard.

    Draws every arrow with its contract, and writes the files into a folder.
    They pass `stretto check`, `stretto run` and their own tests at once.
    """
    folder = Path(name)
    _refuse_name(folder.name)
    _refuse_folder(folder)
    given = {"planner": planner, "systems": systems, "memory": memory, "measures": measures}
    board = read_answers(lambda question: _answer(question, given[question.name], ask=not yes))
    with _all_or_nothing(folder):
        write_scaffold(folder, board)
        boxes = _boxes(folder)
        kept = draw(boxes, UNICODE).plain
        with (folder / "README.md").open("a") as readme:
            readme.write(f"\n```text\n{kept}```\n")
    if as_json:
        print_json({"folder": str(folder), "files": list(FILES), "drawing": kept})
        return
    show(draw(boxes, UNICODE if is_unicode(results()) else ASCII, results().width))
    show(Text.assemble((f"{folder}/", "bold"), f" holds {', '.join(FILES)}\n"))
    show(Text("type next:", "dim"))
    train = "stretto train workflow.yaml --tasks tasks.jsonl --set updates=30"
    for command in (f"cd {folder}", "stretto check workflow.yaml", _run_command(board), "pytest", train):
        show(Text(f"  {command}", "bold"))


def _refuse_name(name: str) -> None:
    for rule in WORKFLOW_NAME.rules:
        if not re.search(rule.pattern, name):
            raise UsageError(f"'{name}' {rule.message}; expected {rule.expected}")


def _refuse_folder(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is there already and not empty; choose another name, or empty it first")


def _answer(question: Question, given: str | None, *, ask: bool) -> str:
    """The answer by flag, by keyboard, or the default."""
    if given is not None or not ask:
        return given or ""
    prompt = Text.assemble((question.text, "bold"), (f"\n  [{question.default}] ", "dim"))
    try:
        return notes().input(prompt)
    except EOFError:
        raise UsageError("nobody answers; --yes takes the defaults") from None


@contextmanager
def _all_or_nothing(folder: Path) -> Iterator[None]:
    """Make the folder; whatever stops what is done inside, take away all that was made, so that it can be tried again.

    Raises UsageError when the disk refuses.
    """
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException as error:
        for path in [made[-1]] if made else [*folder.iterdir()]:
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink()
        if isinstance(error, OSError):
            what = error.filename or folder
            raise UsageError(f"{what} cannot be written: {error.strerror}; nothing was made") from error
        raise


def _boxes(folder: Path) -> list[Box]:
    """The workflow as it was written, read back."""
    file = folder / "workflow.yaml"
    return boxes_of(load_workflow(file), compiled(file))


def _run_command(board: Whiteboard) -> str:
    return f"""stretto run workflow.yaml --input '{{"request": "{example_request(board)}"}}'"""

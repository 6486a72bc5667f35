"""`stretto new`: from the four questions of a whiteboard to a workflow that runs."""

import re
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from stretto.cli.compiled import compiled
from stretto.cli.diagram import boxes_of
from stretto.cli.drawing import ASCII, UNICODE, Box, draw
from stretto.cli.help import VerbCommand
from stretto.cli.new.folder import new_folder, refuse_folder
from stretto.cli.new.scaffold import COMPONENTS, FILES, README, example_request, scaffold, unmeasured
from stretto.cli.new.trunk import along_the_trunk
from stretto.cli.new.whiteboard import Question, Whiteboard, read_answers
from stretto.cli.options import AsJson
from stretto.cli.pasted import PASTED, Whole
from stretto.cli.plan_lines import step_lines
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
    called = _name_of(name)
    _refuse_name(called)
    refuse_folder(folder)
    given = {"planner": planner, "systems": systems, "memory": memory, "measures": measures}
    board = read_answers(lambda question: _answer(question, given[question.name], ask=not yes))
    texts = scaffold(called, board)
    readme = texts.pop(README)
    with new_folder(folder) as write:
        for file, text in texts.items():
            write(file, text)
        boxes = _boxes(folder)
        kept = draw(boxes, UNICODE).plain
        write(README, f"{readme}\n```text\n{kept}```\n")
    if as_json:
        print_json({"folder": str(folder), "files": list(FILES), "drawing": kept})
        return
    show(draw(boxes, UNICODE if is_unicode(results()) else ASCII, results().width))
    show(Text.assemble((f"{folder}/", "bold"), f" holds {', '.join(FILES)}\n"))
    show(Text("type next:", "dim"))
    _show_lines(*_way_to(folder), "stretto check workflow.yaml", _run_command(board), "pytest")
    if names := unmeasured(board):
        show(Text("before the training, write what is not measured yet; until then every reward is unknown:", "dim"))
        _show_lines(*(_place_of(name, texts[COMPONENTS]) for name in names))
        show(Text("then:", "dim"))
    _show_lines("stretto train workflow.yaml --tasks tasks.jsonl --set updates=30")


def _show_lines(*lines: str) -> None:
    for line in lines:
        show(Whole(Text(f"  {line}", PASTED)))


def _place_of(measure: str, text: str) -> str:
    """Where a measure has to be written."""
    line = text[: text.index(f"\ndef {measure}(")].count("\n") + 2
    return f"{measure} ({COMPONENTS}:{line})"


def _name_of(given: str) -> str:
    """The workflow's name: that of its folder, also where the folder is given as ``.`` or ``..``."""
    name = Path(given).name
    return name if not given or name not in ("", "..") else Path(given).resolve().name or given


def _refuse_name(name: str) -> None:
    for rule in WORKFLOW_NAME.rules:
        if not re.search(rule.pattern, name):
            raise UsageError(f"'{name}' {rule.message}; expected {rule.expected}")


def _answer(question: Question, given: str | None, *, ask: bool) -> str:
    """The answer by flag, by keyboard, or the default."""
    if given is not None or not ask:
        return given or ""
    if sys.stdin is None:  # closed by whoever started the command
        raise _nobody()
    console = notes()
    try:
        answer = console.input(Text.assemble((question.text, "bold"), (f"\n  [{question.default}] ", "dim")))
    except EOFError:
        console.line()
        raise _nobody() from None
    if not sys.stdin.isatty():
        console.line()  # at a keyboard the key that sends the answer ends the prompt's line
    return answer


def _nobody() -> UsageError:
    return UsageError("nobody answers; --yes takes the defaults")


def _boxes(folder: Path) -> list[Box]:
    """The workflow as it was written, read back."""
    file = folder / "workflow.yaml"
    plan = compiled(file)
    return along_the_trunk(boxes_of(load_workflow(file), plan), step_lines(plan))


def _way_to(folder: Path) -> list[str]:
    """The command that goes into the folder; none when that is where one is."""
    if folder == Path():
        return []
    place = str(folder)
    return [f"cd {shlex.quote(f'./{place}' if place.startswith('-') else place)}"]


def _run_command(board: Whiteboard) -> str:
    return f"""stretto run workflow.yaml --input '{{"request": "{example_request(board)}"}}'"""

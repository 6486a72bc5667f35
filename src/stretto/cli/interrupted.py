"""Ctrl-C, told in one line or one document."""

from rich.text import Text

from stretto.cli.exits import Exit
from stretto.cli.terminal import note, print_json
from stretto.types.json import JsonObject


def tell_interrupted(message: str | Text, *, as_json: bool, run: str = "") -> int:
    """Say what became of what was going on, with the run's id when there is one; returns the exit code."""
    if as_json:
        text = message.plain if isinstance(message, Text) else message
        body: JsonObject = {"code": "cancelled", "message": text, "problems": []}
        if run:
            body["run"] = run
        print_json({"error": body})
    else:
        note(message)
    return Exit.INTERRUPTED

"""What a declaration of kind ``exec`` may hold in a workflow file."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

from stretto.components.exec.component import ExecProgram
from stretto.components.exec.forms import decoder_of, encoder_of
from stretto.components.exec.message import Message
from stretto.components.exec.message_keys import MESSAGE
from stretto.components.exec.settings import Lifetime
from stretto.components.exec.shapes import EXIT_CODES
from stretto.components.option_shapes import (
    ANY_TEXT,
    DESCRIPTION_KEY,
    TEXT_BY_NAME,
    TEXTS,
    VERSION_KEY,
    CommandShape,
    EffectsShape,
    Make,
)
from stretto.spec.codes import SpecCode
from stretto.spec.records import Fields, Key, Record
from stretto.spec.shapes import Choice, Flag, Whole
from stretto.spec.texts import FIELD
from stretto.types.errors import MissingExtraError, UsageError
from stretto.types.protocols import Component

COMMAND: Final = Key(
    "command",
    CommandShape(),
    means="the program and its arguments; no shell reads them",
    example="command: [./rules/credit_rules]",
    required=True,
    also=("cmd", "program", "run"),
    akin=("args", "shell", "script"),
)
REQUEST: Final = Key(
    "request",
    MESSAGE,
    means="what it reads on standard input",
    example="request: { format: json }",
    required=True,
    also=("input", "stdin"),
)
RESPONSE: Final = Key(
    "response",
    MESSAGE,
    means="what it writes to standard output",
    example="response: { format: json }",
    required=True,
    also=("output", "stdout"),
)
PROCESS: Final = Key(
    "process",
    Choice(Lifetime),
    means="started for each call, or once, answering call after call",
    example="process: persistent",
)
PROCESSES: Final = Key(
    "processes",
    Whole(minimum=1),
    means="at once, the other calls wait; 16 when absent, 1 where they are persistent",
    example="processes: 4",
    also=("concurrency", "workers"),
)
EXIT_CODES_KEY: Final = Key(
    "exit_codes",
    EXIT_CODES,
    means="what exit codes mean: a google.rpc code, or ok; unknown when absent",
    example='exit_codes: { "2": not_found, "75": unavailable }',
    also=("exits", "errors"),
)
EFFECTS: Final = Key(
    "effects",
    EffectsShape(),
    means="what it does to the world, or by action; write when absent",
    example="effects: pure",
)
ACTION_FIELD: Final = Key(
    "action_field", FIELD, means="field of the request whose value names the action", example="action_field: operation"
)
CORRELATE: Final = Key(
    "correlate",
    FIELD,
    means="field of both messages: an answer in which it has another value than in the request is another's",
    example="correlate: order_id",
)
IDEMPOTENT: Final = Key("idempotent", Flag(), means="the same call sent twice happens once", example="idempotent: true")
CONFIRM: Final = Key(
    "confirm",
    CommandShape(),
    means="program that is asked, as this one was, whether a write in doubt happened",
    example="confirm: [./rules/was_booked]",
)
CWD: Final = Key(
    "cwd",
    ANY_TEXT,
    means="folder in which it runs, relative to this file; this file's when absent",
    example="cwd: ./rules",
)
ENV: Final = Key("env", TEXT_BY_NAME, means="environment variables of the program", example='env: { MODE: "test" }')
INHERIT: Final = Key(
    "inherit",
    TEXTS,
    means="variables of this process that it is given too, beside PATH, HOME, LANG and their like",
    example="inherit: [ORACLE_HOME]",
)
MAX_OUTPUT_BYTES: Final = Key(
    "max_output_bytes",
    Whole(minimum=1),
    means="most that it may write for a call; 8 MiB when absent",
    example="max_output_bytes: 8388608",
)

_PLAIN: Final[tuple[Key[Any], ...]] = (
    COMMAND,
    REQUEST,
    RESPONSE,
    PROCESS,
    PROCESSES,
    EFFECTS,
    IDEMPOTENT,
    CONFIRM,
    MAX_OUTPUT_BYTES,
)
_TEXT: Final = (ACTION_FIELD, CORRELATE, CWD, VERSION_KEY, DESCRIPTION_KEY)
_MAPPINGS: Final[tuple[Key[Any], ...]] = (ENV, EXIT_CODES_KEY)


def _build(fields: Fields) -> Make | None:
    options: dict[str, Any] = {key.name: value for key in _PLAIN if (value := fields.get(key)) is not None}
    options |= {key.name: text.value for key in _TEXT if (text := fields.get(key)) is not None}
    options |= {key.name: dict(pairs) for key in _MAPPINGS if (pairs := fields.get(key)) is not None}
    inherit = fields.get(INHERIT)
    if inherit is not None:
        options["inherit"] = [text.value for text in inherit]
    if fields.report or any(key.name not in options for key in (COMMAND, REQUEST, RESPONSE)):
        return None  # which was told; what else is wrong with a message may come of that
    _check_form(REQUEST, encoder_of, options, fields)
    _check_form(RESPONSE, decoder_of, options, fields)
    options["places"] = {key.name: fields.key_span(key).mark.place for key in (COMMAND, CONFIRM) if key in fields}
    return partial(_make, options)


def _check_form(
    key: Key[Message], form_of: Callable[[Message], object], options: dict[str, Any], fields: Fields
) -> None:
    """Tell at its own place what is wrong with a message."""
    try:
        form_of(options[key.name])
    except MissingExtraError:
        return  # the component says it
    except UsageError as error:
        fields.problem(key, SpecCode.CONFLICT, str(error))


def _make(options: dict[str, Any], name: str, folder: Path) -> Component:
    return ExecProgram(name, folder=folder, **options)


EXEC: Final[Record[Make]] = Record(
    "program",
    means="A command-line program, without code of your own.",
    keys=(
        COMMAND,
        REQUEST,
        RESPONSE,
        PROCESS,
        PROCESSES,
        EXIT_CODES_KEY,
        EFFECTS,
        ACTION_FIELD,
        CORRELATE,
        IDEMPOTENT,
        CONFIRM,
        CWD,
        ENV,
        INHERIT,
        MAX_OUTPUT_BYTES,
        VERSION_KEY,
        DESCRIPTION_KEY,
    ),
    build=_build,
    may_be_empty=False,
)

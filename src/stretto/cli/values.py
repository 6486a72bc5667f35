"""Values that are typed on the command line: JSON in place, from a file or from stdin, and pairs."""

import sys
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from stretto.cli.json_text import parse_json
from stretto.spec.suggest import nearest
from stretto.types.errors import UsageError
from stretto.types.json import Json, JsonObject

_Choice = TypeVar("_Choice", bound=StrEnum)


def read_value(text: str, flag: str) -> Json:
    """The JSON that a flag gives: in place, ``@file``, or ``-`` for stdin. Raises UsageError with the place."""
    if text == "-":
        return parse_json(sys.stdin.buffer.read(), f"{flag} (stdin)")
    if text.startswith("@"):
        return parse_json(_read(Path(text[1:]), flag), f"{flag} ({text[1:]})")
    hint = "; put it in single quotes, so that the shell leaves it as it is" if text[:1] in ("{", "[") else ""
    return parse_json(text.encode(errors="surrogateescape"), flag, hint)


def read_object(text: str, flag: str) -> JsonObject:
    """`read_value`, when it must be an object."""
    value = read_value(text, flag)
    if not isinstance(value, dict):
        raise UsageError(f'{flag} is {_kind(value)}; expected a JSON object: {flag} \'{{"field": "value"}}\'')
    return value


def read_pairs(texts: Iterable[str], flag: str) -> dict[str, str]:
    """``name=value`` pairs; a name stands once."""
    pairs: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UsageError(f"{flag} {text!r} is no pair; expected {flag} name=value")
        if name in pairs:
            raise UsageError(f"{flag} {name} is given twice: {pairs[name]!r} and {value!r}")
        pairs[name] = value
    return pairs


def read_json_pairs(texts: Iterable[str], flag: str) -> JsonObject:
    """``name=text`` and ``name:=JSON`` pairs: text stays text, also when it looks like a number."""
    values: JsonObject = {}
    for given, value in read_pairs(texts, flag).items():
        name = given.removesuffix(":")
        if name in values:
            raise UsageError(f"{flag} {name} is given twice, as text and as JSON; keep one of the two")
        values[name] = (
            parse_json(value.encode(errors="surrogateescape"), f"{flag} {given}=") if given != name else value
        )
    return values


def read_outputs(texts: Iterable[str]) -> JsonObject:
    """``STEP=JSON`` pairs of ``--output``."""
    pairs = read_pairs(texts, "--output")
    return {path: read_value(value, f"--output {path}=") for path, value in pairs.items()}


def read_choice(text: str, choices: type[_Choice], what: str) -> _Choice:
    """One of a closed set; UsageError with the nearest when it is none."""
    try:
        return choices(text)
    except ValueError:
        known = [str(choice) for choice in choices]
        guess = nearest(text, known)
        hint = f"; did you mean '{guess}'?" if guess else ";"
        raise UsageError(f"there is no {what} '{text}'{hint} there are: {', '.join(known)}") from None


def _read(path: Path, flag: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{flag}: {path} cannot be read: {error.strerror}") from error


def _kind(value: Json) -> str:
    kinds = {str: "text", bool: "a boolean", int: "a number", float: "a number", list: "a list", type(None): "null"}
    return kinds.get(type(value), type(value).__name__)

"""Schema checks, compiled once and asked on every crossing."""

from typing import Final

import jsonschema_rs

from stretto.types.errors import Violation
from stretto.types.json import Json, Schema

MAX_VIOLATIONS: Final = 20
"""Listed per value: enough to mend a payload in one go, few enough to read."""

MAX_QUOTED_CHARS: Final = 120
"""A violation quotes the offending value; a long one is cut, its pointer still names it."""


class Check:
    """One compiled JSON Schema."""

    __slots__ = ("_validator", "is_valid", "schema")

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._validator = jsonschema_rs.Draft202012Validator(dict(schema), validate_formats=True, offline=True)
        self.is_valid = self._validator.is_valid
        """The fast question; ask `violations` only when it says no."""

    def violations(self, value: Json) -> tuple[Violation, ...]:
        """Every place where the value breaks the schema, at most 20; empty when it fits."""
        found = []
        for error in self._validator.iter_errors(value):
            pointer = "".join(f"/{_escape(part)}" for part in error.instance_path)
            message = error.message if len(error.message) <= MAX_QUOTED_CHARS * 2 else _shorten(error.message)
            found.append(Violation(pointer=pointer, message=message))
            if len(found) == MAX_VIOLATIONS:
                break
        return tuple(found)


def _escape(part: str | int) -> str:
    """RFC 6901: ``~`` and ``/`` inside a name."""
    return str(part).replace("~", "~0").replace("/", "~1")


def _shorten(message: str) -> str:
    return f"{message[:MAX_QUOTED_CHARS]} ... {message[-MAX_QUOTED_CHARS:]}"

"""The comments of ``acp.proto``, by what they stand at: what people read of the schema is written once."""

import re
from functools import cache
from importlib.resources import files
from typing import Final

PROTO: Final = "acp.proto"

_OPENS: Final = re.compile(r"(?:message|service) (\w+) \{")
_FIELD: Final = re.compile(r"(?:repeated |optional )?[\w.<>, ]+ (\w+) = \d+;")
_METHOD: Final = re.compile(r"rpc (\w+)\(")


def proto() -> str:
    """The schema's text."""
    return files(__package__).joinpath(PROTO).read_text(encoding="utf-8")


@cache
def words() -> dict[tuple[str, str], str]:
    """(message, field) → its comment; the message's own stands at (message, "")."""
    told: dict[tuple[str, str], str] = {}
    above: list[str] = []
    owner = ""
    for line in map(str.strip, proto().splitlines()):
        if line.startswith("//"):
            above.append(line.removeprefix("//").strip())
            continue
        opened = _OPENS.match(line)
        if opened is not None:
            owner = opened.group(1)
        named = _METHOD.match(line) or _FIELD.match(line)
        if above and (opened is not None or named is not None):
            told[owner, "" if named is None else named.group(1)] = " ".join(above)
        above = []
    return told

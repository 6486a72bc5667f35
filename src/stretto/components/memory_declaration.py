"""What a declaration of kind ``memory`` may hold in a workflow file."""

from functools import partial
from pathlib import Path
from typing import Any, Final

from stretto.components.memory import RecencyMemory
from stretto.components.option_shapes import ANY_TEXT, DESCRIPTION_KEY, VERSION_KEY, Make
from stretto.spec.records import Fields, Key, Record
from stretto.spec.shapes import Text, Whole
from stretto.types.protocols import Component

LIMIT: Final = Key("limit", Whole(minimum=1), means="values told when a request does not say", example="limit: 20")
KEEP: Final = Key("keep", Whole(minimum=1), means="values kept of one tenant and scope", example="keep: 1000")
BY: Final = Key(
    "by",
    Text(expected="the name of a label"),
    means="label of the run that keeps values apart, beside the tenant",
    example="by: session",
)
PATH: Final = Key(
    "path",
    ANY_TEXT,
    means="SQLite file that outlives the process, relative to this file",
    example="path: memory.sqlite",
    also=("file", "database", "db"),
)


def _build(fields: Fields) -> Make:
    options: dict[str, Any] = {key.name: number for key in (LIMIT, KEEP) if (number := fields.get(key)) is not None}
    texts = (BY, PATH, VERSION_KEY, DESCRIPTION_KEY)
    options |= {key.name: text.value for key in texts if (text := fields.get(key)) is not None}
    return partial(_make, options)


def _make(options: dict[str, Any], name: str, folder: Path) -> Component:
    path = {"path": folder / options["path"]} if "path" in options else {}
    return RecencyMemory(name, **{**options, **path})


MEMORY: Final[Record[Make]] = Record(
    "memory-component",
    means="What was learnt from earlier runs, by how recent it is.",
    keys=(LIMIT, KEEP, BY, PATH, VERSION_KEY, DESCRIPTION_KEY),
    build=_build,
)

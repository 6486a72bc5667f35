"""What a declaration of kind ``rules`` may hold in a workflow file."""

from functools import partial
from pathlib import Path
from typing import Any, Final

from stretto.components.option_shapes import ANY_TEXT, DESCRIPTION_KEY, VERSION_KEY, Make
from stretto.components.rules.component import RuleComponent
from stretto.spec.fields import SchemaShape
from stretto.spec.records import Fields, Key, Record
from stretto.spec.shapes import Duration, Flag
from stretto.spec.source import Located
from stretto.spec.workflow import no_file
from stretto.types.errors import SpecError
from stretto.types.protocols import Component

FILE: Final = Key(
    "file",
    ANY_TEXT,
    means="the JDM decision model, relative to this file",
    example="file: rules.json",
    required=True,
    also=("path", "model", "rules"),
)
INPUT: Final = Key(
    "input",
    SchemaShape(),
    means="what comes in, as in a contract",
    example='input: { risk: "enum[low, high]" }',
)
OUTPUT: Final = Key(
    "output",
    SchemaShape(),
    means="what goes out, as in a contract",
    example="output: { product: string }",
)
URL: Final = Key(
    "url",
    ANY_TEXT,
    means="the same rules, served by `stretto fallback serve`, asked first",
    example="url: http://127.0.0.1:8321",
    also=("served", "endpoint", "base_url"),
)
SERVED_TIMEOUT: Final = Key(
    "served_timeout", Duration(), means="how long they may take", example="served_timeout: 250ms", also=("timeout",)
)
TRACE: Final = Key("trace", Flag(), means="tell which rows answered, as evidence", example="trace: false")

_TEXT: Final = (URL, VERSION_KEY, DESCRIPTION_KEY)
_PLAIN: Final[tuple[Key[Any], ...]] = (SERVED_TIMEOUT, TRACE)
_SCHEMAS: Final = (INPUT, OUTPUT)


def _build(fields: Fields) -> Make | None:
    file = fields.get(FILE)
    options: dict[str, Any] = {key.name: fields.get(key) for key in _PLAIN if key in fields}
    options |= {key.name: text.value for key in _TEXT if (text := fields.get(key)) is not None}
    options |= {key.name: found.schema for key in _SCHEMAS if (found := fields.get(key)) is not None}
    return None if file is None else partial(_make, file, options)


def _make(file: Located[str], options: dict[str, Any], name: str, folder: Path) -> Component:
    if not (folder / file.value).is_file():
        raise SpecError([no_file(file, folder, "file of rules")])
    return RuleComponent(name, file=folder / file.value, **options)


RULES: Final[Record[Make]] = Record(
    "rules-component",
    means="A decision model, evaluated deterministically.",
    keys=(FILE, INPUT, OUTPUT, *_PLAIN, *_TEXT),
    build=_build,
    may_be_empty=False,
)

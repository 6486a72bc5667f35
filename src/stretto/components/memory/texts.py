"""Which text of a value is searched."""

from collections.abc import Iterator, Sequence

from stretto.types.errors import Code, ComponentError
from stretto.types.json import Json


def text_of(value: Json, fields: Sequence[str]) -> str:
    """A text itself, or all texts and numbers in a value, those under `fields` alone where any are named."""
    if fields and isinstance(value, dict):
        return "\n".join(part for field in fields for part in _parts(value.get(field)))
    return "\n".join(_parts(value))


def held_to_length(memory: str, what: str, text: str, most: int) -> str:
    """The text. Raises ComponentError when it is longer than may be embedded."""
    if len(text) <= most:
        return text
    raise ComponentError(
        f"memory '{memory}': {what} has {len(text):,} characters; expected at most {most:,}, its `search.max_chars`. "
        "Shorten it, or name in `search.text` the fields that are to be searched",
        Code.INVALID_ARGUMENT,
        sent=False,
    )


def _parts(value: Json) -> Iterator[str]:
    if isinstance(value, dict):
        for part in value.values():
            yield from _parts(part)
    elif isinstance(value, list):
        for part in value:
            yield from _parts(part)
    elif isinstance(value, str):
        if not value.isspace() and value:
            yield value
    elif value is not None and not isinstance(value, bool):
        yield str(value)

"""Hints that pydantic reads and writes: its models, and what msgspec does not know.

pydantic is imported only here, and only for such hints: nobody else pays its 0.2 s.
"""

from collections.abc import Callable
from typing import Any, Final, Literal, TypeAlias

import orjson

from stretto.types.json import JsonObject

Mode: TypeAlias = Literal["validation", "serialization"]
"""Whether the schema is that of what is read, or of what is written."""


_OF_CLASSES: Final = (TypeError, ValueError, AttributeError, LookupError, RuntimeError, AssertionError)
"""What a class that describes itself to pydantic may raise by mistake."""


class HintError(Exception):
    """No JSON value fits a hint; the text says why."""


def adapter_schema(hint: Any, mode: Mode) -> JsonObject:
    """The schema of a hint, its models by their aliases both ways, so that what one component gives another takes.

    Raises HintError when pydantic has none, NameError when a name in the hint is not defined.
    """
    schema: JsonObject = _asked(
        lambda: _adapter(hint).json_schema(mode=mode, by_alias=True, schema_generator=_schema_generator())
    )
    return schema


def adapter_reader(hint: Any) -> Callable[[Any], Any]:
    """Reads a value as the JSON that it is: of Python's values pydantic asks more, and reads bytes otherwise."""
    read = _asked(lambda: _adapter(hint).validate_json)
    return lambda value: read(orjson.dumps(value))


def adapter_writer(hint: Any) -> Callable[[Any], Any]:
    """Writes a value as pydantic writes JSON. A value that is not what the hint says goes out as it is: the engine
    holds it to the schema."""
    write = _asked(lambda: _adapter(hint).dump_python)
    return lambda value: write(value, mode="json", by_alias=True, warnings=False)


def _adapter(hint: Any) -> Any:  # a TypeAdapter
    from pydantic import TypeAdapter

    return TypeAdapter(hint)


def _asked(ask: Callable[[], Any]) -> Any:
    """What pydantic answers about a hint. It raises its own errors, what the hint's classes raise, and ImportError for
    a type that needs another package."""
    from pydantic.errors import PydanticUserError
    from pydantic_core import SchemaError

    try:
        return ask()
    except (PydanticUserError, ImportError) as error:
        raise HintError(_first_sentence(error)) from error
    except (SchemaError, *_OF_CLASSES) as error:
        raise HintError(f"{type(error).__name__}: {_first_sentence(error)}") from error


def _first_sentence(error: Exception) -> str:
    """What is wrong, without pydantic's advice for models of its own."""
    return next(iter(str(error).splitlines()), "").split(". ")[0]


def _schema_generator() -> Any:  # a subclass of pydantic's GenerateJsonSchema
    from pydantic.json_schema import GenerateJsonSchema

    class EncodesEveryField(GenerateJsonSchema):
        """Requires of an output every field of a model, as its encoding holds them all."""

        def field_is_required(self, field: Any, total: bool) -> bool:
            always = self.mode == "serialization" and field["type"] != "typed-dict-field"
            return always or super().field_is_required(field, total)

    return EncodesEveryField

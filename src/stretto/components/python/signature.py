"""What a function takes and returns, read once from its type hints and compiled for the call."""

import inspect
import typing
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias, cast

import msgspec

from stretto.components.codes import ComponentCode
from stretto.components.python.adapter import HintError
from stretto.components.python.context import Context
from stretto.components.python.hints import Codec, Convert, codec_of, writer_of
from stretto.components.python.parameters import hints_of, parameters_of
from stretto.components.python.place import refuse
from stretto.components.python.whole import is_int, misfit, whole
from stretto.components.python.written import Write
from stretto.record.refusal import OpaqueError
from stretto.types.card import ANY_OBJECT
from stretto.types.errors import ContractError, Violation
from stretto.types.json import Json, JsonObject, Schema
from stretto.types.messages import Response

Function: TypeAlias = Callable[..., Any]

RESULT: Final = "result"
"""Output field that carries a value which is no object."""


class Signature(msgspec.Struct, frozen=True, kw_only=True):
    """A function's schemas, and how a request becomes its arguments and its value an output."""

    input: Schema
    output: Schema
    names: frozenset[str]
    """Fields that it names; others reach it only through its ``**kwargs``."""
    takes_any: bool
    """It has ``**kwargs``."""
    converts: tuple[tuple[str, Convert], ...]
    """Parameters whose hint is more than JSON."""
    ints: tuple[str, ...]
    """Parameters that are ints themselves: JSON Schema takes 2.0 for one."""
    mends: Mapping[str, Any]
    """Parameters that are JSON with ints inside, and their hints."""
    misfit: Callable[[JsonObject], bool] | None
    """Whether one of those is to be mended."""
    positional: tuple[tuple[str, Any], ...]
    """Parameters that cannot be passed by name, with their defaults."""
    context: str
    """Parameter that takes the `Context`; empty when there is none."""
    wraps: bool | None
    """Whether its value is wrapped as ``{"result": value}``; None when its hint does not say, so the value does."""
    write: Write | None
    """How its value becomes JSON; None when the engine's snapshot does all."""

    def bind(self, request_input: JsonObject, context: Context | None) -> dict[str, Any]:
        """Keyword arguments for a request that already fits the input schema.

        Raises ContractError when an instance refuses its values: a validator beyond what the schema can say.
        """
        arguments: dict[str, Any] = dict(request_input)
        for name in self.ints:
            if type(arguments.get(name)) is float and arguments[name].is_integer():
                arguments[name] = int(arguments[name])
        if self.misfit is not None and self.misfit(arguments):
            arguments |= {name: whole(arguments[name], hint) for name, hint in self.mends.items() if name in arguments}
        for name, convert in self.converts:
            if name in arguments:
                arguments[name] = _converted(name, convert, arguments[name])
        if self.context:
            arguments[self.context] = context
        return arguments

    def own_fields(self, fields: JsonObject) -> JsonObject:
        """Those of the fields that the function takes."""
        return fields if self.takes_any else {name: value for name, value in fields.items() if name in self.names}

    def as_output(self, value: object) -> object:
        """The value as a component's output: an object as it is, anything else under ``result``.

        Raises ContractError for a value that its hint's encoding cannot write.
        """
        if self.write is not None:
            value = _written(self.write, value)
        if self.wraps is None:
            return value if _encodes_to_object(value) else {RESULT: value}
        return {RESULT: value} if self.wraps else value


def read_signature(function: Function, shown: object, *, is_method: bool = False) -> Signature:
    """Read a function's hints.

    Raises SpecError, with the place of `shown`, when it cannot be called with the named fields of a request, when a
    hint cannot be resolved, or when no JSON value fits one.
    """
    parameters = parameters_of(function, shown, is_method=is_method)
    hints = hints_of(function, shown)
    context = _context_parameter(parameters, hints, shown)
    fields = {n: p for n, p in parameters.items() if n != context and p.kind is not p.VAR_KEYWORD}
    codecs = {name: _codec(name, hints[name], shown) for name in fields if name in hints}
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    mends = {name: codec.mends for name, codec in codecs.items() if codec.mends is not None}
    output, wraps, write = _output(hints.get("return", Any), shown)
    return Signature(
        input=_input_schema(fields, codecs, shown, takes_any=takes_any),
        output=output,
        names=frozenset(fields),
        takes_any=takes_any,
        converts=tuple((name, codec.convert) for name, codec in codecs.items() if codec.convert is not None),
        ints=tuple(name for name, codec in codecs.items() if codec.convert is None and is_int(hints[name])),
        mends=mends,
        misfit=misfit(mends),
        positional=tuple((n, p.default) for n, p in parameters.items() if p.kind is p.POSITIONAL_ONLY),
        context=context,
        wraps=wraps,
        write=write,
    )


def _context_parameter(parameters: Mapping[str, inspect.Parameter], hints: Mapping[str, Any], shown: object) -> str:
    taking = [name for name in parameters if hints.get(name) is Context]
    if len(taking) > 1:
        raise refuse(
            shown,
            ComponentCode.SIGNATURE,
            f"{' and '.join(repr(name) for name in taking)} both take the Context",
            expected="one parameter of type Context",
            suggestion=f"remove '{taking[-1]}'",
        )
    return taking[0] if taking else ""


def _codec(name: str, hint: Any, shown: object) -> Codec:
    try:
        return codec_of(hint)
    except (HintError, NameError) as error:
        suggestion = "take plain fields and build the object inside the function"
        raise _unfit(f"the hint of parameter '{name}'", hint, error, shown, suggestion) from error


def _unfit(what: str, hint: Any, error: Exception, shown: object, suggestion: str) -> Exception:
    name = hint.__name__ if isinstance(hint, type) and not typing.get_args(hint) else hint
    return refuse(
        shown,
        ComponentCode.HINT,
        f"{what}, {name}, has no JSON form: {error}",
        expected="JSON types, a dataclass, a TypedDict, a msgspec Struct, a pydantic model, or what these hold",
        suggestion=suggestion,
    )


def _input_schema(
    fields: Mapping[str, inspect.Parameter], codecs: Mapping[str, Codec], shown: object, *, takes_any: bool
) -> Schema:
    properties: JsonObject = {}
    definitions: JsonObject = {}
    for name, parameter in fields.items():
        schema = dict(codecs[name].schema) if name in codecs else {}
        merge_definitions(definitions, schema, shown)
        if _is_json(parameter.default):
            schema["default"] = parameter.default
        properties[name] = schema
    required: list[Json] = [n for n, p in fields.items() if p.default is p.empty]
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": takes_any}
    return {**schema, "$defs": definitions} if definitions else schema


def _output(hint: Any, shown: object) -> tuple[Schema, bool | None, Write | None]:
    """The output schema of a return hint, whether the value is wrapped, and how it is written."""
    if hint is Any or hint is object or hint is Response:
        return ANY_OBJECT, None, None
    try:
        writer = writer_of(hint)
    except (HintError, NameError) as error:
        raise _unfit("the return hint", hint, error, shown, "return what it holds as plain fields") from error
    schema = writer.schema
    definitions = cast("JsonObject", schema.get("$defs", {}))
    if _is_object(schema, definitions):
        return {"type": "object", **schema}, False, writer.write
    wrapped: JsonObject = {"type": "object", "properties": {RESULT: schema}, "required": [RESULT]}
    if "$defs" in schema:
        wrapped["$defs"] = schema.pop("$defs")
    return wrapped, True, writer.write


def _is_object(schema: JsonObject, definitions: JsonObject) -> bool:
    """Whether every value that fits the schema is an object."""
    reference = schema.get("$ref")
    if isinstance(reference, str):
        schema = cast("JsonObject", definitions.get(reference.rsplit("/", 1)[-1], {}))
    alternatives = schema.get("anyOf") or schema.get("oneOf")
    if isinstance(alternatives, list) and alternatives:
        return all(isinstance(one, dict) and _is_object(one, definitions) for one in alternatives)
    return schema.get("type") == "object"


def merge_definitions(into: JsonObject, schema: JsonObject, shown: object) -> None:
    """Move a parameter's recursive types to the root, where references look for them."""
    definitions = cast("JsonObject", schema.pop("$defs", {}))
    for name, definition in definitions.items():
        if into.setdefault(name, definition) != definition:
            raise refuse(
                shown,
                ComponentCode.HINT,
                f"two recursive types of its parameters are both called '{name}'",
                expected="recursive types of different names",
                suggestion="rename one of the two",
            )


def _is_json(value: object) -> bool:
    """Whether a default can be told in the schema."""
    if isinstance(value, (list, tuple)):
        return isinstance(value, list) and all(_is_json(item) for item in value)
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_json(item) for key, item in value.items())
    return value is None or type(value) in (bool, int, float, str)


def _converted(name: str, convert: Convert, value: Json) -> object:
    try:
        return convert(value)
    except (ValueError, TypeError, msgspec.ValidationError) as error:
        raise ContractError(
            f"the field '{name}' cannot be read as its type hint says:", _violations(name, error)
        ) from error


def _written(write: Write, value: object) -> object:
    try:
        return write(value)
    except (TypeError, ValueError, AttributeError, RecursionError) as error:
        why = f"a value of type {error} is not JSON" if isinstance(error, OpaqueError) else str(error)
        raise ContractError(
            f"the value that it returned, of type {type(value).__name__}, cannot be written as its hint says: {why}"
        ) from error


def _violations(name: str, error: Exception) -> list[Violation]:
    listed = getattr(error, "errors", None)  # pydantic's, which is not imported for its sake
    if not callable(listed):
        return [Violation(pointer=f"/{name}", message=str(error))]
    return [
        Violation(pointer="/".join(["", name, *(str(part) for part in found["loc"])]), message=found["msg"])
        for found in listed()
    ]


def _encodes_to_object(value: object) -> bool:
    """Whether a value encodes to a JSON object: a mapping, or an instance with named fields."""
    if isinstance(value, (Mapping, msgspec.Struct)):
        return True
    fields = ("__dataclass_fields__", "__pydantic_fields__")
    return not isinstance(value, type) and any(hasattr(value, name) for name in fields)

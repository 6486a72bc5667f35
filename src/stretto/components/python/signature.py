"""What a function takes and returns, read once from its type hints and compiled for the call."""

import inspect
import typing
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias, cast

import msgspec

from stretto.components.codes import ComponentCode
from stretto.components.python.context import Context
from stretto.components.python.hints import Codec, Convert, HintError, codec_of, output_schema_of
from stretto.components.python.place import refuse
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
    context: str
    """Parameter that takes the `Context`; empty when there is none."""
    wraps: bool | None
    """Whether its value is wrapped as ``{"result": value}``; None when its hint does not say, so the value does."""

    def bind(self, request_input: JsonObject, context: Context | None) -> dict[str, Any]:
        """Keyword arguments for a request that already fits the input schema.

        Raises ContractError when an instance refuses its values: a validator beyond what the schema can say.
        """
        arguments: dict[str, Any] = dict(request_input)
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
        """The value as a component's output: an object as it is, anything else under ``result``."""
        if self.wraps is None:
            return value if _encodes_to_object(value) else {RESULT: value}
        return {RESULT: value} if self.wraps else value


def read_signature(function: Function, shown: object, *, is_method: bool = False) -> Signature:
    """Read a function's hints.

    Raises SpecError, with the place of `shown`, when it cannot be called with the named fields of a request, when a
    hint cannot be resolved, or when no JSON value fits one.
    """
    parameters = _parameters(function, shown, is_method=is_method)
    hints = _hints(function, shown)
    context = _context_parameter(parameters, hints, shown)
    codecs = {
        name: _codec(name, hints[name], shown)
        for name, parameter in parameters.items()
        if name != context and name in hints and parameter.kind is not parameter.VAR_KEYWORD
    }
    fields = {n: p for n, p in parameters.items() if n != context and p.kind is not p.VAR_KEYWORD}
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    output, wraps = _output(hints.get("return", Any), shown)
    return Signature(
        input=_input_schema(fields, codecs, shown, takes_any=takes_any),
        output=output,
        names=frozenset(fields),
        takes_any=takes_any,
        converts=tuple((name, codec.convert) for name, codec in codecs.items() if codec.convert is not None),
        context=context,
        wraps=wraps,
    )


def _parameters(function: Function, shown: object, *, is_method: bool) -> dict[str, inspect.Parameter]:
    parameters = list(inspect.signature(function).parameters.values())[1 if is_method else 0 :]
    for parameter in parameters:
        if parameter.kind is parameter.VAR_POSITIONAL:
            raise refuse(
                shown,
                ComponentCode.SIGNATURE,
                f"'*{parameter.name}' cannot be filled: a request has named fields only",
                expected="parameters with names",
                suggestion=f"take a list: {parameter.name}: list[...]; for fields of any name take **fields",
            )
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise refuse(
                shown,
                ComponentCode.SIGNATURE,
                f"the parameter '{parameter.name}' stands before '/', so it cannot be passed by name",
                expected="parameters that can be passed by name: each is a field of the request",
                suggestion="remove the '/'",
            )
    return {parameter.name: parameter for parameter in parameters}


def _hints(function: Function, shown: object) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function, include_extras=True)
    except (NameError, AttributeError, TypeError, SyntaxError) as error:
        raise refuse(
            shown,
            ComponentCode.HINT,
            f"a type hint cannot be resolved: {error}",
            expected="hints whose names are defined at the top of the module, or imported there at run time",
            suggestion="move an import out of 'if TYPE_CHECKING:', or a class out of a function",
        ) from error


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
        raise _unfit(f"the hint of parameter '{name}'", hint, error, shown) from error


def _unfit(what: str, hint: Any, error: Exception, shown: object) -> Exception:
    return refuse(
        shown,
        ComponentCode.HINT,
        f"{what}, {getattr(hint, '__name__', hint)}, has no JSON form: {error}",
        expected="JSON types, a dataclass, a TypedDict, a msgspec Struct, a pydantic model, or what these hold",
        suggestion="take plain fields and build the object inside the function",
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


def _output(hint: Any, shown: object) -> tuple[Schema, bool | None]:
    """The output schema of a return hint, and whether the value is wrapped."""
    if hint is Any or hint is object or hint is Response:
        return ANY_OBJECT, None
    try:
        schema = output_schema_of(hint)
    except (HintError, NameError) as error:
        raise _unfit("the return hint", hint, error, shown) from error
    definitions = cast("JsonObject", schema.get("$defs", {}))
    if _is_object(schema, definitions):
        return {"type": "object", **schema}, False
    wrapped: JsonObject = {"type": "object", "properties": {RESULT: schema}, "required": [RESULT]}
    if "$defs" in schema:
        wrapped["$defs"] = schema.pop("$defs")
    return wrapped, True


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

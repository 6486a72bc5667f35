"""JSON Schema of `stretto.run/1`, made from the models themselves: types from their fields, words from their docs."""

import ast
import inspect
import textwrap
from functools import cache
from itertools import pairwise
from typing import Any, Final

import msgspec
from msgspec import inspect as mi

from stretto.record.arrays import ARRAY_FIELDS
from stretto.record.model import FORMAT, Run
from stretto.types.json import JsonObject
from stretto.types.learning import ModelCall

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

_ARRAY_REF: Final[JsonObject] = {
    "description": "An array kept beside the record, as a safetensors blob with one tensor named `array`.",
    "type": "object",
    "properties": {
        "$blob": {"type": "string", "pattern": "^[0-9a-f]{64}$", "description": "SHA-256 of the blob."},
        "dtype": {"type": "string", "description": "As numpy names it: int32, float32, bool."},
        "shape": {"type": "array", "items": {"type": "integer", "minimum": 0}},
    },
    "required": ["$blob", "dtype", "shape"],
}

_ARRAY_OR_NULL: Final[JsonObject] = {"anyOf": [{"$ref": "#/$defs/ArrayRef"}, {"type": "null"}]}


def json_schema() -> JsonObject:
    """JSON Schema 2020-12 of one run in its `stretto.run/1` form."""
    definitions: dict[str, Any] = {"ArrayRef": _ARRAY_REF}
    _define(Run, definitions)
    run = definitions.pop("Run")
    run["properties"]["format"] = {"const": FORMAT, "description": "Name and major version of this form."}
    run["required"] = ["format", *run["required"]]
    return {"$schema": _DIALECT, "title": FORMAT, **run, "$defs": dict(sorted(definitions.items()))}


@cache
def field_docs(struct: type[msgspec.Struct]) -> dict[str, str]:
    """Field → its docstring, for the fields that have one."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(struct))).body[0]
    body = tree.body if isinstance(tree, ast.ClassDef) else []
    docs = {}
    for field, after in pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(after, ast.Expr):
            docs[field.target.id] = inspect.cleandoc(str(ast.literal_eval(after.value)))
    return docs


def _define(struct: type[msgspec.Struct], definitions: dict[str, Any]) -> JsonObject:
    """Reference to a struct's schema, which is made on the first call."""
    name = struct.__name__
    if name not in definitions:
        definitions[name] = None  # a struct may contain itself
        definitions[name] = _object(struct, definitions)
    return {"$ref": f"#/$defs/{name}"}


def _object(struct: type[msgspec.Struct], definitions: dict[str, Any]) -> JsonObject:
    info = mi.type_info(struct)
    if not isinstance(info, mi.StructType):
        raise TypeError(f"{struct.__name__} is not a struct")
    docs = field_docs(struct)
    properties: dict[str, Any] = {}
    for field in info.fields:
        is_array = struct is ModelCall and field.name in ARRAY_FIELDS
        schema: JsonObject = _ARRAY_OR_NULL if is_array else _schema(field.type, definitions)
        properties[field.encode_name] = {**schema, **({"description": docs[field.name]} if field.name in docs else {})}
    return {
        "description": inspect.cleandoc(struct.__doc__ or ""),
        "type": "object",
        "properties": properties,
        "required": [field.encode_name for field in info.fields if field.required],
    }


def _schema(info: mi.Type, definitions: dict[str, Any]) -> JsonObject:
    """JSON Schema of one type among those that the models use."""
    match info:
        case mi.StructType():
            return _define(info.cls, definitions)
        case mi.EnumType():
            return {"type": "string", "enum": [member.value for member in info.cls]}
        case mi.UnionType():
            return {"anyOf": [_schema(part, definitions) for part in info.types]}
        case mi.TupleType():
            parts: Any = [_schema(part, definitions) for part in info.item_types]
            return {"type": "array", "prefixItems": parts, "minItems": len(parts), "maxItems": len(parts)}
        case mi.ListType() | mi.VarTupleType():
            return {"type": "array", "items": _schema(info.item_type, definitions)}
        case mi.DictType():
            return {"type": "object", "additionalProperties": _schema(info.value_type, definitions)}
        case mi.AnyType() | mi.RawType():
            return {}
    return {"type": _SCALARS[type(info)]}


_SCALARS: Final[dict[type, str]] = {
    mi.StrType: "string",
    mi.IntType: "integer",
    mi.FloatType: "number",
    mi.BoolType: "boolean",
    mi.NoneType: "null",
}

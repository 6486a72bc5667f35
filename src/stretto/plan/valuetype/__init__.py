"""What is known of a value before there is one: JSON types read from JSON Schema, and what may flow where."""

from stretto.plan.valuetype.flow import may_be_null, mismatch, proves
from stretto.plan.valuetype.model import (
    BOOL,
    DYN,
    FLOAT,
    INT,
    NULL,
    STRING,
    Kind,
    Missing,
    ValueType,
    array_of,
    at,
    join,
    object_of,
    render,
)
from stretto.plan.valuetype.schema import from_schema

__all__ = [
    "BOOL",
    "DYN",
    "FLOAT",
    "INT",
    "NULL",
    "STRING",
    "Kind",
    "Missing",
    "ValueType",
    "array_of",
    "at",
    "from_schema",
    "join",
    "may_be_null",
    "mismatch",
    "object_of",
    "proves",
    "render",
]

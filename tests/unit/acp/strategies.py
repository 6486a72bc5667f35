"""Messages of every kind, and failures, as Hypothesis draws them."""

from typing import Any

import msgspec
from hypothesis import strategies as st

from stretto.acp import messages as m
from stretto.acp.failure import Failure
from stretto.acp.names import Reason
from stretto.types.errors import Code, Violation

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
numbers = st.floats(allow_nan=False, allow_infinity=False)
_scalars = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.sampled_from([0.5, -1e300]) | texts
json_values = _scalars | st.lists(_scalars, max_size=2) | st.dictionaries(texts, _scalars, max_size=2)
json_objects = st.dictionaries(texts, json_values, max_size=2)

_FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "seed": st.integers(-(2**63), 2**63 - 1).map(lambda seed: str(seed) if seed else 0),
    "value": json_values,
    "input": json_objects,
    "output": json_objects,
    "evidence": json_objects,
}


def messages(form: type[m.Message]) -> st.SearchStrategy[Any]:
    """Every field drawn by its type."""
    fields = {field.name: _field(form, field) for field in msgspec.structs.fields(form)}
    return st.builds(form, **fields)


def _field(form: type[m.Message], field: msgspec.structs.FieldInfo) -> st.SearchStrategy[Any]:
    if field.name == "value" and form is m.RewardTerm:
        return st.none() | numbers
    if field.name in _FIELDS:
        return _FIELDS[field.name]
    return _by_type(msgspec.inspect.type_info(field.type))


def _by_type(info: msgspec.inspect.Type) -> st.SearchStrategy[Any]:
    match info:
        case msgspec.inspect.StructType() if issubclass(info.cls, m.Message):
            return messages(info.cls)
        case msgspec.inspect.UnionType():
            return st.one_of(*map(_by_type, info.types))
        case msgspec.inspect.VarTupleType():
            return st.lists(_by_type(info.item_type), max_size=2).map(tuple)
        case msgspec.inspect.DictType():
            return st.dictionaries(texts, texts, max_size=3)
        case msgspec.inspect.BytesType():
            return st.binary(max_size=4)
        case msgspec.inspect.BoolType():
            return st.booleans()
        case msgspec.inspect.IntType():
            return st.integers(0, m.MAX_UINT32)
        case msgspec.inspect.FloatType():
            return numbers
        case msgspec.inspect.NoneType():
            return st.none()
    return texts


failures = st.builds(
    Failure,
    code=st.sampled_from(Code),
    message=texts.filter(bool),
    reason=st.sampled_from(["", *Reason]),
    retry_after_ms=st.none() | st.integers(0, 10**7).map(float),
    violations=st.lists(st.builds(Violation, pointer=texts, message=texts), max_size=2).map(tuple),
    metadata=st.dictionaries(texts.filter(lambda name: name != "run_id"), texts, max_size=2),
    run_id=texts,
)

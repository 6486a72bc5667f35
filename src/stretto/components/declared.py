"""What was declared about a component, as its digest covers it."""

from collections.abc import Collection

import msgspec


def declared(options: msgspec.Struct, *, but: Collection[str] = ()) -> bytes:
    """The options in canonical JSON, without those named in `but` and those that hold their default.

    A release may so add an option, and what was declared without it keeps its digest. A default must never become
    another: one digest would then say two behaviours.
    """
    return msgspec.json.encode(_given(options, but), order="deterministic")


def _given(options: msgspec.Struct, but: Collection[str] = ()) -> dict[str, object]:
    given = {}
    for field in msgspec.structs.fields(options):
        value = getattr(options, field.name)
        if field.name not in but and value != _default(field):
            given[field.name] = _given(value) if isinstance(value, msgspec.Struct) else value
    return given


def _default(field: msgspec.structs.FieldInfo) -> object:
    """What a field holds when nothing is given; a value that equals no other when it must be given."""
    if field.default_factory is not msgspec.NODEFAULT:
        return field.default_factory()
    return field.default

"""References inside a JSON Schema."""

from collections.abc import Mapping
from typing import Any, Final

from stretto.types.json import Schema

DEEPEST: Final = 16
"""Of references to references, and of a schema that refers to itself."""


def referred(schema: Any, root: Schema) -> Any:  # Any: a part of a JSON Schema, which may be true or false
    """What a part of a schema is, or what its reference inside the document means; None where that is nothing."""
    for _ in range(DEEPEST):
        reference = schema.get("$ref") if isinstance(schema, Mapping) else None
        if not isinstance(reference, str) or not reference.startswith("#/"):
            break
        found: Any = root
        for part in reference[2:].split("/"):
            found = found.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(found, Mapping) else None
        schema = found
    return schema

"""What may cross between components: JSON values, and nothing else."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
else:  # a recursive alias is text when the program runs: msgspec cannot decode it, and `Json | None` would fail
    Json: TypeAlias = Any
"""A JSON value as Python builds it. Integers lie in [-2^63, 2^63); NaN and infinity are not JSON."""

JsonObject: TypeAlias = dict[str, Json]
"""A JSON object: what every component takes and returns."""

Schema: TypeAlias = Mapping[str, Json]
"""A JSON Schema 2020-12 document, read-only."""

PathPart: TypeAlias = str | int
"""A field name or an array index."""

ValuePath: TypeAlias = Sequence[PathPart]
"""Where a value sits: ``("plan", "steps", 0, "type")`` for ``plan.steps[0].type``."""


def render_path(path: ValuePath) -> str:
    """Write a path the way people type it: ``plan.steps[0].type``."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text

"""A component that pulls gradients back, by docs/reference/protocol.md and Python's standard library alone."""

import base64
import json
import math
import struct
from collections.abc import Mapping
from typing import Any

from tests.unit.acp.kit.by_the_page import RefusalError

CARD = {
    "name": "slope", "version": "1.0.0", "kind": "python", "digest": "slope-1", "verbs": ["execute", "vjp"],
    "effects": {"*": "pure"},
    "input": {
        "type": "object", "required": ["at", "factor"],
        "properties": {
            "at": {"type": "array", "items": {"type": "number"}, "minItems": 3, "maxItems": 3},
            "factor": {"type": "number", "default": 1.5},
        },
    },
    "output": {"type": "object", "properties": {"height": {"type": "number"}, "heights": {"type": "array"}}},
    "tensors": {
        "inputs": [{"name": "at", "shape": [3]}],
        "outputs": [{"name": "height"}, {"name": "heights", "shape": [3], "dtype": "F64"}],
    },
}  # fmt: skip

FORMATS = {"F32": "f", "F64": "d"}


class Slope:
    """Heights are the sines of where one is, times a factor; the height is their sum."""

    def answer(self, path: str, message: dict[str, Any]) -> dict[str, Any]:
        if path == "/acp/v1/describe":
            return {"protocols": ["1.0"], "cards": [CARD]}
        told = message.get("input") or {}
        if path == "/acp/v1/vjp":
            return {"gradients": _pulled(message, told)}
        heights = [told["factor"] * math.sin(each) for each in told["at"]]
        return {"output": {"height": sum(heights), "heights": heights}}


def _pulled(message: Mapping[str, Any], told: Mapping[str, Any]) -> str:
    at = _read(message.get("inputs", ""), {"at": ([3], "F32")})
    outputs = {"height": ([], "F32"), "heights": ([3], "F64")}
    cotangents = _read(message.get("cotangents", ""), outputs)
    if not cotangents or not at:
        raise RefusalError("invalid_argument", "", "there is nothing to pull back")
    whole, each = cotangents.get("height", [0.0])[0], cotangents.get("heights", [0.0] * 3)
    found = [told["factor"] * math.cos(x) * (whole + one) for x, one in zip(at["at"], each, strict=True)]
    return written({"at": ([3], "F32", found)})


def _read(text: str, declared: Mapping[str, tuple[list[int], str]]) -> dict[str, list[float]]:
    """Tensors of a safetensors file: 8 bytes with the length of a JSON header, the header, then numbers."""
    content = base64.b64decode(text)
    if not content:
        return {}
    try:
        (length,) = struct.unpack("<Q", content[:8])
        header, numbers = json.loads(content[8 : 8 + length]), content[8 + length :]
    except (struct.error, ValueError) as error:
        raise RefusalError("invalid_argument", "", "these are no safetensors") from error
    found: dict[str, list[float]] = {}
    for name, each in header.items():
        if declared.get(name) != (each["shape"], each["dtype"]):
            raise RefusalError("invalid_argument", "", f"{name} is no tensor of the card")
        start, end = each["data_offsets"]
        letter = FORMATS[each["dtype"]]
        found[name] = [number for (number,) in struct.iter_unpack(f"<{letter}", numbers[start:end])]
    return found


def written(tensors: Mapping[str, tuple[list[int], str, list[float]]]) -> str:
    header, numbers = {}, b""
    for name, (shape, dtype, values) in tensors.items():
        more = struct.pack(f"<{len(values)}{FORMATS[dtype]}", *values)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(numbers), len(numbers) + len(more)]}
        numbers += more
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return base64.b64encode(struct.pack("<Q", len(text)) + text + numbers).decode()


def numbers_of(gradients: str) -> list[float]:
    """Of the one gradient that it gives."""
    return _read(gradients, {"at": ([3], "F32")})["at"]

"""How large values are named: what both sides of the wire must agree on."""

from typing import Final

from stretto.types.ids import digest_of

KEY: Final = "$blob"
"""``{"$blob": name}`` stands where the value is meant."""

MARK: Final = KEY.encode()
"""A message in which these bytes do not stand names no large value."""

CAPABILITY: Final = "blobs"
"""Of a card whose server takes large values by name."""


def name_of(content: bytes) -> str:
    """By what a content is named: ``sha256:`` and its digest."""
    return f"sha256:{digest_of(content)}"

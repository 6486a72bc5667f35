"""Versions of the protocol: any minor of a known major is spoken to, an unknown major is refused."""

import re
from typing import Final

CURRENT: Final = "1.0"
"""What this release speaks."""

SUPPORTED: Final = (CURRENT,)
"""Every version that is spoken, best first."""

_VERSION: Final = re.compile(r"(\d{1,9})\.(\d{1,9})\Z", re.ASCII)


def is_version(text: str) -> bool:
    """Whether it reads as ``major.minor``."""
    return _VERSION.match(text) is not None


def is_spoken(text: str) -> bool:
    """Whether a peer of this version can be spoken with: its major is known, whatever its minor."""
    if text == CURRENT:
        return True
    found = _VERSION.match(text)
    return found is not None and found.group(1) in {known.partition(".")[0] for known in SUPPORTED}

"""The file that a verb writes."""

import os
from pathlib import Path

from stretto.types.errors import UsageError


def hold_to_new(file: Path, *, force: bool) -> None:
    """Raise UsageError for a file that is there, unless it may be written over.

    Where nobody may look, the writing itself says so.
    """
    if os.path.exists(file) and not force:
        raise UsageError(f"{file} is there already; --force writes over it")

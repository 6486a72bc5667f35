"""The extra that this kind needs, asked for once."""

from importlib.util import find_spec
from typing import Final

from stretto.types.errors import MissingExtraError

EXTRA: Final = "torch"


def need_torch(what: str) -> None:
    """Raises MissingExtraError where torch is not installed; imports nothing."""
    if find_spec("torch") is None:
        raise MissingExtraError(what, EXTRA)

"""The extra that this kind needs, asked for once."""

from importlib.util import find_spec
from typing import Final

from stretto.types.errors import MissingExtraError

EXTRA: Final = "transformers"

PACKAGES: Final = ("torch", "transformers", "peft")


def need_transformers(what: str) -> None:
    """Raises MissingExtraError where a package of the extra is not installed; imports nothing."""
    if any(find_spec(package) is None for package in PACKAGES):
        raise MissingExtraError(what, EXTRA)


def need_gguf(what: str) -> None:
    """The same for what reads files of llama.cpp."""
    if find_spec("gguf") is None:
        raise MissingExtraError(what, EXTRA)

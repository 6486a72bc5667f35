"""The key that a server of memories asks for, from the environment."""

import os

from stretto.components.memory.settings import MemorySettings
from stretto.types.errors import Code, ComponentError


def key_of(settings: MemorySettings) -> str:
    """The key; empty when none is declared. Raises ComponentError where it is not set, or no header may hold it."""
    if not settings.api_key_env:
        return ""
    key = os.environ.get(settings.api_key_env, "").strip()
    if not key:
        raise _refused(settings, "which is not set; set it")
    if not (key.isascii() and key.isprintable()):
        raise _refused(settings, "which holds a character that no header may hold; was it copied with a line break?")
    return key


def _refused(settings: MemorySettings, why: str) -> ComponentError:
    text = f"memory '{settings.name}' takes its key from ${settings.api_key_env}, {why}"
    return ComponentError(text, Code.UNAUTHENTICATED, sent=False)

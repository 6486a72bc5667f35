"""The key of a run: how an agent's call says which run it belongs to.

By its path (``/run/KEY/v1/...``, so that `base_url` alone says it), by the header ``X-Stretto-Run``, or by
``Authorization: Bearer KEY``. Every OpenAI client sends a bearer, most often one that is meant for nobody or for
another server: it names a run only when that was opened by the key already, or when it begins with ``run-``. So
another's secret never ends up on a record, and agents that share a placeholder do not share a run.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final

from stretto.serve.refused import Refused
from stretto.types.ids import RunId

RUN_HEADER: Final = "x-stretto-run"

OWN: Final = "run-"
"""Beginning of a key that is nothing else."""

KEY_RULE: Final = "letters, digits, '.', '_', '~' and '-', beginning with a letter or digit, at most 128 characters"

_KEY: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._~-]{0,127}")
_PATH: Final = re.compile(r"/run/([^/]*)(/.*)")
_BEARER: Final = "bearer "
_UUID_CHARS: Final = 36


def is_key(text: object) -> bool:
    """Whether it may be a run's key."""
    return isinstance(text, str) and _KEY.fullmatch(text) is not None


def split_path(path: str) -> tuple[str | None, str]:
    """The key that a path names, None when it names none, and the path without it."""
    found = _PATH.fullmatch(path)
    return (found[1], found[2]) if found else (None, path)


def key_of(in_path: str | None, headers: Mapping[str, str], is_known: Callable[[str], bool]) -> str:
    """The key of a call; empty when it has none. Raises Refused for what can be none, and for two that differ."""
    named = headers.get(RUN_HEADER)
    if in_path is not None and named is not None and in_path != named:
        raise Refused(400, f"the path names run '{in_path}' and {RUN_HEADER} names '{named}'; send one of them")
    key = named if in_path is None else in_path
    if key is not None:
        check_key(key)
        return key
    bearer = _bearer(headers.get("authorization", ""))
    return bearer if is_key(bearer) and (bearer.startswith(OWN) or is_known(bearer)) else ""


def check_key(key: object) -> None:
    """Raise Refused unless it may be a run's key."""
    if not is_key(key):
        shown = key[:40] if isinstance(key, str) else type(key).__name__
        raise Refused(400, f"{shown!r} cannot be the key of a run; expected {KEY_RULE}", param="key")


def own_key(run_id: RunId) -> str:
    """The key of a run that brought none."""
    return f"{OWN}{run_id}"


def id_in(key: str) -> RunId | None:
    """The run's id in a key that `own_key` made, or that is one itself."""
    text = key.removeprefix(OWN)
    is_uuid = len(text) == _UUID_CHARS and all(part.isalnum() for part in text.split("-"))
    return RunId(text.lower()) if is_uuid else None


def _bearer(header: str) -> str:
    return header[len(_BEARER) :].strip() if header[: len(_BEARER)].casefold() == _BEARER else ""

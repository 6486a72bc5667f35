"""Identifiers: what names a run, a step in it, and the content of a value."""

import hashlib
from functools import lru_cache
from typing import Final, NewType

import uuid_utils

RunId = NewType("RunId", str)
"""A UUIDv7 in its canonical text form: sorts by time of creation."""

StepPath = NewType("StepPath", str)
"""A step's place in one run, with loop rounds, map indices and sub-workflow steps: ``talk[3]/executor``."""

MEMORY_PATH: Final = StepPath("$memory")
"""Where the `memory` root is read, which no step of the file does; no step name may hold a ``$``."""

FALLBACK_PATH: Final = StepPath("fallback")
"""Where the call is recorded that answers in a workflow's place; no step of such a workflow has this name."""

Digest = NewType("Digest", str)
"""SHA-256 of some content, 64 lower-case hex digits."""

SHORT_DIGEST_HEX: Final = 8
"""Digits of a digest that people see; 32 bits tell a handful of versions apart, the full digest is in the row."""

_BLOCK_BYTES: Final = 64
_INNER: Final = bytes(byte ^ 0x36 for byte in range(256))
_OUTER: Final = bytes(byte ^ 0x5C for byte in range(256))
"""Of HMAC over SHA-256: block size and pads (RFC 2104, section 2)."""

MAX_WORKFLOW_RUN_ID_CHARS: Final = 96
"""Longest rendered run id, so that it fits log fields and metric exemplars."""


def new_run_id() -> RunId:
    """Make a run id that sorts after every one made before it."""
    return RunId(str(uuid_utils.uuid7()))


def digest_of(content: bytes) -> Digest:
    """SHA-256 of the content."""
    return Digest(hashlib.sha256(content).hexdigest())


def keyed_digest_of(key: bytes, content: bytes) -> Digest:
    """HMAC-SHA-256 of the content (RFC 2104), so that a short input cannot be guessed from its digest.

    From two hashes that the key has started already: `hmac.digest` lets go of the interpreter at each call, and
    beside a busy writer thread waits 30 µs to get it back.
    """
    started_inner, started_outer = _started(key)
    inner, outer = started_inner.copy(), started_outer.copy()
    inner.update(content)
    outer.update(inner.digest())
    return Digest(outer.hexdigest())


@lru_cache(maxsize=64)
def _started(key: bytes) -> tuple["hashlib._Hash", "hashlib._Hash"]:
    block = (hashlib.sha256(key).digest() if len(key) > _BLOCK_BYTES else key).ljust(_BLOCK_BYTES, b"\0")
    return hashlib.sha256(block.translate(_INNER)), hashlib.sha256(block.translate(_OUTER))


def workflow_run_id(name: str, version: str, manifest: Digest, input_digest: Digest, run: RunId) -> str:
    """Render ``name@version.m8.i8.uuid``, at most 96 characters; a long name or version is cut, never the uuid."""
    tail = f".{manifest[:SHORT_DIGEST_HEX]}.{input_digest[:SHORT_DIGEST_HEX]}.{run}"
    return f"{name}@{version}"[: MAX_WORKFLOW_RUN_ID_CHARS - len(tail)] + tail

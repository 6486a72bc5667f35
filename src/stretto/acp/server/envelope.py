"""The envelope, held to what must be in it."""

import math
import re
from collections.abc import Iterator
from typing import Final

from stretto.acp.failure import AcpError
from stretto.acp.messages import MAX_UINT32, Envelope
from stretto.acp.names import Reason
from stretto.acp.server.refusal import refusal
from stretto.acp.version import CURRENT, SUPPORTED, is_spoken, is_version
from stretto.types.arguments import INT64_MAX, INT64_MIN
from stretto.types.errors import Code, Violation

MAX_TEXT_CHARS: Final = 1024
"""Of an id, a path or a key: it is kept in tables, and written to logs."""

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")

_INTEGER: Final = re.compile(r"-?[0-9]{1,19}")


def check_version(protocol: str) -> None:
    """Refuse a sender whose major version is not spoken, with those that are."""
    if is_spoken(protocol):
        return
    if is_version(protocol):
        raise refusal(
            Code.FAILED_PRECONDITION,
            Reason.VERSION_UNSUPPORTED,
            f"protocol {protocol} is not spoken here; spoken are {', '.join(SUPPORTED)}, in any minor version",
            supported_versions=",".join(SUPPORTED),
        )
    found = f"is {protocol[:80]!r}" if protocol else "is missing"
    raise broken(Violation(pointer="/envelope/protocol", message=f"{found}; expected major.minor, such as {CURRENT}"))


def check_envelope(envelope: Envelope) -> None:
    """Refuse an envelope in which something is missing or absurd, with every place."""
    violations = tuple(_violations(envelope))
    if violations:
        raise broken(*violations)


def broken(*violations: Violation) -> AcpError:
    """The refusal of an envelope for what is wrong with it."""
    told = "; ".join(f"{each.pointer} {each.message}" for each in violations)
    return refusal(Code.INVALID_ARGUMENT, Reason.ENVELOPE, f"the envelope is not whole: {told}", violations=violations)


def _violations(e: Envelope) -> Iterator[Violation]:
    for name, text in (("runId", e.run_id), ("stepPath", e.step_path)):
        if not text:
            yield _at(name, "is missing")
    for name, text in (
        ("runId", e.run_id),
        ("stepPath", e.step_path),
        ("effectKey", e.effect_key),
        ("workflowRunId", e.workflow_run_id),
    ):
        if len(text) > MAX_TEXT_CHARS:
            yield _at(name, f"has {len(text):,} characters; expected at most {MAX_TEXT_CHARS:,}")
        elif not text.isprintable() and _CONTROL.search(text) is not None:
            yield _at(name, f"is {text[:80]!r}; expected no control characters: it goes into headers and logs")
    if not 1 <= e.attempt <= MAX_UINT32:
        yield _at("attempt", f"is {e.attempt}; expected 1 for the first, and at most {MAX_UINT32} for later ones")
    yield from _odd_numbers(e)


def _odd_numbers(e: Envelope) -> Iterator[Violation]:
    left = e.budget
    for name, number, limit in (
        ("previousAttempts", e.previous_attempts, MAX_UINT32),
        ("remainingMs", e.remaining_ms, MAX_UINT32),
        ("budget/retries", left.retries, MAX_UINT32),
        ("budget/tokens", left.tokens, MAX_UINT32),
        ("budget/cost", left.cost, math.inf),
    ):
        if number is not None and not 0 <= number <= limit:  # nor is NaN
            yield _at(name, f"is {number}; expected 0 or more" + (f", at most {limit}" if number > limit else ""))
    if e.seed and not _is_int64(e.seed):
        yield _at("seed", f"is {e.seed!r:.80}; expected an integer of 64 bits")


def _is_int64(seed: int | str) -> bool:
    """Whether it is one, as JSON's digits: Python itself reads others too."""
    if isinstance(seed, str) and _INTEGER.fullmatch(seed) is None:
        return False
    return INT64_MIN <= int(seed) <= INT64_MAX


def _at(field: str, message: str) -> Violation:
    return Violation(pointer=f"/envelope/{field}", message=message)

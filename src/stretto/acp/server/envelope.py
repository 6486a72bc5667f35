"""The envelope, held to what must be in it."""

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
        elif len(text) > MAX_TEXT_CHARS:
            yield _at(name, f"has {len(text):,} characters; expected at most {MAX_TEXT_CHARS:,}")
    if len(e.effect_key) > MAX_TEXT_CHARS:
        yield _at("effectKey", f"has {len(e.effect_key):,} characters; expected at most {MAX_TEXT_CHARS:,}")
    if not 1 <= e.attempt <= MAX_UINT32:
        yield _at("attempt", f"is {e.attempt}; expected 1 for the first, and more for later ones")
    if not 0 <= e.previous_attempts <= MAX_UINT32:
        yield _at("previousAttempts", f"is {e.previous_attempts}; expected 0 or more")
    if e.remaining_ms is not None and not 0 <= e.remaining_ms <= MAX_UINT32:
        yield _at("remainingMs", f"is {e.remaining_ms}; expected milliseconds, 0 or more")
    if e.seed and not _is_int64(e.seed):
        yield _at("seed", f"is {e.seed!r:.80}; expected an integer of 64 bits")
    yield from _odd_budget(e)


def _odd_budget(e: Envelope) -> Iterator[Violation]:
    left = e.budget
    for name, number in (("retries", left.retries), ("tokens", left.tokens), ("cost", left.cost)):
        if number is not None and not number >= 0:
            yield _at(f"budget/{name}", f"is {number}; expected what is left, 0 or more")


def _is_int64(seed: int | str) -> bool:
    try:
        return INT64_MIN <= int(seed) <= INT64_MAX
    except ValueError:
        return False


def _at(field: str, message: str) -> Violation:
    return Violation(pointer=f"/envelope/{field}", message=message)

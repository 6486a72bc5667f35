"""The error tree. An error is named by the boundary it crossed and classified here, once.

    StrettoError                 whose fault, can a retry help, a stable code
    ├── SpecError                a file people wrote is wrong; carries every Problem found
    ├── UsageError               a call, flag or name given to Stretto is wrong
    │   └── MissingExtraError    an optional dependency is not installed
    ├── NotJsonError             a value cannot be written as JSON; carries the pointer to the offending place
    ├── ExpressionError          an expression could not be evaluated on the values it met
    ├── InputError               a run's input does not fit the contract; carries every Violation
    ├── ComponentError           a component did not answer as its card says; has a google.rpc code
    │   ├── ContractError        its request or response broke a schema; carries every Violation
    │   │   └── MeaningError     a value in it means no value of the domain it crossed into
    │   ├── BreakerOpenError     it was failing, and was not asked
    │   ├── ShedError            it was full, and was not asked
    │   ├── NotOpenError         it did not open, and was not asked
    │   ├── RejectedError        it answered, and the step says that such an answer is none
    │   └── InDoubtError         a write was sent and nobody knows whether it happened
    ├── BudgetError              the run may not spend what the call needs
    ├── ReplayError              a recorded run cannot stand for what was asked
    ├── LearningError            recorded runs cannot be learnt from as asked
    │   └── PolicyMismatchError  the runs were not made by the weights that are supposed to have made them
    └── StoreError               the store cannot be read or written

A failed run is data (`Run.status`, `Run.error`); only a broken call or a broken engine raises.
"""

import math
from collections.abc import Sequence
from enum import StrEnum
from typing import ClassVar, Final
from unicodedata import east_asian_width

import msgspec

from stretto.types.extras import install_command


class Code(StrEnum):
    """google.rpc.Code by name: the vocabulary of failures at a component's boundary (google/rpc/code.proto)."""

    CANCELLED = "cancelled"
    UNKNOWN = "unknown"
    INVALID_ARGUMENT = "invalid_argument"
    DEADLINE_EXCEEDED = "deadline_exceeded"
    NOT_FOUND = "not_found"
    ALREADY_EXISTS = "already_exists"
    PERMISSION_DENIED = "permission_denied"
    RESOURCE_EXHAUSTED = "resource_exhausted"
    FAILED_PRECONDITION = "failed_precondition"
    ABORTED = "aborted"
    OUT_OF_RANGE = "out_of_range"
    UNIMPLEMENTED = "unimplemented"
    INTERNAL = "internal"
    UNAVAILABLE = "unavailable"
    DATA_LOSS = "data_loss"
    UNAUTHENTICATED = "unauthenticated"


RETRYABLE_CODES: Final = frozenset(
    {Code.UNAVAILABLE, Code.RESOURCE_EXHAUSTED, Code.ABORTED, Code.DEADLINE_EXCEEDED, Code.UNKNOWN}
)
"""Codes where the same request may succeed later. INTERNAL and the 4xx kind repeat themselves, so they are not here."""

NOTHING_HAPPENED: Final = frozenset(
    {
        Code.INVALID_ARGUMENT,
        Code.NOT_FOUND,
        Code.ALREADY_EXISTS,
        Code.PERMISSION_DENIED,
        Code.RESOURCE_EXHAUSTED,
        Code.FAILED_PRECONDITION,
        Code.ABORTED,
        Code.OUT_OF_RANGE,
        Code.UNIMPLEMENTED,
        Code.UNAUTHENTICATED,
    }
)
"""Codes by which a component says that it refused the request: a write that failed so did not happen. After every
other code (a time-out, a lost connection, a crash) it may have, and the write is in doubt."""


class Fault(StrEnum):
    """Whose mistake an error is."""

    CALLER = "caller"
    """The person or program that called Stretto, or the file they wrote."""
    COMPONENT = "component"
    PLATFORM = "platform"
    """Stretto itself, the store, or the machine."""


class Violation(msgspec.Struct, frozen=True, kw_only=True):
    """One place where a value broke its schema."""

    pointer: str
    """JSON Pointer (RFC 6901) into the value; empty for the whole."""
    message: str
    """What was expected there and what was found."""

    def __str__(self) -> str:
        return f"{self.pointer or '(whole value)'}: {self.message}"


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """One thing wrong in a file, with all a reader needs to mend it."""

    code: str
    """Stable and dotted: ``spec.unknown_key``."""
    message: str
    """What is wrong, in one sentence that quotes the value."""
    file: str = ""
    line: int = 0
    """1-based; 0 when the problem has no place in the file."""
    column: int = 0
    """1-based."""
    expected: str = ""
    """What would have been right."""
    suggestion: str = ""
    """The nearest valid name or the remedy, ready to paste."""
    excerpt: str = ""
    """The source line, without its line break; a part of it when the line is long."""
    excerpt_column: int = 1
    """Column of the excerpt's first character."""
    width: int = 1
    """Characters to underline from `column`."""

    @property
    def place(self) -> str:
        """``file:line:column``, as editors open it."""
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file

    def __str__(self) -> str:
        lines = [f"{self.place}: {self.message}" if self.place else self.message]
        if self.excerpt:
            gutter = f"{self.line:>5} | "
            before = self.excerpt[: max(0, self.column - self.excerpt_column)]
            lines.append(f"{gutter}{self.excerpt}")
            lines.append(f"{'| ':>{len(gutter)}}{_blank(before)}{'^' * max(1, self.width)}")
        if self.expected:
            lines.append(f"  expected: {self.expected}")
        if self.suggestion:
            lines.append(f"  try: {self.suggestion}")
        lines.append(f"  [{self.code}]")
        return "\n".join(lines)


def _blank(text: str) -> str:
    """Spaces as wide as the text in a terminal: a tab stays a tab, a wide East Asian character takes two."""
    return "".join("\t" if c == "\t" else "  " if east_asian_width(c) in "WF" else " " for c in text)


class StrettoError(Exception):
    """Root of everything Stretto raises on purpose."""

    code: ClassVar[str] = "stretto"
    """Stable across releases; CLI, HTTP and gRPC show it."""
    fault: ClassVar[Fault] = Fault.PLATFORM
    retryable: bool = False
    """Whether the same call may succeed later."""


class SpecError(StrettoError):
    """A workflow, contract or component file is wrong. Nothing was run."""

    code = "spec"
    fault = Fault.CALLER

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n\n".join(str(problem) for problem in self.problems))


class UsageError(StrettoError):
    """A call, flag or name given to Stretto is wrong. Nothing was run."""

    code = "usage"
    fault = Fault.CALLER


class MissingExtraError(UsageError):
    """An optional dependency is not installed."""

    code = "usage.missing_extra"

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs a package that is not installed; run: {install_command(extra)}")
        self.extra = extra


class NotJsonError(StrettoError):
    """A value cannot be written as JSON: NaN, a lone surrogate, too large, too deep, or no JSON type at all."""

    code = "not_json"
    fault = Fault.COMPONENT

    def __init__(self, message: str, pointer: str = "") -> None:
        super().__init__(f"{message}, at {pointer}" if pointer else message)
        self.reason = message
        """The message without the place."""
        self.pointer = pointer
        """JSON Pointer (RFC 6901) to the offending place."""


class ExpressionError(StrettoError):
    """An expression could not be evaluated on the values it met."""

    code = "expression"
    fault = Fault.CALLER


class InputError(StrettoError):
    """A run's input does not fit the contract. No run was made."""

    code = "input"
    fault = Fault.CALLER

    def __init__(self, what: str, violations: Sequence[Violation], suggestion: str = "") -> None:
        self.what = what
        """Whose value does not fit, in words."""
        self.violations = tuple(violations)
        self.suggestion = suggestion
        """A value that fits, as JSON or as the flag that gives it; empty when none is known."""
        lines = [f"{what} does not fit its schema:", *(f"  {violation}" for violation in self.violations)]
        super().__init__("\n".join([*lines, *([f"  try: {suggestion}"] if suggestion else [])]))


class ComponentError(StrettoError):
    """A component did not answer as its card says."""

    code = "component"
    fault = Fault.COMPONENT
    rpc_code: Code = Code.UNKNOWN  # here too for a subclass whose constructor does not call this one
    retry_after_s: float | None = None
    """What the component asked for before the next attempt, seconds."""
    retryable = True
    of_load = False
    """True for a time-out that came because the component was under load."""
    sent = True
    """False when the request surely never left: whatever the code, a write did not happen."""
    queue_ms: float = 0.0
    """Milliseconds that the call waited in a queue of the component's own, as for a connection, before it failed."""
    run_id = ""
    """Run of another workflow that was made of the call, and failed."""
    is_of_another = False
    """True for what a component was told of a call that it made: it says nothing of what the component did itself."""

    def __init__(
        self,
        message: str,
        rpc_code: Code = Code.UNKNOWN,
        *,
        retry_after_s: float | None = None,
        retryable: bool | None = None,
        sent: bool = True,
        queue_ms: float = 0.0,
    ) -> None:
        """Raises UsageError for what is no code and no number; the text says what was to be told."""
        super().__init__(message)
        try:
            self.rpc_code = Code(rpc_code)
        except ValueError:
            raise UsageError(
                f"ComponentError({message!r}) has the code {rpc_code!r}; expected a stretto.Code"
            ) from None
        if retry_after_s is not None and not _is_finite(retry_after_s):
            raise UsageError(
                f"ComponentError({message!r}) has retry_after_s={retry_after_s!r:.80}; expected seconds, or None"
            )
        if not _is_finite(queue_ms) or queue_ms < 0:
            raise UsageError(
                f"ComponentError({message!r}) has queue_ms={queue_ms!r:.80}; expected milliseconds, 0 or more"
            )
        self.retry_after_s = retry_after_s
        self.queue_ms = queue_ms
        self.retryable = rpc_code in RETRYABLE_CODES if retryable is None else retryable
        self.sent = sent

    def add_wait(self, ms: float) -> None:
        """Count what the call waited around what `queue_ms` tells of."""
        self.queue_ms = self.take_wait_ms() + ms

    def take_wait_ms(self) -> float:
        """What `queue_ms` tells, which is none afterwards: a component may raise the same object again. What a
        component set there and cannot be is none either."""
        told, self.queue_ms = self.queue_ms, 0.0
        return told if type(told) in (float, int) and 0 < told < math.inf else 0.0


def _is_finite(value: object) -> bool:
    """Whether it is a number that a clock can be told."""
    try:
        return isinstance(value, int | float) and math.isfinite(value)
    except OverflowError:
        return False


class ContractError(ComponentError):
    """A component's request or response broke its schema. Repeating it cannot help."""

    code = "component.contract"

    def __init__(self, message: str, violations: Sequence[Violation] = ()) -> None:
        self.violations = tuple(violations)
        detail = "".join(f"\n  {v}" for v in self.violations)
        super().__init__(message + detail, Code.FAILED_PRECONDITION)


class MeaningError(ContractError):
    """A value of a request or response means no value of the semantic domain into which it crossed."""

    code = "component.meaning"


class BreakerOpenError(ComponentError):
    """The component was failing, and was not asked. Whoever asks again at once is refused again."""

    code = "component.breaker_open"

    def __init__(self, message: str, *, retry_after_s: float) -> None:
        super().__init__(message, Code.UNAVAILABLE, retry_after_s=retry_after_s, retryable=False, sent=False)


class ShedError(ComponentError):
    """There was no place for the call, or not in time; the component was not asked. Later there may be one."""

    code = "component.shed"

    def __init__(self, message: str, *, retry_after_s: float | None = None, queue_ms: float = 0.0) -> None:
        super().__init__(message, Code.RESOURCE_EXHAUSTED, retry_after_s=retry_after_s, sent=False, queue_ms=queue_ms)


class NotOpenError(ComponentError):
    """The component did not open, neither when the workflow did nor for this call; it was not asked."""

    code = "component.not_open"

    def __init__(self, message: str, rpc_code: Code = Code.UNAVAILABLE) -> None:
        super().__init__(message, rpc_code, sent=False)


class RejectedError(ComponentError):
    """The component answered, and the step's condition for trying again says that this is no answer."""

    code = "component.rejected"

    def __init__(self, message: str) -> None:
        super().__init__(message, Code.DATA_LOSS, retryable=True)


class InDoubtError(ComponentError):
    """A write was sent and no receipt came back: it may or may not have happened. Never retried blindly."""

    code = "component.in_doubt"

    def __init__(self, message: str) -> None:
        super().__init__(message, Code.ABORTED, retryable=False)


class BudgetError(StrettoError):
    """The run may not spend what the call needs."""

    code = "budget"
    fault = Fault.CALLER


class ReplayError(StrettoError):
    """A recorded run cannot stand for what was asked: its manifest, request or effects do not allow it."""

    code = "replay"
    fault = Fault.CALLER


class LearningError(StrettoError):
    """Recorded runs cannot be learnt from as asked: none is usable, or training cannot go on."""

    code = "learning"
    fault = Fault.CALLER


class PolicyMismatchError(LearningError):
    """The runs were not made by the weights that are supposed to have made them."""

    code = "learning.policy_mismatch"


class StoreError(StrettoError):
    """The store cannot be read or written: locked, read-only, truncated, from a newer version, or on a full disk."""

    code = "store"

    def __init__(self, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.retryable = retryable

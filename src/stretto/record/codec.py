"""Run and its parts as `stretto.run/1` JSON, and back.

A reader of version 1 ignores fields that it does not know: a newer release may have added them. It does not keep them.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

import msgspec

from stretto.record.arrays import Get, Put, attach, detach
from stretto.record.model import FORMAT, NULL, Annotation, EffectRecord, Run, StepRecord
from stretto.record.refusal import OpaqueError, has_non_finite, refuse
from stretto.types.errors import NotJsonError, StoreError
from stretto.types.json import Json
from stretto.types.messages import Usage

_T = TypeVar("_T")

_encode: Final = msgspec.json.Encoder().encode
_encode_lines: Final = msgspec.json.Encoder().encode_lines
_decode_run: Final = msgspec.json.Decoder(Run).decode
_decode_step: Final = msgspec.json.Decoder(StepRecord).decode
_decode_steps: Final = msgspec.json.Decoder(list[StepRecord]).decode
_decode_annotation: Final = msgspec.json.Decoder(Annotation).decode

_FORMAT_FIELD: Final = f'{{"format":"{FORMAT}",'.encode()
_SAID: Final = b'{"format":'
_FAMILY: Final = FORMAT.partition("/")[0]


class _StoredEffect(EffectRecord, kw_only=True):
    """An effect as it is decoded: msgspec reads no value but null into `Raw | None`. A receipt may be null itself, so
    whether there is one is told by its time."""

    receipt: msgspec.Raw = NULL


class _Versioned(msgspec.Struct):
    format: str = FORMAT


_decode_effect: Final = msgspec.json.Decoder(_StoredEffect).decode


def encode_run(run: Run, put: Put | None = None) -> bytes:
    """One run as JSON, `format` first; its arrays are given to `put`.

    Raises UsageError when there are arrays and no `put`, NotJsonError for a value that JSON cannot hold.
    """
    steps = [_checked(detach(step, put)) for step in run.steps]
    whole = _checked_run(msgspec.structs.replace(run, steps=steps))
    return _with_format(_write(whole))


def decode_run(data: bytes | str, get: Get | None = None) -> Run:
    """Read a run; with `get`, its arrays too, otherwise their references stand in their place.

    Raises StoreError when the text is not a run, of another major version, or a blob is missing.
    """
    try:
        run = _decode_run(data)
    except (msgspec.DecodeError, RecursionError) as error:
        raise _unreadable("run", data, error) from error
    if run.format != FORMAT:
        raise _unreadable("run", data, None)
    if get is not None:
        for step in run.steps:
            attach(step, get)
    return run


def encode_head(run: Run) -> bytes:
    """A run without its steps. Raises as `encode_run` does."""
    return _write(_checked_run(msgspec.structs.replace(run, steps=[]) if run.steps else run))


def encode_step(step: StepRecord, put: Put | None = None) -> bytes:
    """One step as JSON; its arrays are given to `put`. Raises as `encode_run` does."""
    return _write(_checked(detach(step, put) if step.model_calls else step))


def encode_step_lines(steps: Sequence[StepRecord]) -> bytes | None:
    """Steps as JSON, a line each, in a third of the time; None when `encode_step` has anything to look at in one."""
    for step in steps:
        if step.evidence or step.actions or step.rewards or step.model_calls or step.usage is not None:
            return None
    try:
        lines = _encode_lines(steps)
    except (TypeError, ValueError, RecursionError):
        return None
    return lines if lines.count(b"\n") == len(steps) else None


def decode_step(data: bytes | str, get: Get | None = None) -> StepRecord:
    """Read a step; with `get`, its arrays too."""
    step = _read(_decode_step, "step", data)
    if get is not None:
        attach(step, get)
    return step


def decode_steps(data: bytes | str, get: Get | None = None) -> list[StepRecord]:
    """Read an array of steps; with `get`, their arrays too."""
    steps = _read(_decode_steps, "list of steps", data)
    if get is not None:
        for step in steps:
            attach(step, get)
    return steps


def encode_effect(effect: EffectRecord) -> bytes:
    """One effect as JSON."""
    return _encode(effect)


def decode_effect(data: bytes | str) -> EffectRecord:
    """Read an effect."""
    stored = _read(_decode_effect, "effect", data)
    fields = {name: getattr(stored, name) for name in EffectRecord.__struct_fields__}
    if not stored.received_at_ns:
        fields["receipt"] = None
    return EffectRecord(**fields)


def encode_annotation(annotation: Annotation) -> bytes:
    """One annotation as JSON."""
    return _encode(annotation)


def decode_annotation(data: bytes | str) -> Annotation:
    """Read an annotation."""
    return _read(_decode_annotation, "annotation", data)


def _read(decode: Callable[[bytes | str], _T], what: str, data: bytes | str) -> _T:
    try:
        return decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        raise _unreadable(what, data, error) from error


def _write(record: Run | StepRecord) -> bytes:
    try:
        return _encode(record)
    except (TypeError, ValueError, RecursionError) as error:  # evidence or messages that are not JSON
        what = f"run {record.id}" if isinstance(record, Run) else f"step '{record.path}'"
        raise NotJsonError(f"{what} cannot be recorded: {error}") from error


def _with_format(data: bytes) -> bytes:
    """Say the format first also when the encoder has left it out as the default."""
    return data if data.startswith(_SAID) else _FORMAT_FIELD + data[1:]


def _unreadable(what: str, data: bytes | str, error: Exception | None) -> StoreError:
    try:
        found = msgspec.json.decode(data, type=_Versioned).format
    except (msgspec.DecodeError, RecursionError):
        found = FORMAT
    if found.startswith(_FAMILY) and found != FORMAT:
        return StoreError(f"the record's format is {found!r} and this release reads {FORMAT!r}; upgrade stretto")
    return StoreError(f"this is no {what} as {FORMAT} has it: {error}")


# numbers that JSON cannot hold: encoded, they would become null and the record unreadable


def _checked_run(run: Run) -> Run:
    if run.rewards or run.reward is not None or run.usage is not None:
        terms = [(f"reward '{reward.name}'", reward.value) for reward in run.rewards]
        _refuse_non_finite(f"run {run.id}", [*terms, ("reward", run.reward), *_costs(run.usage)])
    return run


def _checked(step: StepRecord) -> StepRecord:
    """Refuse a step whose evidence or learning fields hold NaN or an infinity."""
    if step.evidence:
        _refuse_odd_evidence(step.evidence)
    if step.actions or step.rewards or step.usage is not None:
        _refuse_non_finite(
            f"step '{step.path}'",
            [
                *((f"the log-probability of action '{action.name}'", action.logprob) for action in step.actions),
                *((f"the propensity of action '{action.name}'", action.propensity) for action in step.actions),
                *((f"reward '{reward.name}'", reward.value) for reward in step.rewards),
                *_costs(step.usage),
            ],
        )
    return step


def _refuse_odd_evidence(evidence: dict[str, Json]) -> None:
    try:
        odd = has_non_finite(evidence)
    except OpaqueError:
        odd = True
    if odd:
        refuse(evidence)


def _costs(usage: Usage | None) -> Iterable[tuple[str, float | None]]:
    return () if usage is None else (("cost", usage.cost),)


def _refuse_non_finite(where: str, numbers: Iterable[tuple[str, float | None]]) -> None:
    for what, number in numbers:
        if number is not None and not math.isfinite(number):
            raise NotJsonError(f"{where}: {what} is {number}; it must be a finite number, and an unknown reward None")

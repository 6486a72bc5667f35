"""What is said of a run from outside: how it ended, and what it was worth."""

from collections.abc import Mapping
from typing import Final

import msgspec

from stretto.learn.advantage import MOST_REWARD
from stretto.record.model import ErrorInfo
from stretto.record.texts import recordable
from stretto.serve.gateway.opening import labels_of, recorded
from stretto.serve.refused import Refused
from stretto.types.enums import Reason, RunStatus
from stretto.types.json import Json, JsonObject
from stretto.types.learning import Reward

OUTCOME: Final = "outcome"
"""Name of a reward that brings none."""

NAME_RULE: Final = "a text of 1 to 64 characters"

ENDINGS: Final = (RunStatus.OK, RunStatus.FAILED, RunStatus.CANCELLED, RunStatus.EXPIRED)
"""How an agent's run may end: what else there is, a workflow's engine alone can know."""

_REASONS: Final = {
    RunStatus.FAILED: Reason.ERROR,
    RunStatus.CANCELLED: Reason.CANCELLED,
    RunStatus.EXPIRED: Reason.TIMEOUT,
}

_MOST_NAME_CHARS: Final = 64

_END_FIELDS: Final = ("status", "labels", "output", "error")
_REWARD_FIELDS: Final = ("name", "value", "reason")


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """How a run is to be sealed."""

    status: RunStatus = RunStatus.OK
    output: msgspec.Raw | None = None
    """What it answered; None is the last answer of its model."""
    error: ErrorInfo | None = None
    labels: Mapping[str, str] = msgspec.field(default_factory=dict)
    warning: str = ""
    """What people should know of it."""

    @property
    def reason(self) -> Reason | None:
        return _REASONS.get(self.status)


def ending_of(document: JsonObject) -> Ending:
    """Read the body of ``POST /runs/KEY/end``. Raises Refused for what is none."""
    _only(document, _END_FIELDS)
    status, output, error = document.get("status", RunStatus.OK), document.get("output"), document.get("error")
    if status not in ENDINGS:
        raise Refused(400, f"`status` is {status!r}; expected one of {', '.join(ENDINGS)}", param="status")
    if not isinstance(output, dict | None):
        raise Refused(400, f"`output` is {type(output).__name__}; expected a JSON object", param="output")
    if not isinstance(error, str | None):
        raise Refused(400, f"`error` is {type(error).__name__}; expected text: why it ended so", param="error")
    return Ending(
        status=RunStatus(str(status)),
        output=None if output is None else recorded("output", output),
        error=None if error is None else ErrorInfo(code="agent", message=recordable(error)),
        labels=labels_of(document.get("labels")),
    )


def reward_of(document: JsonObject) -> Reward:
    """Read the body of ``POST /runs/KEY/reward``; null is unknown. Raises Refused for what is none, as NaN is."""
    _only(document, _REWARD_FIELDS)
    name, value, reason = document.get("name", OUTCOME), document.get("value"), document.get("reason", "")
    if not isinstance(name, str) or not 0 < len(name) <= _MOST_NAME_CHARS:
        raise Refused(400, f"`name` is {name!r}; expected {NAME_RULE}", param="name")
    if not isinstance(reason, str):
        raise Refused(400, f"`reason` is {type(reason).__name__}; expected text", param="reason")
    return Reward(name=name, value=_number(document, value), reason=recordable(reason))


def _number(document: JsonObject, value: Json) -> float | None:
    if value is None and "value" in document:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        told = f"`value` is {value!r}" if "value" in document else "there is no `value`"
        raise Refused(400, f"{told}; expected a number, or null for a reward that is unknown", param="value")
    if abs(value) > MOST_REWARD:
        told = f"`value` is {value:g}; expected at most {MOST_REWARD:g} either way: scale it down"
        raise Refused(400, told, param="value")
    return float(value)


def _only(document: JsonObject, known: tuple[str, ...]) -> None:
    unknown = sorted(set(document) - set(known))
    if unknown:
        raise Refused(400, f"unknown field {unknown[0]!r}; expected {', '.join(known)}", param=unknown[0])

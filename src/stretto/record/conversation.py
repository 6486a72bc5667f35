"""Requests of a conversation, which a gateway records once: a call that goes on with another keeps what is new in it.

Its step's input names the other step under ``$after`` and, under ``$same``, the fields that are as they were there.
"""

from typing import Any, Final, TypeAlias

from stretto.record.model import Run
from stretto.types.errors import UsageError
from stretto.types.json import JsonObject

AFTER: Final = "$after"
"""Path of the step whose messages, or prompt, come before these."""

SAME: Final = "$same"
"""Names of fields that are left out, since they were sent before as they were now."""

GROWING: Final = ("messages", "prompt")
"""Fields that go on with those of the step before."""

_Request: TypeAlias = dict[str, Any]  # JSON, as it was sent


def request_at(run: Run, path: str) -> JsonObject:
    """The whole request of a recorded call, every message and field as it was sent. Raises UsageError where the run
    has no such step, or lacks one that it goes on with."""
    inputs: dict[str, _Request] = {str(step.path): step.input_value for step in run.steps}
    chain: list[_Request] = []
    at = path
    while True:
        given = inputs.get(at)
        if not isinstance(given, dict) or len(chain) > len(inputs):
            raise UsageError(f"run {run.id} has no recorded request at '{at}'; `stretto runs show` lists its steps")
        chain.append(given)
        if AFTER not in given:
            break
        at = given[AFTER]
    request = chain.pop()
    while chain:
        request = _gone_on(request, chain.pop())
    return request


def _gone_on(before: _Request, new: _Request) -> _Request:
    same = {name: before[name] for name in new.get(SAME, ())}
    grown = {name: before[name] + new[name] for name in GROWING if name in new}
    rest = {name: value for name, value in new.items() if name not in (AFTER, SAME)}
    return {**same, **rest, **grown}

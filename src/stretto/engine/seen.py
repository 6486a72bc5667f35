"""What a step sees of `resources`: as it is now, or as it was when the run was recorded.

What a step read is kept with its record, so that a replay and a resumed run decide as the run did. Where the record
tells nothing, a resumed run looks anew, since nothing was decided there yet; a replay takes what the recorded run saw
last, for what is now says nothing of then.
"""

from typing import Any, Final

from stretto.engine.history import History, Mode
from stretto.engine.state import RunState
from stretto.plan.model import RESOURCES, Frame, Resources
from stretto.record.model import StepRecord, decoded
from stretto.types.ids import StepPath
from stretto.types.json import Json, JsonObject
from stretto.types.resources import SEEN, SEEN_BY_ROUND

_NOTHING: Final[JsonObject] = {}


def look(state: RunState, reads: Resources, frame: Frame, path: StepPath) -> JsonObject | None:
    """Put what a step sees of `resources` into its frame, and note what it reads.

    Returns the request of a write that was sent before the run was interrupted: it was decided then, and asking anew
    might make another request of it, which the receipt of the first could not stand for.
    """
    frame[RESOURCES] = values = _values(state, _seen_by(state.history, path))
    state.seen[path] = picked(values, reads)
    if state.history is None or state.history.mode is not Mode.RESUME:
        return None
    effect = state.receipts.get(path)
    return None if effect is None or path in state.history.steps else decoded(effect.request)


def look_again(state: RunState, reads: Resources, frame: Frame, path: StepPath, number: int) -> JsonObject | None:
    """`look` after round `number` of a loop, 1 or more; returns what was read.

    None when the recorded run went on to the next round, so that nothing is to be asked.
    """
    history = state.history
    if history is not None and history.mode is Mode.RESUME and history.went_on(path, number):
        return None
    rounds = [] if history is None else _evidence(history.steps.get(path), SEEN_BY_ROUND)
    recorded = rounds[number - 1] if isinstance(rounds, list) and len(rounds) >= number else None
    frame[RESOURCES] = values = _values(state, recorded)
    return picked(values, reads)


def around(state: RunState) -> JsonObject:
    """What is seen beside the steps: by the workflow's output, and by what answers in its place."""
    return _values(state, None)


def picked(values: JsonObject, reads: Resources) -> JsonObject:
    """Of the values those that are read, nested as they were; what is not there is null."""
    if () in reads:
        return values
    found: JsonObject = {}
    for path in sorted(reads):
        if not any(path[:depth] in reads for depth in range(1, len(path))):  # else it is inside one that is kept whole
            found = _over(found, _one(values, path))
    return found


def _one(values: Json, path: tuple[str, ...]) -> JsonObject:
    inner = values.get(path[0]) if isinstance(values, dict) else None
    return {path[0]: inner if len(path) == 1 or inner is None else _one(inner, path[1:])}


def _values(state: RunState, recorded: Json) -> JsonObject:
    history = state.history
    if history is None or (recorded is None and history.mode is Mode.RESUME):
        return state.given if state.live is None else state.live.read(state.given)
    last = _last_seen(history) if history.mode is Mode.REPLAY else _NOTHING
    return _over(_over(state.given, last), recorded if isinstance(recorded, dict) else _NOTHING)


def _seen_by(history: History | None, path: StepPath) -> Json:
    return None if history is None else _evidence(history.steps.get(path), SEEN)


def _evidence(step: StepRecord | None, name: str) -> Any:  # JSON: narrowing is the caller's
    return None if step is None else step.evidence.get(name)


def _last_seen(history: History) -> JsonObject:
    """What any step of a recorded run saw, the latest of each."""
    found: JsonObject = {}
    for step in history.steps.values():
        seen = step.evidence.get(SEEN) if step.evidence else None
        if isinstance(seen, dict):
            found = _over(found, seen)
    return found


def _over(below: JsonObject, above: JsonObject) -> JsonObject:
    """Both, objects field by field; what stands in both is that of `above`."""
    both = {**below}
    for name, value in above.items():
        under = both.get(name)
        both[name] = _over(under, value) if isinstance(under, dict) and isinstance(value, dict) else value
    return both

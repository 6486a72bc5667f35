"""What crosses into a semantic domain is a value of it, or does not cross.

A value that is one already costs a look-up and leaves no trace. Every other is aligned as its domain says
(`plan.meaning.domain`), and the step's record tells from what, to what and by what. Where nothing says surely enough
what is meant, the domain's mode decides: refused, and null in its place, so that what answers instead does not see the
raw text either; or passed on as it is, and told.
"""

import logging
import shlex
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import msgspec
import orjson

from stretto.engine.called import Called
from stretto.plan.meaning import Crossing, rewritten
from stretto.plan.model import Plan
from stretto.record.canonical import exact, snapshot
from stretto.record.model import ErrorInfo, Run, StepRecord, decoded
from stretto.record.texts import TEXT_CHARS, recordable
from stretto.types.errors import ContractError, MeaningError, Violation
from stretto.types.json import Json, JsonObject
from stretto.types.meaning import Aligned, AlignedBy, MeaningMode

ALIGNMENTS: Final = "alignments"
"""Evidence of a step: what crossed and was no value of its domain already."""

QUARANTINED: Final = "quarantined"
"""Evidence of a step whose value meant nothing, in a domain of that mode: no fold learns from it."""

INPUT_PATH: Final = "input"
"""Where a run's own input failed, and the head of its places."""

NOTHING: Final[Mapping[str, Json]] = MappingProxyType({})

_NOTHING_SAID: Final = Aligned(value="", by=AlignedBy.ABSTAINED, confidence=0.0)

_log: Final = logging.getLogger(__name__)

_told: Final[set[tuple[str, str]]] = set()
"""Places of which it was told that a value passed that means nothing: once in a process, since the record has each."""


class Crossed:
    """What became of an object at its crossings."""

    __slots__ = ("alignments", "is_quarantined", "value", "violations")

    def __init__(self, value: JsonObject) -> None:
        self.value = value
        """With what was refused null."""
        self.alignments: list[Json] = []
        self.violations: list[Violation] = []
        self.is_quarantined = False

    def cross(self, crossing: Crossing) -> None:
        """Align what stands at one place."""
        value = rewritten(self.value, crossing.path, lambda each: self._aligned(crossing, each))
        assert isinstance(value, dict)
        self.value = value

    def hold(self, what: str) -> None:
        """Raise MeaningError when anything was refused."""
        if self.violations:
            raise MeaningError(f"{what} has a value that means none of its domain:", self.violations)

    def _aligned(self, crossing: Crossing, value: Json) -> Json:
        if not isinstance(value, str):
            return self._unmeant(crossing, value, _NOTHING_SAID)
        known = crossing.exact.get(value)
        if known is not None:
            if known == value:
                return value
            self._note(crossing, value, known, Aligned(value=known, by=AlignedBy.EXACT))
            return known
        if value in crossing.untranslated:
            return self._unmeant(crossing, value, _NOTHING_SAID, is_untranslated=True)
        aligned = crossing.domain.align(value)
        if aligned.by is AlignedBy.ABSTAINED:
            return self._unmeant(crossing, value, aligned)
        self._note(crossing, value, aligned.value, aligned)
        return aligned.value

    def _unmeant(self, crossing: Crossing, value: Json, guess: Aligned, *, is_untranslated: bool = False) -> Json:
        """What passes in place of a value that means nothing: itself, or null where that is refused."""
        domain = crossing.domain
        note = self._note(crossing, value, None, guess)
        if is_untranslated:
            note["untranslated"] = True
        if domain.mode is MeaningMode.QUARANTINE:
            self.is_quarantined = True
        if domain.is_closed:
            self.violations.append(_violation(crossing, value, guess))
            return None
        if (crossing.at, domain.name) not in _told:
            _told.add((crossing.at, domain.name))
            _log.warning(
                "a value at `%s` means no value of the domain '%s' and passes as it is; this is said once, and "
                "`stretto semantics label --domain %s` lists all such values with their runs",
                crossing.at,
                domain.name,
                shlex.quote(domain.name),
            )
        return value

    def _note(self, crossing: Crossing, value: Json, to: str | None, aligned: Aligned) -> JsonObject:
        text = value if isinstance(value, str) else _written(value)
        note: JsonObject = {
            "at": crossing.at,
            "domain": crossing.domain.name,
            "value": recordable(text, TEXT_CHARS),
            "to": to,
            "by": aligned.by.value,
            "confidence": aligned.confidence,
        }
        if to is None and aligned.value:
            note["guess"] = aligned.value
        self.alignments.append(note)
        return note


def crossed(value: JsonObject, crossings: tuple[Crossing, ...]) -> Crossed | None:
    """What becomes of an object at its crossings; None when every value is one of its domain already."""
    found: Crossed | None = None
    for crossing in crossings:
        if found is None:
            if len(crossing.path) == 1:
                text = value.get(crossing.path[0])
                if text is None or (type(text) is str and crossing.exact.get(text) == text):
                    continue
            found = Crossed(value)
        found.cross(crossing)
    return found if found is not None and (found.alignments or found.value is not value) else None


def cross_request(called: Called) -> Crossed | None:
    """Let a step's request cross: it is then as the component may see it, whatever its `hold` says."""
    found = crossed(called.data, called.op.crossings_in)
    if found is None:
        return None
    called.data = found.value
    if called.op.action_field:
        called.name_action()
    _note_on(called, found)
    return found


def cross_output(
    called: Called, encoded: bytes, output: JsonObject, crossings: tuple[Crossing, ...]
) -> tuple[bytes, JsonObject]:
    """Let a component's output cross, or what stands in for it; raises MeaningError where it may not stand."""
    found = crossed(output, crossings)
    if found is None:
        return encoded, output
    _note_on(called, found)
    found.hold(f"the output of '{called.name}' at step '{called.path}'")
    return snapshot(found.value), found.value


def cross_recorded(called: Called, step: StepRecord) -> StepRecord:
    """A recorded step whose output has crossed: its contract may say more now than when it was recorded."""
    output = decoded(step.output)
    found = crossed(output, called.op.crossings_out) if isinstance(output, dict) else None
    if found is None or (found.value is output and not found.violations):
        return step
    _note_on(called, found)
    found.hold(f"the recorded output of '{called.name}' at step '{called.path}'")
    evidence = evidence_of([found], step.evidence)
    return msgspec.structs.replace(step, output=msgspec.Raw(snapshot(found.value)), evidence=evidence)


def keep_output(run: Run, plan: Plan, crossings: tuple[Crossing, ...], output: JsonObject, what: str) -> JsonObject:
    """Keep the output of a run, once it has crossed; raises ContractError where it may not stand."""
    found = crossed(output, crossings) if crossings else None
    if found is not None:
        output = found.value
        run.evidence = evidence_of([found], run.evidence)
    run.output = msgspec.Raw(snapshot(output))
    if found is not None:
        found.hold(what)
    if plan.output_check is not None and not plan.output_check.is_valid(output):
        raise ContractError(f"{what} breaks its contract:", plan.output_check.violations(output))
    return output


def hold_input(run: Run, plan: Plan) -> None:
    """Raise MeaningError for a run whose own input means nothing, also when it is resumed: no step of it is made."""
    at = {crossing.at: crossing for crossing in plan.crossings_in if crossing.domain.is_closed}
    refused = [note for note in _refused(run.evidence) if note["at"] in at]
    if refused:
        violations = [_violation(at[note["at"]], note["value"], _guessed(note)) for note in refused]
        raise MeaningError(
            f"the input of workflow '{plan.name}' has a value that means none of its domain:", violations
        )


def input_notes(evidence: Mapping[str, Json]) -> dict[str, Json]:
    """What is known of a run's input that means nothing, for a run of the same input, which only has null there."""
    refused: list[Json] = [note for note in _refused(evidence) if note["at"].startswith(f"{INPUT_PATH}.")]
    return {ALIGNMENTS: refused} if refused else {}


def _refused(evidence: Mapping[str, Any]) -> list[dict[str, Any]]:  # the engine's own notes, as `_note` makes them
    notes = evidence.get(ALIGNMENTS)
    return [note for note in notes if note["to"] is None] if isinstance(notes, list) else []


def _guessed(note: dict[str, Any]) -> Aligned:  # as above
    return Aligned(value=note.get("guess", ""), by=AlignedBy.ABSTAINED, confidence=note["confidence"])


def was_told_nothing(error: ErrorInfo, run: Run) -> bool:
    """Whether a run failed of an input or request that means nothing, which nobody was asked, and of no answer."""
    failed = (step for step in run.steps if step.error is not None and step.path == error.path)
    return error.code == MeaningError.code and (not run.steps or any(not step.attempts for step in failed))


def evidence_of(found: Sequence[Crossed], before: Mapping[str, Json] = NOTHING) -> dict[str, Json]:
    """What crossed, one after the other, as a record has it; after what it had before."""
    notes = before.get(ALIGNMENTS)
    told = [*(notes if isinstance(notes, list) else ()), *(note for each in found for note in each.alignments)]
    marked = {**before, ALIGNMENTS: told}
    return {**marked, QUARANTINED: True} if any(each.is_quarantined for each in found) else marked


def _note_on(called: Called, found: Crossed) -> None:
    called.evidence = evidence_of([found], called.evidence or NOTHING)


def _violation(crossing: Crossing, value: Json, guess: Aligned) -> Violation:
    near = f"; the nearest is '{guess.value}', with confidence {guess.confidence:.2f}" if guess.value else ""
    shown = f"{value!r:.80}" if isinstance(value, str) else f"{_written(value):.80}, which is no text,"
    message = f"{shown} means no value of the domain '{crossing.domain.name}' surely enough{near}"
    return Violation(pointer="".join(f"/{part}" for part in crossing.path), message=message)


def _written(value: Json) -> str:
    return exact(orjson.dumps(value)).decode()

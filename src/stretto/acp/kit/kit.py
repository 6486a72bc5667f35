"""Holds one component to the protocol, case by case."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from stretto.acp import messages as m
from stretto.acp.blob import CAPABILITY
from stretto.acp.kit.case import EVERY_VERB, Case, Exchange, Group, When
from stretto.acp.kit.good import Subject, good_key, request_for
from stretto.acp.kit.gradients import arrays_told, complaints_of, held_to_answers
from stretto.acp.kit.judge import complaints
from stretto.acp.kit.seen import Seen, Wire
from stretto.acp.names import STEP_VERBS, Verb
from stretto.plan.check import Check
from stretto.types.card import ANY_OBJECT, CHOOSES
from stretto.types.enums import Effect


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one case."""

    case: Case
    skipped: str = ""
    """Why it was not asked; empty where it was."""
    complaints: tuple[str, ...] = ()
    """What is wrong; empty where all is well."""
    sent: str = ""
    got: str = ""
    """Of the exchange that went wrong."""
    took_ms: float = 0.0

    @property
    def passed(self) -> bool:
        return not self.skipped and not self.complaints


def claimed_by(card: m.WireCard) -> frozenset[Group]:
    """The groups of cases that a component's own card claims."""
    claims = {
        Group.CORE: True,
        Group.PURE: Effect.PURE in card.effects.values(),
        Group.IDEMPOTENT: card.idempotent,
        Group.CONFIRMS: card.confirms,
        Group.ACTIONS: CHOOSES in card.capabilities,
        Group.BLOBS: CAPABILITY in card.capabilities,
        Group.REFLECT: Verb.REFLECT in card.verbs,
        Group.VJP: Verb.VJP in card.verbs,
    }
    return frozenset(group for group, claimed in claims.items() if claimed)


async def judged(
    cases: Iterable[Case], subjects: Sequence[Subject], wire: Wire, groups: frozenset[Group], *, may_write: bool
) -> AsyncIterator[Verdict]:
    """The verdict of each case as it is reached. The first subject stands for the component; writes, and what is pure,
    are asked of the one that is."""
    claimed = claimed_by(subjects[0].card)
    for case in cases:
        subject = _subject_for(case.group, subjects)
        skipped = _skipped(case, subject, wire, groups, claimed, may_write=may_write)
        if subject is None or skipped:
            yield Verdict(case=case, skipped=skipped)
        else:
            yield await _verdict(case, subject, wire)


def _subject_for(group: Group, subjects: Sequence[Subject]) -> Subject | None:
    wanted = _EFFECTS.get(group)
    return subjects[0] if wanted is None else next((each for each in subjects if each.effect is wanted), None)


_EFFECTS = {Group.PURE: Effect.PURE, Group.IDEMPOTENT: Effect.WRITE, Group.CONFIRMS: Effect.WRITE}
"""Groups whose promises are about actions of one effect."""


def _skipped(
    case: Case,
    subject: Subject | None,
    wire: Wire,
    groups: frozenset[Group],
    claimed: frozenset[Group],
    *,
    may_write: bool,
) -> str:
    if case.over and case.over != wire.form:
        return f"over {case.over} only"
    if case.group not in groups:
        return f"its card does not claim {case.group}" if case.group not in claimed else "its group was not asked for"
    if subject is None:
        return f"no sample of its schema is {_EFFECTS[case.group].value}; give one: --input JSON"
    if case.when is not None and not _HOLDS[case.when](subject):
        return _ELSE[case.when]
    if case.acts and subject.effect is Effect.WRITE and not may_write:
        return "it would write; allow it with --writes"
    return ""


_HOLDS: Final[Mapping[When, Callable[[Subject], bool]]] = {
    When.NO_VJP: lambda subject: Verb.VJP not in subject.card.verbs,
    When.NEEDS_INPUT: lambda subject: bool(Check(subject.card.input or ANY_OBJECT).violations({})),
    When.HAS_INPUT: lambda subject: bool(subject.input),
    When.HAS_ANOTHER: lambda subject: subject.another is not None,
    When.HAS_TENSORS: lambda subject: bool(arrays_told(subject)),
    When.IS_PURE: lambda subject: bool(arrays_told(subject)) and subject.effect is Effect.PURE,
}

_ELSE: Final[Mapping[When, str]] = {
    When.NO_VJP: "it offers vjp",
    When.NEEDS_INPUT: "its schema asks for nothing",
    When.HAS_INPUT: "it is asked nothing; give something: --input JSON",
    When.HAS_ANOTHER: "no other input is found that fits its schema",
    When.HAS_TENSORS: "its card tells no tensors that its input holds",
    When.IS_PURE: "its card tells no tensors that its input holds, or what it is asked is not pure",
}


async def _verdict(case: Case, subject: Subject, wire: Wire) -> Verdict:
    before: list[Seen] = []
    key = good_key()
    exchanges = [each for exchange in case.exchanges for each in _by_verb(exchange, subject)]
    for number, exchange in enumerate(exchanges, 1):
        key = good_key() if exchange.fresh_key else key
        verb = Verb(exchange.verb) if exchange.verb else subject.verb
        seen = await wire.send(verb, request_for(subject, verb, exchange, key), exchange)
        wrong = tuple(complaints(exchange.expect, seen, before, subject, verb))
        unclear = ""
        if not wrong and verb is Verb.VJP and exchange.expect.ok:
            wrong, unclear = await _of_gradients(exchange, seen, before, subject, wire)
        before.append(seen)
        if unclear:
            return Verdict(case=case, skipped=unclear, took_ms=_took(before))
        if wrong:
            which = f"exchange {number} of {len(exchanges)}: " if len(exchanges) > 1 else ""
            told = tuple(which + each for each in wrong)
            return Verdict(case=case, complaints=told, sent=seen.sent, got=seen.got, took_ms=_took(before))
    return Verdict(case=case, took_ms=_took(before))


async def _of_gradients(
    exchange: Exchange, seen: Seen, before: Sequence[Seen], subject: Subject, wire: Wire
) -> tuple[tuple[str, ...], str]:
    """What is wrong with gradients that came, and why nobody can tell."""
    wrong = tuple(complaints_of(exchange.expect, seen, before, subject))
    if wrong or not exchange.expect.of_answers:
        return wrong, ""
    why, unclear = await held_to_answers(subject, wire, exchange)
    return ((why,) if why else ()), unclear


def _by_verb(exchange: Exchange, subject: Subject) -> list[Exchange]:
    if exchange.verb != EVERY_VERB:
        return [exchange]
    verbs = [verb for verb in subject.card.verbs if verb in STEP_VERBS]
    return [msgspec.structs.replace(exchange, verb=verb, fresh_key=True) for verb in verbs]


def _took(seen: Iterable[Seen]) -> float:
    return sum(each.took_ms for each in seen)

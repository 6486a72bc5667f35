"""Which fault strikes which call: decided by the seed, the run's index, the step path and the attempt, and by nothing
else, so that one run alone is struck as it was among others."""

import asyncio
import random
from collections import Counter
from functools import partial

import msgspec

from stretto.chaos.damage import DAMAGES
from stretto.chaos.domains import Domains
from stretto.chaos.draws import draw, source
from stretto.chaos.faults import FAULTS, Delivery, Work
from stretto.chaos.harness import INDEX, Harness
from stretto.chaos.ledger import Injection
from stretto.chaos.places import is_at
from stretto.chaos.wrong_values import Site, put, standing
from stretto.plan.places import step_of
from stretto.record.canonical import snapshot
from stretto.record.model import decoded
from stretto.spec.chaos_model import FaultKind, FaultSpec
from stretto.types.card import Card
from stretto.types.ids import StepPath
from stretto.types.json import Json
from stretto.types.messages import Call, Request, Response


class FaultSchedule:
    """The faults of a plan. A call is struck by the first whose turn it is; nothing else strikes who is lost."""

    def __init__(self, faults: tuple[FaultSpec, ...], seed: int, domains: Domains) -> None:
        lost_first = sorted(enumerate(faults), key=lambda entry: entry[1].fault is not FaultKind.LOSS)
        self._faults = tuple(lost_first)
        self._seed = seed
        self.domains = domains
        self._losses: dict[tuple[int, int], _Loss] = {}
        self._deliveries: Counter[tuple[int, str, int]] = Counter()

    def strike(self, card: Card, call: Call, run: int) -> "FaultStrike | None":
        """The fault that strikes this call; a hedge's copy of an attempt is a call of its own."""
        delivered = (run, call.path, call.attempt)
        copy = self._deliveries[delivered]
        self._deliveries[delivered] += 1
        about = (call.path, call.attempt, copy) if copy else (call.path, call.attempt)
        for number, fault in self._faults:
            if not is_at(fault, card.name, call.path, call.action):
                continue
            if fault.fault is FaultKind.LOSS:
                loss = self._loss(number, fault, run)
                strikes = loss.finds_away(fault)
                loss.calls += 1
            else:
                strikes = draw(self._seed, run, number, *about) < fault.rate
            if strikes:
                return FaultStrike(self, number, fault, source(self._seed, "in", run, number, *about))
        return None

    def is_away(self, card: Card, call: Call, run: int) -> bool:
        """Whether the component is lost in this run now."""
        return any(
            fault.fault is FaultKind.LOSS
            and is_at(fault, card.name, call.path, call.action)
            and self._loss(number, fault, run).finds_away(fault)
            for number, fault in self._faults
        )

    def _loss(self, number: int, fault: FaultSpec, run: int) -> "_Loss":
        loss = self._losses.get((number, run))
        if loss is None:
            is_lost = draw(self._seed, run, number) < fault.rate
            loss = self._losses[number, run] = _Loss(is_lost)
        return loss


class _Loss(msgspec.Struct):
    """A component's loss in one run."""

    happens: bool
    calls: int = 0
    """That were made, those that found it away included."""
    since: float | None = None
    """Event-loop time of the first that did."""

    def finds_away(self, fault: FaultSpec) -> bool:
        """Whether who asks now finds the component away; the loss begins with the first who might."""
        now = asyncio.get_running_loop().time()
        if self.happens and self.since is None and self.calls >= fault.after_calls:
            self.since = now
        return self.since is not None and (fault.lasts is None or now < self.since + fault.lasts.total_seconds())


class FaultStrike:
    """A fault of the plan, about to strike."""

    def __init__(self, schedule: FaultSchedule, number: int, fault: FaultSpec, chance: random.Random) -> None:
        self._schedule = schedule
        self._number = number
        self._fault = fault
        self._chance = chance

    async def deliver(self, harness: Harness, card: Card, work: Work, request: Request) -> Response:
        """Ask the component as the fault lets it, and give what arrives."""
        run = int(request.call.run.labels[INDEX])
        injection = Injection(
            run=run,
            number=self._number,
            path=request.call.path,
            attempt=request.call.attempt,
        )
        kind = self._fault.fault
        if kind in DAMAGES:
            return await self._damaged(harness, card, work, request, injection)
        harness.ledger.injections.append(injection)
        delivery = Delivery(
            fault=self._fault,
            card=card,
            work=work,
            request=request,
            run=run,
            lapse=harness.lapse,
            chance=self._chance,
            again=partial(harness.again.add, run),
        )
        return await FAULTS[kind](delivery)

    async def _damaged(
        self, harness: Harness, card: Card, work: Work, request: Request, injection: Injection
    ) -> Response:
        """The component does its work; its answer is damaged on the way, unless there is nothing to damage."""
        response = await work(request)
        field = None if self._fault.field is None else self._fault.field.value
        domains = self._schedule.domains.at(step_of(request.call.path))
        damage = DAMAGES[self._fault.fault]
        harness.ledger.injections.append(injection)
        output = damage(response, card, field, domains, self._chance)
        if output is None:
            harness.ledger.injections.pop()
            return response
        return msgspec.structs.replace(response, output=output)


class Mutant(msgspec.Struct, frozen=True, kw_only=True):
    """One wrong value at one place of one run."""

    path: StepPath
    """Of the step whose output holds it."""
    site: Site
    wrong: Json


class MutantSchedule:
    """One mutant for each run, by its index; none for runs that are not in the mapping. Nothing is ever lost."""

    def __init__(self, mutants: dict[int, Mutant]) -> None:
        self._mutants = mutants

    def strike(self, _card: Card, call: Call, run: int) -> "MutantStrike | None":
        """The mutant of this run, at its step."""
        mutant = self._mutants.get(run)
        return None if mutant is None or mutant.path != call.path else MutantStrike(mutant, run)

    def is_away(self, _card: Card, _call: Call, _run: int) -> bool:
        """Never."""
        return False


class MutantStrike:
    """A wrong value, about to be put in the place of the right one."""

    def __init__(self, mutant: Mutant, run: int) -> None:
        self._mutant = mutant
        self._run = run

    async def deliver(self, harness: Harness, _card: Card, work: Work, request: Request) -> Response:
        """Ask the component; where its answer has such a place, the wrong value arrives.

        What stands there may be another way to say what the record has: a crossing aligned it.
        """
        response = await work(request)
        output: Json = decoded(msgspec.Raw(snapshot(response.output)))
        site, wrong = self._mutant.site, self._mutant.wrong
        if standing(output, site) in ([], [wrong]):
            return response
        call = request.call
        harness.ledger.injections.append(Injection(run=self._run, number=0, path=call.path, attempt=call.attempt))
        return msgspec.structs.replace(response, output=put(output, site, wrong))

"""What protects all components of a workflow: shared by its runs, for each event loop that lives."""

import asyncio
import threading
from collections.abc import Mapping
from typing import Final, TypeAlias

from stretto.engine.blame import tells_of_fault
from stretto.engine.protection import Protection
from stretto.engine.protection_stats import ProtectionStats
from stretto.engine.streak import Streak, StreakState
from stretto.plan.model import Plan, ProtectionRules
from stretto.record.model import ErrorInfo
from stretto.types.errors import BreakerOpenError, ShedError
from stretto.types.ids import Digest
from stretto.types.protection import StreakRule

_NOT_ASKED: Final = frozenset({BreakerOpenError.code, ShedError.code})
"""Codes of calls that did not reach the component."""


class Protected(dict[str, Protection]):
    """Of one plan's components, by name, those that a call must pass.

    What only failures in a row protect comes in with the first of them: a component that never failed costs nothing.
    """

    __slots__ = ("_resting",)

    def __init__(self, watching: Mapping[str, Protection], resting: Mapping[str, Protection]) -> None:
        super().__init__(watching)
        self._resting = resting

    def failed(self, component: str, now: float, error: ErrorInfo) -> None:
        """A call of a component that was asked failed, and nothing more is tried."""
        protection = self.get(component) or self._resting.get(component)
        if protection is None or protection.streak is None or error.code in _NOT_ASKED or not tells_of_fault(error):
            return
        self[component] = protection
        if protection.streak.state is StreakState.TRYING:
            protection.streak.failed(protection.streak.phase, now, error.message)


class Protections:
    """Of all components that a workflow and those made from it reach: what one run learns of one holds for the next.

    Each event loop that lives has its own, since what waits in one can only be woken in it; one that begins after the
    last has ended goes on with what that one learnt.
    """

    def __init__(self) -> None:
        self._known: dict[_Key, list[Protection]] = {}
        self._lock = threading.Lock()
        self._retuned: tuple[Mapping[str, ProtectionRules], Mapping[str, StreakRule]] = {}, {}
        """By component, what holds in place of the plan's own figures."""
        self._last: tuple[Plan, asyncio.AbstractEventLoop, Protected] | None = None

    def of(self, plan: Plan) -> Protected:
        """Those of a plan's components, by name, in the running event loop; made when they are first asked for."""
        if not plan.protections and not plan.streaks:
            return _NONE
        loop = asyncio.get_running_loop()
        last = self._last
        if last is not None and last[0] is plan and last[1] is loop:
            found = last[2]
        else:
            with self._lock:
                found = self._made(plan, loop)
            self._last = plan, loop, found
        for protection in found.values():
            protection.seen = loop.time()
        return found

    def retune(self, rules: Mapping[str, ProtectionRules], streaks: Mapping[str, StreakRule]) -> None:
        """Let components be protected by other figures than the plan's, also those met later; from any thread."""
        with self._lock:
            self._retuned = rules, streaks
            for key, protections in self._known.items():
                for protection in protections:
                    self._retune(key, protection)

    def _retune(self, key: "_Key", protection: Protection) -> None:
        name, _, own, streak = key
        rules, streaks = self._retuned
        protection.retune(rules.get(name, own or ProtectionRules()), streaks.get(name, streak))

    @property
    def stats(self) -> dict[str, ProtectionStats]:
        """By component, of all event loops together; limit and state are those of the loop that came last."""
        found: dict[str, ProtectionStats] = {}
        for (name, _, rules, _), protections in list(self._known.items()):
            for protection in protections if rules is not None else ():
                found[name] = protection.stats.added_to(found.get(name))
        return found

    @property
    def streaks(self) -> dict[str, Streak]:
        """Failures in a row, by component; of the event loop that came last."""
        known = list(self._known.items())
        return {key[0]: each.streak for key, protections in known for each in protections if each.streak is not None}

    def _made(self, plan: Plan, loop: asyncio.AbstractEventLoop) -> Protected:
        every = {
            name: self._get((name, plan.components[name].card.digest, rules, plan.streaks.get(name)), loop)
            for name in [*plan.protections, *(plan.streaks.keys() - plan.protections.keys())]
            for rules in (plan.protections.get(name),)
        }
        watching = {
            name: each
            for name, each in every.items()
            if name in plan.protections or (each.streak is not None and each.streak.failures)
        }
        return Protected(watching, {name: each for name, each in every.items() if name not in watching})

    def _get(self, key: "_Key", loop: asyncio.AbstractEventLoop) -> Protection:
        known = self._known.setdefault(key, [])
        for protection in known:
            if protection.loop is loop:
                return protection
        for protection in known:
            if protection.loop.is_closed() and protection.seen <= loop.time():  # else it is another clock
                protection.move(loop)
                return protection
        name, _, rules, streak = key
        known[:] = [protection for protection in known if not protection.loop.is_closed()]
        declared = rules or ProtectionRules()
        known.append(Protection(name, declared, loop, streak))
        self._retune(key, known[-1])
        return known[-1]


_Key: TypeAlias = tuple[str, Digest, ProtectionRules | None, StreakRule | None]
"""Name and digest of a component, what was declared to protect it, and when fallbacks stand in for it."""

_NONE: Final = Protected({}, {})

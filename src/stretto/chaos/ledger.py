"""What really happened at the components of a trial, counted where nothing can hide it: beneath every fault."""

from collections import Counter

import msgspec

from stretto.types.card import Card
from stretto.types.enums import Effect
from stretto.types.messages import Call


class Injection(msgspec.Struct, frozen=True, kw_only=True):
    """One fault that struck one call."""

    run: int
    """Index of the run in its trial, from 0."""
    number: int
    """Which entry of `faults` it is, from 0; 0 too where a mutant struck."""
    path: str
    attempt: int


class Duplicated(msgspec.Struct, frozen=True, kw_only=True):
    """A write that was carried out more than once, though its component does not say that this is harmless."""

    key: str
    """Its effect key: run id and step path."""
    component: str
    times: int


class Ledger:
    """Calls, attempts and writes of one trial."""

    def __init__(self) -> None:
        self.injections: list[Injection] = []
        self.attempts: Counter[str] = Counter()
        """Deliveries that the engine made, by component, whether or not they got there."""
        self._calls: dict[str, set[str]] = {}
        self._writes: Counter[str] = Counter()
        self._writers: dict[str, Card] = {}

    @property
    def calls(self) -> dict[str, int]:
        """Calls of steps, by component: attempts at one step path of one run are one call."""
        return {component: len(keys) for component, keys in self._calls.items()}

    @property
    def amplification(self) -> float:
        """Attempts for each call, over all components; 1 when nothing is tried again."""
        calls = sum(self.calls.values())
        return self.attempts.total() / calls if calls else 0.0

    @property
    def writes(self) -> int:
        """Writes that were carried out; one that was carried out twice counts once."""
        return len(self._writes)

    @property
    def duplicated(self) -> list[Duplicated]:
        """Writes that were carried out more than once, by components that do not say that this is harmless."""
        return [
            Duplicated(key=key, component=self._writers[key].name, times=times)
            for key, times in self._writes.items()
            if times > 1 and not self._writers[key].idempotent
        ]

    def asked(self, component: str, call: Call) -> None:
        """The engine asks a component."""
        self.attempts[component] += 1
        self._calls.setdefault(component, set()).add(call.effect_key)

    def carried_out(self, card: Card, call: Call) -> None:
        """The component has answered: it did what it was asked.

        What it refused, or was cancelled in, is not counted: whether that happened, `confirm` has to say.
        """
        if call.effect is Effect.WRITE:
            self._writes[call.effect_key] += 1
            self._writers[call.effect_key] = card

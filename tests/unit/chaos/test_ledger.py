"""What is counted beneath the faults."""

import pytest

from stretto.chaos.ledger import Ledger
from stretto.testing.request import request_for
from stretto.types.card import Card
from stretto.types.enums import Effect
from stretto.types.ids import digest_of
from stretto.types.messages import Call


def card(*, idempotent: bool = False) -> Card:
    return Card(name="shop", version="1", kind="python", digest=digest_of(b""), idempotent=idempotent)


def call(path: str, attempt: int = 1, effect: Effect = Effect.WRITE) -> Call:
    return request_for(_path=path, _attempt=attempt, _effect=effect).call


def test_attempts_at_one_path_are_one_call() -> None:
    ledger = Ledger()
    for path, attempt in (("a", 1), ("a", 2), ("a", 3), ("b", 1)):
        ledger.asked("shop", call(path, attempt))
    ledger.asked("desk", call("c"))
    assert ledger.calls == {"shop": 2, "desk": 1}
    assert ledger.amplification == 5 / 3
    assert Ledger().amplification == 0.0


@pytest.mark.parametrize(
    ("effect", "idempotent", "told"),
    [(Effect.WRITE, False, 1), (Effect.WRITE, True, 0), (Effect.READ, False, 0), (Effect.PURE, False, 0)],
)
def test_only_a_write_that_may_not_happen_twice_is_told(effect: Effect, *, idempotent: bool, told: int) -> None:
    ledger = Ledger()
    for attempt in (1, 2):
        ledger.carried_out(card(idempotent=idempotent), call("a", attempt, effect))
    ledger.carried_out(card(), call("b"))
    assert ledger.writes == (2 if effect is Effect.WRITE else 1)
    assert [(each.key, each.component, each.times) for each in ledger.duplicated] == [("run-1/a", "shop", 2)] * told

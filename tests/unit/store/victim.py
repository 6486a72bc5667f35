"""Writes runs for ever and says on stdout what the store acknowledged, until it is killed. See test_crash."""

import asyncio
import sys

from stretto.store.sqlite import Store
from stretto.types.enums import Durability, RunStatus
from tests.unit.record.generated import a_step, an_effect, an_open_run, raw


def say(*words: str) -> None:
    sys.stdout.write(" ".join(words) + "\n")
    sys.stdout.flush()


async def one_run(store: Store) -> None:
    run = an_open_run(input=raw({"text": "x" * 5000}))
    journal = await store.open(run, Durability.STEP)
    say("opened", run.id)
    for number in range(4):
        run.steps.append(step := a_step(f"step{number}"))
        journal.step(step)
    effect = an_effect(run.id)
    await journal.intent(effect)
    say("intended", run.id)
    effect.receipt, effect.received_at_ns = raw({"ok": True}), 9
    await journal.receipt(effect)
    say("received", run.id)
    run.status = RunStatus.OK
    await journal.seal(run)
    say("sealed", run.id)


async def main(path: str) -> None:
    store = Store(path)

    async def work() -> None:
        while True:
            await one_run(store)

    await asyncio.gather(*(work() for _ in range(8)))


asyncio.run(main(sys.argv[1]))

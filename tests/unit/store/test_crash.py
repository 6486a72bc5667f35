import random
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from stretto.store.sqlite import Store
from stretto.types.enums import Durability, RunStatus
from stretto.types.errors import UsageError
from tests.unit.record.generated import a_run
from tests.unit.store.test_journal import record

VICTIM = Path(__file__).with_name("victim.py")


def start(path: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", f"import runpy, sys; runpy.run_path({str(VICTIM)!r})", str(path)],
        stdout=subprocess.PIPE,
        text=True,
    )


def kill_after(process: "subprocess.Popen[str]", lines: int) -> dict[str, set[str]]:
    """Read so many acknowledgements, kill the process, and return what it said until then by kind."""
    assert process.stdout is not None
    said: dict[str, set[str]] = defaultdict(set)
    for number, line in enumerate(process.stdout):
        if not line.endswith("\n"):
            break
        kind, run_id = line.split()
        said[kind].add(run_id)
        if number == lines:
            process.kill()
    process.wait()
    process.stdout.close()
    return said


def check(path: Path, said: dict[str, set[str]]) -> None:
    """Nothing that was acknowledged is missing, and nothing is called ended that did not end."""
    with Store(path) as store:
        stats = store.stats()
        assert stats.lost == 0
        ended = {run.id for run in store.list(status=RunStatus.OK)}
        pending = {run.id for run in store.pending()}
        assert said["sealed"] <= ended
        assert said["opened"] <= ended | pending
        assert not ended & pending
        for run_id in said["intended"]:
            run, (effect,) = store.get(run_id), store.effects(run_id)
            assert len(run.steps) == 4  # an intent commits every step before it
            assert not (run_id in said["received"] and effect.in_doubt)
        for effect in store.in_doubt():
            assert effect.run_id in pending
        for run in store.runs():
            assert len(run.steps) == 4
            assert len(bytes(run.input)) > 5000


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_a_killed_process_loses_nothing_that_was_acknowledged(path: Path, seed: int) -> None:
    said = kill_after(start(path), random.Random(seed).randint(1, 400))
    assert said["opened"]
    check(path, said)


@pytest.mark.slow
def test_two_processes_write_one_new_store_at_once(path: Path) -> None:
    one, two = start(path), start(path)
    said = [kill_after(process, 400) for process in (one, two)]
    check(path, {kind: said[0][kind] | said[1][kind] for kind in ("opened", "intended", "received", "sealed")})


@pytest.mark.slow
async def test_what_a_killed_process_left_is_claimed_and_ended_by_another(path: Path) -> None:
    kill_after(start(path), 50)
    with Store(path) as store:
        left = [run.id for run in store.pending()]
        assert left
        for run_id in left:
            claim = store.claim(run_id)
            claim.run.status = RunStatus.FAILED
            await claim.journal.seal(claim.run)
            with pytest.raises(UsageError):
                store.claim(run_id)
        assert store.pending() == []
        await record(store, a_run(), Durability.STEP)


FORGETFUL = """
import asyncio, sys
from stretto.store.sqlite import Store
from stretto.types.enums import Durability
from tests.unit.record.generated import a_run

async def main():
    store = Store(sys.argv[1])
    for _ in range(100):
        run = a_run()
        await (await store.open(run, Durability.NONE)).seal(run)

asyncio.run(main())
"""


def test_a_program_that_ends_without_closing_its_store_loses_nothing(path: Path) -> None:
    subprocess.run([sys.executable, "-W", "error", "-c", FORGETFUL, str(path)], check=True)
    with Store(path) as store:
        assert (store.stats().runs, store.stats().lost) == (100, 0)

"""A probe may hang, raise and tell nonsense: what it told last stays, marked stale, and nobody waits for it."""

import asyncio
import logging
import math
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from stretto.probes.live import LiveResources
from stretto.probes.probe import ProbeError
from stretto.spec.resources_model import ProbeSpec, ResourcesSpec
from stretto.spec.source import Source as File, Span
from stretto.testing import run_virtual
from tests.unit.probes.probes import SECOND, Scripted, deaf, for_ever, live, source

SPAN = Span(File("workflow.yaml", "resources"), 0, 9)


async def elapsed(resources: LiveResources, seconds: float) -> dict[str, Any]:
    await asyncio.sleep(seconds)
    return resources.read({})


def raising(error: Exception) -> Any:
    def say() -> Any:
        raise error

    return say


def test_values_are_there_once_it_is_open_and_are_read_again_at_their_pace() -> None:
    async def main() -> None:
        load = iter(range(100))
        probe = Scripted("cpu_load_percent", say=lambda: {"cpu_load_percent": next(load)})
        resources = live(source(probe))
        await resources.open()
        assert resources.read({})["cpu_load_percent"] == 0
        assert (await elapsed(resources, 3.5))["cpu_load_percent"] == 3
        assert resources.read({})["age_ms"] == {"host": 500.0}
        assert resources.read({})["stale"] == []
        await resources.close()
        await asyncio.sleep(10)
        assert (probe.asked, probe.closed) == (4, 1)

    run_virtual(main())


def test_before_the_first_reading_values_are_null_and_stale_or_what_is_assumed() -> None:
    probe = Scripted("cpu_load_percent", "memory_free_bytes", say=dict)
    told = live(source(probe), cpu_load_percent=50).read({})
    assert told == {
        "cpu_load_percent": 50,
        "memory_free_bytes": None,
        "stale": ["cpu_load_percent", "memory_free_bytes"],
        "age_ms": {"host": None},
    }


@pytest.mark.parametrize(
    ("say", "why"),
    [
        (for_ever, "it took longer than 500ms"),
        (deaf, "it took longer than 500ms"),
        (raising(ProbeError("no route")), "no route"),
        (raising(OSError("no such file")), "OSError: no such file"),
        (lambda: {"cpu_load_percent": math.nan}, "cpu_load_percent: nan is not finite"),
        (lambda: {"cpu_load_percent": math.inf}, "cpu_load_percent: inf is not finite"),
        (lambda: {"cpu_load_percent": 10**400}, "cpu_load_percent: it is too large"),
        (lambda: {"cpu_load_percent": 1e300}, "cpu_load_percent: 1e+300 is too large"),
        (lambda: {"cpu_load_percent": -1}, "cpu_load_percent: -1 is below 0"),
        (lambda: {"cpu_load_percent": 101}, "cpu_load_percent: 101 is above 100"),
        (lambda: {"cpu_load_percent": "much"}, "cpu_load_percent: 'much' is no number"),
        (lambda: {"cpu_load_percent": True}, "cpu_load_percent: True is no number"),
        (lambda: "much", "it told 'much', and no values by name"),
        (lambda: [1], "it told [1], and no values by name"),
    ],
)
def test_a_probe_that_fails_leaves_its_last_values_and_is_told_of_once(
    say: Any, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        bad = Scripted("cpu_load_percent", say=lambda: {"cpu_load_percent": 7})
        good = Scripted("gpu_count", say=lambda: {"gpu_count": good.asked})
        resources = live(source(bad), source(good, "gpu"))
        await resources.open()
        bad.say = say
        told = await elapsed(resources, 4.2)
        assert (told["cpu_load_percent"], told["stale"]) == (7.0, ["cpu_load_percent"])
        assert told["gpu_count"] == good.asked == 5, "the other probe goes on"
        assert told["age_ms"]["host"] == 4200
        bad.say = lambda: {"cpu_load_percent": 8}
        if say is not deaf:  # which holds the probe for ever
            told = await elapsed(resources, 2)
            assert (told["cpu_load_percent"], told["stale"]) == (8.0, [])
        await resources.close()

    caplog.set_level(logging.INFO, "stretto")
    run_virtual(main())
    began = [record.message for record in caplog.records if "fails" in record.message]
    assert len(began) == 1
    assert began[0] == f"the probe 'host' fails, so its last values stay and are marked stale: {why}"
    assert len([record for record in caplog.records if "tells again" in record.message]) == (say is not deaf)


def test_of_a_reading_with_one_nonsense_the_rest_is_taken() -> None:
    async def main() -> None:
        said: dict[str, Any] = {"cpu_load_percent": 1, "memory_free_bytes": 10}
        resources = live(source(Scripted("cpu_load_percent", "memory_free_bytes", say=lambda: said)))
        await resources.open()
        said |= {"cpu_load_percent": math.nan, "memory_free_bytes": 20}
        told = await elapsed(resources, 1.5)
        assert (told["cpu_load_percent"], told["memory_free_bytes"]) == (1.0, 20)
        assert told["stale"] == ["cpu_load_percent"]
        await resources.close()

    run_virtual(main())


def test_what_the_machine_does_not_have_is_null_and_not_stale() -> None:
    async def main() -> None:
        resources = live(source(Scripted("gpu_count", "gpu_free_bytes", say=lambda: {"gpu_count": 0})))
        await resources.open()
        told = resources.read({})
        assert (told["gpu_count"], told["gpu_free_bytes"], told["stale"]) == (0, None, [])
        await resources.close()

    run_virtual(main())


def test_opening_waits_no_longer_than_a_reading_may_take() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        one, other = Scripted("gpu_count", say=deaf), Scripted("cpu_load_percent", say=for_ever)
        resources = live(source(one, "gpu"), source(other))
        await resources.open()
        assert loop.time() == 0.5
        await resources.close()

    run_virtual(main())


def test_an_old_value_is_stale_though_nothing_failed() -> None:
    async def main() -> None:
        resources = live(source(Scripted("gpu_count", say=lambda: {"gpu_count": 1}), every=60 * SECOND))
        await resources.open()
        assert (await elapsed(resources, 4))["stale"] == []
        assert (await elapsed(resources, 2))["stale"] == ["gpu_count"]
        await resources.close()

    run_virtual(main())


def test_what_the_caller_gives_stands_over_the_probes_and_is_never_stale() -> None:
    resources = live(source(Scripted("cpu_load_percent", "gpu_count", say=dict)))
    told = resources.read({"cpu_load_percent": 3, "region": "eu"})
    assert (told["cpu_load_percent"], told["region"], told["stale"]) == (3, "eu", ["gpu_count"])


def test_servers_are_told_apart_and_together() -> None:
    async def main() -> None:
        one = Scripted("queue_length", "running", "cache_used_percent",
                       say=lambda: {"queue_length": 3, "running": 8, "cache_used_percent": 20.0})  # fmt: skip
        two = Scripted("queue_length", "running", "cache_used_percent",
                       say=lambda: {"queue_length": 4, "running": 8, "cache_used_percent": 90.0})  # fmt: skip
        resources = live(source(one, "models.one"), source(two, "models.two"))
        await resources.open()
        told: dict[str, Any] = resources.read({})
        assert told["models"]["two"] == {"queue_length": 4, "running": 8, "cache_used_percent": 90.0}
        assert (told["gpu_queue_length"], told["gpu_running"], told["gpu_cache_used_percent"]) == (7, 16, 90.0)
        assert told["age_ms"] == {"models": {"one": 0.0, "two": 0.0}}
        two.say = raising(ProbeError("down"))
        told = await elapsed(resources, 1.2)
        assert (told["gpu_queue_length"], told["models"]["two"]["queue_length"]) == (7, 4)
        assert told["stale"] == [
            *("models.two.queue_length", "models.two.running", "models.two.cache_used_percent"),
            *("gpu_queue_length", "gpu_running", "gpu_cache_used_percent"),
        ]
        await resources.close()

    run_virtual(main())


def test_what_was_read_is_never_changed_afterwards() -> None:
    async def main() -> None:
        load = iter(range(100))
        resources = live(source(Scripted("cpu_load_percent", say=lambda: {"cpu_load_percent": next(load)})))
        await resources.open()
        before = resources.read({})
        await asyncio.sleep(3)
        assert before["cpu_load_percent"] == 0
        await resources.close()

    run_virtual(main())


def test_a_loop_that_stood_still_catches_up_with_what_is_overdue_alone() -> None:
    async def main() -> None:
        quick = Scripted("cpu_load_percent", say=lambda: {"cpu_load_percent": 1})
        slow = Scripted("gpu_count", say=lambda: {"gpu_count": 1})
        resources = live(source(quick), source(slow, "gpu", every=4 * SECOND))
        await resources.open()
        await resources.catch_up()
        assert (quick.asked, slow.asked) == (1, 1)
        await asyncio.sleep(0.9)
        for keeper in resources._keepers:  # as when the event loop does not run
            keeper.cancel()
        await asyncio.sleep(1.5)
        await resources.catch_up()
        assert (quick.asked, slow.asked) == (2, 1)
        await resources.close()

    run_virtual(main())


async def refused() -> None:
    raise ProbeError("the driver is gone")


@pytest.mark.parametrize(("closing", "why"), [(refused, "the driver is gone"), (deaf, "it took longer than 500ms")])
def test_a_probe_that_does_not_close_is_told_of_and_keeps_nobody_waiting(
    closing: Callable[[], Any], why: str, caplog: pytest.LogCaptureFixture
) -> None:
    class Stuck(Scripted):
        async def close(self) -> None:
            await closing()

    async def main() -> float:
        other = Scripted("cpu_load_percent", say=dict)
        resources = live(source(Stuck("gpu_count", say=dict), "gpu"), source(other))
        await resources.open()
        began = asyncio.get_running_loop().time()
        await resources.close()
        assert other.closed == 1
        return asyncio.get_running_loop().time() - began

    assert run_virtual(main()) <= 0.5
    assert f"'gpu' does not let go of what it holds, and is left behind: {why}" in caplog.text


def test_it_may_be_opened_again_in_another_event_loop() -> None:
    probe = Scripted("gpu_count", say=lambda: {"gpu_count": probe.asked})
    resources = live(source(probe))

    async def once() -> int:
        await resources.open()
        told: int = (await elapsed(resources, 1.5))["gpu_count"]
        await resources.close()
        return told

    assert run_virtual(once()) == 2
    assert run_virtual(once()) == 4


def counting() -> Scripted:
    load = iter(range(1000))
    return Scripted("cpu_load_percent", say=lambda: {"cpu_load_percent": next(load)})


def figures(*, stale_after: timedelta = 5 * SECOND, **host: timedelta) -> ResourcesSpec:
    return ResourcesSpec(span=SPAN, host=ProbeSpec(**host), stale_after=stale_after)


class TestRetuned:
    def test_a_shorter_pace_does_not_wait_for_the_end_of_a_longer_one(self) -> None:
        async def main() -> list[int]:
            resources = live(source(probe := counting(), every=100 * SECOND))
            await resources.open()
            asked = []
            for every_s in (2, 50, 1):
                await asyncio.sleep(10)
                resources.retune(figures(every=every_s * SECOND))
                await asyncio.sleep(10.5)
                asked.append(probe.asked)
            await resources.close()
            return asked

        assert run_virtual(main()) == [1 + 6, 7 + 5, 12 + 11]

    def test_it_is_told_from_another_thread(self) -> None:
        async def main() -> int:
            resources = live(source(probe := counting(), every=3600 * SECOND))
            await resources.open()
            told = threading.Thread(target=resources.retune, args=[figures(every=SECOND)])
            told.start()
            told.join()
            await asyncio.sleep(2.5)
            await resources.close()
            return probe.asked

        assert run_virtual(main()) == 3

    def test_what_is_stale_is_told_by_the_age_that_is_set_now(self) -> None:
        async def main() -> tuple[object, object]:
            resources = live(source(counting(), every=100 * SECOND))
            await resources.open()
            before = await elapsed(resources, 3)
            resources.retune(figures(every=100 * SECOND, stale_after=2 * SECOND))
            after = resources.read({})
            await resources.close()
            return before["stale"], after["stale"]

        assert run_virtual(main()) == ([], ["cpu_load_percent"])

    def test_a_reading_may_take_longer(self) -> None:
        async def late() -> dict[str, int]:
            await asyncio.sleep(0.8)
            return {"cpu_load_percent": 7}

        async def main() -> tuple[object, object]:
            resources = live(source(Scripted("cpu_load_percent", say=late), timeout=SECOND / 2))
            await resources.open()
            before = resources.read({})["cpu_load_percent"]
            resources.retune(figures(timeout=SECOND * 0.9))
            after = (await elapsed(resources, 4))["cpu_load_percent"]
            await resources.close()
            return before, after

        assert run_virtual(main()) == (None, 7)

    def test_after_its_event_loop_has_ended_it_is_no_trouble(self) -> None:
        resources = live(source(counting()))
        run_virtual(resources.open())
        resources.retune(figures(every=2 * SECOND))
        run_virtual(resources.open())
        assert resources.sources[0].every_s == 2

"""A virtual clock beside threads, which know real time only."""

import asyncio
import threading

from stretto.testing import run_virtual


def test_a_thread_that_still_works_at_the_end_is_waited_for_in_real_time() -> None:
    ended = threading.Event()
    left = threading.Timer(0.05, ended.set)

    async def main() -> float:
        left.start()
        loop = asyncio.get_running_loop()
        loop.run_in_executor(None, ended.wait)
        await asyncio.sleep(3600)
        return loop.time()

    assert run_virtual(main()) == 3600.0
    assert ended.is_set()

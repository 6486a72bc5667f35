"""What Ctrl-C means is the same after a command as before it."""

import asyncio
import signal
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from stretto.cli.stopping import run_async, stopping_told


async def ends() -> None:
    with stopping_told():
        await asyncio.sleep(0)


async def exits_in_a_task() -> None:
    async def leave() -> None:
        raise SystemExit(3)

    with stopping_told():
        task = asyncio.ensure_future(leave())
        await asyncio.sleep(10)
        await task


async def is_interrupted_twice() -> None:
    with stopping_told():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        await asyncio.sleep(10)


@pytest.mark.parametrize(
    ("work", "raises"), [(ends, None), (exits_in_a_task, SystemExit), (is_interrupted_twice, KeyboardInterrupt)]
)
def test_the_signal_is_as_it_was(
    work: Callable[[], Coroutine[Any, Any, None]], raises: type[BaseException] | None
) -> None:
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if raises is None:
        run_async(work())
    else:
        with pytest.raises(raises):
            run_async(work())
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler

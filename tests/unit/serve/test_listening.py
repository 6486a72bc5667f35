"""The socket that a server listens at."""

import asyncio
import socket
from itertools import pairwise

import pytest

from stretto.serve.listening import address_of, fast_loop, listen
from stretto.types.errors import UsageError


def test_an_answer_is_not_held_back_for_the_next() -> None:
    """asyncio turns Nagle's algorithm off where the protocol is named; else each answer waits 40 ms for an ACK."""
    with listen("127.0.0.1", 0) as listening:
        assert listening.proto == socket.IPPROTO_TCP


def test_the_address_is_one_that_a_client_can_use() -> None:
    with listen("127.0.0.1", 0) as listening:
        assert address_of(listening) == f"http://127.0.0.1:{listening.getsockname()[1]}"


def test_a_port_that_is_taken_is_told() -> None:
    with (
        listen("127.0.0.1", 0) as listening,
        pytest.raises(UsageError, match=r"cannot listen at .*: Address already in use; name another"),
    ):
        listen("127.0.0.1", listening.getsockname()[1])


def test_the_loop_of_a_server_has_a_fine_clock_and_timers_that_keep_to_it() -> None:
    async def main() -> tuple[float, float]:
        loop = asyncio.get_running_loop()
        read = [loop.time() for _ in range(1000)]
        least = min(after - before for before, after in pairwise(read) if after > before)
        rung = loop.create_future()
        loop.call_at(loop.time() + 0.02, lambda: rung.set_result(loop.time()))
        at = loop.time() + 0.02
        return least, await rung - at

    with asyncio.Runner(loop_factory=fast_loop()) as runner:
        least, late = runner.run(main())
    assert least < 0.0001
    assert late > -0.001  # a timer of whole milliseconds

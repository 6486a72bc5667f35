"""The socket that a server listens at."""

import socket

import pytest

from stretto.serve.listening import address_of, listen
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

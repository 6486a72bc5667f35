"""Why a connection could not be made, in the system's words."""

import errno

import pytest

from stretto.types.os_error import reason_of


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (OSError(errno.ECONNREFUSED, "Connect call failed ('127.0.0.1', 9)"), "Connection refused"),
        (OSError(-2, "Name or service not known"), "Name or service not known"),
        (OSError("Multiple exceptions: a, b"), "Multiple exceptions: a, b"),
        (OSError(), "OSError"),
    ],
)
def test_it_is_told_without_numbers_and_addresses(error: OSError, told: str) -> None:
    assert reason_of(error) == told

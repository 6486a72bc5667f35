"""Every code has a status, and the status of each means that code or one beside it."""

import pytest

from stretto.types.errors import RETRYABLE_CODES, Code
from stretto.types.http_status import STATUSES, code_of


def test_every_code_has_a_status_of_failure() -> None:
    assert set(STATUSES) == set(Code)
    assert all(400 <= status < 600 for status in STATUSES.values())


@pytest.mark.parametrize("code", [c for c in Code if c in RETRYABLE_CODES and c is not Code.UNKNOWN])
def test_what_may_succeed_later_still_may_when_only_its_status_came(code: Code) -> None:
    assert code_of(STATUSES[code]) in RETRYABLE_CODES


@pytest.mark.parametrize(
    ("status", "code"),
    [(404, Code.NOT_FOUND), (418, Code.INVALID_ARGUMENT), (529, Code.UNAVAILABLE), (307, Code.INVALID_ARGUMENT)],
)
def test_a_status_that_no_code_has_is_the_callers_fault_below_500_and_passing_above(status: int, code: Code) -> None:
    assert code_of(status) is code

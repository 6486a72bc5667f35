"""The first row is checked, and then one in so many."""

from stretto.acp.projection import Verdict
from stretto.learn.differentiable.remote_check import PATIENCE, Checking


def test_the_first_row_is_checked_and_then_one_in_so_many() -> None:
    checking = Checking(every=4)
    assert [checking.is_due() for _ in range(9)] == [True, *[False] * 3] * 2 + [True]
    assert not Checking(every=0).is_due()


def test_after_a_row_that_tells_nothing_the_next_is_checked() -> None:
    checking = Checking(every=64)
    asked = 0
    for _ in range(10):
        if checking.is_due():
            checking.note(Verdict.UNCLEAR)
            asked += 1
    assert asked == PATIENCE

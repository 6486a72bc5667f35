"""What is known of a call, and that it is forgotten with its run."""

import gc
from collections.abc import Callable

import pytest

from stretto.engine.state import RunState
from stretto.record.model import Run
from stretto.types.errors import Code, ComponentError
from tests.unit.engine.plans import Probe, S, call, deaf, each, linear, run, sleeping
from tests.unit.engine.test_hedge import Replicas, shop, timed


def down() -> ComponentError:
    """One of its own for each: an error holds on to the frames that it last came through."""
    return ComponentError("down", Code.UNAVAILABLE)


def one_side_by_side_fails() -> Run:
    """Of three, while the others are at work: it ends them."""
    return run(linear(each(call(Replicas(1.0, 2.0, 3.0, errors={1: down()}).probe, S + 3))), {"items": [1, 2, 3]})


def all_are_late() -> Run:
    return run(linear(each(call(sleeping("one", 9.0), S + 3, timeout_s=1.0))), {"items": [1, 2]})


def all_ignore_that_they_are_stopped() -> Run:
    return run(linear(each(call(Probe("one", deaf), S + 3, timeout_s=1.0))), {"items": [1, 2]})


def a_copy_fails() -> Run:
    """The call that was hedged answers all the same."""
    return timed(shop(Replicas(3.0, 0.5, errors={2: down()})))[0]


def a_copy_is_overtaken() -> Run:
    return timed(shop(Replicas(3.0, 9.0)))[0]


def a_call_and_its_copy_fail() -> Run:
    return timed(shop(Replicas(3.0, 0.5, errors={1: down(), 2: down()})))[0]


@pytest.mark.parametrize(
    "make",
    [
        one_side_by_side_fails,
        all_are_late,
        all_ignore_that_they_are_stopped,
        a_copy_fails,
        a_copy_is_overtaken,
        a_call_and_its_copy_fail,
    ],
)
def test_nothing_is_left_of_a_run_whose_tasks_were_stopped(make: Callable[[], Run]) -> None:
    """Each task keeps what was raised in it, and so the frames in which its call stands."""
    before = states()
    make()
    assert states() == before


def states() -> int:
    """How many runs the process remembers."""
    gc.collect()
    return sum(type(each) is RunState for each in gc.get_objects())

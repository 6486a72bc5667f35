"""What the demo compares with: baselines, and a teacher that knows the gold calls."""

from typing import cast

import demo
import pytest
from world import ACTIONS, END, TRANSFER

import stretto
from stretto.testing.request import request_for

POLICY = stretto.SoftmaxPolicy("planner", ACTIONS, about="about", prior={END: -2.0})


def test_the_splits_are_the_benchmarks_own_and_share_nobody() -> None:
    train, test = demo.tasks("train"), demo.tasks("test")
    assert (len(train), len(test)) == (74, 40)
    assert {task.name for task in train}.isdisjoint(task.name for task in test)
    assert sum(not demo.has_writes(task.name) for task in test) == 4


def test_no_input_shows_what_is_right() -> None:
    assert all(set(task.input) == {"words"} for task in demo.tasks("train"))


@pytest.mark.parametrize(
    ("left", "available", "chosen", "left_after"),
    [
        ([], [END], END, []),
        (["get_order_details"], ["get_order_details", END], "get_order_details", []),
        (["cancel_pending_order"], ["find_user_id_by_email", END], "find_user_id_by_email", ["cancel_pending_order"]),
        (["cancel_pending_order", TRANSFER], [TRANSFER, END], TRANSFER, []),
        (["cancel_pending_order"], [END, "calculate"], END, []),
    ],
)
def test_the_teacher_follows_the_gold_calls_and_reads_what_they_need(
    left: list[str], available: list[str], chosen: str, left_after: list[str]
) -> None:
    assert demo.next_taught(left, available) == chosen
    assert left == left_after


async def choice(policy: stretto.SoftmaxPolicy, available: list[str]) -> str:
    response = await policy(request_for(words="hello", state={}, available=available))
    return cast("dict[str, str]", response.output)["action"]


async def test_one_baseline_ends_at_once() -> None:
    assert await choice(demo.nothing(POLICY), list(ACTIONS)) == END


async def test_one_baseline_calls_the_commonest_tool_while_it_can_and_then_ends() -> None:
    assert demo.commonest_tools()[0] == "get_order_details"
    assert await choice(demo.majority(POLICY), list(ACTIONS)) == "get_order_details"
    assert await choice(demo.majority(POLICY), ["get_user_details", END]) == END


async def test_one_baseline_calls_the_commonest_tool_that_it_can_and_hands_nobody_over() -> None:
    policy = demo.commonest_available(POLICY)
    assert await choice(policy, list(ACTIONS)) == "get_order_details"
    assert await choice(policy, ["calculate", "return_delivered_order_items", END]) == "return_delivered_order_items"
    assert await choice(policy, [TRANSFER, "soothe", END]) == END


def test_the_baselines_learn_and_explore_nothing() -> None:
    assert not demo.nothing(POLICY).options.sample
    assert not demo.majority(POLICY).options.sample
    assert not demo.commonest_available(POLICY).options.sample

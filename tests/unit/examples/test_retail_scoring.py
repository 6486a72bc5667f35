"""Conversations judged against gold, on the benchmark's own database."""

from typing import Any

import pytest
from scoring import Call, Score, calls_of, gold_of, reference_of, score
from shop import Shop
from world import TRANSFER, Action, Split, Task, tasks_of

from tests.unit.examples.desk import task


def perfect_calls(customer: Task) -> list[Call]:
    """The gold writes, as the shop answers them."""
    shop = Shop()
    return [Call(write, shop.call(write).ok) for write in customer.writes]


def judged(customer: Task, calls: list[Call]) -> Score:
    return score(calls, gold(customer))


def gold(customer: Task) -> tuple[Action, ...]:
    found = gold_of(reference_of(customer))
    assert found is not None
    return found


@pytest.mark.parametrize("split", Split)
def test_gold_writes_alone_are_perfect_for_every_customer(split: Split) -> None:
    for customer in tasks_of(split):
        made = judged(customer, perfect_calls(customer))
        assert (made.right, made.wrong, made.database) == (made.gold, 0, True), customer.id


def test_doing_nothing_matches_nothing() -> None:
    made = judged(task("0"), [])
    assert (made.matched, made.unwanted, made.database, made.api_success, made.calls) == (0.0, 0.0, False, 0.0, 0)


def test_a_customer_with_nothing_to_change_leaves_the_share_unknown() -> None:
    made = judged(task("24"), [])
    assert made.matched is None
    assert made.database


def test_items_may_come_in_any_order() -> None:
    customer = task("0")
    (write,) = customer.writes
    arguments: dict[str, Any] = dict(write.arguments)
    arguments |= {key: arguments[key][::-1] for key in ("item_ids", "new_item_ids")}
    made = judged(customer, [Call(Action(tool=write.tool, arguments=arguments), True)])
    assert made.matched == 1.0
    assert made.database


def test_items_that_become_other_variants_do_not_match() -> None:
    customer = task("105")  # two kettles of one kind become two others
    (write,) = customer.writes
    new: Any = write.arguments["new_item_ids"]
    swapped = Action(tool=write.tool, arguments={**write.arguments, "new_item_ids": [new[0]] * 2})
    assert judged(customer, [Call(swapped, False)]).matched == 0.0


def test_a_gold_write_that_the_shop_refuses_counts_when_it_was_tried() -> None:
    customer = task("105")
    assert [call.ok for call in perfect_calls(customer)] == [False]
    assert judged(customer, perfect_calls(customer)).matched == 1.0


def test_a_right_write_made_twice_counts_once() -> None:
    customer = task("113")
    calls = perfect_calls(customer)
    assert judged(customer, [*calls, Call(calls[0].action, False)]).right == 2


def test_a_wrong_write_spoils_the_database_and_is_counted() -> None:
    customer = task("113")
    extra = Action(tool="cancel_pending_order", arguments={"order_id": "#W5199551", "reason": "no longer needed"})
    made = judged(customer, [*perfect_calls(customer), Call(extra, True)])
    assert (made.matched, made.unwanted, made.database) == (1.0, 0.5, False)


def test_a_hand_over_is_unwanted_unless_gold_hands_over() -> None:
    hand_over = Call(Action(tool=TRANSFER, arguments={"summary": "help"}), True)
    assert judged(task("0"), [hand_over]).wrong == 1
    assert judged(task("10"), [hand_over]).wrong == 0


def test_refused_calls_lower_the_success_of_the_api() -> None:
    read = Action(tool="get_order_details", arguments={"order_id": "#W1"})
    made = judged(task("0"), [Call(read, False), *perfect_calls(task("0"))])
    assert (made.calls, made.failed, made.api_success) == (2, 1, 0.5)


def test_a_reference_holds_what_changes_something_and_nothing_else() -> None:
    tools = [action.tool for action in gold(task("0"))]
    assert tools == ["exchange_delivered_order_items"]


def test_no_reference_is_not_one_that_asks_for_nothing() -> None:
    assert gold_of(None) is None
    assert gold_of({"actions": []}) == ()


@pytest.mark.parametrize("split", Split)
def test_every_customer_has_a_reference(split: Split) -> None:
    assert all(gold_of(reference_of(customer)) is not None for customer in tasks_of(split))


def test_the_call_log_is_read_as_the_server_writes_it() -> None:
    log = [
        {
            "tau2_tool_call": {"id": "1", "name": "get_user_details", "arguments": {"user_id": "u"}},
            "tau2_tool_message": {"id": "1", "content": "Error: User not found", "error": True},
        }
    ]
    assert calls_of(log) == [Call(Action(tool="get_user_details", arguments={"user_id": "u"}), False)]


def test_calls_leave_the_shared_database_as_it_was() -> None:
    customer = task("16")
    perfect_calls(customer)
    again = perfect_calls(customer)
    assert all(call.ok for call in again)

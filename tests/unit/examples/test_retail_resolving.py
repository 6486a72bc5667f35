"""Arguments that are resolved for the benchmark's training customers; test customers are never looked at."""

import copy

import facts as knowledge
import pytest
from resolving.resolve import RESOLVERS, resolve
from scoring import key_of
from world import ACTIONS, TRANSFER, Action, Split, tasks_of

from tests.unit.examples.desk import Desk, task

SERVED = {
    "0": "a second wish when the first is not to be had",
    "1": "a thing given up when the first wish is not to be had",
    "2": "three things named by half their names",
    "3": "small shirts by their letter, with a preference for a material",
    "4": "all pending things of one type, in two orders",
    "6": "less bright, with an order of preferences, and only this in the end",
    "11": "everything, each order to its own payment",
    "13": "everything except two things",
    "15": "an option that does not matter",
    "16": "all pending orders, and one thing returned",
    "20": "the dearest variant of everything, the shoe in the same size",
    "22": "an address and back again",
    "30": "a fallback from exchange to return, and the order of what went with it",
    "35": "preferences of two options, and the dearer of two things",
    "37": "the cheapest variant of whatever is not the cheapest yet",
    "41": "an address spelt out, and the easiest puzzle",
    "44": "the cheapest, paid by gift card",
    "46": "an order id without its letter, and which of two is meant",
    "52": "the maximum of an option",
    "58": "a measure that does not exist, then one that does",
    "66": "an order cancelled when a thing cannot become another",
    "72": "a change of mind about payment and things",
    "75": "options written as a dictionary",
    "76": "two orders cancelled for two reasons",
    "78": "the address of another order",
    "83": "the dearer of two, refunded as the shop allows",
    "87": "an address known by its city, for several orders and the profile",
    "88": "an order cancelled because no variant fits",
    "93": "which laptop is meant, told elsewhere",
    "95": "both laptops, in two orders",
    "96": "an order known by where it goes",
    "99": "a card known by its brand, and 1000 more pieces",
    "103": "things of one order, and one that came with another",
    "106": "one size smaller",
    "107": "500 pieces less",
    "109": "the address that another order was sent to",
    "112": "an item number, and a strap that stays",
    "113": "a reason told only when asked",
}
"""Customers by id, and what is hard about each."""


@pytest.mark.parametrize("task_id", SERVED, ids=lambda task_id: f"{task_id}: {SERVED[task_id]}")
def test_the_gold_writes_of_a_customer_are_resolved_exactly(task_id: str) -> None:
    customer = task(task_id)
    desk = Desk(customer.words).read_everything()
    made = [Action(tool=write.tool, arguments=desk.do(write.tool) or {}) for write in customer.writes]
    assert sorted(map(key_of, made)) == sorted(map(key_of, customer.writes))


def test_nine_in_ten_gold_writes_of_the_training_customers_are_resolved_exactly() -> None:
    gold = right = 0
    for customer in tasks_of(Split.TRAIN):
        desk = Desk(customer.words).read_everything()
        left = [key_of(write) for write in customer.writes]
        gold += len(left)
        for write in customer.writes:
            made = key_of(Action(tool=write.tool, arguments=desk.do(write.tool) or {}))
            if made in left:
                left.remove(made)
                right += 1
    assert right / gold >= 0.9


def test_each_action_has_a_resolver() -> None:
    assert tuple(RESOLVERS) != ()
    assert set(RESOLVERS) == set(ACTIONS)


def test_the_customer_is_found_by_the_next_email_when_the_first_is_unknown() -> None:
    desk = Desk(task("54").words)
    tried = [desk.do("find_user_id_by_email"), desk.do("find_user_id_by_email")]
    assert tried == [{"email": "silva7872@example.com"}, {"email": "amelia.silva7872@example.com"}]
    assert desk.facts["user_id"] == "amelia_silva_7726"


def test_a_customer_who_is_known_is_not_looked_for_again() -> None:
    desk = Desk(task("0").words)
    assert desk.do("find_user_id_by_name_zip") == {"first_name": "Yusuf", "last_name": "Rossi", "zip": "19122"}
    assert desk.resolved("find_user_id_by_name_zip") == {"missing": "the customer is known already"}


def test_orders_named_in_the_words_are_read_first() -> None:
    assert Desk(task("59").words).do("get_order_details") == {"order_id": "#W2702727"}


def test_nothing_is_returned_before_an_order_is_known() -> None:
    missing = Desk(task("73").words).resolved("return_delivered_order_items")
    assert missing == {"missing": "no delivered order known holds a thing to return"}


def test_a_thing_changes_only_when_its_variants_are_known() -> None:
    desk = Desk(task("85").words)
    for tool in ("find_user_id_by_email", "get_user_details"):
        desk.do(tool)
    while desk.do("get_order_details") is not None:
        pass
    missing = desk.resolved("modify_pending_order_items")
    assert missing == {"missing": "the variants of Fleece Jacket are not known"}


def test_what_the_customer_does_not_ask_for_is_a_guess() -> None:
    desk = Desk(task("2").words).read_everything()
    assert desk.resolved("return_delivered_order_items")["basis"] == "stated"
    assert desk.resolved("exchange_delivered_order_items").get("basis", "guessed") == "guessed"


def test_an_email_address_is_no_address() -> None:
    desk = Desk(task("2").words).read_everything()
    assert desk.resolved("modify_user_address") == {"missing": "the words speak of no address"}


def test_a_customer_is_soothed_once_and_again_only_after_a_refusal() -> None:
    desk = Desk("You are angry.")
    assert desk.resolved("soothe") == {"arguments": {}, "basis": "stated"}
    desk.facts = knowledge.learn(desk.facts, "soothe", {}, None, ok=True)
    assert "missing" in desk.resolved("soothe")
    desk.facts = knowledge.learn(desk.facts, "get_item_details", {"item_id": "1"}, "Error: Item not found", ok=False)
    assert "arguments" in desk.resolved("soothe")


def test_a_hand_over_is_told_what_the_customer_said() -> None:
    assert Desk("Undo my cancellation").resolved(TRANSFER)["arguments"] == {"summary": "undo my cancellation"}


def test_resolving_changes_nothing_that_it_is_given() -> None:
    desk = Desk(task("98").words).read_everything()
    before = copy.deepcopy(desk.facts)
    for action in ACTIONS:
        resolve(action, desk.words, desk.facts)
    assert desk.facts == before


def test_reading_more_orders_is_a_guess_once_everything_named_was_found() -> None:
    desk = Desk(task("44").words)  # wants the lamp of one order changed, and names the order
    for tool in ("find_user_id_by_name_zip", "get_user_details"):
        desk.do(tool)
    assert desk.resolved("get_order_details") == {"arguments": {"order_id": "#W9300146"}, "basis": "stated"}
    desk.do("get_order_details")
    assert desk.resolved("get_order_details")["basis"] == "guessed"

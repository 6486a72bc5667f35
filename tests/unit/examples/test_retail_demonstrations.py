"""Gold conversations as examples for a classifier."""

from typing import cast

from demonstrations import demonstrations
from world import END, TRANSFER, Split, tasks_of

from tests.unit.examples.desk import task


def test_a_demonstration_follows_the_gold_tools_and_ends() -> None:
    chosen = [choice for _, choice in demonstrations([task("0")])]
    assert chosen == [
        "find_user_id_by_name_zip",
        "get_order_details",
        "get_product_details",
        "get_product_details",
        "exchange_delivered_order_items",
        END,
    ]


def test_a_hand_over_ends_a_demonstration() -> None:
    assert [choice for _, choice in demonstrations([task("10")])][-1] == TRANSFER


def test_what_is_chosen_was_available() -> None:
    examples = list(demonstrations(tasks_of(Split.TRAIN)))
    assert len(examples) > 300
    assert all(choice in cast("list[str]", seen["available"]) for seen, choice in examples)

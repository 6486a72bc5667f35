"""What is kept of the shop's answers, and what the planner sees of it."""

from typing import Any, cast

import facts as knowledge
import orjson
from state import situation
from world import END, SOOTHE, TRANSFER

from tests.unit.examples.desk import Desk, task


def seen(desk: Desk) -> dict[str, Any]:
    return cast("dict[str, Any]", situation(desk.words, desk.facts))


def test_facts_are_json_and_stay_small() -> None:
    desk = Desk(task("54").words).read_everything()
    assert len(orjson.dumps(desk.facts)) < 16 * 1024


def test_learning_leaves_the_facts_before_as_they_were() -> None:
    before = knowledge.nothing()
    after = knowledge.learn(before, "find_user_id_by_email", {"email": "a@b.c"}, "someone", ok=True)
    assert before == knowledge.nothing()
    assert after["user_id"] == "someone"


def test_a_refused_call_is_remembered_and_teaches_nothing_else() -> None:
    after = knowledge.learn(knowledge.nothing(), "get_order_details", {"order_id": "#W1"}, "Error", ok=False)
    assert after["failed"] == [{"tool": "get_order_details", "arguments": {"order_id": "#W1"}}]
    assert after["orders"] == {}


def test_a_write_changes_what_is_known_of_its_order() -> None:
    desk = Desk(task("113").words).read_everything()
    arguments = desk.do("cancel_pending_order")
    assert arguments is not None
    assert desk.facts["orders"][arguments["order_id"]]["status"] == "cancelled"
    assert [done["tool"] for done in desk.facts["done"]] == ["cancel_pending_order"]


def test_the_end_and_a_hand_over_end_the_conversation() -> None:
    for action in (END, TRANSFER):
        assert knowledge.learn(knowledge.nothing(), action, {}, None, ok=True)["ended"]
    assert not knowledge.learn(knowledge.nothing(), SOOTHE, {}, None, ok=True)["ended"]


def test_only_what_can_be_resolved_is_available_and_the_end_always_is() -> None:
    desk = Desk(task("0").words)
    assert END in seen(desk)["available"]
    assert "find_user_id_by_name_zip" in seen(desk)["available"]
    assert "get_user_details" not in seen(desk)["available"]
    desk.do("find_user_id_by_name_zip")
    assert "get_user_details" in seen(desk)["available"]


def test_the_planner_is_told_what_is_asked_and_what_is_unread() -> None:
    desk = Desk(task("0").words)
    assert seen(desk)["state"]["customer"] == "unknown"
    assert not seen(desk)["state"]["any_asked"]
    assert seen(desk)["about"]["find_user_id_by_name_zip"] == {"read": "stated"}
    desk.read_everything()
    state, about = seen(desk)["state"], seen(desk)["about"]
    assert (state["customer"], state["any_asked"]) == ("profile", True)
    assert about["exchange_delivered_order_items"] == {"write": "stated"}
    assert about[END] == {END: "stated"}
    assert about.keys() == set(seen(desk)["available"])
    assert "get_order_details" not in about


def test_the_state_names_no_customer_and_no_order() -> None:
    state = orjson.dumps(seen(Desk(task("0").words).read_everything())["state"]).decode()
    assert "yusuf" not in state
    assert "#W" not in state

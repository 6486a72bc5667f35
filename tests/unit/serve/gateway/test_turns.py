"""Where a call stands among those of its run."""

from typing import Any

from stretto.serve.gateway.said import Messages
from stretto.serve.gateway.turns import Place, Turn, Turns

ONE: Any = {"role": "assistant", "content": "one"}
ASK: Any = {"role": "user", "content": "ask"}


def answer(turns: Turns, place: Place, said: Messages, message: Any = ONE) -> None:
    turns.answered(place, said, [(said.with_answer(message), Turn(place, said, {}, (None, None)))])


def test_a_call_that_failed_at_the_beginning_is_asked_again_on_its_branch() -> None:
    turns, said = Turns(), Messages([ASK])
    place = turns.place(said)
    turns.failed(place, said)
    assert turns.place(said).path == "agent[1]"
    assert turns.place(said).path == "agent-2[0]"  # while that one is under way


def test_a_call_that_failed_is_no_place_for_another_question() -> None:
    turns, said = Turns(), Messages([ASK])
    turns.failed(turns.place(said), said)
    assert turns.place(Messages([{"role": "user", "content": "other"}])).path == "agent-2[0]"


def test_the_longest_beginning_is_gone_on_with() -> None:
    turns, first = Turns(), Messages([ASK])
    answer(turns, turns.place(first), first)
    second = Messages([ASK, ONE, ASK])
    answer(turns, turns.place(second), second)
    place = turns.place(Messages([ASK, ONE, ASK, ONE, ASK]))
    assert (place.path, place.parent and place.parent.path) == ("agent[2]", "agent[1]")


def test_a_branch_that_leaves_another_has_its_agents_name() -> None:
    turns, first = Turns(), Messages([ASK])
    answer(turns, turns.place(first, "my-planner"), first)
    for expected in ("my-planner[1]", "my-planner-2[0]", "my-planner-3[0]"):
        assert turns.place(Messages([ASK, ONE, ASK])).path == expected
    assert turns.branches == 3


def test_a_call_that_failed_on_a_branch_of_its_own_is_asked_again_there() -> None:
    turns, first, second = Turns(), Messages([ASK]), Messages([ASK, ONE, ASK])
    answer(turns, turns.place(first), first)
    turns.place(second)  # under way
    turns.failed(turns.place(second), second)
    assert turns.place(second).path == "agent-2[1]"


def test_what_an_earlier_process_recorded_is_gone_on_with() -> None:
    turns, said = Turns(), Messages([ASK])
    answer(turns, turns.stood("planner-2[3]"), said)
    assert turns.place(Messages([ASK, ONE, ASK])).path == "planner-2[4]"
    assert turns.place(Messages([{"role": "user", "content": "x"}]), "planner").path == "planner[0]"

import threading
import time

import pytest

from stretto.store.inbox import BATCH_BYTES, Chore, Inbox, State


class Item:
    def __init__(self, name: str, size: int = 0) -> None:
        self.name = name
        self.size = size


def never() -> None:
    return None


def names(batch: list[Item]) -> list[str]:
    return [item.name for item in batch]


def test_everything_that_is_queued_is_one_batch_in_order() -> None:
    inbox: Inbox[Item] = Inbox()
    for name in "abc":
        inbox.put(Item(name), awaited=name == "c")
    assert names(inbox.take(never)) == ["a", "b", "c"]
    assert inbox.bytes == 0


def test_what_nobody_awaits_is_taken_after_a_lag() -> None:
    inbox: Inbox[Item] = Inbox()
    inbox.put(Item("a"), awaited=False)
    assert names(inbox.take(never)) == ["a"]


def test_a_sleeper_is_woken_by_anything() -> None:
    inbox: Inbox[Item] = Inbox()
    taken: list[str] = []
    thread = threading.Thread(target=lambda: taken.extend(names(inbox.take(never))))
    thread.start()
    while inbox.state is not State.ASLEEP or inbox._bell.qsize():
        time.sleep(0)
    inbox.put(Item("a"), awaited=False)
    thread.join()
    assert taken == ["a"]


def test_a_batch_is_bounded() -> None:
    inbox: Inbox[Item] = Inbox(full_bytes=10 * BATCH_BYTES)
    for name in "abc":
        inbox.put(Item(name, size=BATCH_BYTES), awaited=False)
    assert [names(inbox.take(never)) for _ in range(3)] == [["a"], ["b"], ["c"]]


def test_a_closed_inbox_gives_what_it_has_and_takes_no_more() -> None:
    inbox: Inbox[Item] = Inbox()
    assert inbox.put(Item("a"), awaited=False)
    inbox.close()
    assert not inbox.put(Item("b"), awaited=True)
    assert names(inbox.take(never)) == ["a"]
    assert inbox.take(never) == []


def test_who_waits_for_room_is_let_go_when_it_closes() -> None:
    inbox: Inbox[Item] = Inbox(full_bytes=1)
    inbox.put(Item("a"), awaited=False)
    answers: list[bool] = []
    thread = threading.Thread(target=lambda: answers.append(inbox.put(Item("b"), awaited=False)))
    thread.start()
    inbox.close()
    thread.join()
    assert answers == [False]


def test_drained_items_are_not_done() -> None:
    inbox: Inbox[Item] = Inbox()
    inbox.put(Item("a"), awaited=True)
    assert names(inbox.drain()) == ["a"]
    assert inbox.idle


def test_an_inbox_is_idle_only_when_its_batch_is_done() -> None:
    inbox: Inbox[Item] = Inbox()
    inbox.put(Item("a"), awaited=True)
    seen = [inbox.idle]
    inbox.take(never)
    seen.append(inbox.idle)
    inbox.close()
    assert inbox.take(never) == []
    assert seen == [False, False]


def test_a_chore_is_done_when_it_is_due_and_not_before() -> None:
    done: list[int] = []
    chore = Chore(1000.0, lambda: done.append(1))
    assert chore() == pytest.approx(1000.0, abs=1.0)
    assert done == []
    chore._due = 0.0
    assert chore() == pytest.approx(1000.0, abs=1.0)
    assert done == [1]


def test_work_that_is_borrowed_is_not_taken_until_it_is_given_back() -> None:
    inbox: Inbox[Item] = Inbox()
    inbox.put(Item("a"), awaited=False)
    assert names(inbox.borrow() or []) == ["a"]
    assert not inbox.idle
    assert inbox.borrow() is None
    inbox.put(Item("b"), awaited=True)
    taken: list[str] = []
    thread = threading.Thread(target=lambda: taken.extend(names(inbox.take(never))))
    thread.start()
    assert taken == []
    inbox.give_back([Item("a")])
    thread.join()
    assert taken == ["a", "b"]


def test_work_behind_is_overdue_after_a_lag_and_no_more_once_it_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    inbox: Inbox[Item] = Inbox()
    seen = [inbox.overdue]
    monkeypatch.setattr("stretto.store.inbox.LAG_S", 60.0)
    inbox.put(Item("a"), awaited=False)
    seen.append(inbox.overdue)
    monkeypatch.setattr("stretto.store.inbox.LAG_S", 0.0)
    seen.append(inbox.overdue)
    inbox.borrow()
    inbox.give_back([])
    seen.append(inbox.overdue)
    assert seen == [False, False, True, False]


def test_nothing_is_borrowed_while_something_awaited_is_queued() -> None:
    inbox: Inbox[Item] = Inbox()
    inbox.put(Item("a"), awaited=True)
    assert inbox.borrow() is None
    assert names(inbox.take(never)) == ["a"]


def test_who_holds_the_inbox_may_close_it() -> None:
    inbox: Inbox[Item] = Inbox()
    with inbox._lock:
        inbox.close()
    assert inbox.take(never) == []

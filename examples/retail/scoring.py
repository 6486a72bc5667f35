"""How well a conversation went: the server's call log against what a perfect agent would have done."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from shop import Shop, is_write, ordered, touched
from world import TRANSFER, Action, Task

from stretto.types.json import Json, JsonObject


@dataclass(frozen=True, kw_only=True, slots=True)
class Score:
    """One conversation, judged."""

    gold: int
    """Gold writes."""
    right: int
    """Gold writes that were made with the right arguments."""
    wrong: int
    """Accepted writes, and hand-overs to a person, that a perfect agent would not have made."""
    calls: int
    failed: int
    """Calls that the server refused."""
    database: bool
    """The database ended as the gold writes leave it."""

    @property
    def matched(self) -> float | None:
        """Share of gold writes made with the right arguments; unknown when there is none to make."""
        return self.right / self.gold if self.gold else None

    @property
    def unwanted(self) -> float:
        """Wrong writes and hand-overs for each gold write."""
        return self.wrong / max(self.gold, 1)

    @property
    def api_success(self) -> float:
        """Share of calls that the server accepted; 0 when none was made."""
        return (self.calls - self.failed) / self.calls if self.calls else 0.0


@dataclass(frozen=True, slots=True)
class Call:
    """One business call of the server's log."""

    action: Action
    ok: bool


def calls_of(log: Sequence[Mapping[str, Any]]) -> list[Call]:
    """Read the ``calls`` of the server's `get_call_log`."""
    return [
        Call(
            Action(tool=entry["tau2_tool_call"]["name"], arguments=entry["tau2_tool_call"]["arguments"]),
            not entry["tau2_tool_message"]["error"],
        )
        for entry in log
    ]


def reference_of(task: Task) -> JsonObject:
    """What only the reward evaluator may see of a task: the gold calls that matter, as a run's `reference`."""
    decisive = [action for action in task.actions if is_write(action.tool) or action.tool == TRANSFER]
    return {"actions": [{"tool": action.tool, "arguments": action.arguments} for action in decisive]}


def gold_of(reference: Json) -> tuple[Action, ...] | None:
    """Gold calls from a run's `reference`; None when it was given none, which is not to say that it asks for nothing.

    Raises ValueError when the reference has another shape than that of `reference_of`.
    """
    if reference is None:
        return None
    read: Any = reference
    try:
        return tuple(Action(tool=action["tool"], arguments=action["arguments"]) for action in read["actions"])
    except (KeyError, TypeError) as error:
        raise ValueError(
            f"the reference is {reference!r:.100}; "
            'expected {"actions": [{"tool": ..., "arguments": {...}}]}, with no actions when nothing is to be done'
        ) from error


def score(calls: Sequence[Call], gold: Sequence[Action]) -> Score:
    """Judge the calls of one conversation.

    A gold write counts as made when the same tool was called with the same arguments, items in any order, and the
    server answered it as it answers the gold write itself: the benchmark asks for a few that the shop refuses.
    """
    writes = tuple(action for action in gold if is_write(action.tool))
    perfect = _perfect(tuple(key_of(write) for write in writes))
    made = [call for call in calls if is_write(call.action.tool)]
    accepted = [call.action for call in made if call.ok]
    right = _right(made, perfect)
    handed_over = any(call.action.tool == TRANSFER for call in calls)
    unasked = handed_over and all(action.tool != TRANSFER for action in gold)
    return Score(
        gold=len(writes),
        right=sum(right),
        wrong=sum(call.ok and not fits for call, fits in zip(made, right, strict=True)) + unasked,
        calls=len(calls),
        failed=sum(not call.ok for call in calls),
        database=_after(accepted).same(perfect.shop, touched([*accepted, *writes])),
    )


def _right(made: Sequence[Call], perfect: "_Perfect") -> list[bool]:
    """Which of the writes are gold ones, each of them counted once."""
    left = list(perfect.answers)
    right = []
    for call in made:
        answer = (key_of(call.action), call.ok)
        right.append(answer in left)
        if answer in left:
            left.remove(answer)
    return right


def key_of(action: Action) -> str:
    """Text that two calls share when they ask for the same, items in any order."""
    return json.dumps([action.tool, ordered(action.arguments)], sort_keys=True)


@dataclass(frozen=True, slots=True)
class _Perfect:
    """What the gold writes do to a fresh shop."""

    answers: tuple[tuple[str, bool], ...]
    """Each write's key, and whether the shop accepts it."""
    shop: Shop


@lru_cache(maxsize=256)
def _perfect(gold: tuple[str, ...]) -> _Perfect:
    shop = Shop()
    writes = [Action(tool=tool, arguments=arguments) for tool, arguments in map(json.loads, gold)]
    return _Perfect(tuple((key, shop.call(write).ok) for key, write in zip(gold, writes, strict=True)), shop)


def _after(writes: Sequence[Action]) -> Shop:
    shop = Shop()
    for write in writes:
        shop.call(write)
    return shop

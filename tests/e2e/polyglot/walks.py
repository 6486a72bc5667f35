"""Conversations of retail customers in which any action that can be carried out is taken, by chance.

They hold what the Python components say in each of their rounds.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import orjson

from examples.polyglot.teach import step  # which makes the retail example's own modules importable

import facts as knowledge  # isort: skip
from resolving.resolve import resolve  # isort: skip
from shop import Shop  # isort: skip
from state import situation  # isort: skip
from world import ACTIONS, END, TOOLS, TRANSFER, tasks  # isort: skip

EVERY: Final = 5
"""Of so many customers one."""

MOST_ROUNDS: Final = 16

ENDS: Final = (TRANSFER, END)
"""Actions after which there is no more to say."""


@dataclass(frozen=True, kw_only=True)
class Round:
    """One round of one conversation."""

    words: str
    facts: dict[str, Any]
    """Before the action."""
    resolved: dict[str, Any]
    """Action to what the executor makes of it: ``arguments``, or why there are none."""
    action: str
    answer: dict[str, Any] | None
    """Of the shop, as its step has it; None when it was not called."""
    learnt: dict[str, Any]
    """The facts after it."""

    @property
    def situation(self) -> dict[str, Any]:
        """What the planner sees."""
        return situation(self.words, self.facts)


def walks(every: int = EVERY, seed: int = 0) -> Iterator[Round]:
    """Every round of the conversations of some customers, as JSON would carry it; each ends in both ways."""
    for task in tasks()[::every]:
        dice = random.Random(f"{seed}/{task.id}")
        shop, facts = Shop(), knowledge.nothing()
        for _ in range(MOST_ROUNDS):
            resolved: dict[str, Any] = {action: resolve(action, task.words, facts) for action in ACTIONS}
            possible = [each for each in ACTIONS if "arguments" in resolved[each] and each not in ENDS]
            if not possible:
                break
            action = dice.choice(possible)
            answer, learnt = step(action, resolved[action]["arguments"], facts, shop)
            learnt = orjson.loads(orjson.dumps(learnt))
            yield Round(words=task.words, facts=facts, resolved=resolved, action=action, answer=answer, learnt=learnt)
            facts = learnt
        for action in ENDS:
            resolved = {action: resolve(action, task.words, facts)}
            answer, learnt = step(action, resolved[action]["arguments"], facts, shop)
            yield Round(words=task.words, facts=facts, resolved=resolved, action=action, answer=answer, learnt=learnt)


def answer_of(action: str, resolved: Any) -> dict[str, Any] | str:
    """What the executor component answers, or the words of its refusal."""
    if "arguments" in resolved:
        return {"tool": action if action in TOOLS else None, "arguments": resolved["arguments"]}
    return f"'{action}' cannot be carried out: {resolved['missing']}; choose from the available actions"

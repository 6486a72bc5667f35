"""Teach the retail planner by a teacher who knows the gold calls: ``python examples/polyglot/teach.py --out FILE``.

Some seconds in this process, without server or workflow; what comes out is a checkpoint of `examples/retail`'s planner,
which the Node planner reads as it reads those of `stretto train` and `stretto demo`. The weights follow from the
train customers alone, and from no seed.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "retail"))

import facts as knowledge
from demo import next_taught
from resolving.resolve import resolve
from shop import Shop
from state import situation
from world import ACTIONS, END, TOOLS, TRANSFER, Action, Split, Task, tasks_of

from stretto import SoftmaxPolicy
from stretto.components.policy_weights import PolicyWeights
from stretto.learn.imitate import Example, imitate

MOST_ROUNDS: Final = 14
"""As many as the workflow gives a conversation."""

RIDGE: Final = 1e-3


def policy(**options: Any) -> SoftmaxPolicy:
    """The planner of examples/retail."""
    return SoftmaxPolicy("planner", ACTIONS, about="about", prior={END: -2.0, TRANSFER: -4.0}, **options)


def taught(customers: int | None = None) -> PolicyWeights:
    """Weights that choose as the teacher does for the first of the train customers, or for all."""
    examples = [example for task in tasks_of(Split.TRAIN)[:customers] for example in lessons(task)]
    return imitate(policy(), examples, ridge=RIDGE)[0]


def lessons(task: Task) -> Iterator[Example]:
    """Each round of one customer's conversation: what the planner sees, and what the teacher chooses."""
    shop, facts = Shop(), knowledge.nothing()
    left = [action.tool for action in task.actions]
    for _ in range(MOST_ROUNDS):
        seen = situation(task.words, facts)
        available: Any = seen["available"]
        chosen = next_taught(left, available)
        yield Example(input={"words": task.words, **seen}, chosen=chosen)
        _, facts = step(chosen, resolve(chosen, task.words, facts)["arguments"], facts, shop)
        if facts["ended"]:
            return


def step(
    action: str, arguments: Any, facts: knowledge.Facts, shop: Shop
) -> tuple[dict[str, Any] | None, knowledge.Facts]:
    """What the shop answers to an action, None where it is not asked, and the facts after it."""
    if action not in TOOLS:
        return None, knowledge.learn(facts, action, arguments, None, ok=True)
    told = shop.call(Action(tool=action, arguments=arguments))
    answer = {"ok": told.ok, "result": {"parsed_content": told.content}}
    return answer, knowledge.learn(facts, action, arguments, told.content, ok=told.ok)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="file for the checkpoint")
    out: Path = parser.parse_args().out
    print(taught().save(out.parent).rename(out))

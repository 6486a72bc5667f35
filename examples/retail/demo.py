"""What `stretto demo` needs of this example: its tasks, its figures, its baselines, and a teacher that knows the gold.

The teacher serves the train customers only; what it does there is what the supervised baseline imitates.
"""

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from scoring import reference_of
from world import ACTIONS, END, TRANSFER, Split, tasks_of

import stretto
from stretto.components.python import component_of
from stretto.learn.evaluate import Metric
from stretto.learn.tasks import Task
from stretto.types.json import JsonObject
from stretto.types.protocols import Component

POLICY: Final = "planner"
"""The component that is trained."""

METRICS: Final[Mapping[str, Metric]] = {
    "reward": Metric(),
    "write_actions_right": Metric("writes_right", over="writes_gold"),
    "tasks_right": Metric("database"),
    "calls_per_task": Metric("calls"),
}
"""Figures of the comparison, by the reward's terms (`components.py`)."""

TRY: Final[JsonObject] = {
    "words": "You are Yusuf Rossi in zip 19122. You want to cancel order #W6247578, since you no longer need it."
}
"""An input to try the workflow with: a wish that no task holds."""

_SURE: Final = 100.0
"""A logit that leaves nothing to chance."""

_GROUNDWORK: Final = (
    "find_user_id_by_email",
    "find_user_id_by_name_zip",
    "get_user_details",
    "get_order_details",
    "get_product_details",
)
"""Reads that may be needed before a gold action can be resolved, in this order."""


def tasks(split: str) -> list[Task]:
    """The customers of a split, ``train`` or ``test``."""
    return [
        Task(name=task.id, input={"words": task.words}, reference=reference_of(task), labels={"split": task.split})
        for task in tasks_of(Split(split))
    ]


def has_writes(name: str) -> bool:
    """Whether anything is to be changed for a customer; where nothing is, the reward is unknown."""
    return name in _with_writes()


def nothing(policy: stretto.SoftmaxPolicy) -> stretto.SoftmaxPolicy:
    """The policy's place taken by one that ends at once."""
    return _fixed(policy, {END: _SURE})


def commonest_tools() -> list[str]:
    """The tools that a perfect agent calls for the train customers, the most frequent first."""
    called = Counter(action.tool for task in tasks_of(Split.TRAIN) for action in task.actions)
    return [tool for tool, _ in called.most_common()]


def majority(policy: stretto.SoftmaxPolicy) -> stretto.SoftmaxPolicy:
    """The policy's place taken by one that calls the commonest tool as often as it can be called, then ends."""
    return _fixed(policy, {commonest_tools()[0]: 2.0 * _SURE, END: _SURE})


def commonest_available(policy: stretto.SoftmaxPolicy) -> stretto.SoftmaxPolicy:
    """The policy's place taken by one that calls the commonest of those tools that can be called, then ends.

    It hands nobody over: that ends the conversation, and nearly no gold calls do it.
    """
    ranked = [*(tool for tool in commonest_tools() if tool != TRANSFER), END]
    return _fixed(policy, {tool: _SURE * (len(ranked) - rank) for rank, tool in enumerate(ranked)})


@stretto.component(POLICY, effects="pure", scope="run", inline=True)
class Taught:
    """A planner that makes each train customer's gold calls in order, and the reads that they turn out to need.

    What cannot be called even then is left out. It knows a customer by the run's label ``task``; each run has its own.
    """

    def __init__(self) -> None:
        self._left: list[str] | None = None

    def __call__(
        self,
        words: str,  # noqa: ARG002  # the policy's own input
        state: JsonObject,  # noqa: ARG002  # likewise
        about: JsonObject,  # noqa: ARG002  # likewise
        available: list[str],
        context: stretto.Context,
    ) -> JsonObject:
        """The next action."""
        if self._left is None:
            self._left = list(_gold_tools()[context.run.labels["task"]])
        return {"action": next_taught(self._left, available)}


def teacher() -> Component:
    """`Taught`, to be put in the policy's place."""
    found = component_of(Taught)
    assert found is not None
    return found


def next_taught(left: list[str], available: list[str]) -> str:
    """The first of the gold calls that are left, or the groundwork for it; takes what is done out of `left`."""
    while left:
        if left[0] in available:
            return left.pop(0)
        for read in _GROUNDWORK:
            if read in available:
                return read
        left.pop(0)
    return END


def _fixed(policy: stretto.SoftmaxPolicy, prior: Mapping[str, float]) -> stretto.SoftmaxPolicy:
    return stretto.SoftmaxPolicy(policy.name, ACTIONS, about="about", prior=prior, sample=False)


@lru_cache(maxsize=1)
def _gold_tools() -> Mapping[str, tuple[str, ...]]:
    return {task.id: tuple(action.tool for action in task.actions) for task in tasks_of(Split.TRAIN)}


@lru_cache(maxsize=1)
def _with_writes() -> frozenset[str]:
    return frozenset(task.id for split in Split for task in tasks_of(split) if task.writes)

"""Gold conversations as the planner would have met them: what a supervised classifier is fitted to."""

from collections.abc import Iterable, Iterator
from typing import Any, cast

from executor import resolve
from facts import learn, nothing
from shop import Shop
from state import situation
from world import END, Action, Task

from stretto.types.json import JsonObject


def demonstrations(tasks: Iterable[Task]) -> Iterator[tuple[JsonObject, str]]:
    """The planner's input and the gold choice at each step of each task, the end included.

    Gold tells the tools and their order; arguments are the executor's own, and what it cannot resolve is left out.
    """
    for task in tasks:
        yield from _conversation(task)


def _conversation(task: Task) -> Iterator[tuple[JsonObject, str]]:
    facts, shop = nothing(), Shop()
    for tool in [action.tool for action in task.actions]:
        resolved: Any = resolve(tool, task.words, facts)
        if "arguments" not in resolved or facts["ended"]:
            continue
        yield _seen(task.words, facts), tool
        answer = shop.call(Action(tool=tool, arguments=resolved["arguments"]))
        facts = learn(facts, tool, resolved["arguments"], answer.content, ok=answer.ok)
    if not facts["ended"]:
        yield _seen(task.words, facts), END


def _seen(words: str, facts: dict[str, Any]) -> JsonObject:
    return cast("JsonObject", {"words": words, **situation(words, facts)})

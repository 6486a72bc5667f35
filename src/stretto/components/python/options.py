"""What `@component` may be told, checked where it stands."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, TypeAlias

import msgspec

from stretto.components.codes import ComponentCode
from stretto.components.names import NAME_RULE, is_component_name
from stretto.components.python.place import refuse
from stretto.spec.suggest import nearest
from stretto.types.arguments import check_fields
from stretto.types.card import ANY_ACTION
from stretto.types.enums import Effect, Scope
from stretto.types.errors import SpecError, UsageError

OneEffect: TypeAlias = Effect | Literal["pure", "read", "write"]

Effects: TypeAlias = OneEffect | Mapping[str, OneEffect]
"""One effect for whatever the component does, or one per action, ``*`` for all others."""

Lives: TypeAlias = Scope | Literal["process", "run"]

DEFAULT_EFFECT: Final = Effect.READ
"""Of a function that declares none. ``pure`` would let a recorded value stand for a new call, which is wrong as soon as
the function reads a clock, a file or a network; ``write`` would forbid the retries and fallbacks that nearly every
function allows. Whoever changes the world must say so: that cannot be seen from outside."""


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """Everything declared about a Python component beside its code."""

    name: str
    version: str = "0.0.0"
    kind: str = "python"
    effects: Mapping[str, Effect]
    action_field: str = ""
    idempotent: bool = False
    scope: Scope = Scope.PROCESS
    trainable: bool = False
    description: str = ""
    inline: bool = False
    calls: bool = True
    """It may call other components, where it is one that can."""


def read_options(
    target: object,
    *,
    name: str | None,
    effects: Effects = DEFAULT_EFFECT,
    scope: Lives = Scope.PROCESS,
    **rest: Any,
) -> Options:
    """Check what was declared; `rest` holds the options that need no reading.

    Raises SpecError at the function's place for a name that no file could use, an unknown effect or scope, or an option
    that would have no effect.
    """
    name = getattr(target, "__name__", "") if name is None else name
    if not is_component_name(name):
        raise refuse(
            target,
            ComponentCode.NAME,
            f"'{name}' cannot be the name of a component",
            expected=NAME_RULE,
            suggestion='@component("a-name")',
        )
    options = Options(
        name=name,
        effects=_effects(target, effects),
        scope=Scope(_choice(target, "scope", scope, Scope)),
        **rest,
    )
    try:
        check_fields(f"component '{name}'", options)
    except UsageError as error:
        raise refuse(target, ComponentCode.OPTION, str(error), expected="an option of the type that is told") from error
    if options.idempotent and Effect.WRITE not in options.effects.values():
        raise refuse(
            target,
            ComponentCode.OPTION,
            f"idempotent=True would have no effect: '{name}' writes nothing, and a read may be repeated anyway",
            expected="idempotent of a component whose effects have 'write'",
            suggestion="remove idempotent, or say effects='write'",
        )
    return options


def _effects(target: object, effects: Effects) -> dict[str, Effect]:
    by_action = effects if isinstance(effects, Mapping) else {ANY_ACTION: effects}
    return {action: Effect(_choice(target, "effects", effect, Effect)) for action, effect in by_action.items()}


def _choice(target: object, option: str, value: str, choices: Iterable[str]) -> str:
    names = [str(choice) for choice in choices]
    if value in names:
        return value
    near = nearest(str(value), names)
    raise refuse(
        target,
        ComponentCode.OPTION,
        f"{option}={value!r} is not known",
        expected=" or ".join(repr(name) for name in names),
        suggestion=f"{option}={near!r}" if near else "",
    )


def check_action_field(target: object, options: Options, names: Iterable[str], *, takes_any: bool) -> None:
    """Refuse effects by action that no field can name, and a field that the function does not take."""
    fields = sorted(names)
    if options.action_field and options.action_field not in fields and not takes_any:
        raise _no_such_field(target, options.action_field, fields)
    if not options.action_field and options.effects.keys() != {ANY_ACTION}:
        raise refuse(
            target,
            ComponentCode.OPTION,
            f"effects are given for {', '.join(map(repr, options.effects))}, but no field names the action",
            expected="action_field, the parameter whose value is the action",
            suggestion=f'action_field="{fields[0]}"' if fields else "",
        )


def check_inline(target: object, options: Options, *, is_async: bool) -> None:
    """Refuse `inline` where it says what is so anyway."""
    if options.inline and is_async:
        raise refuse(
            target,
            ComponentCode.OPTION,
            f"inline=True would have no effect: '{options.name}' is async, which runs in the event loop anyway",
            expected="inline of a plain function",
            suggestion="remove inline",
        )


def check_calls(target: object, options: Options, *, can_call: bool) -> None:
    """Refuse `calls` where it says what is so anyway."""
    if not options.calls and not can_call:
        raise refuse(
            target,
            ComponentCode.OPTION,
            f"calls=False would have no effect: '{options.name}' cannot call other components anyway",
            expected="calls=False of an 'async def' with a parameter that is annotated with Context",
            suggestion="remove calls",
        )


def _no_such_field(target: object, field: str, fields: list[str]) -> SpecError:
    near = nearest(field, fields)
    return refuse(
        target,
        ComponentCode.OPTION,
        f"action_field='{field}' names no parameter",
        expected=f"one of {', '.join(fields)}" if fields else "a parameter that holds the action's name",
        suggestion=f'action_field="{near}"' if near else "",
    )

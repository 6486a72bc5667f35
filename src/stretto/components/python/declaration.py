"""What a declaration of kind ``python`` may hold in a workflow file: where a function or class is, and what it does."""

import importlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec

from stretto.components.codes import ComponentCode
from stretto.components.option_shapes import (
    DESCRIPTION_KEY,
    VERSION_KEY,
    EffectsShape,
    FunctionName,
    FunctionShape,
    Make,
)
from stretto.components.python.component import PythonComponent
from stretto.components.python.decorator import component_of, undecorated
from stretto.components.python.loading import failed_import, importable
from stretto.spec.codes import SpecCode
from stretto.spec.records import Fields, Key, Record
from stretto.spec.shapes import Choice, Flag
from stretto.spec.source import Span
from stretto.spec.suggest import nearest
from stretto.spec.texts import FIELD
from stretto.types.enums import Scope
from stretto.types.errors import Problem, SpecError, StrettoError
from stretto.types.protocols import Component

TARGET: Final = Key(
    "target",
    FunctionShape(),
    means="the function or class: module:name, the module found beside this file or installed",
    example="target: shop.planner:plan",
    required=True,
    also=("function", "class", "callable", "path", "module"),
)
EFFECTS: Final = Key(
    "effects", EffectsShape(), means="what it does to the world; read when absent", example="effects: write"
)
ACTION_FIELD: Final = Key(
    "action_field", FIELD, means="parameter whose value names the action", example="action_field: tool"
)
IDEMPOTENT: Final = Key(
    "idempotent", Flag(), means="a write sent twice with one effect key happens once", example="idempotent: true"
)
SCOPE: Final = Key("scope", Choice(Scope), means="how long an instance of a class lives", example="scope: run")
INLINE: Final = Key(
    "inline", Flag(), means="a plain function that is quick, run in the event loop", example="inline: true"
)

CALLS: Final = Key(
    "calls",
    Flag(),
    means="whether it calls other components; an `async def` that takes a `Context` may, when absent",
    example="calls: false",
)

_VALUES: Final[tuple[Key[Any], ...]] = (EFFECTS, IDEMPOTENT, SCOPE, INLINE, CALLS)
_TEXTS: Final = (ACTION_FIELD, VERSION_KEY, DESCRIPTION_KEY)


def imported(function: FunctionName, folder: Path) -> Callable[..., Any]:
    """The function or class of that name.

    Raises SpecError at its place in the file when it cannot be imported or is not there.
    """
    span = function.located.span
    try:
        with importable(folder):
            module = importlib.import_module(function.module)
    except StrettoError:
        raise
    except (Exception, SystemExit) as error:
        there = failed_import(folder / function.module, error)
        problem = span.problem(SpecCode.FILE_REFERENCE, there.message, expected=there.expected)
        raise SpecError([problem, *([there] if there.line else [])]) from error
    found = getattr(module, function.attribute, None)
    if callable(found):
        return found  # type: ignore[no-any-return]  # asked just now
    near = nearest(function.attribute, [name for name, value in vars(module).items() if callable(value)])
    message = f"the module '{function.module}' has no function or class '{function.attribute}'"
    suggestion = f"{function.module}:{near}" if near else ""
    raise SpecError([span.problem(SpecCode.FILE_REFERENCE, message, expected="module:name", suggestion=suggestion)])


def _build(fields: Fields) -> Make | None:
    target = fields.get(TARGET)
    options: dict[str, Any] = {key.name: value for key in _VALUES if (value := fields.get(key)) is not None}
    options |= {key.name: text.value for key in _TEXTS if (text := fields.get(key)) is not None}
    return None if target is None else partial(_make, target, options)


def _make(target: FunctionName, options: dict[str, Any], name: str, folder: Path) -> Component:
    function = imported(target, folder)
    declared = component_of(function)
    if declared is None:
        return _declared_here(target, options, name, function)
    if options:
        raise _declared_twice(target, options)
    if isinstance(declared, PythonComponent):
        return type(declared)(function, msgspec.structs.replace(declared.options, name=name))
    raise SpecError([target.located.span.problem(SpecCode.CONFLICT, f"'{target.located.value}' is of another kind")])


def _declared_here(target: FunctionName, options: dict[str, Any], name: str, function: object) -> Component:
    """The component of a function without a decorator. What is wrong with what has no file, as built-ins have none, is
    told where the workflow file names it; so is what is wrong with the options."""
    span = target.located.span
    try:
        made = undecorated(function, name=name, **options)
    except SpecError as error:
        raise SpecError([_placed(problem, span) for problem in error.problems]) from error
    try:
        made.card  # noqa: B018  # asked early, for the place
    except SpecError as error:
        raise SpecError([p if p.file else _placed(p, span) for p in error.problems]) from error
    return made


def _placed(problem: Problem, span: Span) -> Problem:
    code = ComponentCode(problem.code)
    return span.problem(code, problem.message, expected=problem.expected, suggestion=problem.suggestion)


def _declared_twice(target: FunctionName, options: dict[str, Any]) -> SpecError:
    named = ", ".join(f"`{option}`" for option in options)
    message = f"'{target.located.value}' is declared by @component, so {named} would have no effect here"
    suggestion = "say it in the decorator, or remove the decorator"
    return SpecError([target.located.span.problem(SpecCode.NO_EFFECT, message, suggestion=suggestion)])


PYTHON: Final[Record[Make]] = Record(
    "python-component",
    means="A function or class whose type hints are its schema.",
    keys=(TARGET, *_VALUES, *_TEXTS),
    build=_build,
)

"""`@component`: declares a function or a class as a component, and leaves it as it is for everybody else."""

from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeVar, overload

from stretto.components.codes import ComponentCode
from stretto.components.python.component import PerRunPythonComponent, PythonComponent
from stretto.components.python.learning import check_no_learning, learning
from stretto.components.python.options import DEFAULT_EFFECT, Effects, Lives, Options, read_options
from stretto.components.python.place import refuse
from stretto.types.enums import Scope
from stretto.types.errors import SpecError
from stretto.types.protocols import Component

MARK: Final = "__stretto_component__"
"""Attribute of a decorated function or class that holds its component."""

T = TypeVar("T", bound=Callable[..., Any])


@overload
def component(name: T, /) -> T: ...


@overload
def component(
    name: str | None = None,
    version: str = "0.0.0",
    *,
    effects: Effects = DEFAULT_EFFECT,
    action_field: str = "",
    idempotent: bool = False,
    scope: Lives = Scope.PROCESS,
    kind: str = "python",
    description: str = "",
    trainable: bool = False,
    inline: bool = False,
    calls: bool = True,
) -> Callable[[T], T]: ...


def component(
    name: T | str | None = None,
    version: str = "0.0.0",
    *,
    effects: Effects = DEFAULT_EFFECT,
    action_field: str = "",
    idempotent: bool = False,
    scope: Lives = Scope.PROCESS,
    kind: str = "python",
    description: str = "",
    trainable: bool = False,
    inline: bool = False,
    calls: bool = True,
) -> T | Callable[[T], T]:
    """Declare a function or class as a component. What it stands on stays as it is and can be called as before.

    Parameters become input fields and the return hint the output; a parameter annotated with `Context` receives the
    call's context. `effects` says what it does to the world (``read`` when nothing is said), for all it does or by
    the value of `action_field`; `idempotent`, that a write sent twice with one effect key happens once. A class needs
    ``__call__`` and a constructor without arguments; it may have `open`, `close` and, for writes, `confirm`; with
    ``scope="run"`` each run gets an instance of its own. ``async def`` runs in the event loop. A plain function runs
    in a thread, since it may block, unless `inline` says that it is quick. An ``async def`` with a `Context` may call
    other components; ``calls=False`` says that it does not, and so may be asked twice at once (`hedge`).

    Raises SpecError for an unusable name or option; what only the hints show is told when the file is loaded.
    """

    def declare(target: T) -> T:
        made = undecorated(
            target,
            name=None if callable(name) else name,
            effects=effects,
            scope=scope,
            version=version,
            kind=kind,
            action_field=action_field,
            idempotent=idempotent,
            trainable=trainable,
            description=description,
            inline=inline,
            calls=calls,
        )
        try:
            setattr(target, MARK, made)
        except (AttributeError, TypeError) as error:
            raise _cannot_be_marked(target) from error
        return target

    return declare(name) if callable(name) else declare


def undecorated(target: Any, **options: Any) -> PythonComponent:
    """The component of a function or class that is left without a mark, as a workflow file declares it.

    Raises SpecError for what is neither, and for an unusable name or option.
    """
    if not (isinstance(target, partial) or (callable(target) and hasattr(target, "__name__"))):
        raise refuse(
            target,
            ComponentCode.SIGNATURE,
            f"a component is a function or a class, and this is an instance of {type(target).__name__}",
            expected="a function, or a class with __call__ that can be made without arguments",
        )
    return _component(target, read_options(target, **options))


def _cannot_be_marked(target: object) -> SpecError:
    name = getattr(target, "__name__", repr(target))
    return refuse(
        target,
        ComponentCode.SIGNATURE,
        f"@component cannot mark '{name}', a {type(target).__name__}: it takes no attribute",
        expected="a function or class of yours; a workflow file declares others, {kind: python, target: 'module:name'}",
        suggestion=f"write a function of your own that calls it: def {name}_of(...): return {name}(...)",
    )


def _component(target: Any, options: Options) -> PythonComponent:
    if options.scope is Scope.PROCESS:
        is_class = isinstance(target, type)
        return learning(target)(target, options) if is_class else PythonComponent(target, options)
    if isinstance(target, type):
        check_no_learning(target)
        return PerRunPythonComponent(target, options)
    raise refuse(
        target,
        ComponentCode.OPTION,
        f"scope='run' needs a class: the function '{options.name}' keeps nothing between the calls of a run",
        expected="scope='process', or a class",
        suggestion="remove scope='run'",
    )


def component_of(target: object) -> Component | None:
    """The component that a decorated function or class declares, or None; a subclass does not inherit it."""
    try:
        found: Component | None = vars(target).get(MARK)
    except TypeError:  # it has no attributes at all
        return None
    return found

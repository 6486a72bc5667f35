"""The parameters of whatever can be called: functions, partials of them, and built-ins, as far as Python can tell."""

import inspect
import typing
from collections.abc import Callable
from functools import partial, wraps
from typing import Any, cast

from stretto.components.codes import ComponentCode
from stretto.components.python.place import refuse


def parameters_of(function: Callable[..., Any], shown: object, *, is_method: bool) -> dict[str, inspect.Parameter]:
    """Its parameters by name. Raises SpecError, at the place of `shown`, when a request could not fill them."""
    parameters = list(_signature(function, shown).parameters.values())[1 if is_method else 0 :]
    for parameter in parameters:
        if parameter.kind is parameter.VAR_POSITIONAL:
            raise refuse(
                shown,
                ComponentCode.SIGNATURE,
                f"'*{parameter.name}' cannot be filled: a request has named fields only",
                expected="parameters with names",
                suggestion=f"take a list: {parameter.name}: list[...]; for fields of any name take **fields",
            )
    return {parameter.name: parameter for parameter in parameters}


def hints_of(function: Callable[..., Any], shown: object) -> dict[str, Any]:
    """Its type hints; none of what has none. Raises SpecError when one cannot be resolved."""
    while isinstance(function, partial):
        function = function.func
    if isinstance(function, type):  # a partial of a class: its hints are those of fields, its value is an instance
        return {**_resolved(cast("Any", function).__init__, shown), "return": function}
    return _resolved(function, shown) if getattr(function, "__annotations__", None) else {}


def by_name(function: Callable[..., Any], positional: tuple[tuple[str, Any], ...]) -> Callable[..., Any]:
    """The function with its positional-only parameters taken by name; `positional` are these and their defaults."""

    def placed(fields: dict[str, Any]) -> list[Any]:
        return [fields.pop(name) if name in fields else default for name, default in positional]

    @wraps(function)
    async def called_async(**fields: Any) -> Any:
        return await function(*placed(fields), **fields)

    @wraps(function)
    def called(**fields: Any) -> Any:
        return function(*placed(fields), **fields)

    return called_async if inspect.iscoroutinefunction(function) else called


def _signature(function: Callable[..., Any], shown: object) -> inspect.Signature:
    try:
        return inspect.signature(function)
    except (ValueError, TypeError) as error:
        name = getattr(function, "__name__", repr(function))
        raise refuse(
            shown,
            ComponentCode.SIGNATURE,
            f"Python cannot tell the parameters of '{name}': {error}",
            expected="a function whose parameters have names, which each become a field of the request",
            suggestion=f"write a function of your own that calls it: def {name}_of(...): return {name}(...)",
        ) from error


def _resolved(function: Callable[..., Any], shown: object) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function, include_extras=True)
    except (NameError, AttributeError, TypeError, SyntaxError) as error:
        raise refuse(
            shown,
            ComponentCode.HINT,
            f"a type hint cannot be resolved: {error}",
            expected="hints whose names are defined at the top of the module, or imported there at run time",
            suggestion="move an import out of 'if TYPE_CHECKING:', or a class out of a function",
        ) from error

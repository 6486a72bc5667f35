"""Where a function or class stands in its file, for problems that people can click on."""

import inspect
import linecache
from functools import partial
from types import CodeType, FunctionType, MethodType
from typing import Final

from stretto.components.codes import ComponentCode
from stretto.types.errors import Problem, SpecError

_HEADS: Final = ("def ", "async def ", "class ")
"""How the line begins that people look for: decorators stand above it."""


def problem_at(
    target: object, code: ComponentCode, message: str, *, expected: str = "", suggestion: str = ""
) -> Problem:
    """A problem that points at the ``def`` or ``class`` line of a function or class, when it has a file."""
    file, line = place_of(target)
    excerpt = linecache.getline(file, line).rstrip("\r\n") if line else ""
    column = len(excerpt) - len(excerpt.lstrip()) + 1
    return Problem(
        code=code,
        message=message,
        file=file,
        line=line,
        column=column,
        expected=expected,
        suggestion=suggestion,
        excerpt=excerpt,
        width=max(1, len(excerpt.strip())),
    )


def refuse(target: object, code: ComponentCode, message: str, *, expected: str = "", suggestion: str = "") -> SpecError:
    """The error for one problem with a function or class."""
    return SpecError([problem_at(target, code, message, expected=expected, suggestion=suggestion)])


def place_of(target: object) -> tuple[str, int]:
    """File and 1-based line of a function or class; an empty name and 0 when it has none, as in a console."""
    target = written_function(target)
    if isinstance(target, type):
        return _place_of_class(target)
    code = getattr(target, "__code__", None)
    if not isinstance(code, CodeType):
        return "", 0
    return code.co_filename, _head_line(code.co_filename, code.co_firstlineno)


def written_function(target: object) -> object:
    """What somebody wrote: the function inside wrappers, partials and methods."""
    while isinstance(target, (partial, MethodType)):
        target = target.func if isinstance(target, partial) else target.__func__
    return inspect.unwrap(target) if callable(target) else target


def code_of(target: object) -> CodeType | None:
    """The compiled body of a function, or None of anything else."""
    function = written_function(target)
    return function.__code__ if isinstance(function, FunctionType) else None


def home_of(function: object) -> str:
    """The file that a function was written in; empty when there is none."""
    code = code_of(function)
    return "" if code is None else code.co_filename


def _place_of_class(target: type) -> tuple[str, int]:
    try:
        file = inspect.getsourcefile(target) or ""
        _, line = inspect.findsource(target)
    except (OSError, TypeError):
        return "", 0
    return file, _head_line(file, line + 1)


def _head_line(file: str, first: int) -> int:
    """The first line at or after `first` that opens a definition; `first` itself when there is none near."""
    line = first
    while text := linecache.getline(file, line):
        if text.lstrip().startswith(_HEADS):
            return line
        line += 1
    return first

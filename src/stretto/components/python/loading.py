"""Imports a user's file of components and collects what it defines."""

import importlib.util
import inspect
import linecache
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any, Final

from msgspec import structs

from stretto.components.codes import ComponentCode
from stretto.components.python.decorator import component_of
from stretto.components.python.place import place_of
from stretto.record.texts import text_of
from stretto.spec.suggest import nearest
from stretto.types.card import Card
from stretto.types.errors import Problem, SpecError, StrettoError
from stretto.types.extras import EXTRA_OF, install_command
from stretto.types.protocols import Component

_UNKNOWN_KEYWORD: Final = re.compile(r"(?:\w+\.)*?(\w+)(?:\.__init__)?\(\) got an unexpected keyword argument '(\w+)'")
"""What Python says of a call with a keyword that the function does not have; of a class, its name."""

_loaded_folders: Final[set[Path]] = set()
"""Folders that files were loaded from: their modules must not answer for a sibling of the same name elsewhere."""


def load_components(path: Path) -> dict[str, Component]:
    """Import a Python file and return its components by name: decorated functions and classes, and instances.

    The file may import others in its folder; `sys.path` is as before afterwards. Loaded again, it is run again.
    Raises SpecError with every problem found: an import that fails, hints that cannot be read, two of one name, none.
    """
    module = _import(path)
    found: dict[str, tuple[str, Component]] = {}
    problems: list[Problem] = []
    for variable, value in list(vars(module).items()):
        component = _as_component(value)
        if component is None:
            continue
        try:
            name = component.card.name
        except SpecError as error:
            told = [each if each.file else structs.replace(each, file=str(path)) for each in error.problems]
            problems += [problem for problem in told if problem not in problems]
            continue
        earlier, standing = found.setdefault(name, (variable, component))
        if standing is not component:
            problems.append(_duplicate(name, path, variable, earlier, component))
    if not found and not problems:
        problems.append(_none_found(path))
    if problems:
        raise SpecError(problems)
    return {name: component for name, (_, component) in found.items()}


def _as_component(value: object) -> Component | None:
    """The component behind a module's variable: declared by a decorator, or an instance with a card."""
    declared = component_of(value)
    if declared is not None:
        return declared
    if isinstance(value, type) or not callable(value):
        return None
    if inspect.getattr_static(value, "card", None) is None:  # a mock, or a proxy, says yes to whatever it is asked
        return None
    instance: Any = value
    return instance if isinstance(instance.card, Card) else None


def _import(path: Path) -> ModuleType:
    path = path.resolve()
    name = f"stretto_components_{sha256(os.fsencode(path)).hexdigest()[:12]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise SpecError(
            [_import_problem(path, 0, f"there is no Python file '{path.name}' here", "the path of a .py file")]
        )
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and type hints look their module up
    try:
        with importable(path.parent):
            spec.loader.exec_module(module)
    except SpecError as error:
        del sys.modules[name]
        raise SpecError([_placed(problem, path, error) for problem in error.problems]) from error
    except StrettoError:
        del sys.modules[name]
        raise
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise SpecError([failed_import(path, error)]) from error
    return module


@contextmanager
def importable(folder: Path) -> Iterator[None]:
    """Let modules of the folder be imported by name, as if the file were run as a script."""
    hidden = _hide_namesakes(folder)
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        sys.modules.update(hidden)
        _loaded_folders.add(folder)


def _hide_namesakes(folder: Path) -> dict[str, ModuleType]:
    """Take modules of other loaded folders out of the way where this folder has one of the same name."""
    own = {entry.stem for entry in folder.iterdir() if entry.suffix == ".py" or entry.is_dir()}
    others = _loaded_folders - {folder}
    hidden = {}
    for name in own & sys.modules.keys():
        file = getattr(sys.modules[name], "__file__", None)
        if file and not others.isdisjoint(Path(file).parents):
            hidden[name] = sys.modules.pop(name)
    return hidden


def failed_import(path: Path, error: BaseException) -> Problem:
    """The problem of a file whose import raised: at the line of the folder's own code that led there."""
    if isinstance(error, SyntaxError) and error.filename:
        return _import_problem(
            Path(error.filename), error.lineno or 0, f"not valid Python: {error.msg}", "", column=error.offset or 1
        )
    file, line = _own_place(path, error)
    suggestion = ""
    keyword = _unknown_keyword(error)
    if keyword is not None:
        remedy, suggestion = keyword
    elif isinstance(error, ModuleNotFoundError):
        remedy = _install(error.name or "", path)
    else:
        remedy = "a file that can be imported; what needs a server or a model belongs in a class's `open`"
    message = f"importing '{path.name}' raised {type(error).__name__}: {text_of(error)}"
    return _import_problem(file, line, message, remedy, suggestion=suggestion)


def _install(module: str, path: Path) -> str:
    """How to get a module that is not there: an extra of ours brings some."""
    if extra := EXTRA_OF.get(module):
        return f"the packages of extra '{extra}'; run: {install_command(extra)}"
    return f"install the package that has '{module}', or put {module}.py beside {path.name}"


def _own_place(path: Path, error: BaseException) -> tuple[Path, int]:
    """The innermost line of the folder's own code that an error came through; line 0 of the file when there is none."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if path.parent in Path(frame.filename).parents]
    return (Path(own[-1].filename), own[-1].lineno or 0) if own else (path, 0)


def _placed(problem: Problem, path: Path, error: SpecError) -> Problem:
    """A problem of what has no place of its own, such as a built-in: at the line that made a component of it."""
    if problem.file:
        return problem
    file, line = _own_place(path, error)
    there = _import_problem(file, line, problem.message, problem.expected, suggestion=problem.suggestion)
    return structs.replace(there, code=problem.code)


def _unknown_keyword(error: BaseException) -> tuple[str, str] | None:
    """Of a call with a keyword that the function does not have: those that it has, and the one meant."""
    found = _UNKNOWN_KEYWORD.match(str(error)) if isinstance(error, TypeError) else None
    if found is None or error.__traceback__ is None:
        return None
    name, given = found.groups()
    called = _called(error.__traceback__, name)
    if called is None:
        return None
    parameters = inspect.signature(called).parameters.values()
    known = [each.name for each in parameters if each.kind in (each.KEYWORD_ONLY, each.POSITIONAL_OR_KEYWORD)]
    return f"one of {', '.join(known)}", nearest(given, known) or ""


def _called(place: TracebackType, name: str) -> Callable[..., object] | None:
    """The function of that name where a call failed: a variable there, or what a module that was imported there has."""
    while place.tb_next is not None:
        place = place.tb_next
    variables = {**place.tb_frame.f_globals, **place.tb_frame.f_locals}
    modules = [each for each in variables.values() if isinstance(each, ModuleType)]
    found = variables.get(name) or next((vars(each)[name] for each in modules if name in vars(each)), None)
    return found if callable(found) else None


def _import_problem(
    file: Path, line: int, message: str, expected: str, column: int = 0, suggestion: str = ""
) -> Problem:
    excerpt = linecache.getline(str(file), line).rstrip("\r\n") if line else ""
    indent = len(excerpt) - len(excerpt.lstrip())
    return Problem(
        code=ComponentCode.IMPORT,
        message=message,
        file=str(file),
        line=line,
        column=column or indent + 1,
        expected=expected,
        suggestion=suggestion,
        excerpt=excerpt,
        width=1 if column else max(1, len(excerpt.strip())),
    )


def _duplicate(name: str, path: Path, variable: str, earlier: str, component: Component) -> Problem:
    file, line = place_of(getattr(component, "target", None))
    return Problem(
        code=ComponentCode.DUPLICATE,
        message=f"'{variable}' and '{earlier}' are both components called '{name}'",
        file=file or str(path),
        line=line,
        column=1,
        expected="one component of a name",
        suggestion=f'@component("{name}-2"), or delete one of the two',
        excerpt=linecache.getline(file, line).rstrip("\r\n") if line else "",
    )


def _none_found(path: Path) -> Problem:
    return Problem(
        code=ComponentCode.NONE_FOUND,
        message=f"'{path.name}' defines no component",
        file=str(path),
        expected="a function or class under @stretto.component, or a component made at the top of the file",
        suggestion="@stretto.component",
    )

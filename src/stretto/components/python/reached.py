"""Which files of a folder some Python code is made of: its own, and those that it imports, read without running any."""

import ast
import warnings
from collections.abc import Iterable, Iterator, Sequence
from importlib.machinery import BYTECODE_SUFFIXES, EXTENSION_SUFFIXES, SOURCE_SUFFIXES
from pathlib import Path
from typing import Final

_SUFFIXES: Final = (*EXTENSION_SUFFIXES, *SOURCE_SUFFIXES, *BYTECODE_SUFFIXES)
"""In the order in which Python looks for a module."""


def reached(files: Iterable[Path], folder: Path) -> set[Path]:
    """The files that are there, and every module of the folder that an `import` in them names, wherever it stands, and
    so on.

    What is installed is not of the folder. An import by a name that is made at run time is not seen; what cannot be
    read as Python is among the files, and imports nothing.
    """
    found: set[Path] = set()
    waiting = [file for file in files if file.is_file()]
    while waiting:
        file = waiting.pop()
        if file not in found:
            found.add(file)
            waiting += _imported(file, folder)
    return found


def files_of_module(parts: Sequence[str], folder: Path) -> Iterator[Path]:
    """The files that run when a module of the folder is imported: of the packages that it is in, and its own.

    Further names are passed over: what is imported *from* a module may be one, or something in it.
    """
    for part in parts:
        package = _file(folder / part, "__init__")
        file = package or _file(folder, part)
        if file is not None:
            yield file
            if package is None:
                return
        folder /= part


def _file(folder: Path, name: str) -> Path | None:
    return next((file for suffix in _SUFFIXES if (file := folder / f"{name}{suffix}").is_file()), None)


def _imported(file: Path, folder: Path) -> Iterator[Path]:
    for node in ast.walk(_tree(file)):
        if isinstance(node, ast.Import):
            for each in node.names:
                yield from files_of_module(each.name.split("."), folder)
        elif isinstance(node, ast.ImportFrom):
            start = file.parents[min(node.level, len(file.parents)) - 1] if node.level else folder
            module = node.module.split(".") if node.module else []
            for each in node.names if start.is_relative_to(folder) else []:
                yield from files_of_module([*module, each.name], start)


def _tree(file: Path) -> ast.AST:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # whoever runs the code is warned; here one that is an error hid its imports
            return ast.parse(file.read_bytes())
    except (SyntaxError, ValueError):  # of another language, compiled, or broken where nothing imports it
        return ast.Module(body=[], type_ignores=[])

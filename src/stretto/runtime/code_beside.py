"""The Python files that a workflow's components are made of, where they are its own and not installed."""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

from stretto.components.python.reached import files_of_module, reached
from stretto.spec.model import ComponentDecl, ComponentFile
from stretto.spec.nodes import to_json
from stretto.types.ids import Digest, digest_of
from stretto.types.json import Json

Declared: TypeAlias = ComponentFile | ComponentDecl


def code_beside(place: Path, declared: Mapping[Path, Iterable[Declared]]) -> dict[str, Digest]:
    """Digests of files, by their path from the folder `place`: those of the components that each workflow file
    declares, and what these import of their own folders."""
    found = {file for workflow, each in declared.items() for file in _files(workflow.resolve().parent, each)}
    paths = {Path(os.path.relpath(file, place.resolve())).as_posix(): file for file in found}
    return {name: digest_of(paths[name].read_bytes()) for name in sorted(paths)}


def _files(folder: Path, declared: Iterable[Declared]) -> Iterator[Path]:
    for each in declared:
        if isinstance(each, ComponentFile):
            file = (folder / each.path.value).resolve()
            yield from reached([file], file.parent)
        else:
            for module in _modules(to_json(each.options)):
                yield from reached(files_of_module(module.split("."), folder), folder)


def _modules(told: Json) -> Iterator[str]:
    """Of all that a declaration says, the modules: kinds whose components are Python name one ``module:name``."""
    if isinstance(told, dict | list):
        for each in told.values() if isinstance(told, dict) else told:
            yield from _modules(each)
    elif isinstance(told, str):
        module, _, name = told.partition(":")
        if all(part.isidentifier() for part in (*module.split("."), name)):  # a text of people may be no file's name
            yield module

"""What a file has to serve."""

from pathlib import Path

from stretto.spec.declarations import load_declarations
from stretto.spec.model import ComponentFile
from stretto.types.errors import UsageError
from stretto.types.protocols import Component


def components_of(file: Path) -> list[Component]:
    """The components that a Python file defines, or that a file declares: one by itself, several by name, or those of a
    workflow.

    Raises SpecError with every problem of the file.
    """
    if file.suffix == ".py":
        return _of_python(file)
    declared = load_declarations(file)
    found = _of_workflow(file) if declared is None else []
    for each in declared or ():
        if isinstance(each, ComponentFile):
            found += _of_python(file.parent / each.path.value)
            continue
        from stretto.components.declare import build_component

        found.append(build_component(each, folder=file.parent))
    if not found:
        raise UsageError(f"{file} declares no component and has no components.py beside it, so there is none to serve")
    return found


def _of_python(file: Path) -> list[Component]:
    from stretto.components.python import load_components

    return list(load_components(file).values())


def _of_workflow(file: Path) -> list[Component]:
    from stretto.runtime.load import Loader

    return list(Loader(file).catalog().made.values())

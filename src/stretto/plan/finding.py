"""Find what steps name: components of the catalog, and other workflows."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from stretto.plan.codes import PlanCode
from stretto.plan.model import Plan
from stretto.spec.report import Report
from stretto.spec.source import Located
from stretto.spec.suggest import nearest
from stretto.types.protocols import Catalog, Component

DEFAULT_COMPONENTS: Final = "components.py"
"""Read, when it lies beside a workflow file that names no components."""

_ADDRESS: Final = re.compile(r"(https?|grpcs?)://")

SubWorkflows = Callable[[Located[str]], Plan | None]
"""Finds and compiles a sub-workflow; None after reporting why it cannot."""


class Finder:
    """Looks names up for one compilation; what is not there is reported where it is named."""

    def __init__(self, catalog: Catalog, report: Report, subworkflows: SubWorkflows) -> None:
        self.catalog = catalog
        self.plans: dict[str, Plan] = {}
        """Sub-workflows found so far, by the name that steps use."""
        self.places: dict[str, Located[str]] = {}
        """Where each was first named."""
        self._report = report
        self._subworkflows = subworkflows
        self._has_told_none = False

    def plan(self, place: Located[str]) -> Plan | None:
        """The sub-workflow that a step names; None after reporting why there is none."""
        if place.value not in self.plans:
            plan = self._subworkflows(place)
            if plan is None:
                return None
            self.plans[place.value], self.places[place.value] = plan, place
        return self.plans[place.value]

    def component(self, place: Located[str]) -> Component | None:
        """The component that a step names; None after reporting that there is none."""
        component = self.catalog.find(place.value)
        if component is not None:
            return component
        if _ADDRESS.match(place.value):
            self._report_address(place)
            return None
        name, _, version = place.value.partition("@")
        other = self.catalog.find(name)
        names = list(self.catalog.names())
        if not names:
            self._report_none(place)
            return None
        if other is not None:
            self._report.add(
                place.span.problem(
                    PlanCode.VERSION,
                    f"component '{name}' is there in version {other.card.version}, not {version}",
                    expected=f"{name}@{other.card.version}",
                    suggestion=f"{name}@{other.card.version}",
                )
            )
            return None
        near = nearest(name, names)
        self._report.add(
            place.span.problem(
                PlanCode.UNKNOWN_COMPONENT,
                f"there is no component '{name}'",
                expected=f"one of {', '.join(names)}",
                suggestion=near or "",
            )
        )
        return None

    def _report_address(self, place: Located[str]) -> None:
        """Say how an address is written, of a component behind the protocol or of a service with an API of its own."""
        self._report.add(
            place.span.problem(
                PlanCode.UNKNOWN_COMPONENT,
                f"'{place.value}' is an address, and does not say what is spoken there",
                expected=f"acp+{place.value} where it speaks the protocol, else a component of kind http or mcp",
                suggestion=f"acp+{place.value}",
            )
        )

    def _report_none(self, place: Located[str]) -> None:
        """Say once that there is no component at all, and how to write the one that is named first."""
        if self._has_told_none:
            return
        self._has_told_none = True
        file = Path(place.span.mark.file).name
        name = place.value.partition("@")[0]
        self._report.add(
            place.span.problem(
                PlanCode.UNKNOWN_COMPONENT,
                f"there is no component '{name}', nor any other: {file} names no `components`, and no "
                f"{DEFAULT_COMPONENTS} lies beside it",
                expected=f"a {DEFAULT_COMPONENTS} beside {file}, with a function for each component that a step names",
                suggestion=f'@stretto.component("{name}") above def {_as_identifier(name)}(...), '
                f"in {DEFAULT_COMPONENTS}, after import stretto",
            )
        )


def _as_identifier(name: str) -> str:
    return re.sub(r"\W", "_", name)

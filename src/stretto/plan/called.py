"""Components that others are known to call, which no step need name: a workflow that lacks one does not load."""

from collections.abc import Iterable

from stretto.plan.finding import Finder
from stretto.spec.model import ComponentDecl, WorkflowSpec
from stretto.spec.source import Located, Span
from stretto.types.protocols import Component


def find_called(components: Iterable[Component], finder: Finder, spec: WorkflowSpec) -> None:
    """Report what `Card.calls` names and is not there, where the component that calls it is declared."""
    for component in components:
        for name in component.card.calls:
            finder.component(Located(name, _place_of(component.card.name, spec)))


def _place_of(component: str, spec: WorkflowSpec) -> Span:
    """Its declaration; the first step where a file of Python has it."""
    declared = (each.name for each in spec.components if isinstance(each, ComponentDecl))
    return next((name.span for name in declared if name.value == component), spec.steps[0].name.span)

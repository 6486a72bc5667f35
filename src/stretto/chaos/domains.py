"""The semantic domains in what steps answer, as their contracts hold them: those of a workflow inside are its own."""

from collections.abc import Mapping, Sequence

from stretto.plan.model import Plan
from stretto.plan.places import Place, places_of

FieldDomains = Mapping[str, Sequence[str]]
"""Path of a field in a step's output, without indices → the values of its domain, then those of the contract's others:
they are what a component says that has mistaken whose words to use."""


class Domains:
    """The domains of a plan, by step. One that is off holds nowhere, so it is none."""

    def __init__(self, plan: Plan) -> None:
        self._by_step = {place.step: _fields(place) for place in places_of(plan) if place.step}

    def at(self, step: str) -> FieldDomains:
        """The domains in the output of a step, by its path without indices."""
        return self._by_step.get(step, {})


def _fields(place: Place) -> FieldDomains:
    every = [value for domain in place.plan.domains.values() for value in domain.values]
    return {
        ".".join(crossing.path): tuple(dict.fromkeys([*crossing.domain.values, *every]))
        for crossing in place.op.crossings_out
    }

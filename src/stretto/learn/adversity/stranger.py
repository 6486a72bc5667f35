"""A component that is no module, and is perturbed in some runs: another version is asked in its place, or nobody is."""

import random
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Final

from stretto.learn.adversity.in_place import marked
from stretto.learn.adversity.perturbation import Kind, Perturbation, Struck, Version, bits, strike
from stretto.plan.drawn import Drawing
from stretto.plan.model import CallOp
from stretto.runtime.between import Ask, between
from stretto.types.card import Card
from stretto.types.errors import UsageError
from stretto.types.messages import Request, Response
from stretto.types.protocols import Component, Confirms, Opens, OpensPerRun, Trainable

TRIED: Final = 50
"""Draws that are tried before a training: a schema that takes too few of them is refused then and not in the midst."""


class Stranger:
    """Perturbs one such component. Raises UsageError for what cannot be done to it."""

    def __init__(self, component: Component, perturbation: Perturbation, domains: Mapping[str, Sequence[str]]) -> None:
        """`domains` says which texts may stand at a place of its answers."""
        self._name = component.card.name
        self._perturbation = perturbation
        if perturbation.noise:
            raise self._refused("it answers one at a time, so nobody knows what its numbers vary by; use `worse`")
        self._versions = [self._version(component, each) for each in perturbation.worse]
        self._drawing = Drawing(component.card.output, domains)
        if perturbation.random:
            self._hold_to_draws()

    def struck(self, seeds: Sequence[int]) -> list[int]:
        """The rows in which it is perturbed, by their runs' seeds."""
        return [row for row, seed in enumerate(seeds) if self._lot(seed) is not None]

    def call(self, op: CallOp) -> CallOp:
        """The step's call where it is."""
        return replace(op, component=between(self, op.component))

    async def deliver(self, _card: Card, ask: Ask, request: Request) -> Response:
        """What arrives in place of the component's answer."""
        lot = self._lot(request.call.run.seed)
        if lot is None:
            return await ask(request)
        if lot.kind is Kind.WORSE:
            version = self._versions[lot.version]
            return marked(await version(request), {"kind": str(lot.kind), "version": version.card.digest})
        chance = random.Random(bits(request.call.run.seed, request.call.path, "drawn"))  # noqa: S311  # no secrets
        return marked(Response(output=self._drawing.draw(chance)), {"kind": str(lot.kind)})

    async def confirm(self, component: Confirms, _card: Card, request: Request) -> Response | None:
        """What the component says of a write in doubt."""
        return await component.confirm(request)

    def working(self) -> AbstractContextManager[None]:
        """Nobody counts it."""
        return nullcontext()

    def _lot(self, seed: int) -> Struck | None:
        return strike(self._perturbation, self._name, seed)

    def _version(self, component: Component, version: Version) -> Component:
        if isinstance(version, str | Path):
            if not isinstance(component, Trainable):
                raise self._refused(f"'{version}' is a file, and it is of kind {component.card.kind}, without weights")
            return component.with_weights(str(version))
        if isinstance(version, Opens | OpensPerRun):
            named = version.card.name
            raise self._refused(f"the version '{named}' must be opened before it is asked, which nobody does here")
        return version

    def _hold_to_draws(self) -> None:
        """Raise UsageError where its answers are not bounded, or what is drawn seldom fits its schema."""
        if free := self._drawing.unbounded():
            raise self._refused(
                f"nobody can say what a random value of {', '.join(free)} would be; give its schema an enum, a range "
                "or a domain there, or use `worse`"
            )
        try:
            for seed in range(TRIED):
                self._drawing.draw(random.Random(seed))  # noqa: S311  # no secrets
        except LookupError as error:
            raise self._refused(f"{error}; use `worse`") from error

    def _refused(self, why: str) -> UsageError:
        return UsageError(f"component '{self._name}' cannot be perturbed so: {why}")


def strangers_of(calls: Sequence[CallOp], perturb: Mapping[str, Perturbation]) -> dict[str, Stranger]:
    """What perturbs each of these components that steps outside call. Raises UsageError for one that judges."""
    found: dict[str, Stranger] = {}
    for name, perturbation in perturb.items():
        of_name = [op for op in calls if op.component_name == name]
        if not of_name:
            continue
        component = of_name[0].component
        if component.card.kind == "reward":
            raise UsageError(
                f"component '{name}' cannot be perturbed so: it gives a reward, and what is perturbed is judged as ever"
            )
        domains = {".".join(each.path): each.domain.values for op in of_name for each in op.crossings_out}
        found[name] = Stranger(component, perturbation, domains)
    return found

"""How passes over batches begin."""

import operator
import random
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import torch
from torch import nn

from stretto.engine.request import is_seed
from stretto.learn.adversity.adversary import Adversary
from stretto.learn.adversity.stranger import Stranger
from stretto.learn.differentiable.cohort import Cohort
from stretto.learn.differentiable.copies import Copies
from stretto.learn.differentiable.data import Batch
from stretto.learn.differentiable.frame import ColumnFrame
from stretto.learn.differentiable.host import Host
from stretto.learn.differentiable.roots import fill_roots
from stretto.learn.differentiable.states import States
from stretto.learn.differentiable.underway import Underway
from stretto.learn.differentiable.whole import Tally
from stretto.plan.model import Plan
from stretto.types.errors import UsageError

_SEED_BITS: Final = 53
"""As the engine draws seeds."""


class Passes:
    """Begins those of one workflow's module."""

    def __init__(
        self,
        module: nn.Module,
        copies: Copies,
        host: Host,
        plan: Plan,
        adversaries: Mapping[str, Adversary],
        strangers: Mapping[str, Stranger],
    ) -> None:
        """`adversaries` and `strangers` perturb components while the module is in train mode."""
        self._module = module
        self._copies = copies
        self._host = host
        self._plan = plan
        self._adversaries = adversaries
        self._strangers = strangers

    def may_be_whole(self) -> bool:
        """Whether nothing of a pass stands between the modules now, in a mode in which torch counts writes."""
        perturbs = self._module.training and bool(self._adversaries)
        return not perturbs and not self._copies.weights.is_elsewhere() and not torch.is_inference_mode_enabled()

    def begun(self, data: Batch, seeds: Sequence[int], tally: Tally | None) -> tuple[Underway, Cohort]:
        """A pass, before its first step."""
        size, began = len(data), (time.monotonic(), time.time_ns()) if tally is None else tally.began
        states = States(self._host, data, seeds, began)
        batch = Underway(
            data=data,
            states=states,
            modules=self._copies.of,
            seeds=seeds,
            adversaries=self._adversaries if self._module.training else {},
            strangers=self._strangers if self._module.training else {},
            is_elsewhere=self._copies.weights.is_elsewhere(),
        )
        cohort = Cohort(ColumnFrame(size), "", range(size), states.budget, is_whole=True)
        fill_roots(batch, cohort, self._plan)
        return batch, cohort


def seeds_of(data: Batch, given: Iterable[int] | None) -> list[int]:
    """One for each request: as given, else those that were asked for, else drawn. Raises UsageError where there is no
    request, another number of seeds, or one that no run may have."""
    if len(data) == 0:
        raise UsageError("a batch has no request; give one or more")
    if given is not None:
        try:
            seeds = [*map(operator.index, given)]
        except TypeError as error:
            raise UsageError(f"a seed is no integer: {error}") from error
        if len(seeds) != len(data):
            raise UsageError(f"{len(seeds)} seeds are given for {len(data)} requests; expected one for each")
        wrong = [seed for seed in seeds if not is_seed(seed)]
        if wrong:
            raise UsageError(f"a seed is {wrong[0]}; expected an integer in [-2^63, 2^63)")
        return seeds
    draw = random.getrandbits  # spreads choices, keeps no secret
    if data.has_seeds:
        return [draw(_SEED_BITS) if seed is None else seed for seed in data.seeds]
    return [draw(_SEED_BITS) for _ in data.seeds]

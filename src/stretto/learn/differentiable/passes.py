"""How passes over batches begin."""

import time
from collections.abc import Mapping, Sequence

import torch
from torch import nn

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

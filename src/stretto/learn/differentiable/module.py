"""`as_module`: a workflow as an ``nn.Module``."""

import copy
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import nn

from stretto.engine.admission import admit
from stretto.engine.request import RunRequest
from stretto.learn.adversity.adversary import adversaries_of
from stretto.learn.adversity.perturbation import Perturbation, check_perturbations
from stretto.learn.adversity.stranger import strangers_of
from stretto.learn.arguments import check_workflow
from stretto.learn.differentiable import CHECK_REMOTE
from stretto.learn.differentiable.backward import Backward
from stretto.learn.differentiable.building import checked, components_in, hold_some, plain_outside_of, steps_of
from stretto.learn.differentiable.cohort import Cohort
from stretto.learn.differentiable.copies import Copies, copied, freeze_but
from stretto.learn.differentiable.data import Batch
from stretto.learn.differentiable.downstream import Downstream
from stretto.learn.differentiable.enumerating import parted
from stretto.learn.differentiable.flow import follow, hold_cycles
from stretto.learn.differentiable.foretelling import Foretelling
from stretto.learn.differentiable.host import Host
from stretto.learn.differentiable.inside import InsideNode
from stretto.learn.differentiable.joints import hold_joints
from stretto.learn.differentiable.kept import KeptAnswers
from stretto.learn.differentiable.loss import Loss
from stretto.learn.differentiable.outcome import Outcome, Outcomes
from stretto.learn.differentiable.passes import Passes, seeds_of
from stretto.learn.differentiable.passing import passings_of
from stretto.learn.differentiable.sealer import Sealer
from stretto.learn.differentiable.settling import settle_estimators
from stretto.learn.differentiable.stretches import stretches_of
from stretto.learn.differentiable.surrogates import Surrogates
from stretto.learn.differentiable.underway import Underway
from stretto.learn.differentiable.whole import Noted, Tally, whole_of
from stretto.learn.surrogates.of_choice import ChoiceSurrogate
from stretto.learn.surrogates.of_step import StepSurrogate
from stretto.learn.surrogates.report import SurrogateReport
from stretto.learn.usable import Recorded
from stretto.record.model import Run
from stretto.runtime.workflow import Workflow
from stretto.types.enums import Estimator
from stretto.types.errors import UsageError
from stretto.types.ids import Digest

Requests = Sequence[RunRequest | Mapping[str, object]]


class DifferentiableWorkflow(nn.Module):
    """A workflow that runs a batch at a time, with tensors kept.

    What learns are copies of the components' modules, so that what serves stays what it is; `trained` gives the
    workflow with what they have become.
    """

    def __init__(
        self,
        workflow: Workflow,
        *,
        train: Collection[str] | None = None,
        perturb: Mapping[str, Perturbation] | None = None,
        check_remote: int = CHECK_REMOTE,
    ) -> None:
        super().__init__()
        check_workflow(workflow)
        self.workflow = workflow
        self._rollouts = workflow.for_rollouts()
        self.plan = plan = self._rollouts.plan
        self._nodes = steps_of(plan)
        self.remote_checks = checked(self._nodes, check_remote)
        """Of each step whose component pulls gradients back itself: rows so far, and what checks of them came to."""
        self.components = components_in(self._nodes)
        """Those that are differentiable, by name."""
        hold_joints(self._nodes, {name: each.module for name, each in self.components.items()})
        check_perturbations(perturb or {})
        strangers = strangers_of([*plain_outside_of(self._nodes)], perturb or {})
        inside = {name: each for name, each in (perturb or {}).items() if name not in strangers}
        adversaries = adversaries_of(plan, self.components, inside)
        modules = copied(self.components)
        if train is not None:
            freeze_but(train, modules, self._nodes, plan.name)
        self._copies = copies = Copies(modules, self)
        self.train()
        self._host = host = Host(self._rollouts)
        self._passes = Passes(self, copies, host, plan, adversaries, strangers)
        downstream = Downstream(self._nodes, plan.reward_weights)
        settle_estimators(self._nodes, downstream)
        foretelling = Foretelling(self._nodes)
        flow = follow(self._nodes, copies.learning)
        hold_cycles(flow)
        passings = passings_of(self._nodes, flow)
        self._surrogates = surrogates = Surrogates(foretelling, passings, downstream, plan.reward_weights)
        self._stretches = stretches_of(self._nodes, modules)
        self._whole = whole_of(self._stretches, plan, downstream)
        self._backward = Backward(self, copies.weights, surrogates)
        sealer = Sealer(host, plan, self.components, copies)
        self._outcomes = Outcomes(plan, copies, surrogates, sealer, self._backward)

    def module_of(self, component: str) -> nn.Module:
        """The module that learns in place of a component's own. Raises UsageError for a component that has none."""
        if component not in self._copies.of:
            there = ", ".join(self._copies.of)
            raise UsageError(f"workflow '{self.plan.name}' has no module of '{component}'; it has those of: {there}")
        return self._copies.of[component]

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Raise UsageError: it holds an engine."""
        raise UsageError(
            "the module of a workflow cannot be copied or pickled, since it holds an engine; keep its `state_dict()` "
            "and load it into another `as_module(workflow)`, or take the workflow with what was learnt from `trained()`"
        )

    @property
    def shared(self) -> tuple[tuple[str, ...], ...]:
        """Components that have parameters in common which learn, whose gradients add up."""
        return self._copies.shared

    @property
    def skipped_updates(self) -> int:
        """How many backward passes gave gradients that were no numbers, or none."""
        return self._backward.skipped_updates

    @property
    def surrogates(self) -> Mapping[str, ChoiceSurrogate | StepSurrogate]:
        """Those of choices that `relax` is asked of, by step, or ``step#choice`` where it makes several, and of steps
        outside that a surrogate stands for, by step."""
        return self._surrogates.by_step

    @property
    def biased(self) -> Mapping[str, Digest]:
        """Steps outside whose gradient is that of a surrogate, by step: its digest."""
        return self._surrogates.biased

    @property
    def report(self) -> str:
        """What every surrogate is worth, a line each."""
        return self._surrogates.report

    def fit_surrogates(self, runs: Iterable[Run | Recorded]) -> Mapping[str, SurrogateReport]:
        """Let every surrogate learn from recorded runs of the workflow; tells what each is then worth.

        Raises LearningError where the runs tell nothing of a step.
        """
        return self._surrogates.fit(runs)

    def save_surrogates(self, folder: str | Path) -> Path:
        """Write every surrogate into a folder, by digest; raises StoreError when the disk refuses."""
        return self._surrogates.save(folder)

    def load_surrogates(self, folder: str | Path) -> None:
        """Go on with those that a folder holds.

        Raises UsageError for a step of which it holds none, or one of another form; StoreError for a damaged file.
        """
        self._surrogates.load(folder)

    # requests

    def batch(self, requests: Iterable[RunRequest | Mapping[str, object]], *, keep_pure: bool = False) -> Batch:
        """Check requests once, for many passes over them or over parts of them.

        With `keep_pure`, what a pure step outside answers to a request is kept with the batch, and stands in later
        passes where the step is asked the same: a record then names the run that asked in `reused_from`. What
        was chosen, or drawn by `context.rng`, does not stand, nor any answer of a function that read `context.run`: it
        is of one run. Raises InputError for an input that does not
        fit the contract.
        """
        if isinstance(requests, str | Mapping) or not isinstance(requests, Iterable):
            raise UsageError(
                f"a batch is a list of requests, and was given one {type(requests).__name__}; put it in a list"
            )
        made = [each if isinstance(each, RunRequest) else RunRequest(input=each) for each in requests]
        kept = KeptAnswers() if keep_pure else None
        return Batch(self.plan, [admit(self.plan, each) for each in made], kept=kept)

    def forward(self, requests: Batch | Requests, *, seeds: Iterable[int] | None = None) -> Outcome:
        """Run a batch. `seeds` decide the choices, as they would in the engine; drawn anew where none are given."""
        data = requests if isinstance(requests, Batch) else self.batch(requests)
        if data.plan is not self.plan and data.plan.manifest_digest != self.plan.manifest_digest:
            raise UsageError(
                f"the batch was checked for workflow '{data.plan.name}' with other components or another file; make it "
                "with the `batch` of this module"
            )
        seeds = seeds_of(data, seeds)
        for passing in self._surrogates.passings.values():
            passing.end(learns=False)  # of a pass that raised
        self._copies.look_again()
        tally = self._whole.tried(data, seeds) if self._whole is not None and self._passes.may_be_whole() else None
        if tally is not None and tally.gain is not None:
            noted = Noted(partial(self._noted, data, seeds, tally))
            return self._outcomes.of(Loss(gain=tally.gain, scores=(), made=tally.parts), noted)
        batch, cohort = self._passes.begun(data, seeds, tally)
        for stretch in self._stretches:
            stretch.run(batch, cohort, tally)
            if isinstance(stretch.last, InsideNode) and stretch.last.estimator is Estimator.ENUMERATE:
                cohort = parted(batch, cohort, stretch.last)
        return self._outcomes.ended(batch, cohort, learns=self.training and torch.is_grad_enabled())

    def _noted(self, data: Batch, seeds: Sequence[int], tally: Tally) -> tuple[Underway, Cohort]:
        """A pass of modules alone, as it is noted."""
        assert self._whole is not None
        batch, cohort = self._passes.begun(data, seeds, tally)
        self._whole.note(batch, cohort, tally)
        return batch, cohort

    # what serves

    def trained(self) -> Workflow:
        """The workflow with what the modules have become: copies, in components of other digests."""
        made = self.workflow
        for name, component in self.components.items():
            made = made.with_component(component.with_module(copy.deepcopy(self.module_of(name))))
        return made

    def close(self) -> None:
        """Close what steps outside hold open; the next batch opens it again."""
        self._host.close()


def as_module(
    workflow: Workflow,
    *,
    train: Collection[str] | None = None,
    perturb: Mapping[str, Perturbation] | None = None,
    check_remote: int = CHECK_REMOTE,
) -> DifferentiableWorkflow:
    """A workflow as an ``nn.Module``: `forward` runs a batch, with tensors kept between differentiable steps.

    `train` names the components that learn, all when it is absent. `perturb` says of components what is done to them in
    a share of the runs while the module is in train mode, so that others do not come to rely on their forgiveness.
    `check_remote`: of so many rows whose gradient comes from elsewhere one is held against differences of answers from
    there; 0 trusts them all. Raises UsageError, with every reason, for a workflow that only the engine can run, for a
    component that is frozen and asked to learn, and for one that cannot be perturbed so.
    """
    made = DifferentiableWorkflow(workflow, train=train, perturb=perturb, check_remote=check_remote)
    hold_some(made.components, workflow.name)
    return made

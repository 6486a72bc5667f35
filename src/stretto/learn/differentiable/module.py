"""`as_module`: a workflow as an ``nn.Module``."""

import copy
import random
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import torch
from torch import nn

from stretto.components.torch.weights import weights_digest
from stretto.engine.admission import admit
from stretto.engine.request import RunRequest
from stretto.learn.adversity.adversary import adversaries_of
from stretto.learn.adversity.perturbation import Perturbation, check_perturbations
from stretto.learn.adversity.stranger import strangers_of
from stretto.learn.arguments import as_recorded, check_workflow
from stretto.learn.differentiable import CHECK_REMOTE
from stretto.learn.differentiable.building import (
    build,
    checked,
    components_in,
    hold_not_remote,
    plain_outside_of,
    refusals,
)
from stretto.learn.differentiable.cohort import Cohort
from stretto.learn.differentiable.columns import Column
from stretto.learn.differentiable.data import Batch
from stretto.learn.differentiable.downstream import Downstream
from stretto.learn.differentiable.enumerating import parted
from stretto.learn.differentiable.flow import follow, hold_cycles
from stretto.learn.differentiable.foretelling import Foretelling
from stretto.learn.differentiable.frame import ColumnFrame
from stretto.learn.differentiable.gradients import Gradients, Left, go_back
from stretto.learn.differentiable.host import Host
from stretto.learn.differentiable.index import Index
from stretto.learn.differentiable.inside import InsideNode
from stretto.learn.differentiable.joints import hold_joints
from stretto.learn.differentiable.kept import KeptAnswers
from stretto.learn.differentiable.loss import Loss, loss_of
from stretto.learn.differentiable.outcome import Outcome
from stretto.learn.differentiable.passing import passings_of
from stretto.learn.differentiable.reading import column_of, source_of
from stretto.learn.differentiable.recorded import rows_of_runs
from stretto.learn.differentiable.records import Sealing
from stretto.learn.differentiable.rewards import gain_of
from stretto.learn.differentiable.roots import fill_roots
from stretto.learn.differentiable.settling import settle_estimators
from stretto.learn.differentiable.states import States
from stretto.learn.differentiable.straight import stretches_of
from stretto.learn.differentiable.underway import Computed, Underway, perturbed_in
from stretto.learn.differentiable.weights import Weights
from stretto.learn.differentiable.whole import Noted, Noting, Tally, whole_of
from stretto.learn.surrogates.file import load_surrogates, save_surrogates
from stretto.learn.surrogates.of_choice import ChoiceSurrogate
from stretto.learn.surrogates.of_step import StepSurrogate
from stretto.learn.surrogates.report import SurrogateReport
from stretto.learn.usable import Recorded
from stretto.record.model import Run
from stretto.runtime.workflow import Workflow
from stretto.types.enums import Estimator
from stretto.types.errors import ComponentError, ContractError, UsageError
from stretto.types.ids import Digest

SEED_BITS: Final = 53
"""As the engine draws seeds."""

MOST_DIGESTED: Final = 1_000_000
"""Weights of which a digest is made with each batch that a surrogate learns from: some 2 ms."""

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
        if found := refusals(plan):
            listed = "".join(f"\n  - {each}" for each in found)
            raise UsageError(f"workflow '{plan.name}' cannot be run as a module:{listed}\nRun it with `workflow.run`")
        self._nodes = build(plan.body, plan.slots)
        self.remote_checks = checked(self._nodes, check_remote)
        """Of each step whose component pulls gradients back itself: rows so far, and what checks of them came to."""
        self.components = components_in(self._nodes)
        """Those that are differentiable, by name."""
        hold_joints(self._nodes, {name: each.module for name, each in self.components.items()})
        check_perturbations(perturb or {})
        self._strangers = strangers_of([*plain_outside_of(self._nodes)], perturb or {})
        inside = {name: each for name, each in (perturb or {}).items() if name not in self._strangers}
        self._adversaries = adversaries_of(plan, self.components, inside)
        self._attributes: dict[str, str] = {}
        self._modules_of = _copies({name: each.module for name, each in self.components.items()})
        for name, module in self._modules_of.items():
            self._attributes[name] = self._attribute_of(name)
            self.add_module(self._attributes[name], module)
        if train is not None:
            self._freeze_but(train)
        self._weights = Weights(self._modules_of, self)
        self.train()
        self._host = Host(self._rollouts)
        self._output = [(name, source_of(get, plan.output_reads, plan.slots)) for name, get in plan.output]
        self._downstream = Downstream(self._nodes, plan.reward_weights)
        settle_estimators(self._nodes, self._downstream)
        self._foretelling = Foretelling(self._nodes)
        flow = follow(self._nodes, {name for name, those in self._weights.of.items() if _learns(those)})
        hold_cycles(flow)
        self._passings = passings_of(self._nodes, flow)
        self._stretches = stretches_of(self._nodes, self._modules_of)
        self._whole = whole_of(self._stretches, plan, self._downstream)
        self._digests: tuple[tuple[int, int], dict[str, Digest]] | None = None
        self.skipped_updates = 0
        """How many backward passes gave gradients that were no numbers, or none."""

    def _attribute_of(self, component: str) -> str:
        """What a component's module is called here: its name, with ``_`` for dots and after a name that is taken."""
        name = component.replace(".", "_")
        while hasattr(self, name):
            name += "_"
        return name

    def module_of(self, component: str) -> nn.Module:
        """The module that learns in place of a component's own."""
        return self._modules_of[component]

    def _look_again(self) -> None:
        """See what was put inside a component's module. Raise UsageError where another stands in its own place."""
        if not self._weights.are_others():
            return
        for name, module in self._modules_of.items():
            if self._modules.get(self._attributes[name]) is not module:
                raise UsageError(
                    f"another module was put in the place of component '{name}', which the workflow does not declare; "
                    "give the workflow another component before: "
                    "`as_module(workflow.with_component(component.with_module(module)))`"
                )
        self._weights.look()

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Raise UsageError: it holds an engine."""
        raise UsageError(
            "the module of a workflow cannot be copied or pickled, since it holds an engine; keep its `state_dict()` "
            "and load it into another `as_module(workflow)`, or take the workflow with what was learnt from `trained()`"
        )

    def _freeze_but(self, train: Collection[str]) -> None:
        """Let only these components learn. Raises UsageError for one that is not there, or has nothing to learn."""
        if isinstance(train, str):
            raise UsageError(f"`train` is a list of components, and was given '{train}'; write train=['{train}']")
        for name in train:
            if name not in self.components:
                hold_not_remote(self._nodes, name)
                there = ", ".join(self.components)
                raise UsageError(
                    f"workflow '{self.plan.name}' has no differentiable component '{name}'; it has: {there}"
                )
            if not any(each.requires_grad for each in self._modules_of[name].parameters()):
                raise UsageError(
                    f"component '{name}' is frozen: none of its parameters takes a gradient, so it cannot learn"
                )
        learning = {id(each) for name in train for each in self._modules_of[name].parameters() if each.requires_grad}
        for each in self.parameters():
            if id(each) not in learning and each.requires_grad:
                each.requires_grad_(False)

    @property
    def shared(self) -> tuple[tuple[str, ...], ...]:
        """Components that have parameters in common which learn, whose gradients add up."""
        owners: dict[int, list[str]] = {}
        for name, those in self._weights.of.items():
            for each in those:
                if each.requires_grad:
                    owners.setdefault(id(each), []).append(name)
        return tuple(dict.fromkeys(tuple(names) for names in owners.values() if len(names) > 1))

    @property
    def surrogates(self) -> Mapping[str, ChoiceSurrogate | StepSurrogate]:
        """Those of choices that `relax` is asked of, by step, or ``step#choice`` where it makes several, and of steps
        outside that a surrogate stands for, by step."""
        return {**self._foretelling.of_choices, **{name: each.surrogate for name, each in self._passings.items()}}

    @property
    def biased(self) -> Mapping[str, Digest]:
        """Steps outside whose gradient is that of a surrogate, by step: its digest."""
        return {step: each.surrogate.digest for step, each in self._passings.items()}

    @property
    def report(self) -> str:
        """What every surrogate is worth, a line each."""
        return "\n".join(str(each.report()) for each in self.surrogates.values()) or "no step has a surrogate"

    def fit_surrogates(self, runs: Iterable[Run | Recorded]) -> Mapping[str, SurrogateReport]:
        """Let every surrogate learn from recorded runs of the workflow; tells what each is then worth.

        Raises LearningError where the runs tell nothing of a step.
        """
        recorded = as_recorded(runs)
        for surrogate, node, choice in self._foretelling.choices:
            names, weights = self._downstream.terms(node.place), self.plan.reward_weights
            rows, policy = rows_of_runs(node, choice, recorded, names, weights)
            surrogate.learn_recorded(rows, of=policy)
        for passing in self._passings.values():
            passing.learn_recorded([each.run for each in recorded])
        return {step: each.report() for step, each in self.surrogates.items()}

    def save_surrogates(self, folder: str | Path) -> Path:
        """Write every surrogate into a folder, by digest; raises StoreError when the disk refuses."""
        return save_surrogates(self.surrogates, Path(folder))

    def load_surrogates(self, folder: str | Path) -> None:
        """Go on with those that a folder holds.

        Raises UsageError for a step of which it holds none, or one of another form; StoreError for a damaged file.
        """
        load_surrogates(self.surrogates, Path(folder))

    # requests

    def batch(self, requests: Iterable[RunRequest | Mapping[str, object]], *, keep_pure: bool = False) -> Batch:
        """Check requests once, for many passes over them or over parts of them.

        With `keep_pure`, what a pure step outside answers to a request is kept with the batch, and stands in later
        passes where the step is asked the same: a record then names the run that asked in `reused_from`. What
        was chosen, or drawn by `context.rng`, does not stand, nor any answer of a function that read `context.run`: it
        is of one run. Raises InputError for an input that does not
        fit the contract.
        """
        if isinstance(requests, str | Mapping):
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
        size = len(data)
        if size == 0:
            raise UsageError("a batch has no request; give one or more")
        seeds = _seeds(data) if seeds is None else [*seeds]
        if len(seeds) != size:
            raise UsageError(f"{len(seeds)} seeds are given for {size} requests; expected one for each")
        for passing in self._passings.values():
            passing.end(learns=False)  # of a pass that raised
        self._look_again()
        tally = self._whole.tried(data, seeds) if self._whole is not None and self._may_be_whole() else None
        if tally is not None and tally.gain is not None:
            return self._outcome(Loss(gain=tally.gain, scores=()), Noted(partial(self._noted, data, seeds, tally)))
        batch, cohort = self._begun(data, seeds, tally)
        for stretch in self._stretches:
            stretch.run(batch, cohort, tally)
            if isinstance(stretch.last, InsideNode) and stretch.last.estimator is Estimator.ENUMERATE:
                cohort = parted(batch, cohort, stretch.last)
        return self._ended(batch, cohort)

    def _may_be_whole(self) -> bool:
        """Whether nothing of this pass stands between the modules, in a mode in which torch counts writes."""
        perturbs = self.training and bool(self._adversaries)
        return not perturbs and not self._weights.is_elsewhere() and not torch.is_inference_mode_enabled()

    def _begun(self, data: Batch, seeds: Sequence[int], tally: Tally | None) -> tuple[Underway, Cohort]:
        """A pass, before its first step."""
        size, began = len(data), (time.monotonic(), time.time_ns()) if tally is None else tally.began
        states = States(self._host, data, seeds, began)
        batch = Underway(
            data=data,
            states=states,
            modules=self._modules_of,
            seeds=seeds,
            adversaries=self._adversaries if self.training else {},
            strangers=self._strangers if self.training else {},
            is_elsewhere=self._weights.is_elsewhere(),
        )
        cohort = Cohort(ColumnFrame(size), "", range(size), states.budget, is_whole=True)
        fill_roots(batch, cohort, self.plan)
        return batch, cohort

    def _noted(self, data: Batch, seeds: Sequence[int], tally: Tally) -> tuple[Underway, Cohort]:
        """A pass of modules alone, as it is noted."""
        assert self._whole is not None
        batch, cohort = self._begun(data, seeds, tally)
        self._whole.note(batch, cohort, tally)
        return batch, cohort

    # outcome

    def _ended(self, batch: Underway, cohort: Cohort) -> Outcome:
        gain = gain_of(batch, cohort, self.plan.reward_weights)
        loss = loss_of(batch, gain, self._downstream, self._foretelling)
        learns = self.training and torch.is_grad_enabled()
        self._foretelling.end(self._behaviour if learns else None)
        for passing in self._passings.values():
            passing.end(learns=learns)
        perturbed = perturbed_in(batch) if batch.adversaries or batch.strangers else frozenset()
        return self._outcome(loss, lambda: (batch, cohort), perturbed)

    def _outcome(self, loss: Loss, noted: Noting, perturbed: frozenset[int] = frozenset()) -> Outcome:
        return Outcome(
            parts=loss,
            perturbed=perturbed,
            make_columns=partial(self._columns, noted),
            make_rewards=loss.gain.of_runs,
            make_runs=partial(self._runs, noted, self._weights.version()),
            go_back=partial(self._go_back, noted, loss),
        )

    def _columns(self, noted: Noting) -> dict[str, Column]:
        batch, cohort = noted()
        columns = {name: column_of(source, cohort.frame)[0] for name, source in self._output}
        if cohort.size == len(batch.data):
            return columns
        drawn = Index([row for row, life in enumerate(cohort.lives) if life < len(batch.data)])
        return {name: column.take(drawn) for name, column in columns.items()}

    def _go_back(self, noted: Noting, loss: Loss) -> Gradients:
        if not self.training:
            raise UsageError("the module is in eval mode, in which nothing is learnt; call `train()` first")
        if not loss.parts:
            waiting = [step for step, each in self._passings.items() if each.lacks_data]
            if waiting:
                return self._skipped(
                    f"no gradient passes step '{waiting[0]}' yet: its surrogate had no data before this batch, from "
                    "which it learnt. `fit_surrogates(runs)` teaches it of recorded runs first"
                )
            raise UsageError(
                "no reward of the batch depends on a parameter: the data flow reaches none, or every reward is unknown"
            )
        try:
            go_back(loss.parts)
        except ComponentError as error:
            self.zero_grad()
            if isinstance(error, ContractError):
                raise
            return self._skipped(f"{error}. All gradients were dropped")
        left = Left(self._weights.of, copies=self._weights.are_small and not self._weights.is_elsewhere())
        if left.are_numbers():
            return Gradients(left, biased=self.biased)
        wrong = left.wrong()
        self.zero_grad()
        steps = [event for event in noted()[0].events if isinstance(event, Computed)]
        last = next(event for event in reversed(steps) if event.op.component_name in wrong)  # type: ignore[attr-defined]  # of calls
        skipped = (
            f"the gradient of component '{last.op.component_name}' at step '{last.place}' is no number; "  # type: ignore[attr-defined]  # as above
            f"so is that of {len(wrong) - 1} more. All gradients were dropped"
        )
        return self._skipped(skipped)

    def _skipped(self, why: str) -> Gradients:
        self.skipped_updates += 1
        return Gradients(None, components=self._weights.of, skipped=why, biased=self.biased)

    # records

    def _behaviour(self, name: str) -> Digest:
        """Of a component's weights as they are; empty for large ones, of which a batch need not make it."""
        large = sum(each.numel() for each in self._weights.of[name]) > MOST_DIGESTED
        return Digest("") if large else weights_digest(self._modules_of[name].state_dict())

    def _runs(self, noted: Noting, version: tuple[int, int]) -> list[Run]:
        self._look_again()
        if self._weights.version() != version:
            raise UsageError(
                "the weights have changed since the batch was run; ask for `runs` before the optimiser's step"
            )
        if self._digests is None or self._digests[0] != version:
            found = {name: weights_digest(module.state_dict()) for name, module in self._modules_of.items()}
            self._digests = version, found
        batch, cohort = noted()
        batch.states.of(range(len(batch.data)))  # made here: `runs` is in the loop that would make them
        sealing = Sealing(batch, cohort, self.plan, self.components, self._digests[1])
        return self._host.run(sealing.runs())

    def trained(self) -> Workflow:
        """The workflow with what the modules have become: copies, in components of other digests."""
        made = self.workflow
        for name, component in self.components.items():
            made = made.with_component(component.with_module(copy.deepcopy(self._modules_of[name])))
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
    if not made.components:
        raise UsageError(
            f"workflow '{workflow.name}' has no differentiable component; declare one with @stretto.differentiable"
        )
    return made


def _learns(parameters: Iterable[nn.Parameter]) -> bool:
    return any(each.requires_grad for each in parameters)


def _copies(modules: Mapping[str, nn.Module]) -> dict[str, nn.Module]:
    """Copies that learn; what modules share they share, and what is frozen is not copied."""
    memo: dict[int, Any] = {}
    for module in modules.values():
        memo |= {id(parameter): parameter for parameter in module.parameters() if not parameter.requires_grad}
    return copy.deepcopy(dict(modules), memo)


def _seeds(data: Batch) -> list[int]:
    """Those that were asked for, else drawn."""
    draw = random.getrandbits  # spreads choices, keeps no secret
    if data.has_seeds:
        return [draw(SEED_BITS) if seed is None else seed for seed in data.seeds]
    return [draw(SEED_BITS) for _ in data.seeds]

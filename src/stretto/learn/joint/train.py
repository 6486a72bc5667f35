"""Joint training: run a batch, go back through it, step, evaluate, keep; again, until the updates are made or nothing
gets better."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from stretto.learn.adversity.perturbation import Perturbation, check_perturbations
from stretto.learn.arguments import check_workflow
from stretto.learn.claim import claimed
from stretto.learn.differentiable.module import DifferentiableWorkflow
from stretto.learn.joint.curve import Curve
from stretto.learn.joint.folds import Folds, folds_of
from stretto.learn.joint.held_out import HeldOut
from stretto.learn.joint.keeping import Keeping
from stretto.learn.joint.learners import Learners
from stretto.learn.joint.module import learning_module
from stretto.learn.joint.options import JointOptions
from stretto.learn.joint.perturbed import described
from stretto.learn.joint.progress import Best, JointFolder, JointProgress
from stretto.learn.joint.report import HeldOutReport, JointReport
from stretto.learn.joint.same import beside_code, learnt_with
from stretto.learn.joint.state import digests_of, keep_state, keep_weights, take_up
from stretto.learn.joint.update import Updating
from stretto.learn.resuming import check_changed_code, goes_on_with
from stretto.learn.surrogates.report import SurrogateReport
from stretto.learn.tasks import Task, as_tasks, tasks_digest
from stretto.learn.update import MOST_SKIPPED
from stretto.runtime.workflow import Workflow
from stretto.types.arguments import wrong
from stretto.types.errors import LearningError
from stretto.types.protocols import Trainable

_log: Final = logging.getLogger(__name__)

OnUpdate = Callable[[JointReport], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class JointResult:
    """What a joint training came to."""

    workflow: Workflow
    """With the best weights."""
    folder: Path
    best: Best
    """Which weights these are."""
    checkpoints: dict[str, Path]
    """Their files, by component."""
    reports: Sequence[JointReport]
    surrogates: dict[str, SurrogateReport]
    """What those of choices and steps are worth in the end, by step."""
    has_ended_early: bool
    """Whether nothing got better for as many evaluations as it had patience for."""


def train_jointly(
    workflow: Workflow,
    tasks: Sequence[Task],
    *,
    folder: Path,
    options: JointOptions | None = None,
    resume: bool = False,
    changed_code: bool = False,
    on_update: OnUpdate | None = None,
    perturb: Mapping[str, Perturbation] | None = None,
) -> JointResult:
    """As `stretto.learn.joint.train_jointly` says."""
    check_workflow(workflow)
    check_changed_code(changed_code, resume=resume)
    options, perturb = options or JointOptions(), {} if perturb is None else perturb
    if not isinstance(options, JointOptions):
        raise wrong("options", options, "JointOptions")
    check_perturbations(perturb)
    tasks = as_tasks(tasks)
    folds = folds_of(tasks, options)
    kept = JointFolder(folder)
    kept.check(resume=resume)
    module = learning_module(workflow, options, perturb)
    fresh = JointProgress(
        manifest=workflow.plan.manifest,
        files=workflow.plan.files_digest,
        tasks=tasks_digest(tasks),
        options=options,
        code=workflow.code(),
        beside_code=beside_code(workflow, module),
        learnt_with=learnt_with(module),
        perturbed=described(perturb),
    )
    with _Training(workflow, module, folds, kept, fresh) as training, claimed(folder):
        kept.check(resume=resume)  # again: another may have trained there meanwhile
        training.begin(resume=resume, changed_code=changed_code, on_update=on_update)
        while not training.progress.has_ended:
            training.advance(on_update)
        return training.result()


class _Training:
    """One training in a folder that nobody else writes into."""

    def __init__(
        self,
        workflow: Workflow,
        module: DifferentiableWorkflow,
        folds: Folds,
        kept: JointFolder,
        fresh: JointProgress,
    ) -> None:
        self.progress = fresh
        self._workflow = workflow
        self._module = module
        self._kept = kept
        self._learners = Learners(self._module, fresh.options)
        self._keeping = Keeping(workflow.store)
        self._curve = Curve(kept.folder)
        self._updating = Updating(self._module, folds.train, fresh.options, self._learners, self._keeping)
        self._held_out = HeldOut(self._module, folds.held_out, fresh.options, self._keeping) if folds.held_out else None

    def __enter__(self) -> "_Training":
        return self

    def __exit__(self, *_: object) -> None:
        self._module.close()
        self._keeping.close()
        self._curve.close()

    def begin(self, *, resume: bool, changed_code: bool, on_update: OnUpdate | None) -> None:
        """Take up what is in the folder, or evaluate what the training begins with."""
        if resume:
            self._take_up(changed_code=changed_code)
        standing = self.progress.going_on()
        self._curve.cut(standing.reports, forget_last_evaluation=standing is not self.progress)
        self.progress = standing
        if not resume:
            self._save()  # from here on it can be resumed
        if self._held_out is not None and not self.progress.reports:
            report = self._noted(JointReport(update=0, runs=0, reward_mean=None, unknown=0, gradients={}))
            self._save()
            _tell(report, on_update)

    def _take_up(self, *, changed_code: bool) -> None:
        fresh = self.progress
        self.progress = take_up(self._kept, self._module, self._learners, fresh, changed_code=changed_code)
        if self.progress.changed_code and not self.progress.has_ended:
            first = self.progress.update + 1
            _log.warning("%s", goes_on_with(self.progress.changed_code, self._kept.folder, first))

    def advance(self, on_update: OnUpdate | None) -> None:
        """Make one update, with all that follows it."""
        options, number = self.progress.options, self.progress.update + 1
        report = self._updating.make(number)
        skipped = self.progress.skipped + 1 if report.skipped else 0
        if skipped > MOST_SKIPPED:
            raise LearningError(f"{skipped} updates in a row could not be made, the last because {report.skipped}")
        self.progress = msgspec.structs.replace(self.progress, update=number, skipped=skipped)
        report = self._noted(report)
        if number % options.checkpoint_every == 0 or self.progress.has_ended:
            self._save()  # before it is told, so that what was told stands
        _tell(report, on_update)

    def _noted(self, report: JointReport) -> JointReport:
        """The report, with an evaluation where one is due and what it is the first to tell, in the curve."""
        report = msgspec.structs.replace(report, changed_code=self.progress.changed_code)
        if self._is_due(report.update):
            report = msgspec.structs.replace(report, held_out=self._evaluated(report.update))
        self._curve.append(report)
        self.progress = msgspec.structs.replace(self.progress, reports=self.progress.reports + 1, changed_code=())
        return report

    def _is_due(self, update: int) -> bool:
        options = self.progress.options
        return self._held_out is not None and (update % options.evaluate_every == 0 or update == options.updates)

    def _evaluated(self, update: int) -> HeldOutReport:
        assert self._held_out is not None
        found = self._held_out.measure(update)
        self.progress = self.progress.evaluated(update, found.reward_mean, digests_of(self._module))
        is_best = self.progress.best is not None and self.progress.best.update == update
        if is_best:
            keep_weights(self._kept, self._module)
        return HeldOutReport(
            reward_mean=found.reward_mean,
            runs=found.runs,
            unknown=found.unknown,
            left_out=found.left_out,
            is_best=is_best,
        )

    def _save(self) -> None:
        """Keep everything; the state last, which is what counts."""
        if self.progress.has_ended:
            keep_weights(self._kept, self._module)
        weights = digests_of(self._module)
        best = self.progress.best
        if self._held_out is None:
            best = Best(update=self.progress.update, reward_mean=None, weights=weights)
        self.progress = msgspec.structs.replace(self.progress, weights=weights, best=best)
        self._keeping.flush()
        self._curve.sync()
        keep_state(self._kept, self.progress, self._module, self._learners)
        self._kept.prune(self.progress.kept_weights)

    def result(self) -> JointResult:
        """What it came to."""
        best = self.progress.best
        assert best is not None
        checkpoints = self._kept.checkpoints(best.weights)
        workflow = self._workflow
        for name, path in checkpoints.items():
            component = workflow.component(name)
            assert isinstance(component, Trainable)
            workflow = workflow.with_component(component.with_weights(str(path)))
        return JointResult(
            workflow=workflow,
            folder=self._kept.folder,
            best=best,
            checkpoints=checkpoints,
            reports=self._curve.read(self.progress.reports),
            surrogates={step: each.report() for step, each in self._module.surrogates.items()},
            has_ended_early=self.progress.has_ended_early and self.progress.update < self.progress.options.updates,
        )


def _tell(report: JointReport, on_update: OnUpdate | None) -> None:
    if on_update is not None:
        on_update(report)

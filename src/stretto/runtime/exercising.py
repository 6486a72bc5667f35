"""A fallback is exercised before it is needed: once a period a share of the real traffic asks it too.

The caller has got the real answer by then. What the fallback would have answered is judged and kept as an annotation
of the run, and so is when the exercise began: from that alone a process that starts knows when the next one is due.
"""

import asyncio
import logging
import random
from collections.abc import Sequence
from typing import Final

import msgspec

from stretto.engine.exercise import Exercised, exercise
from stretto.plan.model import BusinessFallback, Plan
from stretto.record.model import Annotation, Run
from stretto.store.sqlite import Store
from stretto.types.errors import StrettoError
from stretto.types.ids import Digest
from stretto.types.protection import ExerciseRule

_log: Final = logging.getLogger(__name__)

ANNOTATION: Final = "fallback_exercise"
"""Name of the annotation that keeps what came of it."""

LASTS_PART: Final = 1 / 30
"""Of its period, for which an exercise takes its share of the traffic: of a month a day."""

OVERDUE_PART: Final = 0.1
"""Of its period, by which an exercise may be late: then the next run begins it, whatever its share; and when there is
none, the fallback is stale."""

NS: Final = 1_000_000_000

NO_DIGEST: Final = Digest("")
"""Of exercises that were kept before digests were."""


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """The annotation's value."""

    began_at_ns: int
    """When the exercise began that this is part of."""
    every_s: float
    """Its period, as it was declared; 0 when somebody asked for it by hand and none was."""
    component: str
    digest: Digest = NO_DIGEST
    """Of the component, as it was exercised."""
    result: Exercised


class Exercise(msgspec.Struct, frozen=True, kw_only=True):
    """The last exercise of a workflow's fallback."""

    workflow: str
    began_at_ns: int
    every_s: float
    results: Sequence[Exercised]

    @property
    def failures(self) -> list[Exercised]:
        """Those of it in which something was wrong."""
        return [result for result in self.results if not result.held]

    def is_stale(self, now_ns: int) -> bool:
        """Whether the next one is overdue."""
        return self.every_s > 0 and now_ns - self.began_at_ns > self.every_s * (1 + OVERDUE_PART) * NS


def last_exercises(store: Store, *, of: Digest | None = None) -> dict[str, Exercise]:
    """The last exercise of each workflow that has any in a store, by workflow; with `of`, of the component of that
    digest alone."""
    found: dict[str, Exercise] = {}
    for workflow, annotation in store.annotated(ANNOTATION):
        try:
            kept = msgspec.convert(annotation.value, Kept)
        except msgspec.ValidationError:  # somebody else's annotation of that name
            continue
        if of is not None and kept.digest != of:
            continue
        before = found.get(workflow)
        if before is not None and before.began_at_ns > kept.began_at_ns:
            continue
        same = before is not None and before.began_at_ns == kept.began_at_ns
        found[workflow] = Exercise(
            workflow=workflow,
            began_at_ns=kept.began_at_ns,
            every_s=kept.every_s,
            results=[*(before.results if same and before is not None else ()), kept.result],
        )
    return found


def annotation_of(run: Run, business: BusinessFallback, result: Exercised, began_at_ns: int, at_ns: int) -> Annotation:
    """What is kept of one of the runs of an exercise."""
    rule = business.exercise
    kept = Kept(
        began_at_ns=began_at_ns,
        every_s=0.0 if rule is None else rule.every_s,
        component=business.op.component_name,
        digest=business.op.component.card.digest,
        result=result,
    )
    return Annotation(run_id=run.id, name=ANNOTATION, value=msgspec.to_builtins(kept), at_ns=at_ns, by="exercise")


async def exercise_each(
    plan: Plan, business: BusinessFallback, runs: Sequence[Run], store: Store, now_ns: int
) -> list[Exercised]:
    """Ask the fallback for each of these runs, and keep that as one exercise; results in their order."""
    results = [await exercise(plan, business, run) for run in runs]
    kept = [annotation_of(run, business, each, now_ns, now_ns) for run, each in zip(runs, results, strict=True)]
    await asyncio.to_thread(store.annotate, *kept)
    return results


class Exercising:
    """Exercises the fallback of one workflow, while it runs."""

    def __init__(self, plan: Plan, business: BusinessFallback, rule: ExerciseRule, store: Store) -> None:
        self._plan = plan
        self._business = business
        self._rule = rule
        self._store = store
        self._began_at_ns: int | None = None
        """When the last one began, 0 for never; None until the store was asked."""
        self._looker: asyncio.Task[None] | None = None
        """The task that is about to begin one: of the runs that end meanwhile none begins another."""
        self._tasks: set[asyncio.Task[None]] = set()

    def retune(self, plan: Plan) -> None:
        """Go by the rule of the plan as it is under settings, from the next run on; from any thread."""
        if plan.business is not None and plan.business.exercise is not None:
            self._business, self._rule = plan.business, plan.business.exercise

    def after(self, run: Run) -> None:
        """A run has answered: let it ask the fallback too, in the background, if that is due."""
        at_ns = run.started_at_ns
        if not run.succeeded or self._is_looking:
            return
        if self._began_at_ns is not None and not self._takes(run, at_ns):
            return
        task = asyncio.get_running_loop().create_task(self._exercise(run, at_ns))
        self._looker = task if self._is_to_begin(at_ns) else None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Wait for what is under way in this event loop."""
        loop = asyncio.get_running_loop()
        mine = [task for task in self._tasks if task.get_loop() is loop]
        self._tasks.intersection_update(mine)
        if mine:
            await asyncio.wait(mine)

    @property
    def _is_looking(self) -> bool:
        looker = self._looker  # one that its event loop left behind will never be done
        return looker is not None and not looker.done() and not looker.get_loop().is_closed()

    def _takes(self, run: Run, at_ns: int) -> bool:
        """Whether a run is one of those that ask it: while an exercise lasts, or when the next is due."""
        began = self._began_at_ns or 0
        age_s, every_s = (at_ns - began) / NS, self._rule.every_s
        if not began or age_s > every_s * (1 + OVERDUE_PART):
            return True
        if every_s * LASTS_PART < age_s < every_s:
            return False
        return random.Random(f"{run.id}/{ANNOTATION}").random() < self._rule.share  # noqa: S311  # so that it can be told again

    async def _exercise(self, run: Run, at_ns: int) -> None:
        try:
            began = await self._began(run, at_ns)
            if began is None:
                return
            result = await exercise(self._plan, self._business, run)
            kept = annotation_of(run, self._business, result, began, at_ns + int(run.duration_ms * 1e6))
            await asyncio.to_thread(self._store.annotate, kept)
        except StrettoError as error:
            _log.warning("the fallback of workflow '%s' could not be exercised: %s", self._plan.name, error)
            return
        if not result.held:
            _log.warning(
                "the fallback of workflow '%s' would have failed run %s: %s", self._plan.name, run.id, result.broken
            )

    async def _began(self, run: Run, at_ns: int) -> int | None:
        """When the exercise began that a run is part of, which may be now; None when it is of none after all."""
        if not self._is_to_begin(at_ns):
            return self._began_at_ns
        digest = self._business.op.component.card.digest  # what was changed since was never exercised
        last = (await asyncio.to_thread(last_exercises, self._store, of=digest)).get(self._plan.name)
        self._began_at_ns = 0 if last is None else last.began_at_ns  # another process may have begun it
        if not self._takes(run, at_ns):
            return None
        if self._is_to_begin(at_ns):
            self._began_at_ns = at_ns
        self._looker = None
        return self._began_at_ns

    def _is_to_begin(self, at_ns: int) -> bool:
        began = self._began_at_ns
        return not began or (at_ns - began) / NS >= self._rule.every_s

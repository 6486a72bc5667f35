"""The whole of it: faults into many runs, wrong values into good ones, and the report of both."""

from collections.abc import Callable, Sequence

from stretto.chaos.check import check_places
from stretto.chaos.domains import Domains
from stretto.chaos.draws import run_seed
from stretto.chaos.mutation import MutationScore, MutationTrial
from stretto.chaos.report import ChaosReport, report_of
from stretto.chaos.schedule import FaultSchedule
from stretto.chaos.trial import Asked, Given, Trial
from stretto.runtime.workflow import Workflow
from stretto.spec.chaos_model import ChaosSpec
from stretto.types.arguments import check_whole
from stretto.types.errors import UsageError


class Experiment:
    """One chaos plan on one workflow. Memories begin empty in every run, and nothing of them is kept."""

    def __init__(
        self,
        workflow: Workflow,
        chaos: ChaosSpec,
        given: Sequence[Given],
        *,
        runs: int,
        seed: int | None = None,
        only: int | None = None,
        concurrency: int = 8,
        on_run: Callable[[], None] | None = None,
    ) -> None:
        """`only` is the index of the one run to make again, as it was among the others.

        Raises SpecError when the plan names what the workflow does not have, UsageError for counts out of range.
        """
        check_whole("runs", runs, least=1)
        check_whole("concurrency", concurrency, least=1)
        if not given:
            raise UsageError("there is no input to give to the runs")
        if only is not None and not 0 <= only < runs:
            raise UsageError(f"there is no run {only} among {runs}; they are counted from 0 to {runs - 1}")
        check_places(chaos, workflow.plan)
        domains = Domains(workflow.plan)
        self.seed = chaos.seed if seed is None else seed
        self._chaos = chaos
        self._given = given
        self._indices = range(runs) if only is None else (only,)
        self._mutants = chaos.mutants if only is None else 0
        self.mutation: MutationScore | None = None
        workflow = workflow.for_rollouts()
        limit_s = chaos.run_limit.total_seconds()
        self.trial = Trial(
            workflow,
            FaultSchedule(chaos.faults, self.seed, domains),
            purpose="chaos",
            run_limit_s=limit_s,
            concurrency=concurrency,
            on_run=on_run,
        )
        self._mutation_trial = MutationTrial(
            workflow,
            domains,
            seed=self.seed,
            most=self._mutants,
            run_limit_s=limit_s,
            concurrency=concurrency,
            on_run=on_run,
        )

    async def go(self) -> ChaosReport:
        """Make all runs. When it is cancelled, `report` tells of those that were made."""
        await self.trial.go(
            {index: Asked(self._given[index % len(self._given)], run_seed(self.seed, index)) for index in self._indices}
        )
        if self._mutants:
            self.mutation = await self._mutation_trial.go(self._given)
        return self.report()

    def report(self, *, stopped: bool = False) -> ChaosReport:
        """What is known so far."""
        return report_of(
            self.trial, self._chaos, self.seed, self.mutation, expected=len(self._indices), stopped=stopped
        )

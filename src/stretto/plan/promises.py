"""What a contract promises and weighs must be about what is there."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Protocol, runtime_checkable

from stretto.plan.breach import check_breach
from stretto.plan.codes import PlanCode
from stretto.plan.fields import Reader
from stretto.spec.contract_model import ContractSpec, RewardSpec
from stretto.spec.model import StepSpec, steps_in
from stretto.spec.report import Report
from stretto.spec.suggest import nearest
from stretto.types.protocols import Component


@runtime_checkable
class NamesTerms(Protocol):
    """A reward component that says beforehand which terms it gives."""

    @property
    def terms(self) -> Collection[str]: ...


def check_reward(weights: Sequence[RewardSpec], components: Iterable[Component], report: Report) -> None:
    """Hold the contract's terms against what the reward steps say that they give; some do not say."""
    judges = [each for each in components if each.card.kind == "reward"]
    given = [judge.terms for judge in judges if isinstance(judge, NamesTerms) and judge.terms]
    if len(given) < len(judges):
        return
    terms = sorted({term for names in given for term in names})
    for weight in weights:
        if weight.name.value not in terms:
            report.add(
                weight.name.span.problem(
                    PlanCode.REWARD,
                    f"the contract weighs '{weight.name.value}', and no reward step gives it",
                    expected=f"one of {', '.join(terms)}" if terms else "a step whose component is of kind reward",
                    suggestion=nearest(weight.name.value, terms) or "",
                )
            )


def check_promises(contract: ContractSpec, steps: Sequence[StepSpec], report: Report, reader: Reader) -> None:
    """Promises must be about steps that are there, and what answers when they are broken must be able to."""
    by_name = {step.name.value: step for step in steps_in(steps)}
    known = {"workflow", *by_name}
    for promise in contract.sla:
        target = promise.target
        if target.value not in known:
            report.add(
                target.span.problem(
                    PlanCode.UNKNOWN_STEP,
                    f"the sla of '{target.value}' is about no step of this workflow",
                    expected=f"workflow, or one of {', '.join(sorted(known - {'workflow'}))}",
                    suggestion=nearest(target.value, known) or "",
                )
            )
        else:
            check_breach(promise, by_name.get(target.value), reader)


def names_of(steps: Sequence[StepSpec]) -> Iterator[str]:
    """Names of steps, those inside loops and maps too."""
    return (step.name.value for step in steps_in(steps))

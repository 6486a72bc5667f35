"""What protects each component: declared at steps, and one for all steps that call it."""

from typing import TypeVar

import msgspec

from stretto.plan.codes import PlanCode
from stretto.plan.model import ProtectionRules
from stretto.spec.model import StepSpec
from stretto.spec.report import Report
from stretto.spec.source import Located
from stretto.types.card import Card

R = TypeVar("R")


class Protections:
    """Collects what protects the components of one workflow, and of those inside it."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._declared: dict[tuple[str, str], Located[object]] = {}
        """By component and key, where it was declared first."""
        self._rules: dict[str, ProtectionRules] = {}

    def declare(self, card: Card, step: StepSpec) -> None:
        """Add what a step declares; reports what contradicts another step."""
        component, spec = card.name, step.resilience
        retry, bulkhead = spec.retry, spec.bulkhead
        if retry is None and spec.breaker is None and bulkhead is None:
            return
        if bulkhead is not None:  # the priority is the step's own
            bulkhead = Located(msgspec.structs.replace(bulkhead.value, priority=0), bulkhead.span)
        known = self._rules.get(component, ProtectionRules())
        quota = self._of(component, "quota", None if retry is None else retry.quota)
        self._rules[component] = ProtectionRules(
            quota=known.quota if quota is None else quota,
            breaker=self._of(component, "breaker", spec.breaker) or known.breaker,
            bulkhead=self._of(component, "bulkhead", bulkhead) or known.bulkhead,
        )

    def take_inner(self, workflow: Located[str], inner: dict[str, ProtectionRules]) -> None:
        """Add those of a workflow inside; where both protect a component, they must do it alike."""
        for name, rules in inner.items():
            if self._rules.setdefault(name, rules) != rules:
                self._report.add(
                    workflow.span.problem(
                        PlanCode.PROTECTION,
                        f"component '{name}' is protected otherwise in '{workflow.value}' than here",
                        expected="the same breaker, bulkhead and quota: a component has one of each",
                    )
                )

    @property
    def found(self) -> dict[str, ProtectionRules]:
        """The rules by component."""
        return dict(self._rules)

    def _of(self, component: str, key: str, given: Located[R] | None) -> R | None:
        if given is None:
            return None
        first = self._declared.setdefault((component, key), given)
        if first.value != given.value:
            self._report.add(
                given.span.problem(
                    PlanCode.PROTECTION,
                    f"component '{component}' has another `{key}` at line {first.span.mark.line} already",
                    expected=f"one `{key}` for all steps that call it",
                    suggestion="say it at one of them",
                )
            )
        return given.value

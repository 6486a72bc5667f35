"""What protects each component: declared at steps, and one for all steps that call it."""

from dataclasses import replace
from typing import Any, Final

from stretto.plan.codes import PlanCode
from stretto.plan.model import ProtectionRules
from stretto.spec.model import StepSpec
from stretto.spec.report import Report
from stretto.spec.source import Located, Span
from stretto.types.card import Card

_KEYS: Final = ("quota", "breaker", "bulkhead")


class Declarations:
    """Collects what the steps of one workflow, and of those inside it, declare of their components."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._homes: dict[tuple[str, str], str] = {}
        """By component and key, where it was declared first, in words."""
        self.found: dict[str, ProtectionRules] = {}
        """By component."""

    def declare(self, card: Card, step: StepSpec) -> None:
        """Add what a step declares; reports what contradicts another step."""
        spec = step.resilience
        retry, bulkhead = spec.retry, spec.bulkhead
        if not any((retry, spec.breaker, bulkhead, spec.hedge)):
            return
        self.found.setdefault(card.name, ProtectionRules())
        if retry is not None and retry.quota is not None:
            self._add(card.name, "quota", retry.quota.value, retry.quota.span)
        if spec.breaker is not None:
            self._add(card.name, "breaker", spec.breaker.value, spec.breaker.span)
        if bulkhead is not None and bulkhead.value.rule is not None:
            self._add(card.name, "bulkhead", bulkhead.value.rule, bulkhead.span)

    def take_inner(self, workflow: Located[str], inner: dict[str, ProtectionRules]) -> None:
        """Add those of a workflow inside; where both declare one, they must declare it alike."""
        for component, rules in inner.items():
            self.found.setdefault(component, ProtectionRules())
            for key in _KEYS:
                rule = getattr(rules, key)
                if rule is not None:
                    self._add(component, key, rule, workflow.span, f"in '{workflow.value}'")

    def _add(self, component: str, key: str, rule: Any, span: Span, where: str = "") -> None:
        known = self.found[component]
        first = self._homes.setdefault((component, key), where or f"at line {span.mark.line}")
        if getattr(known, key) in (None, rule):
            self.found[component] = replace(known, **{key: rule})
            return
        self._report.add(
            span.problem(
                PlanCode.PROTECTION,
                f"component '{component}' has another `{key}` {first} already",
                expected=f"one `{key}` for all steps that call it",
                suggestion="say it at one of them",
            )
        )

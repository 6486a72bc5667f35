"""What protects each component: declared at steps, and one for all steps that call it."""

from dataclasses import replace
from typing import Any, Final

from stretto.plan.codes import PlanCode
from stretto.plan.model import Plan, ProtectionRules
from stretto.spec.model import StepSpec
from stretto.spec.report import Report
from stretto.spec.source import Located, Span
from stretto.types.card import Card
from stretto.types.protection import StreakRule

_KEYS: Final = ("quota", "breaker", "bulkhead")


class DeclaredProtections:
    """Collects what the steps of one workflow, and of those inside it, declare of their components."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._homes: dict[tuple[str, str], str] = {}
        """By component and key, where it was declared first, in words."""
        self.found: dict[str, ProtectionRules] = {}
        """By component."""
        self._streaks: dict[str, StreakRule] = {}

    @property
    def streaks(self) -> dict[str, StreakRule]:
        """By component whose steps have a fallback: when that answers without trying.

        A breaker is left to judge by itself, unless somebody says `after` or `retry_after` beside it.
        """
        return {
            name: rule
            for name, rule in self._streaks.items()
            if (name, "streak") in self._homes or name not in self.found or self.found[name].breaker is None
        }

    def declare(self, card: Card, step: StepSpec) -> None:
        """Add what a step declares; reports what contradicts another step."""
        spec = step.resilience
        retry, bulkhead = spec.retry, spec.bulkhead
        if spec.fallback is not None:
            own = spec.fallback.streak
            at = step.name.span if own is None else own.span
            self._add_streak(card.name, None if own is None else own.value, at)
        if not any((retry, spec.breaker, bulkhead, spec.hedge)):
            return
        self.found.setdefault(card.name, ProtectionRules())
        if retry is not None and retry.quota is not None:
            self._add(card.name, "quota", retry.quota.value, retry.quota.span)
        if spec.breaker is not None:
            self._add(card.name, "breaker", spec.breaker.value, spec.breaker.span)
        if bulkhead is not None and bulkhead.value.rule is not None:
            self._add(card.name, "bulkhead", bulkhead.value.rule, bulkhead.span)

    def take_inner(self, workflow: Located[str], inner: Plan) -> None:
        """Add those of a workflow inside; where both declare one, they must declare it alike."""
        for component, streak in inner.streaks.items():
            said = None if streak == StreakRule() else streak
            self._add_streak(component, said, workflow.span, f"in '{workflow.value}'")
        for component, rules in inner.protections.items():
            self.found.setdefault(component, ProtectionRules())
            for key in _KEYS:
                rule = getattr(rules, key)
                if rule is not None:
                    self._add(component, key, rule, workflow.span, f"in '{workflow.value}'")

    def _add_streak(self, component: str, rule: StreakRule | None, span: Span, where: str = "") -> None:
        """Add when a fallback answers without trying; the default gives way to what anybody says."""
        known = self._streaks.setdefault(component, rule or StreakRule())
        if rule is None:
            return
        first = self._homes.setdefault((component, "streak"), where or f"at line {span.mark.line}")
        if known in (rule, StreakRule()):
            self._streaks[component] = rule
            return
        self._report.add(
            span.problem(
                PlanCode.PROTECTION,
                f"the fallbacks of component '{component}' answer after {known.after} failures in a row, for "
                f"{known.retry_after_s:g} s, {first} already",
                expected="one `after` and `retry_after` for all steps that call it",
                suggestion="say it at one of them",
            )
        )

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

"""The fallback of a workflow file."""

from pathlib import Path

from stretto.plan.model import BusinessFallback, Plan
from stretto.types.errors import UsageError


def declared(plan: Plan, file: Path) -> BusinessFallback:
    """The fallback that a plan has; UsageError when it has none."""
    if plan.business is None:
        raise UsageError(
            f"workflow '{plan.name}' in {file} has no fallback; `fallback: {{component: ...}}` at the top gives it one"
        )
    return plan.business

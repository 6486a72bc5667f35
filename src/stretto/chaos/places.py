"""Where a fault strikes."""

from stretto.plan.places import step_of
from stretto.spec.chaos_model import FaultSpec


def is_at(fault: FaultSpec, component: str, path: str, action: str) -> bool:
    """Whether a call, by its component, step path and action, is one that the fault is about."""
    if fault.action is not None and fault.action.value != action:
        return False
    if fault.component is not None:
        return fault.component.value == component
    step, wanted = step_of(path), "" if fault.step is None else fault.step.value
    return step == wanted or step.endswith(f"/{wanted}")

"""Which run called a run, and through how many others the call came: a circle of servers must end."""

from collections.abc import Mapping
from typing import Final

from stretto.types.errors import Code, ComponentError

CALLER: Final = "caller"
"""Label of a run: the `workflow_run_id` of the run that called it."""

HOPS: Final = "caller_hops"
"""Label of a run: how many runs stand before it, each called by the one before, where they are more than one."""

MOST_HOPS: Final = 8
"""More than any chain that somebody built. In a circle each run waits for the next with a write begun, so that a
time-out would leave all of them in doubt."""

_MORE: Final = MOST_HOPS + 1


def lineage(labels: Mapping[str, str], caller: str) -> dict[str, str]:
    """Labels of a run that the run `caller` calls; `labels` are that one's."""
    hops = min(1 + _hops(labels), _MORE)
    return {CALLER: caller, HOPS: str(hops)} if hops > 1 else {CALLER: caller}


def hold_to_hops(labels: Mapping[str, str]) -> None:
    """Raise ComponentError, which says that nothing was done, for a run before which too many stand."""
    if _hops(labels) > MOST_HOPS:
        raise ComponentError(
            f"{MOST_HOPS} runs called each other to get here, the last of them {labels.get(CALLER)}: do their "
            "workflows call each other in a circle? One of them must answer by itself",
            Code.FAILED_PRECONDITION,
            sent=False,
        )


def _hops(labels: Mapping[str, str]) -> int:
    told = labels.get(HOPS, "")
    if told.isascii() and told.isdecimal():
        return min(int(told[:9]), _MORE)
    return 1 if CALLER in labels else 0

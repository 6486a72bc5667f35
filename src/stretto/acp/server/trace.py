"""The trace context that came with a call, as far as it may be recorded and passed on."""

import re
from typing import Final

_PARENT: Final = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(?:-[!-~]*)?")
"""W3C Trace Context, section 3.2.2, and what later versions may add. Whoever gets another begins a trace of its own."""

_STATE: Final = re.compile(r"[\t -~]*")

MOST_STATE_CHARS: Final = 512
"""What everybody is asked to pass on of a state (section 3.3.1.5). What is beyond it goes from the end, member by
member: the first are those of the systems nearest to the caller."""


def trace_of(parent: str, state: str) -> tuple[str, str]:
    """A trace's parent and state; both empty where the parent is none, which leaves the state without meaning."""
    if not _PARENT.fullmatch(parent):
        return "", ""
    return parent, _kept(state) if _STATE.fullmatch(state) else ""


def _kept(state: str) -> str:
    kept = ""
    for member in filter(None, (each.strip() for each in state.split(","))):
        longer = f"{kept},{member}" if kept else member
        if len(longer) > MOST_STATE_CHARS:
            break
        kept = longer
    return kept

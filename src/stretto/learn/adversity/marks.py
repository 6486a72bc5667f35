"""What a record says of a perturbation.

The step has it as evidence, `perturbed`. It and every step that ended after it are marked `simulated`, as what stands
downstream of a substitute is, and by that the run: whoever folds runs leaves it out unless it asks for such.
"""

from typing import Final

import msgspec

from stretto.record.model import Run

PERTURBED: Final = "perturbed"
"""Evidence of a step: what was done to its component in this run."""


def mark(run: Run) -> None:
    """Mark a run in which a component was perturbed; leave any other as it is."""
    is_after = False
    for step in run.steps:
        if PERTURBED in step.evidence:
            is_after = True
            step.actions = tuple(msgspec.structs.replace(action, forced=True) for action in step.actions)
        step.simulated = step.simulated or is_after
    run.simulated = run.simulated or is_after

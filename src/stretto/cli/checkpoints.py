"""Policies of a workflow served with trained weights."""

from collections.abc import Mapping

from stretto.runtime.workflow import Workflow
from stretto.types.errors import UsageError
from stretto.types.protocols import Trainable


def with_checkpoints(workflow: Workflow, checkpoints: Mapping[str, str]) -> Workflow:
    """The workflow with these weights, by the name of their policy; itself when there are none.

    Raises UsageError for a name that is no policy, or weights made for another; StoreError for a damaged file.
    """
    for name, path in checkpoints.items():
        policy = workflow.component(name)
        if not isinstance(policy, Trainable):
            raise UsageError(f"--checkpoint {name}={path}: '{name}' is of kind {policy.card.kind}; it has no weights")
        workflow = workflow.with_component(policy.with_weights(path))
    return workflow

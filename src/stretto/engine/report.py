"""What a component reports beside its output is held to the record's rules: finite numbers, JSON, nothing else."""

from math import isfinite

from stretto.record.canonical import snapshot
from stretto.types.errors import ContractError, NotJsonError
from stretto.types.messages import Response


def is_bare(response: Response) -> bool:
    """Whether there is nothing beside the output, as with most responses."""
    return not (
        response.actions
        or response.model_calls
        or response.rewards
        or response.usage is not None
        or response.evidence
        or response.queue_ms
    )


def check_report(name: str, response: Response) -> None:
    """Raise ContractError for a number that no record can hold, or evidence that is not JSON."""
    for action in response.actions:
        if not (isfinite(action.logprob) and isfinite(action.propensity)):
            raise ContractError(
                f"component '{name}' reported the action '{action.name}' with log-probability {action.logprob} and "
                f"propensity {action.propensity}; expected finite numbers"
            )
    for reward in response.rewards:
        if not isfinite(reward.weight) or not (reward.value is None or isfinite(reward.value)):
            raise ContractError(
                f"component '{name}' reported the reward '{reward.name}' as {reward.value} with weight "
                f"{reward.weight}; expected finite numbers, or None for what could not be computed"
            )
    if response.usage is not None and not isfinite(response.usage.cost):
        raise ContractError(f"component '{name}' reported a cost of {response.usage.cost}; expected a finite number")
    if response.evidence:
        try:
            snapshot(dict(response.evidence))
        except NotJsonError as error:
            raise ContractError(f"the evidence of component '{name}' is not JSON: {error}") from error

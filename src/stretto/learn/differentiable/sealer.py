"""From passes to runs, while the weights are still those that computed."""

from collections.abc import Mapping

from stretto.components.torch.component import TorchComponent
from stretto.learn.differentiable.copies import Copies
from stretto.learn.differentiable.host import Host
from stretto.learn.differentiable.records import Sealing
from stretto.learn.differentiable.whole import Noting
from stretto.plan.model import Plan
from stretto.record.model import Run
from stretto.types.errors import UsageError


class Sealer:
    """Makes the runs of a workflow's passes."""

    def __init__(self, host: Host, plan: Plan, components: Mapping[str, TorchComponent], copies: Copies) -> None:
        """`copies` are the modules that computed in place of the components'."""
        self._host = host
        self._plan = plan
        self._components = components
        self._copies = copies

    def runs(self, noted: Noting, version: tuple[int, int]) -> list[Run]:
        """One for each request, in their order; `version` was that of the weights that computed.

        Raises UsageError once they have changed.
        """
        self._copies.look_again()
        if self._copies.weights.version() != version:
            raise UsageError(
                "the weights have changed since the batch was run; ask for `runs` before the optimiser's step"
            )
        digests = self._copies.digests()
        batch, cohort = noted()
        batch.states.of(range(len(batch.data)))  # made here: `runs` is in the loop that would make them
        return self._host.run(Sealing(batch, cohort, self._plan, self._components, digests).runs())

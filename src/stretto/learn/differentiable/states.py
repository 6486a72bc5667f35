"""Lives: the runs of a batch, and the shadows in which a choice that is enumerated went another way.

Each has a state of the engine, made when a step outside or a failure needs it: a batch that stays among modules
makes none until its runs are asked for.
"""

from collections import defaultdict
from collections.abc import Sequence

import msgspec

from stretto.engine.state import RunState
from stretto.learn.differentiable.data import Batch
from stretto.learn.differentiable.host import Host
from stretto.types.budget import Budget
from stretto.types.learning import Reward


class States:
    """The engine's states of a batch's lives. A life below the size of the batch is that run itself."""

    def __init__(self, host: Host, data: Batch, seeds: Sequence[int], began: tuple[float, int]) -> None:
        """`began` is when all of them were: as `time.monotonic` and `time.time_ns` have it."""
        self.host = host
        self.runs: list[int] = [*range(len(data))]
        """Life → the run whose input it has."""
        self.parents: list[int] = [*self.runs]
        """Life → the one that it parted from; of a run, itself."""
        self.started, self.started_at_ns = began
        self._data = data
        self._seeds = seeds
        self._states: dict[int, RunState] = {}
        self._budgets: dict[int, Budget] = {}
        self._given: defaultdict[int, list[Reward]] = defaultdict(list)
        """Rewards of lives without a state."""

    def shadow(self, life: int) -> int:
        """Another life of the same run; nothing that it does is recorded."""
        self.runs.append(self.runs[life])
        self.parents.append(life)
        return len(self.runs) - 1

    def of(self, lives: Sequence[int]) -> list[RunState]:
        """The states of some lives."""
        missing = {life for life in lives if life not in self._states}
        if missing:
            self.host.run(self._begin(missing))
        return [self._states[life] for life in lives]

    def budget(self, life: int) -> Budget:
        """What a life may spend; its state must be there."""
        return self._budgets[life]

    def give(self, life: int, rewards: Sequence[Reward]) -> None:
        """Note what a step gave to a life, whose state may not be there yet."""
        if life in self._states:
            self._states[life].rewards.extend(rewards)
        else:
            self._given[life].extend(rewards)

    def given(self) -> list[tuple[int, Sequence[Reward]]]:
        """What steps outside gave, to the lives that they gave any to, in their order."""
        told = {life: state.rewards for life, state in self._states.items()}
        return sorted({**self._given, **told}.items())

    async def _begin(self, lives: set[int]) -> None:
        for life in sorted(lives):
            run = self.runs[life]
            admitted = self._data.admitted[run]
            request = msgspec.structs.replace(admitted.request, seed=self._seeds[run])
            state, budget = self.host.begin(msgspec.structs.replace(admitted, request=request))
            state.started, state.run.started_at_ns = self.started, self.started_at_ns
            state.rewards.extend(self._given.pop(life, ()))
            self._states[life], self._budgets[life] = state, budget

"""A batch's input: requests that were admitted, and what was made of them once for all passes over them."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from stretto.engine.admission import Admitted
from stretto.learn.differentiable.columns import Rows
from stretto.learn.differentiable.index import Index
from stretto.learn.differentiable.kept import KeptAnswers
from stretto.plan.model import Plan
from stretto.types.json import Json


class Batch:
    """Requests of a workflow, checked. What modules read of the input is made a tensor once, also for parts of it."""

    def __init__(
        self,
        plan: Plan,
        admitted: Sequence[Admitted],
        *,
        whole: "Batch | None" = None,
        index: Index | None = None,
        kept: KeptAnswers | None = None,
    ) -> None:
        self.plan = plan
        """That they were checked for."""
        self.admitted = admitted
        self.input = Rows([each.value for each in admitted])
        self.references: list[Json] = [each.request.reference for each in admitted]
        self.seeds = [each.request.seed for each in admitted]
        """Those that were asked for."""
        self.has_seeds = any(seed is not None for seed in self.seeds)
        self.has_resources = any(each.request.resources for each in admitted)
        self.has_memory = any(each.request.memory is not None for each in admitted)
        self.kept = kept
        """What pure steps outside answered, of the whole batch; None where they are asked in each pass."""
        self._whole = whole
        self._index = index
        self._made: dict[Hashable, Any] = {}

    def __len__(self) -> int:
        return len(self.admitted)

    def part(self, rows: Sequence[int]) -> "Batch":
        """Some of the requests, in this order, which share what was made of them all."""
        if self._whole is not None and self._index is not None:
            return self._whole.part([self._index.rows[row] for row in rows])
        index = Index([*rows])
        return Batch(self.plan, [self.admitted[row] for row in index.rows], whole=self, index=index, kept=self.kept)

    @property
    def places(self) -> Sequence[int]:
        """Of each request, its place in the whole batch."""
        return range(len(self)) if self._index is None else self._index.rows

    def once(self, key: Hashable, make: Callable[["Batch"], Any], take: Callable[[Any, Index], Any]) -> Any:
        """What is made of the requests, made once; `take` gives that of some rows."""
        if key not in self._made:
            if self._whole is None or self._index is None:
                self._made[key] = make(self)
            else:
                self._made[key] = take(self._whole.once(key, make, take), self._index)
        return self._made[key]

    def own(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """What is made of these requests alone, made once."""
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

"""Rows that go through a block together: of one run each, of one item, or of one round."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from stretto.engine.state import StepFailed
from stretto.learn.differentiable.frame import ColumnFrame
from stretto.learn.differentiable.index import Index
from stretto.types.budget import Budget
from stretto.types.ids import StepPath

BudgetOf: TypeAlias = Callable[[int], Budget]


class Cohort:
    """Rows of one block, and which of them failed."""

    __slots__ = ("budget", "failed", "frame", "is_whole", "lives", "parallel", "prefix", "size")

    def __init__(
        self,
        frame: ColumnFrame,
        prefix: str | Sequence[str],
        lives: Sequence[int],
        budget: BudgetOf,
        *,
        parallel: int | None = None,
        is_whole: bool = False,
    ) -> None:
        self.frame = frame
        self.size = frame.size
        """How many rows."""
        self.prefix = prefix
        """What stands before each step's name in its path: of all rows, or of each."""
        self.lives = lives
        """Of each row, whose it is (`states`)."""
        self.budget = budget
        """Of a row: what it may spend."""
        self.parallel = parallel
        """How many rows of one run may call at a time; None for all."""
        self.is_whole = is_whole
        """Its rows are the batch's requests, one each in their order."""
        self.failed: dict[int, StepFailed] = {}

    def path(self, row: int, name: str) -> StepPath:
        """Of a step, in one row."""
        return StepPath((self.prefix if isinstance(self.prefix, str) else self.prefix[row]) + name)

    def paths(self, name: str) -> list[StepPath]:
        """Of a step, in each row."""
        if isinstance(self.prefix, str):
            return [StepPath(self.prefix + name)] * self.size
        return [StepPath(prefix + name) for prefix in self.prefix]

    def path_or_paths(self, name: str) -> str | list[StepPath]:
        """Of a step: one where it is the same in all rows."""
        return self.prefix + name if isinstance(self.prefix, str) else self.paths(name)

    def alive(self) -> list[int] | None:
        """The rows that have not failed; None for all."""
        return [row for row in range(self.size) if row not in self.failed] if self.failed else None

    def living(self) -> list[int]:
        """The rows that have not failed."""
        found = self.alive()
        return [*range(self.size)] if found is None else found

    def narrowed(self, rows: list[int] | None) -> "Cohort":
        """These rows of it, which fail by themselves; None for all, which is itself."""
        if rows is None:
            return self
        index = Index(rows)
        frame = ColumnFrame(len(rows), parent=self.frame, index=index)
        return self.inside(
            frame, [self.prefix if isinstance(self.prefix, str) else self.prefix[row] for row in rows], rows
        )

    def inside(
        self,
        frame: ColumnFrame,
        prefix: str | Sequence[str],
        rows: Sequence[int],
        *,
        budget: BudgetOf | None = None,
        parallel: int | None = None,
    ) -> "Cohort":
        """Rows of a frame inside, each of which belongs to one of these rows."""
        own = budget or self.budget
        return Cohort(
            frame,
            prefix,
            [self.lives[row] for row in rows],
            lambda row: own(rows[row]),
            parallel=parallel or self.parallel,
        )

    def fail(self, inside: "Cohort", rows: Sequence[int] | None) -> None:
        """Take over which rows failed of those that it was narrowed to."""
        for row, failure in inside.failed.items():
            self.failed[row if rows is None else rows[row]] = failure

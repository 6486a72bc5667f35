"""What a component elsewhere answered: objects as they were told, some fields of which carry a gradient."""

from collections.abc import Mapping

from stretto.learn.differentiable.columns import Column, Rows, Tensors
from stretto.learn.differentiable.index import Index
from stretto.types.json import Json, PathPart


class Answered(Rows):
    """JSON values, with the graph of those fields that are tensors."""

    def __init__(self, values: list[Json], tensors: Mapping[str, Column]) -> None:
        super().__init__(values)
        self.tensors = {name: each for name, each in tensors.items() if isinstance(each, Tensors)}

    def below(self, part: PathPart) -> Column:
        return self.tensors[part] if isinstance(part, str) and part in self.tensors else super().below(part)

    def take(self, index: Index) -> Column:
        values = self.values
        taken = {name: each.take(index) for name, each in self.tensors.items()}
        return Answered([values[row] for row in index.rows], taken)

    def scatter(self, index: Index, size: int) -> Column:
        scattered = {name: each.scatter(index, size) for name, each in self.tensors.items()}
        return Answered(super().scatter(index, size).json, scattered)

"""What a module returned in every row, as a column of objects."""

from collections.abc import Mapping
from functools import cached_property

from torch import Tensor

from stretto.learn.differentiable.chosen import Choices, Probabilities
from stretto.learn.differentiable.columns import Column, Fields, Tensors


class Returned(Fields):
    """What a module returned in every row. Its tensors are made columns when they are read as such, which few are."""

    def __init__(
        self, tensors: Mapping[str, Tensor], choices: Mapping[str, Choices], size: int, probabilities: str
    ) -> None:
        """`probabilities` ends the name of a field with those of a choice."""
        self.tensors = tensors
        self.size = size
        self._choices = choices
        self._ending = probabilities
        self._present = None

    @cached_property
    def fields(self) -> Mapping[str, Column]:  # type: ignore[override]  # as it is read
        """A column for each name."""
        fields: dict[str, Column] = {name: Tensors(value) for name, value in self.tensors.items()}
        for name, choice in self._choices.items():
            fields[name], fields[name + self._ending] = choice, Probabilities(choice.log_p_BA)
        return fields

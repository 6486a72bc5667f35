"""What every surrogate has: a network that learns, how well it foretells, and a form that a saved one must have."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

import torch
from torch import Tensor

from stretto.components.torch.shape import DType, Shape
from stretto.components.torch.values import tensor_of
from stretto.components.torch.weights import weights_digest
from stretto.learn.surrogates.calibration import Calibration
from stretto.learn.surrogates.learner import Learner
from stretto.learn.surrogates.manifest import Manifest
from stretto.learn.surrogates.report import SurrogateReport
from stretto.learn.surrogates.window import Window
from stretto.types.card import ANY_ACTION, Card
from stretto.types.enums import Effect
from stretto.types.ids import Digest
from stretto.types.json import Json, JsonObject
from stretto.types.messages import Request, Response

KIND: Final = "surrogate"

HELD_OUT: Final = 5
"""Of recorded rows, the last fifth tells what a surrogate is worth before it learns from it too."""


class Surrogate:
    """Of one step, or of one of its choices. A versioned component: its card tells which it is."""

    what: ClassVar[str]
    """In words: what it foretells."""
    is_biased: ClassVar[bool]
    """It stands for a step in the gradient; else it only takes noise off a choice's."""

    def __init__(self, step: str, shown: Mapping[str, int], told: Sequence[str]) -> None:
        """`shown`: what its network is shown, each of so many numbers; `told`: what each of its answers is of."""
        self.step = step
        self.shown = dict(shown)
        self.told = tuple(told)
        self.learner = Learner(sum(shown.values()), len(self.told))
        self.calibration = Calibration()
        self.parent = Digest("")
        """Digest of the saved one that it went on from; empty for one that began here."""
        self.is_frozen = False
        """It learns no more."""

    @property
    def digest(self) -> Digest:
        """Of what it answers with: what its file is named by."""
        return weights_digest(self.learner.network.state_dict())

    @property
    def card(self) -> Card:
        """What it is, as of any component; its version is how often it has learnt."""
        return Card(
            name=self.step,
            version=f"0.0.{self.learner.updates}",
            kind=KIND,
            digest=self.digest,
            input=_object({name: _numbers(count) for name, count in self.shown.items()}),
            output=_object({name: {"type": "number"} for name in self.told}),
            effects={ANY_ACTION: Effect.PURE},
            trainable=True,
            description=self.what,
        )

    async def __call__(self, request: Request) -> Response:
        """What it foretells, as any component answers: of one row, by name."""
        fields = [(request.input.get(name), count) for name, count in self.shown.items()]
        shown = [tensor_of([value], Shape(count, dtype=DType.FLOAT64)) for value, count in fields]
        told = self.learner.answer(torch.cat(shown, 1))[0].tolist()
        return Response(output=dict(zip(self.told, told, strict=True)))

    def report(self) -> SurrogateReport:
        """What it is worth, and how old it is."""
        return SurrogateReport(
            step=self.step,
            is_biased=self.is_biased,
            digest=self.digest,
            rows=self.learner.rows,
            updates=self.learner.updates,
            behind=self.learner.behind,
            learnt_of=self.learner.learnt_of,
            r_squared=self.calibration.r_squared,
            bias=self.calibration.bias,
        )

    def tensors(self) -> dict[str, Tensor]:
        """All that it is made of, with what it goes on learning from."""
        learner = self.learner
        found = {f"network.{name}": value for name, value in learner.network.state_dict().items()}
        found |= {f"adam.{name}": value for name, value in learner.fitter.state().items()}
        return found | {f"window.{name}": window.rows for name, window in self.windows.items()}

    @property
    def windows(self) -> dict[str, Window]:
        """The rows that it keeps."""
        return {"buffer": self.learner.buffer, "calibration": self.calibration.pairs}

    def manifest(self) -> Manifest:
        """What its file says of it."""
        learner = self.learner
        return Manifest(
            step=self.step,
            what=self.what,
            shown=self.shown,
            told=self.told,
            digest=self.digest,
            parent=self.parent,
            learnt_of=learner.learnt_of,
            rows=learner.rows,
            updates=learner.updates,
            behind=learner.behind,
            scaled_at=learner.scaled_at,
            steps=learner.fitter.steps,
        )

    def become(self, manifest: Manifest, tensors: Mapping[str, Tensor]) -> None:
        """Go on as a saved one would."""
        learner = self.learner
        learner.network.load_state_dict(_below(tensors, "network."))
        learner.fitter.restore(_below(tensors, "adam."), manifest.steps)
        for name, window in self.windows.items():
            window.rows = tensors.get(f"window.{name}", window.rows[:0])
        learner.rows, learner.updates, learner.behind = manifest.rows, manifest.updates, manifest.behind
        learner.scaled_at, learner.learnt_of, self.parent = manifest.scaled_at, manifest.learnt_of, manifest.digest


def _below(tensors: Mapping[str, Tensor], head: str) -> dict[str, Tensor]:
    return {name.removeprefix(head): value for name, value in tensors.items() if name.startswith(head)}


def _object(properties: JsonObject) -> JsonObject:
    required: list[Json] = [*properties]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _numbers(count: int) -> JsonObject:
    return {"type": "array", "items": {"type": "number"}, "minItems": count, "maxItems": count}

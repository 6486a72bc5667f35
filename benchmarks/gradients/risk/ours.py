"""`examples/risk` learns as a whole, `as_module`, through its rules.

A run is one card holder whose reward was asked for. `enumerate` at the router asks the rules about all three decisions,
so a run tells what each is worth, where PPO's tells of the one that was taken; and it tells who defaulted, which the
term `calibration` scores. The same runs are gone over several times: the rules are asked in the first pass, and what
they answered stands in the others. Each size is a training of its own, from fresh weights, on the first so many of one
order of the train part, in steps of one size; the mean of the weights after each of its last updates counts (Polyak &
Juditsky 1992), which took fewer runs than a learning rate that falls. Its settings were chosen on validation.
"""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import numpy as np
import torch
from torch import Tensor

import stretto
from benchmarks.gradients.risk.cards import Cards, Places
from benchmarks.gradients.risk.measures import Measured, measured
from benchmarks.gradients.risk.points import Point, told
from stretto.learn import as_module
from stretto.learn.differentiable.module import DifferentiableWorkflow
from stretto.learn.tasks import Task

WORKFLOW: Final = Path(__file__).parents[3] / "examples" / "risk" / "workflow.yaml"

SIZES: Final = (250, 500, 750, 1_000, 1_500, 2_000, 3_000, 4_000)
"""And all of the train part, last."""

BATCH: Final = 64
PASSES: Final = 12
PASSES_OF_ALL: Final = 8

RATE: Final = 5e-3
DECAY: Final = 1e-2

AVERAGED: Final = 0.6
"""Share of the updates, the last ones."""

LEARNER: Final = "examples/risk"
WITH_PERSON: Final = "examples/risk, with the person"


class Learning:
    """Trains again and again on parts of one table, whose rules are asked once."""

    def __init__(
        self, module: DifferentiableWorkflow, read: Sequence[Task], cards: Cards, *, with_person: bool
    ) -> None:
        self._module = module
        self._cards = cards
        self._name = WITH_PERSON if with_person else LEARNER
        requests = [_request(task, with_person=with_person) for task in read]
        self._whole = module.batch(requests, keep_pure=True)

    def point(self, seed: int, runs: int, passes: int = PASSES) -> Point:
        """Train once from fresh weights, and measure."""
        draw = np.random.default_rng(seed)
        learnt_from = draw.permutation(self._cards.train)[:runs]
        _begin_anew(self._module, seed)
        updates = passes * -(-runs // BATCH)
        optimizer = torch.optim.AdamW(self._module.parameters(), lr=RATE, weight_decay=DECAY)
        mean = _Mean(self._module)
        for update, rows in enumerate(_batches(learnt_from, passes, draw), start=1):
            optimizer.zero_grad()
            self._module(self._whole.part(rows), seeds=rows).backward()
            optimizer.step()
            if update > updates * (1 - AVERAGED):
                mean.add()
        mean.take()
        return told(Point(learner=self._name, seed=seed, runs=runs, updates=updates, test=self._measured()))

    def _measured(self) -> Measured:
        part = self._cards.test
        self._module.eval()
        with torch.no_grad():
            outputs = self._module(self._whole.part(part.tolist()), seeds=part.tolist()).outputs
        self._module.train()
        probabilities, risk = outputs["probabilities"], outputs["risk"]
        assert isinstance(probabilities, Tensor)
        assert isinstance(risk, Tensor)
        return measured(self._cards, part, probabilities.double().log().numpy(), risk.numpy())


class _Mean:
    """Of a module's weights after several updates."""

    def __init__(self, module: DifferentiableWorkflow) -> None:
        self._weights = [each for each in module.parameters() if each.requires_grad]
        self._sums = [torch.zeros_like(each) for each in self._weights]
        self._count = 0

    @torch.no_grad()
    def add(self) -> None:
        """Count the present weights."""
        for total, weight in zip(self._sums, self._weights, strict=True):
            total.add_(weight)
        self._count += 1

    @torch.no_grad()
    def take(self) -> None:
        """Give the module the mean."""
        for total, weight in zip(self._sums, self._weights, strict=True):
            weight.copy_(total / self._count)


def _batches(learnt_from: Places, passes: int, draw: np.random.Generator) -> Iterator[list[int]]:
    for _ in range(passes):
        order = draw.permutation(learnt_from).tolist()
        yield from (order[first : first + BATCH] for first in range(0, len(order), BATCH))


@contextmanager
def learning(read: Sequence[Task], cards: Cards, *, with_person: bool) -> Iterator[Learning]:
    """With the workflow open. torch takes one thread."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder, stretto.load(WORKFLOW, store=Path(folder) / "runs.db") as workflow:
        module = as_module(workflow)
        yield Learning(module, read, cards, with_person=with_person)
        module.close()


def curve(read: Sequence[Task], cards: Cards, seeds: Sequence[int]) -> list[Point]:
    """Every size and every seed, without the person."""
    every = len(cards.train)
    with learning(read, cards, with_person=False) as learner:
        some = [learner.point(seed, runs) for seed in seeds for runs in SIZES]
        return [*some, *(learner.point(seed, every, PASSES_OF_ALL) for seed in seeds)]


def with_person(read: Sequence[Task], cards: Cards, seeds: Sequence[int]) -> list[Point]:
    """All of the train part and every seed, with sex, age and marriage."""
    with learning(read, cards, with_person=True) as learner:
        return [learner.point(seed, len(cards.train), PASSES_OF_ALL) for seed in seeds]


def _request(task: Task, *, with_person: bool) -> stretto.RunRequest:
    given = {name: value for name, value in task.input.items() if with_person or name != "person"}
    return stretto.RunRequest(input=given, reference=task.reference)


def _begin_anew(module: DifferentiableWorkflow, seed: int) -> None:
    """Give every network fresh weights."""
    torch.manual_seed(seed)
    for name in module.components:
        network = module.get_submodule(name)
        if any(True for _ in network.parameters()):
            network.load_state_dict(type(network)().state_dict())

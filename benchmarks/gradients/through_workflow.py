"""The same two choices as a workflow through `as_module`, both learnt from by `relax`, with surrogates that learn on.

Shape letters: N items, P logits.
"""

import tempfile
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor

import stretto
from benchmarks.gradients.moments import Moments
from benchmarks.gradients.two_choices import World
from stretto.learn import as_module
from stretto.learn.differentiable.module import DifferentiableWorkflow

WORKFLOW: Final = Path(__file__).parents[1] / "workflows" / "two_choices.yaml"

BATCH: Final = 4_000
"""Items whose gradients are one: of each batch the product makes a sum, and the spread is that of batches."""


def moments_through_workflow(world: World, items: int, seed: int, *, misled: bool = False) -> Moments:
    """Of the gradient by all 15 logits, of at least that many items.

    With `misled`, both surrogates foretell nonsense and learn no more, so that only their coefficients protect them.
    """
    with tempfile.TemporaryDirectory() as folder:
        workflow = stretto.load(WORKFLOW, store=Path(folder) / "runs.db")
        module = _set(as_module(workflow), world)
        if misled:
            _mislead(module, seed)
        batch = module.batch([{"item": row} for row in range(BATCH)])
        batches = max(2, -(-items // BATCH))
        first = seed * 10**9
        each_P = torch.stack(
            [_gradient(module, batch, range(at, at + BATCH)) for at in range(first, first + batches * BATCH, BATCH)]
        )
        workflow.close()
    return Moments(mean_P=each_P.mean(0), variance_P=each_P.var(0), pairs=batches)


def _set(module: DifferentiableWorkflow, world: World) -> DifferentiableWorkflow:
    numbers = {
        ("route", "logits_R"): world.route_R,
        ("tool", "logits_RT"): world.tool_RT,
        ("early", "worth_R"): world.early_R,
        ("late", "worth_RT"): world.late_RT,
    }
    with torch.no_grad():
        for (component, name), value in numbers.items():
            getattr(module.get_submodule(component), name).copy_(value)
    return module


def _mislead(module: DifferentiableWorkflow, seed: int) -> None:
    source = torch.Generator().manual_seed(seed)
    for surrogate in module.surrogates.values():
        surrogate.is_frozen = True
        outer = surrogate.learner.network.outer
        with torch.no_grad():
            for each in (outer.weight, outer.bias):
                each.copy_(torch.randn(each.shape, generator=source, dtype=torch.float64) * 5)


def _gradient(module: DifferentiableWorkflow, batch: Any, seeds: range) -> Tensor:
    module.zero_grad()
    module(batch, seeds=seeds).backward()
    found = [module.get_submodule(name) for name in ("route", "tool")]
    return -torch.cat([each.flatten() for part in found for each in _grads(part)])


def _grads(module: torch.nn.Module) -> list[Tensor]:
    return [each.grad for each in module.parameters() if each.grad is not None]

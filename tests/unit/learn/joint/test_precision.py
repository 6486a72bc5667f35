"""In what numbers a joint training computes, and what never leaves float32."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from stretto.components.tensor_file import read_tensors
from stretto.learn.differentiable.module import DifferentiableWorkflow
from stretto.learn.joint.options import Precision
from tests.unit.learn.joint.made import held_out, trained, workflow


def watched(monkeypatch: pytest.MonkeyPatch) -> dict[str, set[torch.dtype]]:
    """The types of what linear layers answer with, and of all gradients, while something is trained."""
    seen: dict[str, set[torch.dtype]] = {"answers": set(), "gradients": set()}
    forward, zero = nn.Linear.forward, DifferentiableWorkflow.zero_grad

    def answering(self: nn.Linear, given: Tensor) -> Tensor:
        answer = forward(self, given)
        seen["answers"].add(answer.dtype)
        return answer

    def zeroing(self: DifferentiableWorkflow, *given: Any, **options: Any) -> None:
        seen["gradients"] |= {each.grad.dtype for each in self.parameters() if each.grad is not None}
        zero(self, *given, **options)

    monkeypatch.setattr(nn.Linear, "forward", answering)
    monkeypatch.setattr(DifferentiableWorkflow, "zero_grad", zeroing)
    return seen


@pytest.mark.parametrize("precision", Precision)
def test_modules_compute_in_it_and_weights_gradients_and_moments_stay_float32(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, precision: Precision
) -> None:
    made, seen = workflow(tmp_path), watched(monkeypatch)
    result = trained(tmp_path, updates=30, evaluate_every=15, precision=precision)
    assert seen == {"answers": {getattr(torch, precision)}, "gradients": {torch.float32}}
    rewards = held_out([*result.reports])
    assert rewards[-1] > rewards[0] + 0.1
    arrays, _ = read_tensors(tmp_path / "training" / "state.safetensors")
    assert {str(array.dtype) for name, array in arrays.items() if "num_batches" not in name} == {"float32"}
    run = next(iter(made.store.runs(purpose="train")))
    (action,) = (action for step in run.steps for action in step.actions)
    assert action.logprob is not None  # of float64, whatever the logits were made of
    assert abs(torch.tensor(action.logprob).bfloat16().item() - action.logprob) > 0

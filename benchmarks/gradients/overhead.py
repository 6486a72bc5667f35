"""A differentiable run over the same modules called by hand: forward and backward of 64 runs, decisions sampled.

CPU time of the process, whose one thread does it all, in turns, so that a busy machine slows both alike: the median of
the ratios of pairs. By hand the decisions are drawn by `torch.multinomial`; the run draws each by its own seed, and
keeps what its records are made of. Tensors of the batch are made once on both sides.

A run's `backward` also tells the norm of the gradient, and holds an update back whose gradient is no number. The second
figure is beside a hand that does so too, as trainers do before each step: one norm of all, by torch's `get_total_norm`,
and a look whether it is a number.
"""

import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor
from torch.nn.utils import get_total_norm

import stretto
from stretto.learn import as_module
from stretto.learn.differentiable.module import DifferentiableWorkflow

WORKFLOW: Final = Path(__file__).parents[1] / "workflows" / "networks.yaml"

SHAPES: Final[Mapping[str, tuple[int, ...]]] = {
    "facts": (10,),
    "months": (6, 5),
    "money": (6, 3),
    "severity": (),
    "doubt": (),
}
"""Of its inputs, a row."""

BATCH: Final = 64
WARM: Final = 30
PAIRS: Final = 300


def overhead_figures(pairs: int = PAIRS) -> dict[str, float]:
    """`differentiable_overhead`: 0.1 is a tenth longer than by hand; the same beside a hand that checks its gradients;
    and the milliseconds by hand.
    """
    with tempfile.TemporaryDirectory() as folder:
        workflow = stretto.load(WORKFLOW, store=Path(folder) / "runs.db")
        module = as_module(workflow)
        inputs = _inputs()
        requests = [_request(inputs, row) for row in range(BATCH)]
        batch = module.batch(requests)
        references = [request.reference for request in requests]
        modules = {name: module.get_submodule(name) for name in module.components}

        def by_hand() -> None:
            _loss_by_hand(modules, inputs, references).backward()  # type: ignore[no-untyped-call]  # torch's own

        def by_hand_checked() -> None:
            by_hand()
            norm = get_total_norm([each.grad for each in module.parameters() if each.grad is not None])
            if not norm.isfinite():
                module.zero_grad()

        def run() -> None:
            module(batch).backward()

        ratios, hand_s = _paired(module, by_hand, run, pairs)
        checked, _ = _paired(module, by_hand_checked, run, pairs)
        workflow.close()
    return {
        "differentiable_overhead": statistics.median(ratios) - 1.0,
        "differentiable_overhead_checked": statistics.median(checked) - 1.0,
        "by_hand_ms": min(hand_s) * 1e3,
    }


def _paired(
    module: DifferentiableWorkflow, one: Callable[[], None], other: Callable[[], None], pairs: int
) -> tuple[list[float], list[float]]:
    ratios, below = [], []
    for turn in range(WARM + pairs):
        first, second = _timed(module, one), _timed(module, other)
        if turn >= WARM:
            ratios.append(second / first)
            below.append(first)
    return ratios, below


def _timed(module: DifferentiableWorkflow, work: Callable[[], None]) -> float:
    module.zero_grad()
    began = time.process_time()
    work()
    return time.process_time() - began


def _inputs() -> dict[str, Tensor]:
    torch.manual_seed(0)
    return {name: torch.rand(BATCH, *shape) for name, shape in SHAPES.items()}


def _request(inputs: dict[str, Tensor], row: int) -> stretto.RunRequest:
    fields = {name: value[row].tolist() for name, value in inputs.items()}
    return stretto.RunRequest(input=fields, reference={"defaulted": row % 4 == 0})


def _loss_by_hand(modules: dict[str, Any], inputs: dict[str, Tensor], references: list[Any]) -> Tensor:
    applicant = modules["applicant"](facts=inputs["facts"])
    repayment = modules["repayment"](months=inputs["months"])
    cashflow = modules["cashflow"](money=inputs["money"])
    anomaly = modules["anomaly"](facts=inputs["facts"], months=inputs["months"], money=inputs["money"])
    routed = modules["router"](
        applicant=applicant["state"],
        repayment=repayment["state"],
        cashflow=cashflow["state"],
        anomaly=anomaly["state"],
        severity=inputs["severity"],
        doubt=inputs["doubt"],
    )
    torch.multinomial(routed["decision"].softmax(-1), 1)
    taught = modules["teacher"](risk=routed["risk"], surprise=anomaly["surprise"], reference=references)
    loss: Tensor = -(0.5 * taught["calibration"] - 0.01 * taught["surprise"]).mean()
    return loss

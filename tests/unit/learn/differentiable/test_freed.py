"""What a pass computed goes with its outcome, and a module with whoever holds it."""

import gc
import weakref
from pathlib import Path

import pytest
from torch import Tensor

from stretto.components.torch.component import TorchComponent
from stretto.learn import as_module
from tests.unit.learn.differentiable.chained import STEPS, Counting, counting
from tests.unit.learn.differentiable.made import loaded, rows

ENUMERATED = """
  - {name: one, component: first, input_mapping: {x: input.x}}
  - {name: choose, component: chooser, input_mapping: {state: steps.one.state}, estimator: enumerate}
  - {name: worth, component: of_way, input_mapping: {way: steps.choose.way}}
"""
OUTSIDE = """
  - {name: one, component: first, input_mapping: {x: input.x}}
  - {name: told, component: rated, input_mapping: {score: steps.one.score, state: steps.one.state}}
  - {name: choose, component: chooser, input_mapping: {state: steps.one.state}, estimator: score}
  - {name: worth, component: outside, input_mapping: {way: steps.choose.way}}
"""
GUARDED = """
  - {name: one, component: first, input_mapping: {x: input.x}}
  - {name: two, component: second, input_mapping: {state: steps.one.state}, condition: steps.one.score > 0.0}
  - {name: worth, component: worth, input_mapping: {score: steps.two.score}}
"""


@pytest.mark.parametrize(
    ("steps", "term"),
    [(STEPS, "worth"), (ENUMERATED, "of_way"), (OUTSIDE, "outside"), (GUARDED, "worth")],
    ids=["straight", "enumerated", "outside", "guarded"],
)
def test_what_a_pass_computed_goes_with_it(tmp_path: Path, steps: str, term: str) -> None:
    seen: list[weakref.ref[Tensor]] = []

    def see(told: dict[str, Tensor]) -> dict[str, Tensor]:
        seen.append(weakref.ref(told["state"]))
        return told

    workflow = loaded(tmp_path, steps, head=f"contract: {{reward: {{{term}: 1.0}}}}")
    component = workflow.component("first")
    assert isinstance(component, TorchComponent)
    module = as_module(workflow.with_component(component.with_module(Counting(component.module, see))))
    gc.collect()
    gc.disable()
    try:
        outcome = module(rows(4))
        assert len(outcome.runs) == 4
        outcome.backward()
        del outcome
        assert [each() for each in seen] == [None] * len(seen)
    finally:
        gc.enable()
    module.close()


def test_a_batch_that_is_kept_holds_no_module(tmp_path: Path) -> None:
    module = counting(tmp_path, "second")
    batch = module.batch(rows(3))
    module(batch).backward()
    module.close()
    inside = weakref.ref(module.module_of("second"))
    del module
    gc.collect()
    assert inside() is None
    assert len(batch) == 3

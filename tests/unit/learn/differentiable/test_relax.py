"""`relax`: a surrogate learnt online takes the noise off a choice's score, and never biases it."""

import asyncio
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import torch
from torch import Tensor

from stretto import RunRequest
from stretto.learn.differentiable.module import DifferentiableWorkflow
from stretto.record.model import Run
from stretto.testing.request import request_for
from stretto.types.errors import LearningError, StoreError, UsageError
from tests.unit.learn.differentiable.made import grads_of, hand, module_of
from tests.unit.learn.differentiable.test_choices import CHOICE, INSIDE, OUTSIDE, WORTH, choosing, probabilities

X = [0.5, -1.0]
BATCH = 50
FAMILY = 4.0
"""|z| that six right means reach once in 2,600 times."""


def estimates(module: DifferentiableWorkflow, batches: int, start: int = 0) -> Tensor:
    """Of each batch, the gradient by the bias of the logits."""
    return torch.stack(
        [
            grads_of(module, module([{"x": X}] * BATCH, seeds=range(first, first + BATCH)).loss)["chooser.net.bias"]
            for first in range(start * BATCH, (start + batches) * BATCH, BATCH)
        ]
    )


def exact(module: DifferentiableWorkflow) -> Tensor:
    return grads_of(module, -(probabilities(module, X) * WORTH).sum())["chooser.net.bias"]


def z_of(found: Tensor, truth: Tensor) -> float:
    return float(((found.mean(0) - truth) / (found.std(0) / len(found) ** 0.5)).abs().max())


def noise(found: Tensor) -> float:
    return float(found.var(0).sum())


@pytest.mark.parametrize("rest", [INSIDE, OUTSIDE])
def test_what_a_surrogate_learns_online_takes_the_noise_and_no_bias_comes(tmp_path: Path, rest: str) -> None:
    module, plain = choosing(tmp_path, "relax", rest), choosing(tmp_path, "score", rest)
    first, later = estimates(module, 20), estimates(module, 20, start=20)
    assert z_of(torch.cat([first, later]), exact(module)) < FAMILY
    assert noise(later) < 0.01 * noise(estimates(plain, 20, start=20))
    report = module.surrogates["choose"].report()
    assert report.coefficient == pytest.approx(1.0, abs=0.05)
    assert report.r_squared is not None
    assert report.r_squared > 0.9
    module.close()
    plain.close()


def test_a_hostile_surrogate_costs_no_variance_once_its_coefficient_is_fitted(tmp_path: Path) -> None:
    module, plain = choosing(tmp_path, "relax"), choosing(tmp_path, "score")
    surrogate = module.surrogates["choose"]
    surrogate.is_frozen = True
    with torch.no_grad():
        surrogate.learner.network.outer.bias.copy_(-5 * WORTH.flip(0) + torch.tensor([7.0, 0.0, 3.0]))
    first, later = estimates(module, 20), estimates(module, 200, start=20)
    assert z_of(torch.cat([first, later]), exact(module)) < FAMILY
    assert noise(later) < 1.05 * noise(estimates(plain, 200, start=20))
    assert surrogate.report().rows == 0


def test_a_surrogate_without_data_is_the_plain_score(tmp_path: Path) -> None:
    module, plain = choosing(tmp_path, "relax"), choosing(tmp_path, "score")
    assert torch.equal(estimates(module, 1), estimates(plain, 1))
    assert "no data yet; coefficient 0, as the plain score" in str(
        choosing(tmp_path, "relax").surrogates["choose"].report()
    )


def test_a_module_in_eval_mode_teaches_its_surrogate_nothing(tmp_path: Path) -> None:
    module = choosing(tmp_path, "relax").eval()
    estimates(module, 2)
    with torch.no_grad():
        module.train()([{"x": X}] * 64, seeds=range(64))
    assert module.surrogates["choose"].report().rows == 0


def test_rounds_and_items_share_a_surrogate_and_stay_unbiased(tmp_path: Path) -> None:
    steps = """
  - name: talk
    repeat:
      max_rounds: 3
      carry: {x: "input.x"}
      until: "steps.choose.way == 'b'"
      steps:
        - {name: choose, component: chooser, estimator: ESTIMATOR, input_mapping: {state: carry.x}}
  - {name: reward, component: outside, input_mapping: {way: steps.talk.last.choose.way}}
"""
    head = "contract: {reward: {outside: 1.0}}"
    module = module_of(tmp_path, steps.replace("ESTIMATOR", "relax"), head=head)
    found = estimates(module, 40)
    p = hand(module, "chooser")(torch.tensor([X], dtype=torch.float64)).softmax(-1)[0]
    last = p * WORTH.where(torch.tensor([False, True, False]), torch.zeros(3))
    other = 1 - p[1]
    value = last.sum() * (1 + other + other**2) + other**2 * (p * WORTH).sum() - other**2 * last.sum()
    assert z_of(found, grads_of(module, -value)["chooser.net.bias"]) < FAMILY
    assert [*module.surrogates] == ["talk/choose"]
    module.close()


TWO = """
  - {name: choose, component: twice, estimator: relax, input_mapping: {state: input.x}}
  - {name: reward, component: both, input_mapping: {one: steps.choose.one, two: steps.choose.two}}
"""
BOTH = torch.tensor([[4.0, 1.0, 0.0], [5.0, 5.0, 5.0], [0.0, -1.0, 2.0]], dtype=torch.float64)


def of(module: DifferentiableWorkflow, name: str, batches: int, request: Any) -> Tensor:
    """Of each batch of one request, the gradient by the bias of a component."""
    found = []
    for first in range(0, batches * BATCH, BATCH):
        grads = grads_of(module, module([request] * BATCH, seeds=range(first, first + BATCH)).loss)
        found.append(grads[f"{name}.net.bias"])
    return torch.stack(found)


def test_items_of_one_run_share_a_surrogate_and_stay_unbiased(tmp_path: Path) -> None:
    steps = """
  - name: each
    for_each: "input.all"
    steps:
      - {name: choose, component: chooser, estimator: relax, input_mapping: {state: item}}
  - name: reward
    component: both
    input_mapping: {one: "steps.each.items[0].choose.way", two: "steps.each.items[1].choose.way"}
"""
    module = module_of(tmp_path, steps, head="contract: {reward: {both: 1.0}}")
    two = [X, [1.0, 1.0]]
    p = hand(module, "chooser")(torch.tensor(two, dtype=torch.float64)).softmax(-1)
    exact = grads_of(module, -(p[0][:, None] * p[1][None] * BOTH).sum())["chooser.net.bias"]
    assert z_of(of(module, "chooser", 40, {"all": two}), exact) < FAMILY
    assert module.surrogates["each/choose"].report().rows == 40 * BATCH * 2


def test_each_of_several_choices_at_once_has_a_surrogate_of_its_own(tmp_path: Path) -> None:
    module = module_of(tmp_path, TWO, head="contract: {reward: {both: 1.0}}")
    logits = hand(module, "twice")(torch.tensor([X], dtype=torch.float64))
    value = (logits["one"].softmax(-1)[0][:, None] * logits["two"].softmax(-1)[0][None] * BOTH).sum()
    exact = grads_of(module, -value)["twice.net.bias"]
    assert z_of(of(module, "twice", 40, {"x": X}), exact) < FAMILY
    assert [*module.surrogates] == ["choose#one", "choose#two"]


def test_a_choice_after_one_that_is_enumerated_stays_unbiased(tmp_path: Path) -> None:
    steps = """
  - {name: first, component: chooser, estimator: enumerate, input_mapping: {state: input.x}}
  - name: next
    component: chooser
    estimator: relax
    condition: "steps.first.way != 'b'"
    input_mapping: {state: input.y}
  - {name: reward, component: both, input_mapping: {one: steps.first.way, two: steps.next.way}}
"""
    module = module_of(tmp_path, steps, head="contract: {reward: {both: 1.0}}")
    p = hand(module, "chooser")(torch.tensor([X, [1.0, 1.0]], dtype=torch.float64)).softmax(-1)
    exact = grads_of(module, -(p[0][:, None] * p[1][None] * BOTH).sum())["chooser.net.bias"]
    found = of(module, "chooser", 40, {"x": X, "y": [1.0, 1.0]})
    assert z_of(found, exact) < FAMILY


def test_token_ids_and_wide_states_are_shown_by_their_log_probabilities_alone(tmp_path: Path) -> None:
    steps = """
  - {name: choose, component: wide, estimator: relax, input_mapping: {state: input.state, ids: input.ids}}
  - {name: reward, component: of_way, input_mapping: {way: steps.choose.way}}
"""
    module = module_of(tmp_path, steps, head="contract: {reward: {of_way: 1.0}}")
    module([{"state": [[0.5] * 1024, [1.0] * 1024], "ids": [1, 2, 3, 4]}] * 16, seeds=range(16))
    assert module.surrogates["choose"].shown == {"way_log_probabilities": 3}
    assert module.surrogates["choose"].report().rows == 16


def test_a_run_whose_reward_is_unknown_teaches_nothing(tmp_path: Path) -> None:
    steps = CHOICE.replace("ESTIMATOR", "relax")
    steps += "  - {name: reward, component: known_way, input_mapping: {way: steps.choose.way}}\n"
    module = module_of(tmp_path, steps, head="contract: {reward: {known_way: 1.0}}")
    requests = [RunRequest(input={"x": X}, reference=None if row % 2 else 1.0) for row in range(64)]
    for start in range(4):
        loss = module(requests, seeds=range(start * 64, start * 64 + 64)).loss
    assert torch.isfinite(loss)
    assert module.surrogates["choose"].report().rows == 4 * 32


def test_what_is_known_of_some_choices_only_biases_nothing(tmp_path: Path) -> None:
    steps = CHOICE.replace("ESTIMATOR", "relax")
    steps += "  - {name: reward, component: partly, input_mapping: {way: steps.choose.way}}\n"
    module = module_of(tmp_path, steps, head="contract: {reward: {partly: 1.0}}")
    batch = module.batch([RunRequest(input={"x": X}, reference=None if row % 2 else 1.0) for row in range(200)])
    found = torch.stack(
        [
            grads_of(module, module(batch, seeds=range(at, at + 200)).loss)["chooser.net.bias"]
            for at in range(0, 60 * 200, 200)
        ]
    )
    known = probabilities(module, X) * torch.tensor([1.0, 0.5, 1.0], dtype=torch.float64)
    exact = grads_of(module, -(known * WORTH).sum() / known.sum())["chooser.net.bias"]
    assert z_of(found[10:], exact) < FAMILY
    assert module.surrogates["choose"].report().coefficient != 0.0


@pytest.mark.parametrize("uncounted", ["", INSIDE])
def test_relax_where_no_reward_that_counts_follows_the_choice_is_refused(tmp_path: Path, uncounted: str) -> None:
    rest = """
  - {name: one, component: first, input_mapping: {x: input.x}}
  - {name: beside, component: worth, input_mapping: {score: steps.one.score}}
"""
    with pytest.raises(UsageError, match="'choose' cannot have the estimator 'relax': it has no effect: no term"):
        choosing(tmp_path, "relax", uncounted + rest, worth=1.0)


def recorded(folder: Path, count: int, rest: str = OUTSIDE) -> list[Run]:
    """Runs that a scoring module made, each with its own input."""
    module = choosing(folder, "score", rest)
    inputs = torch.randn(count, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(5)).tolist()
    runs: list[Run] = module([{"x": x} for x in inputs], seeds=range(10_000, 10_000 + count)).runs
    module.close()
    return runs


def test_a_surrogate_fitted_on_recorded_runs_is_worth_it_from_the_first_batch(tmp_path: Path) -> None:
    module = choosing(tmp_path, "relax")
    reports = module.fit_surrogates(recorded(tmp_path, 600, INSIDE))
    (report,) = reports.values()
    assert (report.step, report.rows, report.updates) == ("choose", 600, 2)
    assert report.coefficient == pytest.approx(1.0, abs=0.1)
    assert report.variance_ratio is not None
    assert report.variance_ratio < 0.3
    assert report.learnt_of == module([{"x": X}]).runs[0].steps[0].actions[0].policy
    plain = choosing(tmp_path, "score")
    assert noise(estimates(module, 20)) < 0.1 * noise(estimates(plain, 20))


def test_runs_that_tell_nothing_of_a_choice_are_an_error(tmp_path: Path) -> None:
    module = choosing(tmp_path, "relax", OUTSIDE)
    other = module_of(tmp_path, "  - {name: one, component: first, input_mapping: {x: input.x}}\n")
    with pytest.raises(LearningError, match="none of 1 runs tells what follows the choice 'way' of step 'choose'"):
        module.fit_surrogates(other([{"x": X}]).runs)


def test_a_saved_surrogate_goes_on_as_it_would_have(tmp_path: Path) -> None:
    module, again = choosing(tmp_path, "relax"), choosing(tmp_path, "relax")
    estimates(module, 3)
    module.save_surrogates(tmp_path / "kept")
    again.load_surrogates(tmp_path / "kept")
    before = module.surrogates["choose"].card
    assert again.surrogates["choose"].card == before
    assert again.surrogates["choose"].parent == before.digest
    assert (tmp_path / "kept" / f"{before.digest}.safetensors").exists()
    assert torch.equal(estimates(module, 3, start=3), estimates(again, 3, start=3))
    after = again.surrogates["choose"].card
    assert after == module.surrogates["choose"].card
    assert after.digest != before.digest
    assert (before.version, after.version) == ("0.0.3", "0.0.6")


def test_a_surrogate_is_a_component_that_can_be_asked(tmp_path: Path) -> None:
    module = choosing(tmp_path, "relax")
    module.fit_surrogates(recorded(tmp_path, 400, INSIDE))
    surrogate = module.surrogates["choose"]
    asked: dict[str, Any] = {"state": X, "way_log_probabilities": probabilities(module, X).log().tolist()}
    told: Any = asyncio.run(surrogate(request_for(**asked))).output
    assert jsonschema_rs.is_valid(dict(surrogate.card.input), asked)
    assert jsonschema_rs.is_valid(dict(surrogate.card.output), told)
    assert [told[way] for way in "abc"] == pytest.approx([1.0, 3.0, -2.0], abs=0.2)


def test_a_saved_surrogate_that_is_not_there_or_of_another_form_is_an_error(tmp_path: Path) -> None:
    module, kept = choosing(tmp_path, "relax"), tmp_path / "kept"
    with pytest.raises(UsageError, match=r"holds no surrogates.*module.fit_surrogates\(runs\)"):
        module.load_surrogates(kept)
    module.save_surrogates(kept)
    renamed = module_of(
        tmp_path,
        CHOICE.replace("ESTIMATOR", "relax").replace("name: choose", "name: pick")
        + INSIDE.replace("steps.choose", "steps.pick"),
        head="contract: {reward: {of_way: 1.0}}",
    )
    with pytest.raises(UsageError, match="has no surrogate of step 'pick'; it has: choose"):
        renamed.load_surrogates(kept)
    index = kept / "surrogates.json"
    index.write_text(index.read_text().replace("choose", "pick"))
    renamed.load_surrogates(kept)  # a step may change its name
    index.write_text(index.read_text().replace("pick", "choose#one"))
    other = module_of(tmp_path, TWO, head="contract: {reward: {both: 1.0}}")
    with pytest.raises(UsageError, match=r"of another step than 'choose#one' now is: `shown` was .*way_log"):
        other.load_surrogates(kept)
    index.write_text(index.read_text().replace("choose#one", "pick"))
    (kept / f"{module.surrogates['choose'].digest}.safetensors").write_bytes(b"cut short")
    with pytest.raises(StoreError, match="is not a whole safetensors file"):
        renamed.load_surrogates(kept)

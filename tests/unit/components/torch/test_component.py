"""A module as a component: one row in the engine, its choices recorded, its weights pinned."""

import math
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Annotated, Any, cast

import pytest
import torch
from torch import Tensor, nn

import stretto
from stretto.components.policy import draw
from stretto.components.python.decorator import component_of
from stretto.components.torch.choices import chosen_of
from stretto.components.torch.component import TorchComponent
from stretto.testing.request import request_for
from stretto.types.enums import RunStatus
from stretto.types.errors import ContractError, SpecError, StoreError, UsageError
from tests.unit.components.torch import modules

WORKFLOW = """
stretto: 1
name: risk
components: modules.py
contract: {reward: {utility: 2.0}}
steps:
  - {name: seq, component: repayment, input_mapping: {months: input.months, tenant: input.tenant}}
  - {name: router, component: router, input_mapping: {state: steps.seq.state}}
  - {name: judge, component: judge, input_mapping: {decision: steps.router.decision, late: steps.seq.late}}
output: {decision: steps.router.decision, probabilities: steps.router.decision_probabilities}
"""

INPUT = {"months": [[1, 2, 3, 4], [5, 6, 7, 8]], "tenant": "shop"}


def of(target: object) -> TorchComponent:
    return cast("TorchComponent", component_of(target))


def loaded(folder: Path, text: str = WORKFLOW) -> stretto.Workflow:
    shutil.copy(modules.__file__, folder / "modules.py")
    (folder / "workflow.yaml").write_text(text)
    return stretto.load(folder / "workflow.yaml", store=folder / "runs.db")


def test_a_run_records_what_modules_answered_and_chose(tmp_path: Path) -> None:
    with loaded(tmp_path) as workflow:
        run = workflow.run_sync(INPUT, seed=7, reference=0.5)
    assert run.status is RunStatus.OK, run.error
    seq, router, judge = run.steps
    with torch.no_grad():
        state = of(modules.Repayment).module(months=torch.tensor([INPUT["months"]]).float(), tenant=["shop"])["state"]
        logits = of(modules.Router).module(state)
    assert seq.output_value == {"state": state[0].tolist(), "late": state.sum().item()}
    (action,) = router.actions
    p = logits[0].double().softmax(-1).tolist()
    left = draw(7, "router")
    expected = next(i for i in range(3) if left < sum(p[: i + 1]))
    assert (action.chosen, action.support) == (modules.DECISIONS[expected], modules.DECISIONS)
    assert math.isclose(action.logprob, math.log(p[expected]))
    assert action.policy == of(modules.Router).weights_digest
    assert run.output_value == {"decision": action.chosen, "probabilities": pytest.approx(p)}
    value = {"approve": 0.5, "refer": 0.125, "decline": 0.0}[action.chosen]
    assert judge.output_value == {"utility": value}
    assert run.reward == 2.0 * value


def test_choices_follow_their_probabilities_over_seeds_and_the_likeliest_is_taken_without_sampling() -> None:
    router = of(modules.Router)
    asked: dict[str, Any] = {"state": [8.0, -4.0, 2.0]}
    told = [router._answer(request_for(_seed=seed, **asked)) for seed in range(2000)]
    p = cast("dict[str, Any]", told[0].output)["decision_probabilities"]
    counts = Counter(answer.actions[0].chosen for answer in told)
    for name, probability in zip(modules.DECISIONS, p, strict=True):
        assert abs(counts[name] / 2000 - probability) < 4 * math.sqrt(probability * (1 - probability) / 2000)
    likeliest = router.with_sampling(False)._answer(request_for(**asked)).actions[0]
    assert (likeliest.chosen, likeliest.propensity) == (modules.DECISIONS[p.index(max(p))], 1.0)


def test_a_logit_of_minus_infinity_is_never_chosen_and_recorded_as_not_available() -> None:
    @stretto.differentiable("masked", inputs={"x": stretto.Shape()}, chooses={"tool": ("a", "b", "c")})
    def masked(x: Tensor) -> Tensor:
        return torch.stack([x - torch.inf, x, x - torch.inf], -1)

    action = of(masked)._answer(request_for(x=1.0)).actions[0]
    assert (action.chosen, action.available, action.forced) == ("b", (False, True, False), True)


def test_a_reward_that_is_no_number_is_unknown() -> None:
    answer = of(modules.judge)._answer(request_for(decision="approve", late=1.0, _reference=math.nan))
    assert answer.rewards[0].value is None
    assert answer.output == {"utility": None}


def test_a_draw_that_rounding_leaves_over_takes_the_last_alternative_that_is_possible() -> None:
    p = torch.tensor([[0.3, 0.7, 0.0], [0.2, 0.3, 0.5]], dtype=torch.float64)
    assert chosen_of("router", "way", p, [1.0, 1.0 - 2.0**-53]) == [1, 2]


def test_null_reads_as_what_a_shape_says_stands_for_it() -> None:
    answer = of(modules.judge)._answer(request_for(decision="approve", late=None, _reference=2.0))
    assert answer.rewards[0].value == 2.0


def test_first_weights_are_the_same_in_every_process_and_others_have_another_digest(tmp_path: Path) -> None:
    program = (
        "from stretto.components.python.decorator import component_of as of; "
        "from tests.unit.components.torch import modules; print(of(modules.Router).card.digest)"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    router = of(modules.Router)
    assert told.stdout.strip() == router.card.digest
    trained = nn.Module.train(router.with_module(modules.Router()).module)
    other = router.with_module(trained)
    assert other.card.digest != router.card.digest
    path = other.save(tmp_path)
    again = router.with_weights(str(path))
    assert (again.card.digest, path.stem) == (other.card.digest, other.weights_digest)
    assert not again.module.training
    path.rename(tmp_path / f"{'0' * 64}.safetensors")
    with pytest.raises(StoreError, match="changed or renamed"):
        router.with_weights(str(tmp_path / f"{'0' * 64}.safetensors"))
    with pytest.raises(UsageError, match=r"'net\.weight' is \[3, 3\], the module's \[3, 8\]"):
        of(modules.Repayment).with_weights(str(again.save(tmp_path)))


def test_weights_that_no_checkpoint_holds_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"'net\.weight' are of torch\.bfloat16"):
        of(modules.Router).with_module(modules.Router().bfloat16()).save(tmp_path)


def test_a_declaration_names_a_module_again_and_gives_it_weights(tmp_path: Path) -> None:
    path = of(modules.Router).with_module(modules.Router()).save(tmp_path)
    declared = f"components: [modules.py, {{late: {{kind: torch, target: 'modules:Router', checkpoint: {path.name}}}}}]"
    text = WORKFLOW.replace("components: modules.py", declared).replace("component: router", "component: late")
    with loaded(tmp_path, text) as workflow:
        run = workflow.run_sync(INPUT, reference=1.0)
    assert run.steps[1].actions[0].policy == path.stem
    with pytest.raises(SpecError, match="`sample` has no effect: 'modules:Repayment' chooses nothing"):
        loaded(tmp_path, text.replace("Router', checkpoint", "Repayment', sample: false, checkpoint"))
    with pytest.raises(SpecError, match=r"is not under @stretto\.differentiable"):
        loaded(tmp_path, text.replace("modules:Router", "math:sqrt"))


def test_an_instance_keeps_its_weights_and_its_parameter_names() -> None:
    answer = of(modules.scale)._answer(request_for(input=[1.0, 2.0]))
    assert answer.output == {"result": modules.scale(torch.tensor([[1.0, 2.0]]))[0].tolist()}


def test_tensors_that_do_not_fit_between_steps_are_refused_when_the_file_is_loaded(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="'months'") as told:
        loaded(tmp_path, WORKFLOW.replace("months: input.months", "months: steps.router.decision_probabilities"))
    assert "array" in str(told.value)


def test_a_module_that_returns_another_shape_than_it_says_names_both(tmp_path: Path) -> None:
    @stretto.differentiable("wide", inputs={"x": stretto.Shape(2)}, outputs={"y": stretto.Shape(3)})
    def wide(x: Tensor) -> dict[str, Tensor]:
        return {"y": x}

    with pytest.raises(ContractError, match=r"returned 'y' of shape \[1, 2\], where \[1, 3\] is said"):
        of(wide)._answer(request_for(x=[1.0, 2.0]))


def shapeless(x: Tensor) -> Annotated[Tensor, stretto.Shape()]:
    return x


def whole(n: Annotated[Tensor, stretto.Shape(dtype="int64")]) -> Annotated[Tensor, stretto.Shape()]:
    return n


def silent(x: Annotated[Tensor, stretto.Shape()]) -> Tensor:
    return x


class Needy(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()

    def forward(self, x: Annotated[Tensor, stretto.Shape()]) -> Annotated[Tensor, stretto.Shape()]:
        return x


@pytest.mark.parametrize(
    ("target", "options", "text"),
    [
        (shapeless, {"inputs": ["x"]}, "the input 'x' has no shape"),
        (shapeless, {}, r"nobody says what fills the parameter 'x'.*\n.*\n.*\n?"),
        (shapeless, {"inputs": ["x", "y"]}, "`forward` has no parameter 'y'"),
        (shapeless, {"inputs": ["x"], "context": ["x"]}, "'x' is among `inputs` and `context`"),
        (shapeless, {"context": ["x"]}, "one value a row"),
        (whole, {"inputs": ["n"]}, r"said to carry a gradient, and is of integers \(int64\)"),
        (silent, {"inputs": ["x"]}, "nothing says what it returns"),
        (silent, {"inputs": ["x"], "outputs": stretto.Shape(2), "rewards": ["r"]}, "the reward 'r' is no output"),
        (Needy, {"inputs": ["x"]}, "the constructor of 'Needy' needs 'width'"),
        (silent, {"inputs": ["x"], "chooses": {"c": ("a",)}}, r"chooses\['c'\] has the alternatives \['a'\]"),
        (
            silent,
            {"inputs": ["x"], "chooses": {"c": ("a", "b"), "c_probabilities": ("a", "b")}},
            "two outputs are called 'c_probabilities'",
        ),
        (
            silent,
            {"inputs": ["x"], "chooses": {"c": ("a", "b")}, "outputs": {"c": stretto.Shape()}},
            "two outputs are called 'c'",
        ),
        (silent, {"inputs": ["x"], "sample": False}, "sample=False would have no effect"),
        (3, {}, "a differentiable component is a module or a function, and this is int"),
    ],
)
def test_what_cannot_be_a_component_is_refused_with_its_reason(target: Any, options: Any, text: str) -> None:
    with pytest.raises(SpecError, match=text):
        of(stretto.differentiable("it", **options)(target)).card  # noqa: B018  # hints are read here


def test_a_shape_that_no_json_could_have_is_refused() -> None:
    for wrong in (lambda: stretto.Shape(0), lambda: stretto.Shape(2, dtype="float16"), lambda: stretto.OneOf("a", "a")):
        with pytest.raises(SpecError):
            wrong()

"""Attention heads by a run's reward: held to finite differences, and told where there is nothing to tell."""

import contextlib
import copy
import io
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import stretto
from stretto.cli.explain.lines import show_explained
from stretto.learn import as_module
from stretto.learn.explain.explained import Against, RewardHeads, RunExplained
from stretto.learn.explain.heads import Heads, Place
from stretto.learn.explain.judging import Judging
from stretto.learn.explain.ordinary_heads import judged_heads
from stretto.learn.explain.page import page
from stretto.learn.explain.reward_words import NAMED
from stretto.record.model import Run

COMPONENTS = """
from typing import Annotated, TypedDict

import torch
from torch import Tensor, nn

import stretto
from stretto import OneOf, Shape

DESKS = ("card", "loan", "fraud")
Number = Annotated[Tensor, Shape()]


class Read(TypedDict):
    state: Annotated[Tensor, Shape(8)]
    guess: Number


class Attention(nn.Module):
    attention_heads = {"mix": 4}

    def __init__(self, width: int) -> None:
        super().__init__()
        self.read = nn.Linear(width, 3 * width)
        self.mix = nn.Linear(width, width)
        self.bump = 0.0  # what a test adds to the outputs of the heads

    def forward(self, x: Tensor) -> Tensor:
        batch, time, width = x.shape
        q, k, v = self.read(x).view(batch, time, 3, 4, width // 4).permute(2, 0, 3, 1, 4)
        heads = torch.softmax(q @ k.transpose(-1, -2), -1) @ v
        return self.mix(heads.transpose(1, 2).reshape(batch, time, width) + self.bump)


@stretto.differentiable("reader", inputs=["months"])
class Reader(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention, self.guess = Attention(8), nn.Linear(8, 1)

    def forward(self, months: Annotated[Tensor, Shape(3, 8)]) -> Read:
        state = self.attention(months).tanh().sum(1)
        return {"state": state, "guess": self.guess(state)[:, 0]}


@stretto.differentiable("router", inputs=["state"], chooses={"desk": DESKS})
class Router(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention, self.net = Attention(4), nn.Linear(4, 3)

    def forward(self, state: Annotated[Tensor, Shape(8)]) -> Tensor:
        return self.net(self.attention(state.view(-1, 2, 4)).sum(1))


@stretto.differentiable("idle", inputs=["months"])
class Idle(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = Attention(8)

    def forward(self, months: Annotated[Tensor, Shape(3, 8)]) -> Number:
        return self.attention(months).sum((1, 2))


@stretto.differentiable("teacher", inputs=["guess"], context=["reference"], rewards=["taught"])
def teacher(guess: Number, reference: list[dict[str, str]]) -> Number:
    return -((guess - torch.tensor([float(len(each["desk"])) for each in reference])) ** 2)


@stretto.reward("judge", terms=("right",), inline=True)
def judge(desk: str, context: stretto.Context) -> float | None:
    if context.reference is None:
        return None
    return 1.0 if desk == context.reference["desk"] else -0.5
"""

READING = """
stretto: 1
name: desks
components: parts.py
contract: {reward: {WEIGHTS}}
steps:
  - {name: reader, component: reader, input_mapping: {months: input.months}}
  - {name: idle, component: idle, input_mapping: {months: input.months}}
  - {name: router, component: router, estimator: score, input_mapping: {state: steps.reader.state}}
"""

JUDGING = "  - {name: judge, component: judge, input_mapping: {desk: steps.router.desk}}\n"
TEACHING = "  - {name: teacher, component: teacher, input_mapping: {guess: steps.reader.guess}}\n"
OUTPUT = "output: {desk: steps.router.desk}\n"

BOTH = (JUDGING + TEACHING, "right: 1.5, taught: 0.25")


def workflow_of(folder: Path, judges: str, weights: str, *, components: str = COMPONENTS) -> stretto.Workflow:
    (folder / "parts.py").write_text(components)
    (folder / "desks.yaml").write_text(READING.replace("WEIGHTS", weights) + judges + OUTPUT)
    return stretto.load(folder / "desks.yaml", store=folder / "runs.db")


def made(workflow: stretto.Workflow, count: int = 5, *, knows: bool = True) -> None:
    for seed in range(count):
        months = torch.randn(3, 8, generator=torch.Generator().manual_seed(seed)).tolist()
        desk = ("card", "loan", "fraud")[seed % 3]
        workflow.run_sync({"months": months, "asked": desk}, seed=seed, reference={"desk": desk} if knows else None)


def shown(told: RunExplained) -> str:
    """What a terminal shows, on one line."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        show_explained(told)
    return " ".join(out.getvalue().split())


def told_of(workflow: stretto.Workflow, **options: Any) -> Any:  # RunExplained, as its figures are read
    return workflow.blocking(lambda: stretto.explain(workflow, "last", **options))


def heads_of(workflow: stretto.Workflow, **options: Any) -> RewardHeads:
    found = told_of(workflow, **options).reward_heads
    assert isinstance(found, RewardHeads)
    return found


@pytest.fixture
def desks(tmp_path: Path) -> Iterator[stretto.Workflow]:
    with workflow_of(tmp_path, *BOTH) as workflow:
        made(workflow)
        yield workflow


def right_in(run: Run) -> float:
    (value,) = [each.value for each in run.rewards if each.name == "right"]
    assert value is not None
    return value


class ByHand:
    """The same networks called one after the other, and the reward's surrogate written out."""

    def __init__(self, workflow: stretto.Workflow) -> None:
        run, *others = sorted(workflow.store.runs(), key=lambda each: -each.seed)
        self.modules = {name: self._double(workflow, name) for name in ("reader", "router")}
        self.months = torch.tensor([run.input_value["months"]], dtype=torch.float64)
        self.length = len(run.reference_value["desk"])
        self.desk = ("card", "loan", "fraud").index(run.output_value["desk"])
        self.cost = 1.5 * (right_in(run) - fmean(map(right_in, others)))  # what is taught follows no choice

    def _double(self, workflow: stretto.Workflow, name: str) -> Any:
        component: Any = workflow.component(name)
        return copy.deepcopy(component.module).double()

    def objective(self) -> float:
        with torch.no_grad():
            read = self.modules["reader"](self.months)
            log_p = self.modules["router"](read["state"]).log_softmax(-1)[0, self.desk]
            return float(0.25 * -((read["guess"][0] - self.length) ** 2) + self.cost * log_p)

    def norms(self, step: str, shape: tuple[int, int], by: float = 1e-5) -> list[float]:
        """Of each head's gradient, by moving each number that it comes to."""
        attention = self.modules[step].attention
        slopes = torch.zeros(shape, dtype=torch.float64)
        for at in range(slopes.numel()):
            bump = torch.zeros(shape, dtype=torch.float64)
            bump.view(-1)[at] = by
            attention.bump = bump
            above = self.objective()
            attention.bump = -bump
            slopes.view(-1)[at] = (above - self.objective()) / (2 * by)
        attention.bump = 0.0
        norms: Tensor = slopes.view(shape[0], 4, -1).square().sum((0, 2)).sqrt()
        return list(norms.tolist())


def test_the_norms_are_those_of_finite_differences_of_both_ways_to_the_reward(desks: stretto.Workflow) -> None:
    by_hand, told = ByHand(desks), heads_of(desks)
    found = {step: [head.norm for head in told.heads if head.step == step] for step in ("reader", "router")}
    assert found["reader"] == pytest.approx(by_hand.norms("reader", (3, 8)), rel=1e-4)
    assert found["router"] == pytest.approx(by_hand.norms("router", (2, 4)), rel=1e-4)
    (choice,) = told.choices
    assert (choice.step, choice.choice, choice.others) == ("router", "desk", 4)
    assert choice.cost == pytest.approx(by_hand.cost)
    assert (told.terms, told.unreached, told.untold) == (("taught",), ("idle",), "")
    assert {head.layer for head in told.heads} == {"attention.mix"}


def test_what_is_differentiated_of_all_runs_together_is_what_a_training_goes_back_through(
    desks: stretto.Workflow,
) -> None:
    runs = sorted(desks.store.runs(), key=lambda each: each.seed)
    module = as_module(desks)
    asked = [stretto.RunRequest(input=run.input_value, reference=run.reference_value) for run in runs]
    outcome = module(asked, seeds=[run.seed for run in runs])
    outcome.backward()
    assert [run.output_value for run in outcome.runs] == [run.output_value for run in runs]
    judging = Judging(desks.plan, runs[0], runs[1:])
    gain = torch.stack([judging.score(number)() for number in range(len(runs))]).mean()
    for name in ("reader", "router"):
        component: Any = desks.component(name)
        weights = [*component.module.parameters()]
        for ours, theirs in zip(
            torch.autograd.grad(gain, weights, retain_graph=True), module.module_of(name).parameters(), strict=True
        ):
            assert theirs.grad is not None
            assert torch.allclose(ours, -theirs.grad, atol=1e-6)


def test_the_heads_of_one_step_are_told_by_the_whole_reward(desks: stretto.Workflow) -> None:
    whole, router = heads_of(desks), heads_of(desks, step="router")
    assert [head.norm for head in router.heads] == [head.norm for head in whole.heads if head.step == "router"]
    assert (router.terms, router.unreached) == ((), ())
    assert told_of(desks, step="reader").reward_heads.terms == ("taught",)


TWO = COMPONENTS.replace('("card", "loan", "fraud")', '("card", "loan")').replace("nn.Linear(4, 3)", "nn.Linear(4, 2)")


def test_of_one_choice_of_two_the_heads_are_those_of_its_logit_and_told_once(tmp_path: Path) -> None:
    with workflow_of(tmp_path, JUDGING, "right: 1.0", components=TWO) as workflow:
        made(workflow)
        told = told_of(workflow)
    (choice,) = [each for step in told.steps for each in step.choices]
    by_logit = {(head.step, head.head): head.norm for head in choice.heads}
    by_reward = {(head.step, head.head): head.norm for head in told.reward_heads.heads}
    factors = {by_reward[place] / by_logit[place] for place in by_logit}
    assert by_logit.keys() == by_reward.keys()
    assert max(factors) == pytest.approx(min(factors), rel=1e-4)
    said = next(each for each in told.summary if each.startswith("Its reward would move"))
    order, _, worth = said.partition(": about ")
    assert order.endswith(f"in the order in which the logit of {choice.chosen} does (rank correlation 1.000)")
    assert float(worth.split()[0]) == pytest.approx(max(factors), rel=1e-3)
    assert "attention heads, by its reward" not in shown(told)


def test_the_probabilities_of_a_choice_have_a_gradient_where_a_judge_reads_them(tmp_path: Path) -> None:
    sharp = """
@stretto.differentiable("sharp", inputs=["among"], rewards=["sharpness"])
def sharp(among: Annotated[Tensor, Shape(3)]) -> Number:
    return (among ** 2).sum(1)
"""
    judging = "  - {name: sharp, component: sharp, input_mapping: {among: steps.router.desk_probabilities}}\n"
    with workflow_of(tmp_path, judging, "sharpness: 1.0", components=COMPONENTS + sharp) as workflow:
        made(workflow)
        told = heads_of(workflow)
    assert (told.terms, told.choices) == (("sharpness",), ())
    assert {head.step for head in told.heads} == {"reader", "router"}


LOOP = """
stretto: 1
name: desks
components: parts.py
contract: {reward: {right: 1.0}}
steps:
  - name: talk
    repeat:
      max_rounds: 2
      steps:
        - {name: reader, component: reader, input_mapping: {months: input.months}}
        - {name: router, component: router, input_mapping: {state: steps.reader.state}}
  - {name: judge, component: judge, input_mapping: {desk: steps.talk.last.router.desk}}
output: {desk: steps.talk.last.router.desk}
"""


def test_every_round_of_a_loop_has_heads_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "parts.py").write_text(COMPONENTS)
    (tmp_path / "desks.yaml").write_text(LOOP)
    with stretto.load(tmp_path / "desks.yaml", store=tmp_path / "runs.db") as workflow:
        made(workflow)
        told = heads_of(workflow)
    assert [each.step for each in told.choices] == ["talk[1]/router", "talk[2]/router"]
    steps = [f"talk[{number}]/{name}" for number in (1, 2) for name in ("reader", "router")]
    assert sorted({head.step for head in told.heads}) == steps
    assert len(told.heads) == 16


@pytest.mark.parametrize(
    ("judges", "knows", "says"),
    [
        (
            JUDGING,
            False,
            "How attention heads would move its reward is not told: it has none, or none that is known",
        ),
        (
            "  - {name: judge, component: judge, input_mapping: {desk: input.asked}}\n",
            True,
            "No gradient of its reward reaches the attention of ",
        ),
    ],
    ids=["no reward is known", "nothing that judges reads a network"],
)
def test_where_there_is_nothing_to_tell_a_sentence_says_why(
    tmp_path: Path, judges: str, knows: bool, says: str
) -> None:
    with workflow_of(tmp_path, judges, "right: 1.0") as workflow:
        made(workflow, knows=knows)
        told = told_of(workflow)
    assert told.reward_heads.heads == ()
    assert set(told.reward_heads.unreached) == ({"reader", "idle", "router"} if knows else set())
    (said,) = [each for each in told.summary if "attention" in each and "reward" in each]
    assert said.startswith(says)


def test_a_reward_that_is_that_of_all_others_tells_no_direction(tmp_path: Path) -> None:
    same = COMPONENTS.replace('1.0 if desk == context.reference["desk"] else -0.5', "1.0")
    assert same != COMPONENTS
    with workflow_of(tmp_path, JUDGING, "right: 1.0", components=same) as workflow:
        made(workflow)
        told = heads_of(workflow)
    assert (told.heads, told.untold[:49]) == ((), "what followed its choices came to just what it co")


def test_a_workflow_without_attention_says_nothing_of_it(tmp_path: Path) -> None:
    plain = COMPONENTS.replace('    attention_heads = {"mix": 4}\n', "")
    with workflow_of(tmp_path, *BOTH, components=plain) as workflow:
        made(workflow)
        told = told_of(workflow)
    assert told.reward_heads is None
    assert not any("ttention" in each for each in told.summary)


def norms(seed: int, *, times: float = 1.0, odd: float = 1.0) -> dict[Place, list[float]]:
    """Eight heads of one layer, the fourth so much louder."""
    noise = np.random.default_rng(seed).normal(0.0, 0.1, 8)
    values = times * np.exp(noise + np.linspace(0.0, 2.0, 8))
    values[3] *= odd
    return {("reader", "mix"): values.tolist()}


def test_a_large_reward_makes_no_head_odd_and_one_that_is_louder_than_in_other_runs_is() -> None:
    heads = [Heads("mix", 8, nn.Identity(), step="reader")]
    others = [norms(seed, times=float(seed)) for seed in range(1, 30)]
    large = judged_heads(heads, norms(0, times=1e4), others, relative=True)
    odd = judged_heads(heads, norms(0, odd=9.0), others, relative=True)
    assert [head for head in large if head.unusual] == []
    assert [(head.head, head.unusual) for head in odd if head.unusual] == [(3, (Against.RUNS,))]


def test_the_terminal_and_the_page_tell_the_reward_from_a_logit(desks: stretto.Workflow) -> None:
    told = told_of(desks)
    said, html = shown(told), page(told)
    first = max(told.reward_heads.heads, key=lambda head: head.norm)
    assert f"would move most with attention head {first.head} of {first.step}'s attention.mix" in said
    assert "attention heads, by its reward and not by a logit" in said
    assert "the gradient of taught as modules computed it, and of the log-probability of router.desk times" in said
    assert said.count("'s attention.mix") == 1 + NAMED
    assert "Norms of the gradient of the reward, and not of a logit" in html
    routed = next(step for step in told.steps if step.choices)
    assert f"norms of the gradient of the logit of {routed.choices[0].chosen}, and not of the reward" in html

"""Gradients through the data flow are those of the same modules called by hand."""

from pathlib import Path

import torch

import stretto
from tests.unit.learn.differentiable.made import grads_of, hand, module_of, rows, same, xs

WEIGHED = "contract: {reward: {worth: 2.0}}"


def test_a_chain_of_modules(tmp_path: Path) -> None:
    steps = """
  - {name: one, component: first, input_mapping: {x: input.x}}
  - {name: two, component: second, input_mapping: {state: steps.one.state}}
  - {name: worth, component: worth, input_mapping: {score: steps.two.score}}
"""
    module, inputs = module_of(tmp_path, steps, head=WEIGHED, output="{score: steps.two.score}"), rows(7)
    outcome = module(inputs)
    score = hand(module, "second")(hand(module, "first")(xs(inputs))["state"])["score"]
    assert torch.equal(outcome.outputs["score"], score)
    assert torch.equal(outcome.rewards, 2 * score)
    assert same(grads_of(module, outcome.loss), grads_of(module, -(2 * score).mean()))


def test_rows_that_a_condition_leaves_out_are_not_computed_and_carry_no_gradient(tmp_path: Path) -> None:
    steps = """
  - {name: one, component: first, input_mapping: {x: input.x}}
  - {name: two, component: second, condition: "input.n % 3 == 0", input_mapping: {state: steps.one.state}}
  - {name: worth, component: worth, input_mapping: {score: steps.two.score}}
"""
    module, inputs = module_of(tmp_path, steps, head=WEIGHED), rows(8)
    seen: list[int] = []
    hand(module, "second").register_forward_hook(lambda _, __, out: seen.append(len(out["score"])))
    outcome = module(inputs)
    assert seen == [3]
    chosen = [0, 3, 6]
    by_hand = hand(module, "second")(hand(module, "first")(xs(inputs))["state"][chosen])["score"]
    expected = torch.zeros(8, dtype=torch.float64).index_copy(0, torch.tensor(chosen), 2 * by_hand)
    assert torch.allclose(outcome.rewards, expected)
    assert same(grads_of(module, outcome.loss), grads_of(module, -expected.mean()))


def test_branches_that_meet_in_a_merge(tmp_path: Path) -> None:
    steps = """
  - {name: one, component: first, condition: "input.n < 3", input_mapping: {x: input.x}}
  - name: two
    component: second
    condition: "input.n >= 3"
    input_mapping: {state: input.x}
    merge: {m.score: [steps.one.score, steps.two.score]}
  - {name: worth, component: worth, input_mapping: {score: m.score}}
"""
    module, inputs = module_of(tmp_path, steps, head=WEIGHED), rows(7)
    outcome, x = module(inputs), xs(inputs)
    score = torch.cat([hand(module, "first")(x[:3])["score"], hand(module, "second")(x[3:])["score"]])
    assert torch.allclose(outcome.rewards, 2 * score)
    assert same(grads_of(module, outcome.loss), grads_of(module, -2 * score.mean()))


def test_items_of_a_list_and_what_pools_them(tmp_path: Path) -> None:
    steps = """
  - {name: each, for_each: "input.all", component: first, input_mapping: {x: item}}
  - {name: pool, component: pool, input_mapping: {states: "steps.each.items.map(i, i.state)"}}
  - {name: two, component: second, input_mapping: {state: steps.pool.result}}
  - {name: worth, component: worth, input_mapping: {score: steps.two.score}}
"""
    module = module_of(tmp_path, steps, head=WEIGHED, output="{one: 'steps.each.items[1].score'}")
    x = torch.randn(5, 3, 2, dtype=torch.float64)
    outcome = module([{"all": each} for each in x.tolist()])
    told = hand(module, "first")(x.reshape(15, 2))
    score = hand(module, "second")(told["state"].reshape(5, 3, 2).prod(1))["score"]
    assert torch.allclose(outcome.outputs["one"], told["score"].reshape(5, 3)[:, 1])
    assert same(grads_of(module, outcome.loss), grads_of(module, -2 * score.mean()))


def test_lists_of_different_lengths_go_through_a_body_together(tmp_path: Path) -> None:
    steps = """
  - name: each
    for_each: "input.all"
    steps:
      - {name: one, component: first, input_mapping: {x: item}}
      - {name: worth, component: worth, condition: "index == 0", input_mapping: {score: steps.one.score}}
"""
    module = module_of(tmp_path, steps, head=WEIGHED, output="{all: steps.each.items}")
    x = torch.randn(6, 2, dtype=torch.float64).tolist()
    outcome = module([{"all": x[:3]}, {"all": []}, {"all": x[3:4]}, {"all": x[4:]}])
    told = hand(module, "first")(torch.tensor(x, dtype=torch.float64))["score"]
    assert outcome.known.tolist() == [True, False, True, True]
    assert torch.allclose(outcome.rewards[outcome.known], 2 * told[[0, 3, 4]])
    assert [[item["one"]["score"] for item in items] for items in outcome.outputs["all"]] == [
        told[:3].tolist(),
        [],
        told[3:4].tolist(),
        told[4:].tolist(),
    ]
    assert same(grads_of(module, outcome.loss), grads_of(module, -2 * told[[0, 3, 4]].mean()))


def test_rounds_that_carry_a_state_end_row_by_row(tmp_path: Path) -> None:
    steps = """
  - name: loop
    repeat:
      max_rounds: 5
      carry: {state: input.x}
      until: "round > input.n"
      steps:
        - {name: on, component: second, input_mapping: {state: carry.state}, output_mapping: {state: carry.state}}
  - {name: worth, component: worth, input_mapping: {score: steps.loop.last.on.score}}
"""
    module, inputs = module_of(tmp_path, steps, head=WEIGHED, output="{rounds: steps.loop.rounds}"), rows(7)
    outcome, state = module(inputs), xs(inputs)
    scores = []
    for _ in range(5):
        told = hand(module, "second")(state)
        state = told["state"]
        scores.append(told["score"])
    ends = [min(row, 4) for row in range(7)]
    score = torch.stack(scores)[ends, range(7)]
    assert outcome.outputs["rounds"] == [end + 1 for end in ends]
    assert torch.allclose(outcome.rewards, 2 * score)
    assert same(grads_of(module, outcome.loss), grads_of(module, -2 * score.mean()))


def test_a_workflow_inside(tmp_path: Path) -> None:
    steps = """
  - {name: one, component: first, input_mapping: {x: input.x}}
  - {name: inside, workflow: inner.yaml, condition: "input.n > 1", input_mapping: {state: steps.one.state}}
  - {name: worth, component: worth, input_mapping: {score: steps.inside.score}}
"""
    inner = """
stretto: 1
name: inner
components: components.py
steps:
  - {name: on, component: second, input_mapping: {state: input.state}}
output: {score: steps.on.score}
"""
    module, inputs = module_of(tmp_path, steps, head=WEIGHED, inner=inner), rows(5)
    outcome = module(inputs)
    score = hand(module, "second")(hand(module, "first")(xs(inputs))["state"])["score"][2:]
    assert torch.allclose(outcome.rewards[2:], 2 * score)
    assert same(grads_of(module, outcome.loss), grads_of(module, -2 * score.sum() / 5))


def test_a_step_outside_sees_detached_values_and_its_answer_carries_no_gradient(tmp_path: Path) -> None:
    steps = """
  - {name: one, component: first, input_mapping: {x: input.x}}
  - {name: out, component: same, input_mapping: {value: steps.one}}
  - {name: two, component: second, input_mapping: {state: steps.out.value.state}}
  - {name: worth, component: worth, input_mapping: {score: steps.two.score}}
"""
    module, inputs = module_of(tmp_path, steps, head=WEIGHED), rows(6)
    outcome = module(inputs)
    state = hand(module, "first")(xs(inputs))["state"].detach()
    score = hand(module, "second")(state)["score"]
    assert torch.allclose(outcome.rewards, 2 * score)
    assert same(grads_of(module, outcome.loss), grads_of(module, -2 * score.mean()))
    module.close()


def test_a_run_that_fails_has_no_reward_and_the_others_go_on(tmp_path: Path) -> None:
    steps = """
  - {name: one, component: first, input_mapping: {x: input.x}}
  - {name: out, component: picky, input_mapping: {score: steps.one.score}}
  - {name: worth, component: worth, needs: [out], input_mapping: {score: steps.one.score}}
"""
    module, inputs = module_of(tmp_path, steps, head=WEIGHED), rows(8)
    outcome = module(inputs)
    score = hand(module, "first")(xs(inputs))["score"]
    ok = score <= 0
    assert outcome.known.tolist() == ok.tolist()
    assert 0 < int(ok.sum()) < 8
    assert torch.isnan(outcome.rewards[~ok]).all()
    assert [run.status.value for run in outcome.runs] == ["ok" if each else "failed" for each in ok.tolist()]
    assert [run.reward is None for run in outcome.runs] == (~ok).tolist()
    assert same(grads_of(module, outcome.loss), grads_of(module, -2 * score[ok].mean()))
    module.close()


def test_a_reward_that_needs_a_gold_answer_is_unknown_in_runs_without_one(tmp_path: Path) -> None:
    steps = """
  - {name: one, component: first, input_mapping: {x: input.x}}
  - {name: judged, component: judged, input_mapping: {score: steps.one.score}}
"""
    module, inputs = module_of(tmp_path, steps, head="contract: {reward: {judged: 1.0}}"), rows(4)
    asked = [stretto.RunRequest(input=each, reference=[2.0, None][row % 2]) for row, each in enumerate(inputs)]
    outcome = module(asked)
    score = hand(module, "first")(xs(inputs))["score"]
    assert outcome.known.tolist() == [True, False, True, False]
    assert [run.reward for run in outcome.runs] == [
        each if row % 2 == 0 else None for row, each in enumerate((2 * score).tolist())
    ]
    assert [run.status.value for run in outcome.runs] == ["ok"] * 4
    assert same(grads_of(module, outcome.loss), grads_of(module, -2 * score[::2].mean()))


def test_what_a_round_leaves_as_it_was_stands_beside_what_others_computed(tmp_path: Path) -> None:
    steps = """
  - name: loop
    repeat:
      max_rounds: 2
      carry: {state: input.x}
      steps:
        - name: on
          component: second
          condition: "input.n % 2 == 0 || round == 2"
          input_mapping: {state: carry.state}
          output_mapping: {state: carry.state}
  - {name: worth, component: worth, input_mapping: {score: "steps.loop.carry.state[0]"}}
"""
    module, inputs = module_of(tmp_path, steps, head=WEIGHED, output="{all: steps.loop.carry.state}"), rows(5)
    outcome, second = module(inputs), hand(module, "second")
    once, twice = second(xs(inputs))["state"], second(second(xs(inputs))["state"])["state"]
    state = torch.stack([(once if row % 2 else twice)[row] for row in range(5)])
    assert torch.allclose(outcome.rewards, 2 * state[:, 0])
    assert same(grads_of(module, outcome.loss), grads_of(module, -2 * state[:, 0].mean()))
    told = [step.input_value["state"] for step in outcome.runs[1].steps if step.path == "loop[2]/on"]
    assert told == [inputs[1]["x"]]

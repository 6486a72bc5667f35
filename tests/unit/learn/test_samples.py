"""Runs folded into samples: what is used, what is left out and counted, what is refused."""

import asyncio
import math
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from stretto.components.policy import SoftmaxPolicy
from stretto.components.policy_weights import PolicyWeights
from stretto.learn.options import TrainOptions
from stretto.learn.samples import collect, logprobs_of
from stretto.learn.update import Learner
from stretto.learn.usable import DOWNWEIGHT, Downgraded, Exclusion, Group, Recorded
from stretto.record.model import NULL, Annotation, ErrorInfo, Manifest, Run, StepRecord
from stretto.types.enums import Reason, RunStatus, StepStatus
from stretto.types.errors import LearningError, PolicyMismatchError
from stretto.types.ids import RunId
from stretto.types.json import JsonObject
from tests.unit.learn.worlds import ZERO, action_of, decide, run_of, step_of

POLICY = SoftmaxPolicy("planner", ("look", "buy", "end"))


def choice(chosen: str = "buy", policy: SoftmaxPolicy = POLICY, **changed: Any) -> StepRecord:
    step = {name: changed.pop(name) for name in ("status", "reason", "error") if name in changed}
    data = changed.pop("data", {"words": "hello"})
    return step_of("planner", data, {"action": chosen}, actions=(action_of(policy, chosen, **changed),), **step)


def fold(*runs: Run, **options: Any) -> Any:
    return collect([Recorded(run=run) for run in runs], POLICY, **options)


def test_decisions_come_with_their_run_group_reward_and_behaviour() -> None:
    executor = step_of("executor", {"action": "buy"}, {"ok": True})
    samples = fold(
        run_of("r1", [choice("buy"), executor, choice("end")], 1.0),
        run_of("r2", [choice("look")], 0.25),
        run_of("r3", [choice("end")], 0.5, labels={"task": "other"}),
    )
    assert samples.runs == ("r1", "r2", "r3")
    assert samples.chosen_B.tolist() == [1, 2, 0, 2]
    assert samples.run_B.tolist() == [0, 0, 1, 2]
    assert samples.rewards_R.tolist() == [1.0, 0.25, 0.5]
    assert samples.group_R.tolist() == [0, 0, 1]
    assert samples.groups == (Group(task="t", component="planner"), Group(task="other", component="planner"))
    assert samples.behaviour_B == pytest.approx(-math.log(3))
    assert samples.available_BA.all()
    assert samples.excluded == {}


def test_features_are_those_that_the_policy_saw() -> None:
    data: JsonObject = {"words": "cancel it", "state": {"round": 2}}
    samples = fold(run_of("r1", [choice(data=data)], 1.0))
    indices, values = POLICY.features(data)
    row = samples.seen.features_BF.toarray()[0]
    assert row[indices].tolist() == values
    assert np.count_nonzero(row) == len(indices)


NOT_USED = [
    ({"status": None}, Exclusion.NOT_ENDED),
    ({"status": RunStatus.FAILED}, Exclusion.NOT_SUCCEEDED),
    ({"status": RunStatus.PARKED}, Exclusion.NOT_SUCCEEDED),
    ({"status": RunStatus.CANCELLED}, Exclusion.NOT_SUCCEEDED),
    ({"status": RunStatus.BUSINESS_FALLBACK}, Exclusion.BUSINESS_FALLBACK),
    ({"simulated": True}, Exclusion.SIMULATED),
    ({"steps": [choice(), step_of("api", {}, None, evidence={"quarantined": True})]}, Exclusion.QUARANTINED),
    ({"reward": None}, Exclusion.REWARD_UNKNOWN),
    ({"labels": {}}, Exclusion.NO_TASK),
    ({"labels": {"task": ""}}, Exclusion.NO_TASK),
    ({"steps": []}, Exclusion.NO_DECISION),
    ({"input": NULL}, Exclusion.FIELD_DROPPED),
    ({"manifest": Manifest(workflow="w", version="1", plan=ZERO, components={})}, Exclusion.FIELD_DROPPED),
    *(
        ({"steps": [choice(), step_of("api", {}, None, status=StepStatus.FALLBACK, reason=reason)]}, Exclusion.ACCIDENT)
        for reason in (Reason.TIMEOUT, Reason.CONGESTION, Reason.BREAKER)
    ),
]


@pytest.mark.parametrize(("changed", "reason"), NOT_USED)
def test_a_run_that_teaches_nothing_is_left_out_and_counted(changed: dict[str, Any], reason: Exclusion) -> None:
    good = run_of("good", [choice()], 1.0)
    samples = fold(good, msgspec.structs.replace(run_of("bad", [choice()], 100.0), **changed), good)
    assert samples.rewards_R.tolist() == [1.0, 1.0]
    assert samples.excluded == {reason: 1}


NO_CHOICE = [
    (choice(forced=True), Exclusion.FORCED),
    (choice(propensity=1.0), Exclusion.NOT_SAMPLED),
    (choice(status=StepStatus.FALLBACK, reason=Reason.ERROR), Exclusion.DOWNGRADED),
    (
        choice(status=StepStatus.FAILED, error=ErrorInfo(code="component", message="x"), reason=Reason.ERROR),
        Exclusion.DOWNGRADED,
    ),
]


@pytest.mark.parametrize(("step", "reason"), NO_CHOICE)
def test_a_decision_that_was_no_choice_is_left_out_and_counted(step: StepRecord, reason: Exclusion) -> None:
    samples = fold(run_of("r1", [step, choice("look")], 1.0))
    assert samples.chosen_B.tolist() == [0]
    assert samples.excluded == {reason: 1}


def test_a_run_without_any_choice_bends_no_group() -> None:
    samples = fold(run_of("r1", [choice(forced=True)], 50.0), run_of("r2", [choice()], 1.0))
    assert samples.runs == ("r2",)
    assert samples.run_B.tolist() == [0]
    assert samples.rewards_R.tolist() == [1.0]


def test_a_degraded_run_counts_and_which_accidents_exclude_it_is_the_callers() -> None:
    fallen = step_of("api", {}, {}, status=StepStatus.FALLBACK, reason=Reason.TIMEOUT)
    run = run_of("r1", [choice(), fallen], 1.0, status=RunStatus.DEGRADED)
    assert fold(run).decisions == 0
    assert fold(run, accidents=frozenset({Reason.CONGESTION})).decisions == 1


def test_what_an_accident_downgraded_can_be_kept_or_weigh_less() -> None:
    fallen = step_of("api", {}, {}, status=StepStatus.FALLBACK, reason=Reason.CONGESTION)
    runs = [run_of("r1", [choice(), fallen], 1.0, status=RunStatus.DEGRADED), run_of("r2", [choice()], 2.0)]
    assert fold(*runs).weights_R.tolist() == [1.0]
    assert fold(*runs, downgraded=Downgraded.KEEP).weights_R.tolist() == [1.0, 1.0]
    assert fold(*runs, downgraded=Downgraded.DOWNWEIGHT).weights_R.tolist() == [DOWNWEIGHT, 1.0]


def test_a_kept_run_is_held_to_all_else() -> None:
    fallen = step_of("api", {}, {}, status=StepStatus.FAILED, reason=Reason.TIMEOUT)
    failed = run_of("r1", [choice(), fallen], 1.0, status=RunStatus.FAILED)
    assert fold(failed, downgraded=Downgraded.KEEP).excluded == {Exclusion.NOT_SUCCEEDED: 1}


DROPPED = [
    ([step_of("planner", None, {"action": "buy"}, actions=(action_of(POLICY, "buy"),))], "steps.planner.input"),
    ([choice(), step_of("api", {}, None)], "steps.api.output"),
    ([choice(), step_of("api", {}, None, status=StepStatus.FAILED)], "steps.api.error"),
    ([choice(policy=POLICY)], ""),
    ([choice("buy", logprob=math.nan)], r"steps.planner.actions\[0\].logprob"),
    ([choice("buy", support=())], r"steps.planner.actions\[0\].support"),
    ([choice("buy", available=(True,))], r"steps.planner.actions\[0\].available"),
    ([choice("buy", propensity=0.0)], r"steps.planner.actions\[0\].propensity"),
]


@pytest.mark.parametrize(("steps", "field"), [case for case in DROPPED if case[1]])
def test_a_run_from_which_a_field_was_dropped_is_refused_by_name(steps: list[StepRecord], field: str) -> None:
    samples = fold(run_of("r1", steps, 1.0), run_of("r2", [choice()], 1.0))
    assert samples.runs == ("r2",)
    (refused,) = samples.refused
    assert refused.startswith("run r1 lacks ")
    assert field.replace("\\", "") in refused


def test_a_policy_step_whose_actions_were_dropped_is_refused() -> None:
    samples = fold(run_of("r1", [step_of("planner", {}, {"action": "buy"})], 1.0))
    assert samples.excluded == {Exclusion.FIELD_DROPPED: 1}
    assert samples.refused == ("run r1 lacks steps.planner.actions",)


def test_a_delayed_reward_is_read_as_of_a_time() -> None:
    run = run_of("r1", [choice()], None)
    notes = (Annotation(run_id=RunId("r1"), name="reward", value=2.0, at_ns=100),)
    recorded = [Recorded(run=run, annotations=notes)]
    assert collect(recorded, POLICY).rewards_R.tolist() == [2.0]
    assert collect(recorded, POLICY, as_of_ns=99).excluded == {Exclusion.REWARD_UNKNOWN: 1}


def test_what_was_not_available_stays_so() -> None:
    step = choice("look", available=(True, False, True), logprob=-math.log(2), propensity=0.5)
    assert fold(run_of("r1", [step], 1.0)).available_BA.tolist() == [[True, False, True]]


def test_the_recorded_log_probabilities_are_those_that_the_weights_give(tmp_path: Path) -> None:
    prior = SoftmaxPolicy("planner", ("look", "buy", "end"), temperature=0.7, prior={"end": -1.0})
    dense_FK = np.random.default_rng(0).normal(size=(2**16, 3))
    acted = prior.with_weights(str(PolicyWeights.from_dense(prior.spec, dense_FK).save(tmp_path)))
    data: dict[str, Any] = {"words": "please cancel #W1", "state": {"round": 1}, "available": ["buy", "end"]}
    steps = [asyncio.run(decide(acted, data, RunId("r1"), seed, "planner")) for seed in range(10)]
    samples = collect([Recorded(run=run_of("r1", steps, 1.0))], acted)
    given_B = logprobs_of(samples, acted)[np.arange(10), samples.chosen_B]
    assert samples.behaviour_B == pytest.approx(given_B, abs=1e-12)


def test_runs_of_other_weights_are_an_error_on_policy_and_welcome_off_it() -> None:
    run = run_of("r1", [choice(), choice(policy=POLICY, logprob=-2.0, propensity=math.exp(-2))], 1.0)
    other = msgspec.structs.replace(run.steps[1].actions[0], policy="f" * 64)
    run.steps[1] = msgspec.structs.replace(run.steps[1], actions=(other,))
    with pytest.raises(PolicyMismatchError, match="run r1 was decided by the weights ffffffff, not by"):
        fold(run)
    assert fold(run, on_policy=False).behaviour_B.tolist() == pytest.approx([-math.log(3), -2.0])


def test_what_is_known_of_alternatives_is_read_back_as_it_was_seen(tmp_path: Path) -> None:
    prior = SoftmaxPolicy("planner", ("look", "buy", "end"), about="about", temperature=0.7)
    dense_FK = np.random.default_rng(0).normal(size=(2**16, 4))
    acted = prior.with_weights(str(PolicyWeights.from_dense(prior.spec, dense_FK).save(tmp_path)))
    data: dict[str, Any] = {"words": "cancel", "about": {"buy": {"write": "asked"}, "end": {"tries": 1}}}
    steps = [asyncio.run(decide(acted, data, RunId("r1"), seed, "planner")) for seed in range(10)]
    samples = collect([Recorded(run=run_of("r1", steps, 1.0))], acted)
    given_B = logprobs_of(samples, acted)[np.arange(10), samples.chosen_B]
    assert samples.behaviour_B == pytest.approx(given_B, abs=1e-12)


@pytest.mark.parametrize("on_policy", [True, False])
def test_a_log_probability_that_the_weights_do_not_give_is_an_error(*, on_policy: bool) -> None:
    with pytest.raises(PolicyMismatchError, match=r"records the log-probability -0.500000, but .* give -1.098612"):
        fold(run_of("r1", [choice(logprob=-0.5)], 1.0), on_policy=on_policy)


def test_a_temperature_other_than_the_one_that_acted_is_found() -> None:
    policy = SoftmaxPolicy("planner", ("look", "buy", "end"), prior={"end": -2.0})
    warm = SoftmaxPolicy("planner", ("look", "buy", "end"), prior={"end": -2.0}, temperature=2.0)
    step = asyncio.run(decide(policy, {}, RunId("r1"), 0, "planner"))
    with pytest.raises(PolicyMismatchError, match="temperature or features differ"):
        collect([Recorded(run=run_of("r1", [step], 1.0))], warm)


def test_choices_among_other_alternatives_are_an_error() -> None:
    step = choice("buy", support=("buy", "sell"), logprob=-math.log(2))
    with pytest.raises(PolicyMismatchError, match=r"chooses from \['look', 'buy', 'end'\].* among \['buy', 'sell'\]"):
        fold(run_of("r1", [step], 1.0))


def test_a_policy_that_reads_facts_of_its_alternatives_may_have_no_samples_too() -> None:
    reading = SoftmaxPolicy("planner", ("look", "buy", "end"), about="about")
    samples = collect([], reading)
    assert samples.decisions == 0
    with pytest.raises(LearningError, match="update 1 has no decision to learn from"):
        Learner(reading, TrainOptions()).learn(samples, 1)


def test_no_runs_are_no_samples() -> None:
    samples = fold()
    assert (samples.decisions, samples.available_BA.shape, samples.seen.features_BF.shape) == (0, (0, 3), (0, 2**16))

"""Runs folded into token samples: what is used, what is left out and counted, and the lines that a trainer reads."""

from typing import Any

import msgspec
import numpy as np
import orjson
import pytest

from stretto.learn.advantage import Scale
from stretto.learn.sample_lines import sample_lines
from stretto.learn.tokens import TokenSamples, collect_tokens, only_model
from stretto.learn.usable import DOWNWEIGHT, Downgraded, Exclusion, Group, Recorded
from stretto.record.canonical import snapshot
from stretto.record.model import ErrorInfo, Run, StepRecord
from stretto.types.enums import Reason, RunStatus, StepStatus
from stretto.types.errors import LearningError
from stretto.types.json import JsonObject
from stretto.types.learning import ModelCall
from tests.unit.learn.worlds import run_of, step_of


def completed(prompt: list[int] | None = None, said: tuple[int, ...] = (3, 4), **changed: Any) -> StepRecord:
    """A step of the model that was answered."""
    told: dict[str, Any] = {
        "prompt_ids": np.array(prompt or [1, 2], np.int32),
        "completion_ids": np.array(said, np.int32),
        "logprobs": np.full(len(said), -0.25, np.float32),
        **changed.pop("call", {}),
    }
    calls = (ModelCall(model="small", **told),)
    asked: JsonObject = {"messages": [{"role": "user", "content": "hi"}], "temperature": 1, "tools": [{"name": "t"}]}
    return step_of("llm", asked, {"text": "hello"}, **{"model_calls": calls, **changed})


def fold(*runs: Run, **options: Any) -> TokenSamples:
    return collect_tokens([Recorded(run=run) for run in runs], "llm", **options)


def lines_of(samples: TokenSamples, *runs: Run) -> list[dict[str, Any]]:
    lines = sample_lines(samples, samples.advantages(Scale.NONE), {run.id: run for run in runs})
    return [orjson.loads(line) for line in lines]


def test_sequences_come_with_their_run_group_reward_and_advantage() -> None:
    first = run_of("r1", [completed(path="a[0]"), completed([1, 2, 3, 4, 9], path="a[1]", started_ms=1.0)], 1.0)
    second = run_of("r2", [completed(path="a[0]"), completed([8], path="b[0]")], 0.0)
    other = run_of("r3", [completed()], 5.0, labels={"task": "other"})
    samples = fold(first, second, other)
    assert samples.runs == ("r1", "r2", "r3")
    assert samples.groups == (Group(task="t", component="llm"), Group(task="other", component="llm"))
    assert [each.paths for each in samples.sequences] == [("a[0]", "a[1]"), ("a[0]",), ("b[0]",), ("llm",)]
    assert samples.run_S.tolist() == [0, 1, 1, 2]
    assert (samples.rewards_R.tolist(), samples.group_R.tolist()) == ([1.0, 0.0, 5.0], [0, 0, 1])
    assert samples.advantages(Scale.NONE).values_R.tolist() == [0.5, -0.5, 0.0]
    assert (samples.tokens, samples.excluded) == (10, {})


def test_calls_are_taken_in_the_order_in_which_they_were_made() -> None:
    """A record holds its steps in the order in which they ended."""
    later = completed([1, 2, 3, 4, 9], path="a[1]", started_ms=5.0)
    samples = fold(run_of("r1", [later, completed(path="a[0]", started_ms=1.0)], 1.0))
    assert [each.paths for each in samples.sequences] == [("a[0]", "a[1]")]


NOT_USED = [
    ({"status": None}, Exclusion.NOT_ENDED),
    ({"status": RunStatus.FAILED}, Exclusion.NOT_SUCCEEDED),
    ({"reward": None}, Exclusion.REWARD_UNKNOWN),
    ({"labels": {}}, Exclusion.NO_TASK),
    ({"steps": []}, Exclusion.NO_DECISION),
    ({"steps": [completed(), completed(model_calls=())]}, Exclusion.FIELD_DROPPED),
    ({"steps": [completed(), step_of("api", {}, None, reason=Reason.TIMEOUT)]}, Exclusion.ACCIDENT),
    ({"simulated": True}, Exclusion.SIMULATED),
]


@pytest.mark.parametrize(("changed", "reason"), NOT_USED)
def test_a_run_that_teaches_nothing_is_left_out_and_counted(changed: dict[str, Any], reason: Exclusion) -> None:
    good = run_of("good", [completed()], 1.0)
    samples = fold(good, msgspec.structs.replace(run_of("bad", [completed()], 100.0), **changed), good)
    assert (samples.rewards_R.tolist(), samples.excluded) == ([1.0, 1.0], {reason: 1})


def test_what_was_dropped_is_said() -> None:
    samples = fold(run_of("r1", [completed(model_calls=())], 1.0))
    assert samples.refused == ("run r1 lacks steps.llm.model_calls",)


NO_TOKENS = [
    (completed(call={"completion_ids": None}), Exclusion.TOKENS_UNTOLD),
    (completed(call={"logprobs": None}), Exclusion.TOKENS_UNTOLD),
    (
        completed(status=StepStatus.FAILED, error=ErrorInfo(code="component", message="x"), reason=Reason.ERROR),
        Exclusion.DOWNGRADED,
    ),
]


@pytest.mark.parametrize(("step", "reason"), NO_TOKENS)
def test_a_call_without_tokens_is_left_out_and_counted(step: StepRecord, reason: Exclusion) -> None:
    samples = fold(run_of("r1", [step, completed()], 1.0))
    assert (samples.tokens, samples.excluded) == (2, {reason: 1})


def test_a_run_that_an_accident_downgraded_can_count_less() -> None:
    fallen = step_of("api", {}, {}, reason=Reason.TIMEOUT)
    runs = run_of("r1", [completed()], 1.0), run_of("r2", [completed(), fallen], 0.0)
    assert fold(*runs, downgraded=Downgraded.DOWNWEIGHT).weights_R.tolist() == [1.0, DOWNWEIGHT]
    assert fold(*runs).runs == ("r1",)


def test_which_model_is_meant_is_found_or_asked_for() -> None:
    first, silent = run_of("r1", [completed()], 1.0), run_of("r2", [step_of("api", {}, {})], 1.0)
    assert only_model([Recorded(run=first), Recorded(run=silent)]) == "llm"
    with pytest.raises(LearningError, match="no answer of a model is recorded in these runs"):
        only_model([Recorded(run=silent)])
    second = run_of("r3", [msgspec.structs.replace(completed(), component="judge")], 1.0)
    with pytest.raises(LearningError, match="asked the models judge, llm; say which"):
        only_model([Recorded(run=first), Recorded(run=second)])


def test_a_line_holds_what_a_trainer_needs_and_gives_each_number_back() -> None:
    logprobs = np.array([-0.1, -1.2345678], np.float32)
    run = run_of("r1", [completed(call={"logprobs": logprobs})], 1.0)
    (line,) = lines_of(fold(run), run)
    assert np.array_equal(np.array(line.pop("logprobs"), np.float32), logprobs)
    assert line == {
        "run": "r1",
        "steps": ["llm"],
        "task": "t",
        "labels": {"task": "t"},
        "model": "small",
        "prompt_ids": [1, 2],
        "completion_ids": [3, 4],
        "mask": [1, 1],
        "versions": [],
        "finish_reason": "",
        "reward": 1.0,
        "weight": 1.0,
        "advantage": 0.0,
        "request": None,
    }


def test_where_a_prompt_has_no_ids_the_line_says_what_was_asked() -> None:
    """As a gateway has it in the step's input, and as the `openai` kind has it on the call."""
    run = run_of("r1", [completed(call={"prompt_ids": None})], 1.0)
    (line,) = lines_of(fold(run), run)
    said = [{"role": "user", "content": "hi"}]
    assert (line["prompt_ids"], line["request"]) == (None, {"messages": said, "tools": [{"name": "t"}]})
    sent = [{"role": "system", "content": "be brief"}, *said]
    run = run_of("r1", [completed(call={"prompt_ids": None, "messages": sent})], 1.0)
    (line,) = lines_of(fold(run), run)
    assert line["request"] == {"messages": sent, "tools": [{"name": "t"}]}


def test_a_request_that_goes_on_with_a_step_that_was_lost_is_unknown() -> None:
    """The rest of the line is there, and so are all other lines."""
    asked: JsonObject = {"$after": "llm", "messages": [{"role": "user", "content": "and?"}]}
    first = completed(call={"prompt_ids": None})
    second = completed(call={"prompt_ids": None}, path="llm-2", input=msgspec.Raw(snapshot(asked)), started_ms=1.0)
    run = run_of("r1", [first, second], 1.0)
    said = [{"role": "user", "content": "hi"}, {"role": "user", "content": "and?"}]
    assert [line["request"]["messages"] for line in lines_of(fold(run), run)] == [said[:1], said]
    run = run_of("r1", [second], 1.0)
    (line,) = lines_of(fold(run), run)
    assert (line["request"], line["completion_ids"]) == (None, [3, 4])

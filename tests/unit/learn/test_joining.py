"""Completions put together: each sampled token once, in its place, with what was said in between."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from stretto.learn.joining import Joined, Sampled, joined, sampled_of
from stretto.types.ids import StepPath
from stretto.types.learning import ModelCall

PATH = StepPath("agent[0]")


def called(prompt: list[int] | None, said: list[int], path: str = "agent[0]", **changed: Any) -> Sampled:
    told: dict[str, Any] = {
        "model": "m",
        "prompt_ids": None if prompt is None else np.array(prompt, np.int32),
        "completion_ids": np.array(said, np.int32),
        "logprobs": -0.1 * np.array(said, np.float32),
    }
    found = sampled_of(StepPath(path), ModelCall(**{**told, **changed}))
    assert found is not None
    return found


def shown(sequences: list[Joined]) -> list[Any]:
    """Prompt, then what follows, sampled tokens negative."""
    return [
        (
            None if each.prompt_ids is None else each.prompt_ids.tolist(),
            np.where(each.mask, -each.completion_ids, each.completion_ids).tolist(),
        )
        for each in sequences
    ]


CASES = [
    ("one call", [([1, 2], [3])], [([1, 2], [-3])]),
    ("the next turn", [([1], [2]), ([1, 2, 7, 8], [3])], [([1], [-2, 7, 8, -3])]),
    ("nothing in between", [([1], [2]), ([1, 2], [3])], [([1], [-2, -3])]),
    ("a branch from the first answer", [([1], [2]), ([1, 2, 7], [3]), ([1, 2, 8], [4])],
     [([1], [-2, 7, -3]), ([1, 2, 8], [-4])]),
    ("a question asked again", [([1], [2]), ([1], [3])], [([1], [-2]), ([1], [-3])]),
    ("one of two answers is gone on with", [([1], [2]), ([1], [3]), ([1, 3, 7], [4])],
     [([1], [-2]), ([1], [-3, 7, -4])]),
    ("a history written anew", [([1], [2]), ([1, 9, 7], [3])], [([1], [-2]), ([1, 9, 7], [-3])]),
    ("a history cut short", [([1], [2, 3]), ([1, 2], [4])], [([1], [-2, -3]), ([1, 2], [-4])]),
    ("a prompt that is unknown", [(None, [2]), ([1, 2, 7], [3])], [(None, [-2]), ([1, 2, 7], [-3])]),
    ("two agents in turn", [([1], [2]), ([5], [6]), ([1, 2, 7], [3]), ([5, 6, 7], [8])],
     [([1], [-2, 7, -3]), ([5], [-6, 7, -8])]),
]  # fmt: skip


@pytest.mark.parametrize(("calls", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_calls_that_go_on_with_each_other_are_one_sequence(calls: Any, expected: Any) -> None:
    assert shown(joined([called(prompt, said) for prompt, said in calls])) == expected


def test_the_longest_beginning_is_gone_on_with() -> None:
    sequences = joined([called([1], [2]), called([1, 2, 3], [4], "b[0]"), called([1], [2], "c[0]")])
    assert shown([*sequences]) == [([1], [-2, 3, -4]), ([1], [-2])]
    again = joined([called([1], [2]), called([1, 2, 3], [4]), called([1], [2]), called([1, 2, 3, 4, 5], [6])])
    assert shown(again) == [([1], [-2, 3, -4, 5, -6]), ([1], [-2])]


def test_another_models_answer_is_not_gone_on_with() -> None:
    assert len(joined([called([1], [2]), called([1, 2, 7], [3], model="other")])) == 2


def test_log_probabilities_and_paths_go_with_their_tokens() -> None:
    (sequence,) = joined([called([1], [2]), called([1, 2, 7], [3], "agent[1]", finish_reason="stop")])
    assert sequence.logprobs.tolist() == pytest.approx([-0.2, 0.0, -0.3])
    assert (sequence.paths, sequence.finish_reason) == (("agent[0]", "agent[1]"), "stop")
    assert (sequence.logprobs.dtype.name, sequence.completion_ids.dtype.name) == ("float32", "int32")


def test_versions_of_the_weights_are_run_lengths_over_the_sampled_tokens() -> None:
    first = called([1], [2, 3], policy_versions=(("a", 2),))
    same = called([1, 2, 3, 7], [4], policy_versions=(("a", 1),))
    newer = called([1, 2, 3, 7, 4], [5, 6], policy_versions=(("a", 1), ("b", 1)))
    assert joined([first, same, newer])[0].versions == (("a", 4), ("b", 1))
    assert joined([first, called([1, 2, 3], [4])])[0].versions == ()


def test_tokens_that_the_component_forced_are_not_learnt_from() -> None:
    found = called([1], [2, 3], mask=np.array([True, False]))
    assert (found.mask.tolist(), found.logprobs.tolist()) == ([True, False], pytest.approx([-0.2, 0.0]))


UNTOLD = [
    {"completion_ids": None},
    {"logprobs": None},
    {"completion_ids": np.array([], np.int32), "logprobs": np.array([], np.float32)},
    {"logprobs": np.array([0.0], np.float32)},
    {"logprobs": np.array([-0.1, -np.inf], np.float32)},
    {"logprobs": np.array([-0.1, np.nan], np.float32)},
    {"completion_ids": np.array([[1, 2]], np.int32)},
]


@pytest.mark.parametrize("changed", UNTOLD)
def test_a_call_whose_tokens_are_not_all_told_is_none_to_learn_from(changed: dict[str, Any]) -> None:
    told: dict[str, Any] = {
        "completion_ids": np.array([1, 2], np.int32),
        "logprobs": np.array([-0.1, -0.2], np.float32),
    }
    assert sampled_of(PATH, ModelCall(model="m", **told)) is not None
    assert sampled_of(PATH, ModelCall(model="m", **{**told, **changed})) is None


TOKENS = st.lists(st.integers(0, 2), min_size=1, max_size=3)


@given(st.lists(st.tuples(st.integers(-1, 5), TOKENS, TOKENS), max_size=8))
def test_every_sampled_token_stands_once_behind_what_it_was_sampled_after(drawn: list[tuple[int, Any, Any]]) -> None:
    """Calls that go on with an earlier one, or begin anew: each answer is found behind exactly its own prompt."""
    calls: list[Sampled] = []
    for number, (after, asked, said) in enumerate(drawn):
        before: list[int] = []
        if 0 <= after < len(calls):
            earlier = calls[after]
            assert earlier.prompt_ids is not None
            before = [*earlier.prompt_ids.tolist(), *earlier.completion_ids.tolist()]
        calls.append(called([*before, *asked], said, f"agent[{number}]"))
    found = joined(calls)
    assert sum(int(each.mask.sum()) for each in found) == sum(len(call.completion_ids) for call in calls)
    assert sorted(path for each in found for path in each.paths) == sorted(call.path for call in calls)
    by_path = {call.path: call for call in calls}
    for each in found:
        assert each.prompt_ids is not None
        whole = np.concatenate([each.prompt_ids, each.completion_ids])
        for path in each.paths:
            call = by_path[path]
            assert call.prompt_ids is not None
            end = len(call.prompt_ids) + len(call.completion_ids)
            assert whole[:end].tolist() == [*call.prompt_ids.tolist(), *call.completion_ids.tolist()]
            start = len(call.prompt_ids) - len(each.prompt_ids)
            assert each.mask[start : start + len(call.completion_ids)].all()

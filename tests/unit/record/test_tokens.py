"""A model call's arrays speak of the same tokens, and of what a model can have sampled."""

import re
from typing import Any

import msgspec
import numpy as np
import pytest

from stretto.record.tokens import wrong_tokens
from stretto.types.learning import ModelCall

CALL = ModelCall(
    model="m",
    prompt_ids=np.array([1, 2, 3], np.int32),
    completion_ids=np.array([4, 5], np.int32),
    logprobs=np.array([-0.5, 0.0], np.float32),
    mask=np.array([True, False]),
    policy_versions=(("a", 1), ("b", 1)),
)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"completion_ids": None},
        {"logprobs": None, "mask": None, "policy_versions": ()},
        {"policy_versions": (("a", 2),)},
        {"completion_ids": None, "logprobs": None, "mask": None, "policy_versions": (("a", 7),)},
        {"completion_ids": np.array([4, 5]), "logprobs": np.array([-0.5, -np.inf])},
        {"logprobs": np.array([1e-7, 0.0], np.float32)},
    ],
    ids=["whole", "no ids", "ids alone", "one version", "versions alone", "other widths", "rounding"],
)
def test_what_a_model_can_have_sampled_is_well(fields: dict[str, Any]) -> None:
    assert wrong_tokens(msgspec.structs.replace(CALL, **fields)) == ""


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"mask": np.array([True])}, "2 in completion_ids, 2 in logprobs, 1 in mask"),
        ({"logprobs": np.array([-0.5], np.float32)}, "1 in logprobs"),
        ({"policy_versions": (("a", 3),)}, "3 in policy_versions"),
        ({"policy_versions": (("a", 2), ("b", 0))}, "expected runs of 1 token or more"),
        ({"logprobs": np.array([0.5, -1.0], np.float32)}, "log-probability 0.5; expected .* 0 or less"),
        ({"logprobs": np.array([np.nan, -1.0], np.float32)}, "log-probability nan"),
        ({"logprobs": np.array([-1, -2])}, r"'logprobs' is int64\[2\]; expected floats"),
        ({"completion_ids": np.array([[4, 5]])}, r"'completion_ids' is int64\[1, 2\]; expected integers"),
        ({"prompt_ids": np.array([0.5])}, r"'prompt_ids' is float64\[1\]; expected integers"),
        ({"mask": np.array([1, 0])}, "expected booleans"),
        ({"mask": [True, False]}, "'mask' is of type list"),
        ({"prompt_tokens": -1}, "-1 and 0 tokens; expected 0 or more"),
    ],
)
def test_what_no_model_can_have_sampled_is_told(fields: dict[str, Any], says: str) -> None:
    wrong = wrong_tokens(msgspec.structs.replace(CALL, **fields))
    assert re.search(says, wrong), wrong

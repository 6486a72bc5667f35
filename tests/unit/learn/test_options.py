"""Options of a training: each has an effect, or it is an error."""

from typing import Any

import msgspec
import pytest

from stretto.learn.options import TrainOptions
from stretto.types.errors import UsageError


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"updates": 0}, "updates is 0; expected 1 or more"),
        ({"updates": 99_999_999_999}, "updates is 99999999999; expected 100,000 or less"),
        ({"tasks_per_update": 100_001}, "tasks_per_update is 100001; expected 100,000 or less"),
        ({"group_size": 10_001}, "group_size is 10001; expected 10,000 or less"),
        ({"epochs": 10_001}, "epochs is 10001; expected 10,000 or less"),
        ({"minibatches": 10_001}, "minibatches is 10001; expected 10,000 or less"),
        ({"clip_low": 2.0}, "clip_low is 2.0; expected a number above 0 and below 1, such as 0.2"),
        ({"tasks_per_update": 0}, "tasks_per_update is 0"),
        ({"epochs": 0}, "epochs is 0"),
        ({"minibatches": -1}, "minibatches is -1"),
        ({"group_size": 1}, "group_size is 1: a run is compared with others of its task"),
        ({"learning_rate": 0.0}, "learning_rate is 0.0"),
        ({"learning_rate": float("nan")}, "learning_rate is nan"),
        ({"entropy": -0.1}, r"entropy is -0.1; expected 0 \(off\)"),
        ({"kl": float("inf")}, "kl is inf"),
        ({"seed": -1}, "seed is -1; expected an integer from 0"),
        ({"seed": 2**63}, "seed is 9223372036854775808"),
        ({"clip_low": 0.0}, "clip_low is 0.0"),
        ({"clip_low": 1.0}, "clip_low is 1.0"),
        ({"clip_high": -0.2}, "clip_high is -0.2"),
        ({"clip_low": 0.2, "epochs": 1}, "clip_low has no effect with 1 epoch of 1 minibatch"),
        ({"clip_high": 0.2, "epochs": 1}, "clip_high has no effect"),
    ],
)
def test_an_option_that_is_wrong_or_has_no_effect_is_an_error(given: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        TrainOptions(**given)


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="unknown field `learning_rte`"):
        msgspec.convert({"learning_rte": 0.1}, TrainOptions)


@pytest.mark.parametrize(
    ("given", "clips"),
    [
        ({}, (0.2, 0.2)),
        ({"epochs": 1}, (None, None)),
        ({"epochs": 1, "minibatches": 2}, (0.2, 0.2)),
        ({"clip_high": 0.3}, (0.2, 0.3)),
        ({"clip_low": None}, (None, 0.2)),
        ({"clip_low": None, "clip_high": None, "epochs": 1}, (None, None)),
    ],
)
def test_an_unset_clip_is_on_where_it_has_an_effect(given: dict[str, Any], clips: tuple[float | None, ...]) -> None:
    objective = TrainOptions(**given).objective
    assert (objective.clip_low, objective.clip_high) == clips


def test_options_survive_being_kept() -> None:
    for options in (TrainOptions(), TrainOptions(clip_low=None, seed=3)):
        assert msgspec.json.decode(msgspec.json.encode(options), type=TrainOptions) == options

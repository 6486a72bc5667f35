"""Options of a joint training: each has an effect, or it is an error."""

from typing import Any

import pytest

from stretto.learn.joint import ComponentOptions, JointOptions
from stretto.learn.joint.options import Kept, Learning, Optimizer
from stretto.types.errors import UsageError


def test_what_a_component_does_otherwise_stands_before_what_all_do() -> None:
    own = ComponentOptions(optimizer=Optimizer.SGD, momentum=0.9, clip_norm=None)
    options = JointOptions(learning_rate=0.02, components={"router": own})
    assert options.of("reader") == Learning(
        optimizer=Optimizer.ADAM, learning_rate=0.02, momentum=0.0, weight_decay=0.0, clip_norm=1.0
    )
    assert options.of("router") == Learning(
        optimizer=Optimizer.SGD, learning_rate=0.02, momentum=0.9, weight_decay=0.0, clip_norm=None
    )


def test_a_mapping_stands_for_what_a_component_does_otherwise() -> None:
    given: Any = {"router": {"frozen": True}}
    assert JointOptions(components=given).frozen == ["router"]
    assert JointOptions(learning_rate=1) == JointOptions(learning_rate=1.0)


def test_a_text_stands_for_the_choice_that_it_names() -> None:
    options = JointOptions(keep="held-out", optimizer="sgd")  # type: ignore[arg-type]  # as scripts write it
    assert options.keep is Kept.HELD_OUT
    assert options.optimizer is Optimizer.SGD


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"updates": 0}, "updates is 0; expected 1 or more"),
        ({"batch_size": 10**9}, "batch_size is 1000000000; expected 100,000 or less"),
        ({"patience": 0}, "patience is 0; expected 1 or more"),
        (
            {"learning_rate": -0.1},
            "learning_rate is -0.1; expected a number above 0, such as 0.01; a component that is",
        ),
        ({"learning_rate": float("nan")}, "learning_rate is nan"),
        ({"weight_decay": -1.0}, "weight_decay is -1.0; expected 0 (off) or a number above it"),
        ({"momentum": 0.9}, "momentum is 0.9, which has no effect: adam has its own; set optimizer=sgd"),
        ({"optimizer": "sgd", "momentum": 1.0}, "momentum is 1.0; expected 0 (off) or a number below 1"),
        ({"optimizer": "lion"}, "optimizer is 'lion'; expected one of adam, adamw, sgd"),
        ({"precision": "float16"}, "precision is 'float16'; expected one of float32, bfloat16"),
        ({"clip_norm": 0.0}, "clip_norm is 0.0; expected a number above 0, such as 1.0, or null"),
        ({"held_out": 1.0}, "held_out is 1.0; expected a share from 0 (no evaluation) to below 1"),
        ({"held_out": 0.0, "keep": "held-out"}, "keep=held-out keeps nothing where held_out is 0"),
        ({"held_out": 0.0, "patience": 3}, "patience=3 has no effect where held_out is 0, since nothing is evaluated"),
        ({"held_out": 0.0, "evaluate_every": 1}, "evaluate_every=1 has no effect where held_out is 0"),
        ({"held_out": 0.0, "evaluation": "likeliest"}, "evaluation=likeliest has no effect where held_out is 0"),
        ({"seed": -1}, "seed is -1; expected an integer from 0 to 2^63 - 1"),
        ({"components": {"a": ComponentOptions(learning_rate=0.0)}}, "a.learning_rate is 0.0; expected a number above"),
        ({"components": {"a": ComponentOptions(momentum=0.5)}}, "a.momentum is 0.5, which has no effect: adam has its"),
        (
            {"components": {"a": ComponentOptions(frozen=True, clip_norm=1.0)}},
            "a.clip_norm has no effect, since a.frozen is true; leave one of them out",
        ),
        ({"updates": "5"}, "updates is '5'; expected `int`, got `str`"),
        ({"updates": 2.5}, "updates is 2.5; expected `int`, got `float`"),
        ({"batch_size": None}, "batch_size is None; expected `int`, got `null`"),
        ({"patience": True}, "patience is True; expected `int | null`, got `bool`"),
        ({"reuse_pure": "yes"}, "reuse_pure is 'yes'; expected `bool`, got `str`"),
        ({"components": ["a"]}, "components is ['a']; expected `object`, got `array`"),
        (
            {"components": {"a": {"frozen": "yes"}}},
            "components is {'a': {'frozen': 'yes'}}; expected `bool`, got `str`",
        ),
    ],
)
def test_an_option_that_means_nothing_is_refused_with_what_was_expected(given: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError) as raised:
        JointOptions(**given)
    assert str(raised.value).startswith(says)


def test_an_option_of_a_component_is_held_to_its_type() -> None:
    wrong: Any = "yes"
    with pytest.raises(UsageError, match="frozen is 'yes'; expected `bool"):
        ComponentOptions(frozen=wrong)

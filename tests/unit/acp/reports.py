"""What a component may report for learning."""

import numpy as np

from stretto.record.arrays import ARRAY_FIELDS
from stretto.types.learning import Action, ModelCall

CHOICE = Action(
    name="tool",
    chosen="b",
    support=("a", "b", "c"),
    available=(True, True, False),
    logprob=-0.6931471805599453,
    propensity=0.5,
    policy="0" * 64,
)
"""Of two tools that were available."""

COMPLETION = ModelCall(
    model="m",
    prompt_ids=np.array([1, 2, 3], np.int32),
    completion_ids=np.array([4, 5], np.int32),
    logprobs=np.array([-0.1, -np.inf], np.float32),
    mask=np.array([True, False]),
    policy_versions=(("a", 1), ("b", 1)),
    finish_reason="stop",
    prompt_tokens=3,
    completion_tokens=2,
    messages=[{"role": "user", "content": "hello", "n": 2**60}],
    text="hi",
)
"""Everything about two tokens."""


def is_same(a: ModelCall, b: ModelCall) -> bool:
    """Whether both hold the same, arrays by type and bit."""
    plain = ("model", "policy_versions", "finish_reason", "prompt_tokens", "completion_tokens", "messages", "text")
    return all(getattr(a, name) == getattr(b, name) for name in plain) and all(
        _is_same_array(getattr(a, name), getattr(b, name)) for name in ARRAY_FIELDS
    )


def _is_same_array(a: object, b: object) -> bool:
    if a is None or b is None:
        return a is b
    return isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and a.dtype == b.dtype and a.tobytes() == b.tobytes()

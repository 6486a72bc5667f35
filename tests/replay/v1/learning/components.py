"""A policy that chooses, a model whose tokens are recorded, and a judge that sees the gold answer."""

import numpy as np

import stretto
from stretto import Context, ModelCall

decide = stretto.SoftmaxPolicy("decide", ["look_up", "answer", "hand_over"], prior={"hand_over": -2.0})


@stretto.component(version="1.0.0", effects="read")
async def write(action: str, context: Context) -> dict[str, str]:
    ids = np.arange(4, 4 + len(action), dtype=np.int32)
    context.model_call(
        ModelCall(
            model="tiny",
            prompt_ids=np.array([1, 2, 3], dtype=np.int32),
            completion_ids=ids,
            logprobs=np.full(len(ids), -0.5, dtype=np.float32),
            mask=np.ones(len(ids), dtype=np.bool_),
            policy_versions=(("tiny-1", len(ids)),),
            finish_reason="stop",
            prompt_tokens=3,
            completion_tokens=len(ids),
            messages=[{"role": "user", "content": action}],
            text=action,
        )
    )
    context.usage(input_tokens=3, output_tokens=len(ids), cost=0.0001)
    context.evidence("source", "catalogue")
    return {"text": f"I {action.replace('_', ' ')}."}


@stretto.reward("judge", terms=("right", "brief"), version="1.0.0", inline=True)
def judge(action: str, text: str, context: Context) -> dict[str, float | None]:
    gold = context.reference
    return {"right": None if gold is None else float(action == gold), "brief": len(text) / 10}

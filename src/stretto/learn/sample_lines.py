"""Token samples as JSON Lines: what any trainer of language models reads, one sequence a line."""

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np
import orjson

from stretto.learn.advantage import Advantages
from stretto.learn.tokens import TokenSamples
from stretto.record.conversation import request_at
from stretto.record.model import Run
from stretto.types.errors import UsageError
from stretto.types.ids import RunId
from stretto.types.json import Json, JsonObject

_OPTIONS: Final = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE
"""A float32 is written with as many digits as give it back exactly."""

_ASKED: Final = ("messages", "prompt", "tools", "functions", "response_format")
"""Fields of a request that a chat template makes a prompt of."""


def sample_lines(samples: TokenSamples, advantages: Advantages, runs: Mapping[RunId, Run]) -> Iterator[bytes]:
    """A line for each sequence. Where the server did not tell a prompt's ids, `request` holds what was asked, as far as
    the record has it."""
    for at, sequence in enumerate(samples.sequences):
        index = int(samples.run_S[at])
        run = runs[samples.runs[index]]
        is_told = sequence.prompt_ids is not None
        yield orjson.dumps(
            {
                "run": run.id,
                "steps": sequence.paths,
                "task": samples.groups[int(samples.group_R[index])].task,
                "labels": run.labels,
                "model": sequence.model,
                "prompt_ids": sequence.prompt_ids,
                "completion_ids": sequence.completion_ids,
                "mask": sequence.mask.astype(np.int8),
                "logprobs": sequence.logprobs,
                "versions": sequence.versions,
                "finish_reason": sequence.finish_reason,
                "reward": float(samples.rewards_R[index]),
                "weight": float(samples.weights_R[index]),
                "advantage": float(advantages.values_R[index]),
                "request": None if is_told else asked(run, sequence.paths[0]),
            },
            option=_OPTIONS,
        )


def asked(run: Run, path: str) -> JsonObject | None:
    """What a model was asked in a step, as far as a prompt is made of it; None where the record lacks what it goes on
    with, a step that was lost."""
    sent = [call.messages for step in run.steps if step.path == path for call in step.model_calls]
    try:
        whole = request_at(run, path)
    except UsageError:
        return None
    request: dict[str, Json] = {name: value for name, value in whole.items() if name in _ASKED}
    if sent and sent[0] is not None:  # a declared system message stands in them, and not in the step's input
        request.pop("prompt", None)
        request["messages"] = sent[0]
    return request

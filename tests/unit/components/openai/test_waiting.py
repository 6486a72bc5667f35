"""How long a request waited inside the server, where the answer tells."""

from typing import Any

import orjson
import pytest

from stretto.components.openai import OpenAiModel
from stretto.components.openai.waiting import server_queue_ms
from stretto.components.openai.wire import decode
from stretto.components.web.reply import Reply
from stretto.testing.request import request_for
from stretto.types.errors import ComponentError
from tests.unit.components.openai.standin import StandIn, completion, recorded

LLAMA = recorded("llama_cpp/json")["body"]


def waited(body: dict[str, Any], *, took_ms: float = 0.0, headers: dict[str, str] | None = None) -> float:

    reply = Reply(status=200, headers=headers or {}, body=orjson.dumps(body), took_ms=took_ms)
    return server_queue_ms(reply, decode.decode(reply.body))


def test_what_a_living_llama_cpp_did_not_work_was_waiting() -> None:
    worked = LLAMA["timings"]["prompt_ms"] + LLAMA["timings"]["predicted_ms"]
    assert waited(LLAMA, took_ms=worked + 250.0) == pytest.approx(250.0)
    assert waited(LLAMA, took_ms=worked / 2) == 0.0, "its clock is another"


def test_groq_tells_seconds_and_text_generation_inference_milliseconds() -> None:
    assert waited({**completion(), "usage": {"queue_time": 0.037}}) == 37.0
    assert waited(completion(), headers={"x-queue-time": "120"}) == 120.0


def test_vllm_does_not_tell() -> None:
    assert waited(recorded("vllm/end")["body"], took_ms=900.0) == 0.0


@pytest.mark.parametrize(
    "told",
    [
        {"usage": {"queue_time": "soon"}},
        {"usage": {"queue_time": -1}},
        {"usage": {"queue_time": [1]}},
        {"timings": "fast"},
        {"timings": {"prompt_ms": 3}},
        {"timings": {"prompt_ms": None, "predicted_ms": 2}},
    ],
)
def test_nonsense_counts_for_nothing_and_the_answer_stands(told: dict[str, Any]) -> None:
    assert waited({**completion(), **told}, took_ms=50.0) == 0.0


async def test_it_is_told_too_of_a_completion_that_the_server_broke_off(server: StandIn, model_of: Any) -> None:
    server.reply({**completion(finish_reason="abort"), "usage": {"queue_time": 2.5}})
    with pytest.raises(ComponentError, match="broke the completion off") as caught:
        await model_of()(request_for(prompt="hi"))
    assert caught.value.queue_ms == 2500.0


async def test_it_is_the_response_s_queue_time(server: StandIn, model_of: Any) -> None:
    server.reply({**completion(), "usage": {"queue_time": 2.5}})
    model: OpenAiModel = model_of()
    assert (await model(request_for(prompt="hi"))).queue_ms == 2500.0

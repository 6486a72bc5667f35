"""An agent behind the gateway learns: its calls, its rewards, the fold, the update, and again."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Final

import numpy as np
import pytest
from openai import AsyncOpenAI

from stretto.learn.objective import Objective, log_softmax
from stretto.learn.tokens import TokenSamples, collect_tokens
from stretto.learn.usable import Recorded
from stretto.store.sqlite import Store
from tests.unit.serve.gateway.conftest import Begin, Standing
from tests.unit.serve.gateway.word_model import DESKS, SUBJECTS, Decisions, WordModel

ASKED: Final = dict(zip(SUBJECTS, DESKS, strict=True))
GROUP: Final = 8


@pytest.fixture
async def model() -> AsyncIterator[WordModel]:
    standing = WordModel()
    await standing.start()
    yield standing
    await standing.stop()


async def rolled_out(gateway: Standing, update: int) -> None:
    """A plain agent asks where to send each customer, several times; whoever runs it says whether it was right."""
    client = gateway.client()
    pairs = [(subject, desk, sample) for subject, desk in ASKED.items() for sample in range(GROUP)]
    await asyncio.gather(*(asked(gateway, client, update, *each) for each in pairs))


async def asked(gateway: Standing, client: AsyncOpenAI, update: int, subject: str, desk: str, sample: int) -> None:
    key = f"u{update}-{subject}-{sample}"
    await gateway.ask("POST", "/runs", {"key": key, "labels": {"task": subject, "purpose": f"u{update}"}})
    said: Any = [{"role": "user", "content": f"my {subject} please"}]
    seed = sample + GROUP * update
    answer = await client.chat.completions.create(
        model="words", messages=said, seed=seed, extra_headers={"X-Stretto-Run": key}
    )
    right = float(answer.choices[0].message.content == desk)
    await gateway.ask("POST", f"/runs/{key}/reward", {"value": right})
    await gateway.ask("POST", f"/runs/{key}/end", {})


def samples_of(gateway: Standing, update: int) -> TokenSamples:
    with Store(gateway.store) as store:
        return collect_tokens([Recorded(run=run) for run in store.runs(purpose=f"u{update}")], "words")


@pytest.mark.slow
async def test_an_agent_behind_the_gateway_learns(model: WordModel, begin: Begin) -> None:
    gateway = await begin(upstream=model.base_url)
    rewards = []
    for update in range(12):
        await rolled_out(gateway, update)
        samples = samples_of(gateway, update)
        assert (len(samples.runs), len(samples.groups), samples.excluded) == (3 * GROUP, 3, {})
        rewards.append(float(samples.rewards_R.mean()))
        for _ in range(8):
            model.learn(samples, Objective(), rate=4.0)
    assert rewards[0] < 0.5, "a model that knows nothing sends one in three to the right desk"
    assert np.mean(rewards[-3:]) > 0.8, rewards


async def test_what_is_recorded_is_what_the_model_would_say_again(model: WordModel, begin: Begin) -> None:
    """Each log-probability is that of its token behind the tokens before it: nothing has slipped by a place."""
    model.weights_FV = np.random.default_rng(0).normal(size=model.weights_FV.shape)
    gateway = await begin(upstream=model.base_url)
    await rolled_out(gateway, 0)
    decisions = Decisions(samples_of(gateway, 0))
    logprobs_BV = log_softmax(model.logits(decisions.contexts), decisions.available_BV)
    again_B = logprobs_BV[np.arange(len(decisions.chosen_B)), decisions.chosen_B]
    assert np.allclose(again_B, decisions.behaviour_B, atol=1e-6)
    assert again_B.min() < -0.5

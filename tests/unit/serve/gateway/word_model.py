"""A language model of a few dozen words in numpy, served as vLLM serves one, and taught from recorded tokens.

Shape letters: V words, F features, B sampled tokens.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import orjson
from aiohttp import web

from stretto.learn.advantage import Scale
from stretto.learn.objective import Bools, Choices, Floats, Ints, Objective, Value, log_softmax
from stretto.learn.tokens import TokenSamples

DESKS: Final = ("orders", "refunds", "person")
SUBJECTS: Final = ("parcel", "money", "human")
_SPECIAL: Final = ("<other>", "<end>", "<call>", "<tools>", "system", "user", "assistant", "tool")
WORDS: Final = (*_SPECIAL, *DESKS, *SUBJECTS)
ID: Final = {word: at for at, word in enumerate(WORDS)}
V: Final = len(WORDS)
F: Final = 2 * V
"""The words said so far, and the last one."""

TOOL: Final = "look_up"


class WordModel:
    """Answers with a desk, or asks the tool about a subject first. Log-linear in the words said so far."""

    def __init__(self) -> None:
        self.weights_FV: Floats = np.zeros((F, V))
        self.asked = 0
        self.base_url = ""
        self._runner: web.AppRunner | None = None

    # the model

    def logits(self, contexts: Sequence[Sequence[int]]) -> Floats:
        return features(contexts) @ self.weights_FV

    def sample(self, prompt: list[int], seed: int) -> tuple[list[int], list[float]]:
        """An answer to its end, and its log-probabilities; the same for the same prompt and seed."""
        rng, said, logprobs = np.random.default_rng([seed, len(prompt)]), [*prompt], []
        while len(said) == len(prompt) or said[-1] != ID["<end>"]:
            logprobs_V = log_softmax(self.logits([said]), np.array([available(said)]))[0]
            said.append(int(rng.choice(V, p=np.exp(logprobs_V))))
            logprobs.append(float(logprobs_V[said[-1]]))
        return said[len(prompt) :], logprobs

    def learn(self, samples: TokenSamples, objective: Objective, rate: float) -> Value:
        """One step of the policy gradient on every sampled token."""
        decisions = Decisions(samples)
        given_BV = self.logits(decisions.contexts)
        choices = Choices(
            available_BA=decisions.available_BV,
            chosen_B=decisions.chosen_B,
            behaviour_B=decisions.behaviour_B,
            advantages_B=samples.advantages(Scale.NONE).values_R[samples.run_S][decisions.sequence_B],
            start_BA=log_softmax(given_BV, decisions.available_BV),
        )
        value = objective(given_BV, choices)
        self.weights_FV -= rate * features(decisions.contexts).T @ value.grad_BA
        return value

    # the server

    async def start(self) -> None:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", self._answer)
        self._runner = web.AppRunner(app)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.base_url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _answer(self, request: web.Request) -> web.Response:
        self.asked += 1
        body = await request.json()
        prompt = prompt_of(body["messages"], has_tools=bool(body.get("tools")))
        ids, logprobs = self.sample(prompt, body["seed"])
        return web.Response(
            body=orjson.dumps(_completion(body, prompt, ids, logprobs)), content_type="application/json"
        )


class Decisions:
    """Every token that was sampled, with what stood before it."""

    def __init__(self, samples: TokenSamples) -> None:
        self.contexts: list[list[int]] = []
        chosen, behaviour, sequence = [], [], []
        for at, each in enumerate(samples.sequences):
            assert each.prompt_ids is not None
            prompt, said = each.prompt_ids.tolist(), each.completion_ids.tolist()
            for place in np.flatnonzero(each.mask).tolist():
                self.contexts.append(prompt + said[:place])
                chosen.append(said[place])
                behaviour.append(float(each.logprobs[place]))
                sequence.append(at)
        self.chosen_B: Ints = np.array(chosen, np.int64)
        self.behaviour_B: Floats = np.array(behaviour, np.float64)
        self.sequence_B: Ints = np.array(sequence, np.int64)
        self.available_BV: Bools = np.array([available(context) for context in self.contexts])


def features(contexts: Sequence[Sequence[int]]) -> Floats:
    """B by F: which words were said so far, and which was the last."""
    made_BF = np.zeros((len(contexts), F))
    for row, context in enumerate(contexts):
        made_BF[row, list(context)] = 1.0
        made_BF[row, V + context[-1]] = 1.0
    return made_BF


def available(said: Sequence[int]) -> list[bool]:
    """Which words may come next: an answer is a desk, or where there are tools a call about a subject."""
    last = WORDS[said[-1]]
    if last == "<call>":
        may: Sequence[str] = SUBJECTS
    elif last == "assistant":
        may = (*DESKS, "<call>") if ID["<tools>"] in said and ID["tool"] not in said else DESKS
    else:
        may = ("<end>",)
    return [word in may for word in WORDS]


def prompt_of(messages: Sequence[Mapping[str, Any]], *, has_tools: bool) -> list[int]:
    """The chat template: what the model says is given back as it said it."""
    words = ["<tools>"] if has_tools else []
    for message in messages:
        words += [message["role"], *_said(message), "<end>"]
    return [ID.get(word, ID["<other>"]) for word in [*words, "assistant"]]


def _said(message: Mapping[str, Any]) -> list[str]:
    calls = message.get("tool_calls") or []
    if calls:
        return ["<call>", orjson.loads(calls[0]["function"]["arguments"])["subject"]]
    return str(message["content"]).split()


def _completion(body: Mapping[str, Any], prompt: list[int], ids: list[int], logprobs: list[float]) -> dict[str, Any]:
    """As vLLM writes it (tests/unit/components/openai/recorded/vllm)."""
    words = [WORDS[each] for each in ids]
    message: dict[str, Any] = {"role": "assistant", "content": " ".join(words[:-1])}
    if words[0] == "<call>":
        function = {"name": TOOL, "arguments": orjson.dumps({"subject": words[1]}).decode()}
        calls = [{"id": f"call-{len(prompt)}", "type": "function", "function": function}]
        message = {"role": "assistant", "content": None, "tool_calls": calls}
    told = [
        {"token": word, "logprob": logprob, "top_logprobs": []} for word, logprob in zip(words, logprobs, strict=True)
    ]
    choice: dict[str, Any] = {
        "index": 0,
        "message": message,
        "finish_reason": "tool_calls" if message.get("tool_calls") else "stop",
        "logprobs": {"content": told} if body.get("logprobs") else None,
    }
    answer = {"id": "c-1", "object": "chat.completion", "created": 1, "model": body["model"], "choices": [choice]}
    usage = {
        "prompt_tokens": len(prompt),
        "completion_tokens": len(ids),
        "total_tokens": len(prompt) + len(ids),
    }
    if body.get("return_token_ids"):
        choice["token_ids"] = ids
        answer["prompt_token_ids"] = prompt
    return {**answer, "usage": usage}

"""A chat completion as servers send it: the OpenAI API reference, and what others add to it.

Checked with answers of vLLM 0.32 and llama.cpp of 2026-10, and against the documentation of SGLang 0.5. What is not
named here is not read.
"""

from typing import Annotated, TypeAlias

import msgspec

from stretto.types.json import Json

TokenId: TypeAlias = Annotated[int, msgspec.Meta(ge=0, lt=2**31)]
"""Recorded as int32."""


class TokenLogprob(msgspec.Struct, frozen=True):
    """One token of the completion."""

    token: str = ""
    logprob: float | None = None
    """Natural logarithm. At a temperature other than 1 most servers give the model's own, before the temperature."""
    prob: float | None = None
    """llama.cpp with ``post_sampling_probs``, in place of `logprob`: temperature and filters included."""
    id: TokenId | None = None
    """llama.cpp."""
    top_logprobs: list["TokenLogprob"] | None = None
    top_probs: list["TokenLogprob"] | None = None
    """llama.cpp with ``post_sampling_probs``."""


class Logprobs(msgspec.Struct, frozen=True):
    """Of one choice. The older form, of text completions, is still sent by llama-cpp-python and SGLang."""

    content: list[TokenLogprob] | None = None
    refusal: list[TokenLogprob] | None = None
    token_logprobs: list[float | None] | None = None


class Function(msgspec.Struct, frozen=True):
    """What a tool call asks for."""

    name: str
    arguments: Json = None
    """JSON in a string; some servers send the object itself."""


class ToolCall(msgspec.Struct, frozen=True):
    """One call of a tool."""

    function: Function
    id: str | None = None


class Part(msgspec.Struct, frozen=True):
    """One piece of a message whose content is a list."""

    type: str = ""
    text: str = ""


class Message(msgspec.Struct, frozen=True):
    """What the model said."""

    content: str | list[Part] | None = None
    tool_calls: list[ToolCall] | None = None
    refusal: str | None = None
    reasoning: str | None = None
    """vLLM, OpenRouter."""
    reasoning_content: str | None = None
    """SGLang, llama.cpp, older vLLM, DeepSeek."""

    @property
    def text(self) -> str:
        if isinstance(self.content, list):
            return "".join(part.text for part in self.content if part.type == "text")
        return self.content or ""


class MetaInfo(msgspec.Struct, frozen=True):
    """SGLang, when ``return_meta_info`` is sent."""

    output_token_logprobs: list[tuple[Json, ...]] | None = None
    """[log-probability, id, text] of each token."""
    weight_version: str | None = None


class Choice(msgspec.Struct, frozen=True):
    """One completion."""

    message: Message
    finish_reason: str | None = None
    logprobs: Logprobs | None = None
    token_ids: list[TokenId] | None = None
    """vLLM and SGLang, when ``return_token_ids`` is sent."""
    prompt_token_ids: list[TokenId] | None = None
    """SGLang."""
    meta_info: MetaInfo | None = None


class PromptDetails(msgspec.Struct, frozen=True):
    """Of the prompt's tokens."""

    cached_tokens: int | None = None


class WireUsage(msgspec.Struct, frozen=True):
    """What the server counted."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: PromptDetails | None = None
    queue_time: Json = None
    """Groq: seconds."""


class Completion(msgspec.Struct, frozen=True):
    """The whole answer."""

    choices: Annotated[list[Choice], msgspec.Meta(min_length=1)]
    model: str | None = None
    id: str | None = None
    system_fingerprint: str | None = None
    usage: WireUsage | None = None
    prompt_token_ids: list[TokenId] | None = None
    """vLLM."""
    timings: Json = None
    """llama.cpp: how long it worked on the prompt and on the completion."""


decode: msgspec.json.Decoder[Completion] = msgspec.json.Decoder(Completion)

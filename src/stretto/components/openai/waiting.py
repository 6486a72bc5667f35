"""How long a request waited inside the server, as far as its answer tells."""

from math import isfinite
from typing import Any, Final

from stretto.components.openai.wire import Completion
from stretto.components.web.reply import Reply

TGI_HEADER: Final = "x-queue-time"
"""Milliseconds, of Hugging Face's text-generation-inference."""


def server_queue_ms(reply: Reply, completion: Completion) -> float:
    """Milliseconds in the server's queue; 0 where it does not tell, as vLLM and OpenAI do not in an answer.

    Groq tells it in `usage`, in seconds; text-generation-inference in a header. llama.cpp tells how long it worked on
    the prompt and on the completion: what is left of the round trip was waiting for a slot, but for the network.
    """
    usage = completion.usage
    told = None if usage is None else _number(usage.queue_time)
    if told is not None:
        return told * 1000.0
    told = _number(reply.headers.get(TGI_HEADER))
    if told is not None:
        return told
    timings: Any = completion.timings
    if not isinstance(timings, dict):
        return 0.0
    prompt, predicted = _number(timings.get("prompt_ms")), _number(timings.get("predicted_ms"))
    if prompt is None or predicted is None:
        return 0.0
    return max(0.0, reply.took_ms - prompt - predicted)


def _number(value: Any) -> float | None:  # Any: whatever a server writes there
    """A finite number of 0 or more; None for anything else."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if isfinite(number) and number >= 0 else None

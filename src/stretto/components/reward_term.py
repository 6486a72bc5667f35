"""One function of a reward: its terms, and what its value says about them."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, SupportsFloat, TypeAlias

from stretto.components.codes import ComponentCode
from stretto.components.python.invoke import context_for, evaluator
from stretto.components.python.place import refuse
from stretto.components.python.signature import Signature, read_signature
from stretto.components.threads import threads_for
from stretto.record.texts import recordable
from stretto.types.errors import ComponentError, StrettoError
from stretto.types.learning import Reward
from stretto.types.messages import Request, Response

Function: TypeAlias = Callable[..., Any]
"""Returns a number, None for *unknown*, or ``(number or None, reason)``; with several terms, a mapping of these."""

MAX_SHOWN_CHARS: Final = 40
"""Of a value that is no number: enough to know it again."""

UNKNOWN: Final = "the function returned None"


class RewardTerm:
    """A function that computes one term, or several that share work. Raises SpecError when it cannot be called."""

    def __init__(self, function: Function, names: Sequence[str], *, inline: bool) -> None:
        if not names or len(set(names)) < len(names) or not all(name.isidentifier() for name in names):
            raise refuse(
                function,
                ComponentCode.OPTION,
                f"the terms of a reward are {list(names)}",
                expected="one or more different names, as the contract's `reward` has them: letters, digits and _",
                suggestion='terms=["api_success"]',
            )
        self.function = function
        self.names = tuple(names)
        self.inline = inline
        self._signature: Signature | None = None

    @property
    def signature(self) -> Signature:
        """What the function takes."""
        if self._signature is None:
            self._signature = read_signature(self.function, self.function)
        return self._signature

    async def judge(self, request: Request) -> Response:
        """A response whose rewards are the terms: unknown, with the reason, where the function raises or says so."""
        name, signature = self.names[0], self.signature
        context = context_for(signature, request.call, name)
        evaluate = evaluator(name, self.function, signature, inline=self.inline)
        try:
            value, queue_ms = await evaluate(
                signature.own_fields(request.input), context, threads_for(request.call.path)
            )
        except StrettoError as error:
            queue_ms = error.take_wait_ms() if isinstance(error, ComponentError) else 0.0
            rewards = tuple(Reward(name=term, value=None, reason=recordable(str(error))) for term in self.names)
        else:
            rewards = tuple(self._read(term, value) for term in self.names)
        response = Response(output=None, rewards=rewards, queue_ms=queue_ms)
        return response if context is None else context.added_to(response)

    def _read(self, term: str, value: object) -> Reward:
        if len(self.names) > 1:
            if not isinstance(value, Mapping):
                return Reward(
                    name=term, value=None, reason=f"the function returned {_shown(value)}, not a mapping of its terms"
                )
            if term not in value:
                return Reward(name=term, value=None, reason=f"the function returned nothing for '{term}'")
            value = value[term]
        number, reason = value if isinstance(value, tuple) and len(value) == 2 else (value, "")
        if number is None:
            return Reward(name=term, value=None, reason=str(reason) or UNKNOWN)
        finite = _finite(number)
        if finite is None:
            return Reward(name=term, value=None, reason=f"the function returned {_shown(number)}, not a finite number")
        return Reward(name=term, value=finite, reason=str(reason))


def _finite(number: object) -> float | None:
    """A number of whatever library as Python's own; None for what is none."""
    try:
        value = float(number) if isinstance(number, SupportsFloat) else math.nan
    except (TypeError, ValueError, OverflowError):
        return None
    return value if math.isfinite(value) else None


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= MAX_SHOWN_CHARS else f"{text[:MAX_SHOWN_CHARS]}..."

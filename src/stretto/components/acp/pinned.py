"""Whether an answer is of the component that a run is pinned to: not every server looks at what it is asked for."""

import logging
from typing import Final

import msgspec

from stretto.acp.messages import ComponentRef, WireCard
from stretto.components.acp.settings import Pin
from stretto.types.errors import Code, ComponentError
from stretto.types.json import JsonObject

ANSWERED_BY: Final = "answered_by"
"""Fact of an answer in the step's evidence: who gave it, where that is not who the run is pinned to."""

_log: Final = logging.getLogger(__name__)


class Pinned:
    """The component of a card, and how far answers are held to it."""

    def __init__(self, card: WireCard, pin: Pin, who: str) -> None:
        self._card = ComponentRef(name=card.name, version=card.version, digest=card.digest)
        self._pin = pin
        self._who = who
        self._warned: str | None = None
        """The last that was warned of: every answer of it would say the same."""

    @property
    def asked(self) -> ComponentRef:
        """Who is asked for: under `pin: digest` nobody else may answer."""
        return self._card if self._pin is Pin.DIGEST else ComponentRef(name=self._card.name, version=self._card.version)

    def held(self, told: ComponentRef) -> JsonObject:
        """What is to be recorded of who answered: nothing where it is the card's, or does not say.

        Raises ComponentError for another under `pin: digest`. It was asked: a write is left in doubt.
        """
        if not told.digest or told.digest == self._card.digest:
            return {}
        if self._pin is Pin.DIGEST:
            raise ComponentError(
                f"{self._who} answered as {_named(told)}, and the run is pinned to {_named(self._card)}; load the "
                "workflow again, serve what it is pinned to, or let others answer: pin: warn",
                Code.INTERNAL,
            )
        if self._pin is Pin.WARN and self._warned != told.digest:
            self._warned = told.digest
            _log.warning("%s answers as %s, and its card says %s", self._who, _named(told), _named(self._card))
        return {ANSWERED_BY: {"version": told.version, "digest": told.digest}}

    def forward(self, digest: str) -> ComponentRef:
        """Who is asked for a gradient: whoever answered the forward call, where that is known."""
        asked = self.asked
        return msgspec.structs.replace(asked, digest=digest) if digest else asked

    def hold_forward(self, told: ComponentRef, digest: str) -> None:
        """Raises ComponentError where somebody else pulled a gradient back than answered the forward call."""
        expected = digest or self._card.digest
        if told.digest and told.digest != expected:
            raise ComponentError(
                f"{self._who} pulled a gradient back as {_named(told)}, and the forward call was answered under digest "
                f"{expected:.80}: it is the gradient of another function. The server was replaced; run the batch again",
                Code.ABORTED,
                retryable=False,
            )


def _named(ref: ComponentRef) -> str:
    return f"{ref.name or 'a component'} {ref.version or 'without a version'}, digest {ref.digest or 'none':.80}"

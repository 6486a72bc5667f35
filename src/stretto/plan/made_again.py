"""What is made again: a call that failed, one whose answer counts as none, and one that takes long."""

from stretto.plan.codes import PlanCode
from stretto.plan.fields import Read, Reader
from stretto.plan.model import Retry
from stretto.plan.names import Binding, Names
from stretto.plan.valuetype import BOOL, from_schema
from stretto.spec.model import RetrySpec
from stretto.spec.source import Located, Span
from stretto.types.card import Card
from stretto.types.enums import Effect, Scope


def retry_of(spec: RetrySpec) -> Retry:
    """The rule that a step declares."""
    return Retry(
        max_attempts=spec.attempts,
        base_s=spec.base.total_seconds(),
        cap_s=spec.cap.total_seconds(),
        codes=frozenset(spec.on),
        jitter=spec.jitter,
    )


class MadeAgain:
    """Holds a step's `retry.when` and `hedge` to what may be asked of its component twice."""

    def __init__(self, reader: Reader, card: Card) -> None:
        self._reader = reader
        self._card = card

    def condition(self, when: Located[str]) -> Read | None:
        """Compile the condition by which an answer counts as none: over a frame of the output and the request."""
        names = Names()
        names.bind(("output",), [Binding(slot=0, type=from_schema(self._card.output))])
        names.bind(("input",), [Binding(slot=1, type=from_schema(self._card.input))])
        read = self._reader.expression(when, names, expect=BOOL)
        if read is None:
            return None
        if 0 not in read.slots:
            self._refuse(
                when.span,
                f"`{when.value}` says nothing of the answer",
                "a condition on `output`, such as `output.text == ''`",
            )
        self._hold_to_reading(when.span, "an answer to a write stands: it is not made again for what it says")
        return read

    def hold_hedge(self, span: Span) -> None:
        """Report a hedge of what may not run twice at once."""
        card = self._card
        self._hold_to_reading(span, "a write is not made twice")
        if card.scope is Scope.RUN:
            self._refuse(
                span, f"'{card.name}' has one instance for each run, which answers one call at a time", "no `hedge`"
            )
        if "call" in card.capabilities:
            message = f"'{card.name}' may call other components, and all that it calls would be called twice"
            self._refuse(
                span,
                message,
                "a `hedge` at the steps or components that it calls, or a component that calls none",
                f"calls=False in the declaration of {card.name}, if it calls nobody" if card.kind == "python" else "",
            )

    def _hold_to_reading(self, span: Span, why: str) -> None:
        if all(effect is Effect.WRITE for effect in self._card.effects.values()):
            self._refuse(span, f"'{self._card.name}' does nothing but write: {why}", "a component that reads")

    def _refuse(self, span: Span, message: str, expected: str, suggestion: str = "") -> None:
        self._reader.report.add(span.problem(PlanCode.RETRY, message, expected=expected, suggestion=suggestion))

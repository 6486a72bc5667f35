"""Answers that are errors, as a declaration says: by status, or by a condition over the answer."""

from typing import Final

import msgspec

from stretto.components.http.failures import said_in
from stretto.components.http.scope import RESPONSE, Frame
from stretto.components.http.secrets import Secrets
from stretto.components.web.failures import MAX_QUOTED_CHARS, Peer, one_line
from stretto.plan.expr import Expression
from stretto.types.errors import Code, ComponentError, ExpressionError

_UNSAID: Final = "nothing more"


class ErrorRule(msgspec.Struct, frozen=True, kw_only=True):
    """One rule, compiled: both of `statuses` and `when` must fit, as far as they are given."""

    statuses: frozenset[int]
    """Empty for all."""
    when: Expression | None
    code: Code
    message: Expression | None
    retryable: bool | None

    def fits(self, status: int, frame: Frame) -> bool:
        """Whether an answer is this error. A condition that has no value on what came is not true."""
        if self.statuses and status not in self.statuses:
            return False
        if self.when is None:
            return True
        try:
            return self.when.evaluate(frame) is True
        except ExpressionError:
            return False

    def error(self, peer: Peer, frame: Frame, retry_after_s: float | None, secrets: Secrets) -> ComponentError:
        """The error, in the service's words where it has any."""
        response = frame[RESPONSE]
        said = self._said(frame) or said_in(response["body"])
        text = f"{peer.who} answered {response['status']}: {said or _UNSAID}"
        return ComponentError(secrets.out_of(text), self.code, retryable=self.retryable, retry_after_s=retry_after_s)

    def _said(self, frame: Frame) -> str:
        if self.message is None:
            return ""
        try:
            found = self.message.evaluate(frame)
        except ExpressionError:
            return ""
        return one_line(found)[:MAX_QUOTED_CHARS] if isinstance(found, str) else ""


def first_that_fits(rules: tuple[ErrorRule, ...], status: int, frame: Frame) -> ErrorRule | None:
    """The rule that an answer falls under; None for none."""
    return next((rule for rule in rules if rule.fits(status, frame)), None)

"""One call as it was understood: whom it asks, for what, and until when."""

import msgspec

from stretto.acp import messages as m
from stretto.acp.names import Reason, Verb
from stretto.acp.server.asked import request_of
from stretto.acp.server.blobs import Blobs
from stretto.acp.server.refusal import malformed, refusal
from stretto.acp.server.served import Served
from stretto.record.canonical import canonical
from stretto.types.enums import Effect
from stretto.types.errors import Code, NotJsonError
from stretto.types.ids import Digest, digest_of
from stretto.types.json import Json, JsonObject
from stretto.types.messages import Request


class Asking(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A call that was admitted."""

    served: Served
    verb: Verb
    envelope: m.Envelope
    value: JsonObject
    """The input as it was sent."""
    action: str
    effect: Effect
    deadline: float | None
    """Event-loop time by which the caller wants an answer, or the server wants it to have one."""
    blobs: tuple[m.Blob, ...]
    may_hold_blobs: bool
    """False where the input surely names none."""

    def digest(self) -> Digest:
        """Of what is asked: the same for every attempt."""
        try:
            return digest_of(f"{self.verb} {self.served.card.name} ".encode() + canonical(self.value))
        except NotJsonError as error:
            raise malformed(f"the input is no JSON that can be told from another: {error}") from error

    def request(self, blobs: Blobs) -> Request:
        """What the component is asked. Raises AcpError for an input that breaks its schema, or lacks a blob."""
        value = blobs.filled(self.value, self.blobs) if self.may_hold_blobs else self.value
        check = self.served.input_check
        if check is not None and not check.is_valid(value):
            name, violations = self.served.card.name, check.violations(value)
            told = "".join(f"\n  {each}" for each in violations)
            raise refusal(
                Code.INVALID_ARGUMENT,
                Reason.CONTRACT,
                f"the input of '{name}' breaks its schema:{told}",
                violations=violations,
            )
        return request_of(self.envelope, value, self.action, self.effect, self.deadline)


def input_of(request: m.CallRequest | m.VjpRequest) -> JsonObject:
    """The input of a request, from the object or from the text. Raises AcpError for a text that holds none."""
    if not request.input_json:
        return request.input
    try:
        value: Json = msgspec.json.decode(request.input_json)
    except (msgspec.DecodeError, RecursionError) as error:
        raise malformed(f"`inputJson` is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise malformed("`inputJson` holds no JSON object")
    return value

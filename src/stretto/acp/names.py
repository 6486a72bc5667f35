"""The protocol's closed sets, and where each verb lives."""

from enum import StrEnum
from typing import Final


class Verb(StrEnum):
    """What can be asked of a component."""

    PLAN = "plan"
    EXECUTE = "execute"
    OBSERVE = "observe"
    REFLECT = "reflect"
    DESCRIBE = "describe"
    VJP = "vjp"

    @property
    def path(self) -> str:
        """Where it is POSTed to, below a server's address."""
        return f"/acp/v1/{self.value}"

    @property
    def method(self) -> str:
        """The method's full name over gRPC."""
        return f"/acp.v1.Component/{self.value.capitalize()}"


STEP_VERBS: Final = (Verb.PLAN, Verb.EXECUTE, Verb.OBSERVE)
"""Those by which a step can ask."""


class Report(StrEnum):
    """What an answer carries for learning, by the fields that carry it."""

    ACTIONS = "actions"
    MODEL_CALLS = "model_calls"


DOMAIN: Final = "acp"
"""Of every `Reason`, in google.rpc.ErrorInfo and in a problem."""


class Reason(StrEnum):
    """Why a call failed, where its code does not say it all; in google.rpc.ErrorInfo and in a problem."""

    MALFORMED = "MALFORMED"
    """No message could be read."""
    ENVELOPE = "ENVELOPE"
    """A field of the envelope is missing or absurd."""
    VERSION_UNSUPPORTED = "VERSION_UNSUPPORTED"
    """The major version is not spoken; the answer lists those that are."""
    COMPONENT_UNKNOWN = "COMPONENT_UNKNOWN"
    COMPONENT_CHANGED = "COMPONENT_CHANGED"
    """The run was pinned to another digest."""
    VERB_NOT_OFFERED = "VERB_NOT_OFFERED"
    TOO_LARGE = "TOO_LARGE"
    MEDIA_TYPE = "MEDIA_TYPE"
    """The body is of no type that is read here."""
    DEADLINE_PASSED = "DEADLINE_PASSED"
    """There was no time left when the call came, or it ran out."""
    KEY_CONFLICT = "KEY_CONFLICT"
    """The effect key was used with another request."""
    KEY_IN_PROGRESS = "KEY_IN_PROGRESS"
    """A call with this effect key is being worked on."""
    NOT_DONE = "NOT_DONE"
    """Asked whether it happened: it surely did not."""
    IN_DOUBT = "IN_DOUBT"
    """It may or may not have happened, and nobody knows."""
    MIRROR_WRITE = "MIRROR_WRITE"
    """A mirror must change nothing in the world."""
    BLOB_MISSING = "BLOB_MISSING"
    CONTRACT = "CONTRACT"
    """A request or an answer broke its schema; the violations say where."""
    MEANING = "MEANING"
    """A value means nothing in the semantic domain into which it crossed."""
    SHED = "SHED"
    """There was no place for the call."""
    BREAKER_OPEN = "BREAKER_OPEN"
    """What would answer was failing, and was not asked."""
    REJECTED = "REJECTED"
    """An answer came, and counts as none."""
    BUDGET = "BUDGET"
    """The run may not spend what the call needs."""
    DRAINING = "DRAINING"
    """The server is about to stop."""
    UNAUTHENTICATED = "UNAUTHENTICATED"

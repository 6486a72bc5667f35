"""Named cases of the protocol, as they stand in YAML: what is sent, and what a component that keeps to it answers."""

from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Final

import msgspec

from stretto.types.errors import Code
from stretto.types.json import JsonObject

_PACKAGE: Final = Path(__file__).parents[2]

PLACES: Final = (_PACKAGE.parents[1] / "tests" / "conformance" / "acp", _PACKAGE / "_acp_cases")
"""In a clone the first is there; a wheel carries the second."""


class Group(StrEnum):
    """What a component claims; its cases are held against whoever claims it."""

    CORE = "core"
    """Of every component."""
    PURE = "pure"
    """Its card says that an action is pure."""
    IDEMPOTENT = "idempotent"
    CONFIRMS = "confirms"
    ACTIONS = "actions"
    """Its card has that capability: its answers carry the choices that it makes."""
    BLOBS = "blobs"
    """Its card has the capability."""
    REFLECT = "reflect"
    VJP = "vjp"


class When(StrEnum):
    """What must be so of a component for a case to say anything of it."""

    NO_VJP = "no_vjp"
    """It cannot be differentiated."""
    NEEDS_INPUT = "needs_input"
    """An empty input does not fit its schema."""
    HAS_INPUT = "has_input"
    """What it is asked has a field."""
    HAS_ANOTHER = "has_another"
    """Another input fits its schema too."""
    HAS_TENSORS = "has_tensors"
    """Its card tells its tensors, and what it is asked holds some."""
    IS_PURE = "is_pure"
    """The same, and what it is asked changes nothing."""


class Form(StrEnum):
    """How an input, or an output, is written."""

    OBJECT = "object"
    TEXT = "text"
    """JSON as text: `inputJson`, `outputJson`."""


class Pull(StrEnum):
    """What is pulled back."""

    FIRST = "first"
    """Cotangents of all outputs, at the component's input."""
    SECOND = "second"
    """Others."""
    BOTH = "both"
    """A sum of the two."""
    MISSHAPEN = "misshapen"
    """The first, at inputs with a dimension more."""
    UNKNOWN = "unknown"
    """Cotangents of outputs that there are not."""
    NOTHING = "nothing"
    """Nothing at all."""


class Named(StrEnum):
    """How the first field of an input is named by the digest of its content."""

    SENT = "sent"
    """The content comes along."""
    UNKNOWN = "unknown"
    """It does not, and never did."""
    WRONG = "wrong"
    """What comes along has another digest."""


EVERY_VERB: Final = "*"
"""As the verb of an exchange: one for each verb of a step that the card names, each with a key of its own."""


class Expect(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What must come back. Nothing of it given: any answer, or any failure, as long as it keeps to the form."""

    ok: bool | None = None
    """An answer that fits the card, or a failure."""
    codes: tuple[Code, ...] = ()
    """The failure has one of these."""
    reason: str = ""
    metadata: tuple[str, ...] = ()
    """Names of facts that the failure holds."""
    violations: bool = False
    """The failure says where a value breaks its schema."""
    pointer: str = ""
    """The failure's violations name this place, or one inside it."""
    replayed: bool | None = None
    same_output_as: int = 0
    """Number of an earlier exchange of the case, from 1, that was answered with the same output and choices; where that
    answer is stored and told again, with the same of everything that it said."""
    actions: bool = False
    """The answer carries at least one choice. Those that it carries are held to their rules in any case."""
    combines: bool = False
    """The gradients are the sum of those of the two exchanges before, as the cotangents are."""
    of_answers: bool = False
    """The gradients are those of the component's own answers, along random directions."""
    cards: int = 0
    """How many cards a description has; 0 is any number."""
    output_as: Form | None = None
    """How the answer's output is written."""
    text: str = ""
    """Of a place that speaks no messages: its body holds this."""
    status: int = 0
    """Of a place that speaks no messages."""
    within_ms: float = 0.0
    """From the sending to the end of the answer; a hang is a failure whatever stands here."""


class Http(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is sent over HTTP as it stands, in place of a message."""

    method: str = "POST"
    path: str = ""
    """Below the server's address; empty is that of the verb."""
    content_type: str | None = "application/json"
    """None sends no such header."""
    headers: dict[str, str] = msgspec.field(default_factory=dict)
    body: str | None = None
    """None sends the message."""
    repeat: int = 1
    """How often the body stands there."""
    pad_bytes: int = 0
    """Blanks before the body, to make it large."""
    cut: bool = False
    """Half of the body is sent, then the connection is closed for writing."""
    stall: bool = False
    """Half of the body is sent, then nothing."""
    gone: bool = False
    """The whole is sent, and the connection closed at once without reading."""


class Exchange(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One request and what must come back."""

    request: JsonObject = msgspec.field(default_factory=dict)
    """Merged into a good request (RFC 7396): null takes a field away."""
    verb: str = ""
    """Empty is the one by which a step asks."""
    input: bool = True
    """Whether the good request has the component's input."""
    another: bool = False
    """The good request has another input, which fits the schema too."""
    input_as: Form = Form.OBJECT
    blob: Named | None = None
    pull: Pull = Pull.FIRST
    by_name: bool = False
    """The good request to describe names the component."""
    http: Http | None = None
    hex: str | None = None
    """Bytes that are sent as they stand, in place of a message."""
    fresh_key: bool = False
    """Another effect key than the exchange before had."""
    expect: Expect = Expect()


class Case(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One promise of the protocol."""

    name: str
    group: Group
    why: str
    """What goes wrong where it is broken."""
    over: str = ""
    """``http`` or ``grpc``; empty is both."""
    when: When | None = None
    acts: bool = True
    """The component itself is reached, or would be by a server that refuses nothing."""
    exchanges: tuple[Exchange, ...]


def load_cases() -> tuple[Case, ...]:
    """Every case, in the order of the files."""
    return tuple(case for file in _files() for case in _read(file))


def _files() -> list[Path]:
    folder = next(place for place in PLACES if place.is_dir())
    return sorted(folder.glob("*.yaml"))


@cache
def _read(file: Path) -> tuple[Case, ...]:
    from ruamel.yaml import YAML

    return msgspec.convert(YAML(typ="safe", pure=True).load(file), tuple[Case, ...])

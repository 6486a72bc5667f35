"""What a declaration of kind ``acp`` may hold in a workflow file, and the component that an address stands for."""

from collections.abc import Mapping
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any, Final

from stretto.acp.names import Verb
from stretto.components.acp.settings import AcpSettings, Pin
from stretto.components.option_shapes import ANY_TEXT, Make
from stretto.spec.records import Fields, Key, Record
from stretto.spec.shapes import Choice, Duration, Flag, Whole
from stretto.types.protocols import Component

URL: Final = Key(
    "url",
    ANY_TEXT,
    means="where the component is, and after # its name where the server has several",
    example='url: "acp+http://127.0.0.1:8081#executor"',
    required=True,
    also=("endpoint", "base_url", "address", "target"),
)


class StepVerb(StrEnum):
    """`Verb`, as far as a step can ask by it."""

    PLAN = "plan"
    EXECUTE = "execute"
    OBSERVE = "observe"


VERB: Final = Key(
    "verb",
    Choice(StepVerb),
    means="what a step asks of it: plan, execute or observe; the first that it offers when absent",
    example="verb: execute",
    also=("method",),
)
CARD: Final = Key(
    "card",
    ANY_TEXT,
    means="file with its card, relative to this file; without it the server is asked at load",
    example="card: executor.card.json",
)
TOKEN_ENV: Final = Key(
    "token_env",
    ANY_TEXT,
    means="environment variable that holds the bearer token",
    example="token_env: EXECUTOR_TOKEN",
    also=("token", "api_key_env", "key_env"),
)
CA: Final = Key(
    "ca",
    ANY_TEXT,
    means="file with the certificates to trust in place of the system's, PEM",
    example="ca: ./ca.pem",
    also=("cafile", "ca_file"),
)
UNENCRYPTED: Final = Key(
    "unencrypted",
    Flag(),
    means="the token may go to another machine without TLS, for others on the way to read; no when absent",
    example="unencrypted: true",
)
PIN: Final = Key(
    "pin",
    Choice(Pin),
    means="what becomes of an answer under another digest than at load: refused, told in the log, or taken",
    example="pin: warn",
)
MAX_CONNECTIONS: Final = Key(
    "max_connections",
    Whole(minimum=1),
    means="calls at once over HTTP",
    example="max_connections: 32",
    also=("concurrency",),
)
MAX_RESPONSE_BYTES: Final = Key(
    "max_response_bytes", Whole(minimum=1), means="largest answer", example="max_response_bytes: 8388608"
)
DESCRIBE_TIMEOUT: Final = Key(
    "describe_timeout",
    Duration(),
    means="in which the server must say at load what it is",
    example="describe_timeout: 2s",
)

_PLAIN: Final[tuple[Key[Any], ...]] = (VERB, UNENCRYPTED, PIN, MAX_CONNECTIONS, MAX_RESPONSE_BYTES, DESCRIBE_TIMEOUT)
_TEXT: Final = (URL, TOKEN_ENV)
_FILES: Final = (CARD, CA)


def _build(fields: Fields) -> Make:
    options: dict[str, Any] = {key.name: fields.get(key) for key in _PLAIN if key in fields}
    if options.get("verb") is not None:
        options["verb"] = Verb(options["verb"])
    options |= {key.name: text.value for key in _TEXT if (text := fields.get(key)) is not None}
    options |= {key.name: Path(text.value) for key in _FILES if (text := fields.get(key)) is not None}
    return partial(make_acp, options)


def make_acp(options: Mapping[str, Any], name: str, folder: Path) -> Component:
    """The component that is declared so. Its server is asked what it is, unless its card was kept.

    Raises UsageError for what cannot work, and where the server does not say what it is.
    """
    from stretto.components.acp.describing import described
    from stretto.components.acp.learning import learning
    from stretto.components.acp.link import link_to, peer_of

    ca = options.get("ca")
    settings = AcpSettings(name=name, **{**options, **({"ca": folder / ca} if ca else {})})
    target = settings.check()
    wire = described(settings, target, folder)
    return learning(wire.verbs)(settings, wire, link_to(settings, target), peer_of(settings, target).who)


ACP: Final[Record[Make]] = Record(
    "component",
    means="A component on a server that speaks the protocol.",
    keys=(*_PLAIN, *_TEXT, *_FILES),
    build=_build,
)

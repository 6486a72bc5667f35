"""Keys of a declaration that are about a service as a whole, whatever it is asked."""

from typing import Any, Final

from stretto.components.http.action_keys import ACTION, ActionSpec
from stretto.components.http.auth_keys import AUTH
from stretto.components.http.requests import DEFAULT_IDEMPOTENCY_HEADER
from stretto.components.http.settings import DEFAULT_MAX_CONNECTIONS
from stretto.components.option_shapes import ANY_TEXT, DESCRIPTION_KEY, VERSION_KEY
from stretto.spec.nested import Entries
from stretto.spec.records import Key
from stretto.spec.shapes import Flag, Rule, Text, Whole
from stretto.spec.source import Located

DEFAULT_ACTION_FIELD: Final = "action"

_NAME: Final = Text(
    expected="the name of an action",
    rules=(
        Rule(
            pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$",
            message="is no name of an action",
            expected="letters, digits, '_', '.' and '-'",
        ),
    ),
)


def _named(name: Located[str], spec: ActionSpec) -> tuple[str, ActionSpec]:
    return name.value, spec


ACTIONS: Final = Key(
    "actions",
    Entries(key=_NAME, value=ACTION, build=_named, what="actions and their requests"),
    means="in place of `url`: several requests by the name of their action",
    example='actions: { get: { url: "https://orders.example/orders/{order_id}" } }',
    also=("operations", "endpoints"),
)
ACTION_FIELD: Final = Key(
    "action_field",
    Text(expected="the name of a field"),
    means="input field that names the action; `action` when absent",
    example="action_field: do",
)
IDEMPOTENT: Final = Key(
    "idempotent",
    Flag(),
    means="a write sent twice with one effect key happens once; the key goes along in a header",
    example="idempotent: true",
)
IDEMPOTENCY_HEADER: Final = Key(
    "idempotency_header",
    Text(expected="the name of a header"),
    means=f"that header; {DEFAULT_IDEMPOTENCY_HEADER} when absent",
    example="idempotency_header: X-Request-Id",
)
MAX_CONNECTIONS: Final = Key(
    "max_connections",
    Whole(minimum=1),
    means=f"requests at once; {DEFAULT_MAX_CONNECTIONS} when absent. Waiting for one is the attempt's `queue_ms`",
    example="max_connections: 8",
    also=("concurrency", "max_parallel"),
)
MAX_RESPONSE_BYTES: Final = Key(
    "max_response_bytes",
    Whole(minimum=1),
    means="largest answer, all pages together; 8 MiB when absent",
    example="max_response_bytes: 1048576",
)

PROXY: Final = Key(
    "proxy",
    ANY_TEXT,
    means="address of a proxy to go through; none when absent, whatever the environment says",
    example="proxy: http://proxy.example:3128",
)
UNENCRYPTED: Final = Key(
    "unencrypted",
    Flag(),
    means="what stands in the environment may go to another machine without TLS, for others on the way to read; no "
    "when absent",
    example="unencrypted: true",
)
CA: Final = Key(
    "ca",
    ANY_TEXT,
    means="file with the certificates to trust in place of the system's, PEM",
    example="ca: ./ca.pem",
    also=("cafile", "ca_file"),
)
CLIENT_CERT: Final = Key(
    "client_cert",
    ANY_TEXT,
    means="file with the certificate that is shown to the service, PEM",
    example="client_cert: ./client.pem",
    also=("cert", "certificate"),
)
CLIENT_KEY: Final = Key(
    "client_key",
    ANY_TEXT,
    means="file with its key, PEM; that of the certificate when absent",
    example="client_key: ./client.key",
)

SERVICE_KEYS: Final[tuple[Key[Any], ...]] = (
    ACTIONS,
    ACTION_FIELD,
    AUTH,
    IDEMPOTENT,
    IDEMPOTENCY_HEADER,
    MAX_CONNECTIONS,
    MAX_RESPONSE_BYTES,
    PROXY,
    UNENCRYPTED,
    CA,
    CLIENT_CERT,
    CLIENT_KEY,
    VERSION_KEY,
    DESCRIPTION_KEY,
)

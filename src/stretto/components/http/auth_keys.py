"""How a declaration says what proves who asks. A secret never stands in it."""

from typing import Final

from stretto.components.http.auth import ApiKey, Auth, Basic, Bearer
from stretto.components.http.oauth import OAuth2
from stretto.components.http.pairs import is_header_name
from stretto.components.http.templates import secret_of
from stretto.components.option_shapes import ANY_TEXT
from stretto.components.web_address import is_host, split_address
from stretto.spec.codes import SpecCode
from stretto.spec.nodes import MapNode, Node
from stretto.spec.records import Fields, Key, Record
from stretto.spec.report import Report
from stretto.spec.shapes import Flag, Text
from stretto.types.errors import UsageError
from stretto.types.json import JsonObject


class SecretShape:
    """``{env: NAME}``: the name of an environment variable."""

    def read(self, node: Node, _name: str, report: Report) -> str | None:
        return secret_of(node, report)

    def schema(self, _defs: JsonObject) -> JsonObject:
        return {
            "type": "object",
            "properties": {"env": {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$"}},
            "required": ["env"],
            "additionalProperties": False,
        }


class NameShape:
    """Text as it stands, or ``{env: NAME}``: a user's name is no secret, and still differs from place to place."""

    def read(self, node: Node, name: str, report: Report) -> tuple[str, str] | None:
        """The text and the variable; one of them is empty."""
        if isinstance(node, MapNode):
            variable = secret_of(node, report)
            return None if variable is None else ("", variable)
        text = ANY_TEXT.read(node, name, report)
        return None if text is None else (text.value, "")

    def schema(self, defs: JsonObject) -> JsonObject:
        return {"anyOf": [ANY_TEXT.schema(defs), SecretShape().schema(defs)]}


USER: Final = Key(
    "user", NameShape(), means="the user's name", example="user: clerk", required=True, also=("username",)
)
PASSWORD: Final = Key(
    "password", SecretShape(), means="the password", example="password: { env: BANK_PASSWORD }", required=True
)
HEADER: Final = Key(
    "header", Text(expected="the name of a header"), means="the header", example="header: X-Api-Key", required=True
)
KEY: Final = Key("key", SecretShape(), means="the key", example="key: { env: ORDERS_KEY }", required=True)
TOKEN_URL: Final = Key(
    "token_url",
    ANY_TEXT,
    means="where tokens are given",
    example="token_url: https://login.example/oauth2/token",
    required=True,
    also=("token_endpoint", "url"),
)
CLIENT_ID: Final = Key("client_id", NameShape(), means="who asks", example="client_id: stretto", required=True)
CLIENT_SECRET: Final = Key(
    "client_secret",
    SecretShape(),
    means="the client's secret",
    example="client_secret: { env: ORDERS_SECRET }",
    required=True,
)
SCOPE: Final = Key(
    "scope", ANY_TEXT, means="what the token is to allow", example='scope: "orders.read orders.write"', also=("scopes",)
)
AUDIENCE: Final = Key(
    "audience", ANY_TEXT, means="whom the token is for, as some servers want it", example="audience: orders"
)
IN_BODY: Final = Key(
    "in_body", Flag(), means="id and secret in the body, for servers that read no header", example="in_body: true"
)


def _basic(fields: Fields) -> Basic | None:
    user, password = fields.get(USER), fields.get(PASSWORD)
    if user is None or password is None:
        return None
    if ":" in user[0]:
        fields.problem(USER, SpecCode.VALUE, f"`user` is '{user[0]}'", expected="a name without a colon: RFC 7617")
        return None
    return Basic(user=user[0], user_variable=user[1], password_variable=password)


def _api_key(fields: Fields) -> ApiKey | None:
    header, key = fields.get(HEADER), fields.get(KEY)
    if header is None or key is None:
        return None
    if not is_header_name(header.value):
        fields.problem(HEADER, SpecCode.VALUE, f"'{header.value}' is no name of a header", expected="such as X-Api-Key")
        return None
    return ApiKey(header=header.value, variable=key)


def _oauth2(fields: Fields) -> OAuth2 | None:
    url, client, secret = fields.get(TOKEN_URL), fields.get(CLIENT_ID), fields.get(CLIENT_SECRET)
    scope, audience, in_body = fields.get(SCOPE), fields.get(AUDIENCE), fields.get(IN_BODY)
    if url is None or client is None or secret is None:
        return None
    try:
        parts = split_address(url.value, "`token_url`")
    except UsageError as error:
        fields.problem(TOKEN_URL, SpecCode.VALUE, str(error), expected="an address")
        return None
    is_address = parts.scheme in ("http", "https") and parts.hostname and is_host(parts.hostname)
    if not is_address or parts.fragment or "@" in parts.netloc:
        message, expected = f"`token_url` is '{url.value}'", "an address such as https://login.example/oauth2/token"
        fields.problem(TOKEN_URL, SpecCode.VALUE, message, expected=expected)
        return None
    return OAuth2(
        token_url=url.value,
        client_id=client[0],
        client_id_variable=client[1],
        secret_variable=secret,
        scope="" if scope is None else scope.value,
        audience="" if audience is None else audience.value,
        in_body=bool(in_body),
    )


BEARER: Final = Key("bearer", SecretShape(), means="a token", example="bearer: { env: ORDERS_TOKEN }", also=("token",))
BASIC: Final = Key(
    "basic",
    Record(
        "basic",
        means="A user and a password.",
        keys=(USER, PASSWORD),
        build=_basic,
        is_thing=False,
        may_be_empty=False,
    ),
    means="a user and a password",
    example="basic: { user: clerk, password: { env: BANK_PASSWORD } }",
)
API_KEY: Final = Key(
    "api_key",
    Record(
        "api_key",
        means="A key in a header of the service's own.",
        keys=(HEADER, KEY),
        build=_api_key,
        is_thing=False,
        may_be_empty=False,
    ),
    means="a key in a header of the service's own",
    example="api_key: { header: X-Api-Key, key: { env: ORDERS_KEY } }",
)
OAUTH2: Final = Key(
    "oauth2",
    Record(
        "oauth2",
        means="Tokens by OAuth 2.0 client credentials.",
        keys=(TOKEN_URL, CLIENT_ID, CLIENT_SECRET, SCOPE, AUDIENCE, IN_BODY),
        build=_oauth2,
        is_thing=False,
        may_be_empty=False,
    ),
    means="tokens by OAuth 2.0 client credentials, kept while they are good",
    example="oauth2: { token_url: https://login.example/token, client_id: us, client_secret: { env: SECRET } }",
)


def _auth(fields: Fields) -> Auth | None:
    given = [key for key in (BEARER, BASIC, API_KEY, OAUTH2) if key in fields]
    if len(given) > 1:
        message = f"`auth` has {' and '.join(f'`{key.name}`' for key in given)}"
        fields.problem(given[1], SpecCode.CONFLICT, message, expected="one of them")
        return None
    variable = fields.get(BEARER)
    if variable is not None:
        return Bearer(variable)
    return fields.get(BASIC) or fields.get(API_KEY) or fields.get(OAUTH2)


AUTH: Final = Key(
    "auth",
    Record(
        "auth",
        means="What proves who asks.",
        keys=(BEARER, BASIC, API_KEY, OAUTH2),
        build=_auth,
        is_thing=False,
        may_be_empty=False,
    ),
    means="what proves who asks, from environment variables",
    example="auth: { bearer: { env: ORDERS_TOKEN } }",
)

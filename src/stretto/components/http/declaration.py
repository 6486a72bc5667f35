"""What a declaration of kind ``http`` may hold in a workflow file."""

from functools import partial
from pathlib import Path
from typing import Any, Final

from stretto.components.http.action import Action
from stretto.components.http.action_keys import ACTION_KEYS, ActionSpec, action_spec
from stretto.components.http.auth_keys import AUTH
from stretto.components.http.compiling import compile_action
from stretto.components.http.pairs import is_header_name
from stretto.components.http.request_keys import HEADERS, URL
from stretto.components.http.response_keys import ERRORS
from stretto.components.http.secrecy import check_secrecy
from stretto.components.http.service import HttpService
from stretto.components.http.service_keys import (
    ACTION_FIELD,
    ACTIONS,
    CA,
    CLIENT_CERT,
    CLIENT_KEY,
    DEFAULT_ACTION_FIELD,
    IDEMPOTENCY_HEADER,
    IDEMPOTENT,
    MAX_CONNECTIONS,
    MAX_RESPONSE_BYTES,
    PROXY,
    SERVICE_KEYS,
)
from stretto.components.http.settings import ONLY, HttpSettings
from stretto.components.http.tls import TlsFiles
from stretto.components.option_shapes import DESCRIPTION_KEY, VERSION_KEY, Make
from stretto.components.web_address import is_host, split_address
from stretto.spec.codes import SpecCode
from stretto.spec.nodes import MapNode, to_json
from stretto.spec.records import Fields, Key, Record
from stretto.types.enums import Effect
from stretto.types.errors import UsageError
from stretto.types.json import Json, JsonObject
from stretto.types.protocols import Component

_SHARED: Final = (HEADERS, ERRORS)
"""Keys of a request that may stand beside `actions`, for all of them."""


def _build(fields: Fields) -> Make | None:
    specs = _specs(fields)
    options = _options(fields)
    if specs is None or options is None:
        return None
    shared = ONLY not in specs
    headers, errors = (fields.get(HEADERS), fields.get(ERRORS)) if shared else (None, None)
    compiled: dict[str, Action] = {}
    for name, spec in specs.items():
        found = compile_action(spec, headers, errors or (), fields.report)
        if found is not None:
            compiled[name] = found
    if len(compiled) < len(specs) or not _check_effects(fields, list(compiled.values())):
        return None
    check_secrecy(fields, specs, compiled)
    settings = HttpSettings(
        actions={name: spec.written for name, spec in specs.items()},
        compiled=compiled,
        headers=_written(fields, HEADERS) if shared else {},
        errors=_listed(fields) if shared else [],
        **options,
    )
    return partial(_make, settings, _tls(fields, list(compiled.values())))


def _specs(fields: Fields) -> dict[str, ActionSpec] | None:
    """What can be asked, by name; None after reporting that nothing can."""
    if ACTIONS not in fields:
        if ACTION_FIELD in fields:
            fields.problem(ACTION_FIELD, SpecCode.NO_EFFECT, "there is one action only", expected="`actions`")
        if URL not in fields:
            if URL.name not in fields.meant:
                message = "this service has neither `url` nor `actions`"
                problem = fields.node.span.problem(
                    SpecCode.MISSING_KEY, message, expected="one of them", suggestion=URL.example
                )
                fields.report.add(problem)
            return None
        spec = action_spec(fields)
        return None if spec is None else {ONLY: spec}
    for key in ACTION_KEYS:
        if key in fields and key not in _SHARED:
            message = f"`{key.name}` is said of one request, and here are several"
            fields.problem(key, SpecCode.CONFLICT, message, expected="it in the action that it belongs to")
    named = fields.get(ACTIONS)
    if named is None:
        return None
    specs = dict(named)
    return specs if _check_action_field(fields, specs) and len(specs) == _count(fields) else None


def _count(fields: Fields) -> int:
    node = fields.node.get(ACTIONS.name)
    return len(node.entries) if isinstance(node, MapNode) else 0


def _check_action_field(fields: Fields, specs: dict[str, ActionSpec]) -> bool:
    name = _action_field(fields)
    for action, spec in specs.items():
        named = spec.input.get("properties") if spec.input is not None else None
        if isinstance(named, dict) and name in named:
            message = f"the action '{action}' has an input field '{name}', which names the action itself"
            problem = spec.problem(
                "input", SpecCode.CONFLICT, message, expected="another name", suggestion="action_field: do"
            )
            fields.report.add(problem)
            return False
    return True


def _action_field(fields: Fields) -> str:
    given = fields.get(ACTION_FIELD)
    return DEFAULT_ACTION_FIELD if given is None else given.value


def _options(fields: Fields) -> dict[str, Any] | None:
    options: dict[str, Any] = {
        key.name: fields.get(key) for key in (AUTH, IDEMPOTENT, MAX_CONNECTIONS, MAX_RESPONSE_BYTES) if key in fields
    }
    if ACTIONS in fields:
        options["action_field"] = _action_field(fields)
    for key in (VERSION_KEY, DESCRIPTION_KEY, IDEMPOTENCY_HEADER, PROXY):
        text = fields.get(key)
        if text is not None:
            options[key.name] = text.value
    header = options.get(IDEMPOTENCY_HEADER.name)
    if header is not None and not options.get(IDEMPOTENT.name):
        message = "no key is sent, since the service is not `idempotent`"
        fields.problem(IDEMPOTENCY_HEADER, SpecCode.NO_EFFECT, message, expected="idempotent: true, or remove it")
    elif header is not None and not is_header_name(header):
        message = f"'{header}' is no name of a header"
        fields.problem(IDEMPOTENCY_HEADER, SpecCode.VALUE, message, expected="letters, digits and '-'")
    _check_proxy(fields, options.get(PROXY.name, ""))
    return None if None in options.values() else options


def _check_proxy(fields: Fields, proxy: str) -> None:
    if not proxy:
        return
    try:
        parts = split_address(proxy, "`proxy`")
    except UsageError as error:
        fields.problem(PROXY, SpecCode.VALUE, str(error), expected=PROXY.example)
        return
    is_address = parts.scheme in ("http", "https") and parts.hostname and is_host(parts.hostname)
    if not is_address or parts.path.strip("/") or "@" in parts.netloc:
        message = "`proxy` is no address of a host and a port alone"
        fields.problem(PROXY, SpecCode.VALUE, message, expected=PROXY.example)


def _check_effects(fields: Fields, actions: list[Action]) -> bool:
    if IDEMPOTENT in fields and fields.get(IDEMPOTENT) and all(action.effect is not Effect.WRITE for action in actions):
        message = "nothing of it writes, so `idempotent` has no effect"
        fields.problem(IDEMPOTENT, SpecCode.NO_EFFECT, message, expected="an action that writes, or remove it")
        return False
    return True


def _written(fields: Fields, key: Key[Any]) -> JsonObject:
    node = fields.node.get(key.name)
    value: Json = None if node is None else to_json(node)
    return value if isinstance(value, dict) else {}


def _listed(fields: Fields) -> list[Json]:
    node = fields.node.get(ERRORS.name)
    value: Json = None if node is None else to_json(node)
    return value if isinstance(value, list) else []


def _tls(fields: Fields, actions: list[Action]) -> TlsFiles:
    files = TlsFiles(ca=fields.get(CA), client_cert=fields.get(CLIENT_CERT), client_key=fields.get(CLIENT_KEY))
    if CLIENT_KEY in fields and CLIENT_CERT not in fields:
        message = "there is no certificate that this key belongs to"
        fields.problem(CLIENT_KEY, SpecCode.NO_EFFECT, message, expected="`client_cert`, or remove it")
    for key in (CA, CLIENT_CERT):
        if key in fields and not any(action.address.origin.casefold().startswith("https:") for action in actions):
            message = f"nothing is asked over https, so `{key.name}` has no effect"
            fields.problem(key, SpecCode.NO_EFFECT, message, expected="an address with https://, or remove it")
    return files


def _make(settings: HttpSettings, tls: TlsFiles, name: str, folder: Path) -> Component:
    return HttpService(name, settings, ssl=tls.context(folder))


HTTP: Final[Record[Make]] = Record(
    "service",
    means="An HTTP service, asked as declared.",
    keys=(*ACTION_KEYS, *SERVICE_KEYS),
    build=_build,
    may_be_empty=False,
)

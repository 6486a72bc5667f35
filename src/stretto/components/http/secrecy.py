"""What stands in the environment goes to other machines by TLS only, unless a declaration asks for less by name."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from stretto.components.http.action import Action
from stretto.components.http.action_keys import ActionSpec
from stretto.components.http.auth_keys import AUTH
from stretto.components.http.oauth import OAuth2
from stretto.components.http.request_keys import HEADERS, URL
from stretto.components.http.service_keys import UNENCRYPTED
from stretto.components.http.templates import SECRET
from stretto.components.web_address import is_here, split_address
from stretto.spec.codes import SpecCode
from stretto.spec.nodes import to_json
from stretto.spec.records import Fields
from stretto.spec.source import Span
from stretto.types.json import Json

_PLACEHOLDER: Final = re.compile(r"\{env:")


def check_secrecy(fields: Fields, specs: Mapping[str, ActionSpec], compiled: Mapping[str, Action]) -> None:
    """Report each address to which something of the environment would go for others on the way to read."""
    readable = list(_readable(fields, specs, compiled))
    if fields.get(UNENCRYPTED) and not readable:
        message = "nothing of the environment is sent without TLS to another machine"
        fields.problem(UNENCRYPTED, SpecCode.NO_EFFECT, message, expected="it removed")
    for place, url in () if fields.get(UNENCRYPTED) else readable:
        message = f"what stands in the environment would be sent unencrypted to {split_address(url, 'it').netloc}"
        expected = "https://, or this machine; `unencrypted: true` where others on the way may read it"
        fields.report.add(place.problem(SpecCode.CONFLICT, message, expected=expected))


def _readable(
    fields: Fields, specs: Mapping[str, ActionSpec], compiled: Mapping[str, Action]
) -> Iterator[tuple[Span, str]]:
    """Addresses without TLS on other machines that are sent something of the environment, and where they stand."""
    auth, headers = fields.get(AUTH), fields.node.get(HEADERS.name)
    if isinstance(auth, OAuth2) and _is_open(auth.token_url):
        yield fields.key_span(AUTH), auth.token_url
    of_all = auth is not None or (headers is not None and _reads_environment(to_json(headers)))
    for spec, action in _asked(specs, compiled):
        if _is_open(action.address.origin) and (of_all or _reads_environment(spec.written)):
            yield spec.places[URL.name], action.address.origin


def _asked(specs: Mapping[str, ActionSpec], compiled: Mapping[str, Action]) -> Iterator[tuple[ActionSpec, Action]]:
    """All that is asked, also whether a write happened: as it is written, and compiled."""
    for name, action in compiled.items():
        spec = specs[name]
        yield spec, action
        if spec.confirm is not None and action.confirm is not None:
            yield spec.confirm.action, action.confirm.action


def _reads_environment(written: Json) -> bool:
    """Whether a declaration says ``{env: NAME}`` somewhere, or ``{env:NAME}`` in a text."""
    if isinstance(written, dict):
        inner = [value for name, value in written.items() if name != "confirm"]
        return written.keys() == SECRET or any(map(_reads_environment, inner))
    if isinstance(written, list):
        return any(map(_reads_environment, written))
    return isinstance(written, str) and _PLACEHOLDER.search(written) is not None


def _is_open(url: str) -> bool:
    parts = split_address(url, "`url`")
    return parts.scheme == "http" and not is_here(parts.hostname or "")

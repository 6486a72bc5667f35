"""Builds the request of one call."""

from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

from stretto.components.http.action import ACCEPTED, Action
from stretto.components.http.exchange import Outgoing
from stretto.components.http.pairs import as_headers, as_query, fill_pairs
from stretto.components.http.scope import Frame
from stretto.components.http.secrets import Secrets
from stretto.components.http.values import UnfitError
from stretto.types.enums import Effect
from stretto.types.errors import Code, ComponentError, ExpressionError
from stretto.types.messages import Call

DEFAULT_IDEMPOTENCY_HEADER: Final = "Idempotency-Key"
"""draft-ietf-httpapi-idempotency-key-header. Its value goes without quotes, as services that know it take it."""


def request_of(
    name: str, action: Action, idempotency_header: str, call: Call, frame: Frame, secrets: Secrets
) -> Outgoing:
    """What is sent, but for what proves who asks. `idempotency_header` is empty where no key goes along.

    Raises ComponentError, with `sent` false, for an input that fits no request.
    """
    try:
        url = action.address.fill(frame, secrets)
        query = as_query(fill_pairs(action.query, "query", frame, secrets))
        own = as_headers(fill_pairs(action.headers, "headers", frame, secrets))
        body = None if action.body is None else action.body.encode(frame, secrets)
    except (UnfitError, ExpressionError) as error:
        text = f"component '{name}' cannot make a request of this input: {error}"
        raise ComponentError(secrets.out_of(text), Code.INVALID_ARGUMENT, sent=False) from error
    implied = {"Accept": ACCEPTED[action.form], **({} if action.body is None else action.body.headers)}
    if idempotency_header and action.effect is Effect.WRITE:
        implied[idempotency_header] = quote(call.effect_key, safe="/[]!$&'()*+,;=:@")
    implied |= call.run.trace
    return Outgoing(
        method=action.method,
        url=with_query(url, query),
        headers=_over(implied, own),
        body=body,
        follows=action.follows,
    )


def with_query(url: str, query: str) -> str:
    """The address with further parameters."""
    if not query:
        return url
    return f"{url}{'&' if '?' in url else '?'}{query}"


def _over(implied: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """What the declaration says of a header outweighs what follows from the rest."""
    said = {name.casefold() for name in own}
    return {**{name: value for name, value in implied.items() if name.casefold() not in said}, **own}

"""What a request says beside its body: its idempotency key, and the trace that it belongs to."""

from collections.abc import Iterable
from typing import Final

import msgspec

from stretto.types.messages import TRACEPARENT, TRACESTATE

_IDEMPOTENCY_KEY: Final = b"idempotency-key"


class Heads(msgspec.Struct, frozen=True, kw_only=True):
    """As they came."""

    key: str = ""
    traceparent: str = ""
    tracestate: str = ""


def heads_in(headers: Iterable[tuple[bytes, bytes]]) -> Heads:
    """Those of a request over HTTP. A state may come in several headers, which make one list."""
    said: dict[bytes, list[str]] = {}
    for name, value in headers:
        said.setdefault(name, []).append(value.decode("latin-1"))
    return Heads(
        key="".join(said.get(_IDEMPOTENCY_KEY, ())[-1:]),
        traceparent="".join(said.get(TRACEPARENT.encode(), ())[-1:]),
        tracestate=",".join(said.get(TRACESTATE.encode(), ())),
    )

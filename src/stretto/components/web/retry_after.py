"""When a server says that the next attempt may come."""

import math
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

_MS_PER_S = 1000.0


def retry_after_s(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds from `now`, the time of day since the epoch; None when nothing usable is said.

    ``Retry-After`` is a number of seconds or an HTTP date (RFC 9110, section 10.2.3); OpenAI adds the finer
    ``Retry-After-Ms``. ``x-ratelimit-reset-*`` is not read: it tells when the whole quota is full again, not when the
    next call passes, and servers disagree on its unit.
    """
    told = _number(headers.get("Retry-After-Ms", ""))
    if told is not None:
        return told / _MS_PER_S
    text = headers.get("Retry-After", "")
    told = _number(text)
    if told is not None:
        return told
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - now)
    except (ValueError, OverflowError):  # a date that no calendar has
        return None


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None

"""Every way in which a server says when the next attempt may come."""

import pytest
from multidict import CIMultiDict

from stretto.components.web.retry_after import retry_after_s

NOW = 1_445_412_480.0  # Wed, 21 Oct 2015 07:28:00 GMT, the date in RFC 9110's own example


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"Retry-After": "0"}, 0.0),
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:30 GMT"}, 30.0),
        ({"Retry-After": "Wed, 21 Oct 2015 07:27:00 GMT"}, 0.0),
        ({"Retry-After-Ms": "250", "Retry-After": "1"}, 0.25),
        ({"Retry-After-Ms": "soon", "Retry-After": "1"}, 1.0),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "-3"}, None),
        ({"Retry-After": "inf"}, None),
        ({"Retry-After": ""}, None),
        ({"Retry-After": "Mon, 01 Jan 99999999999999999999 00:00:00 GMT"}, None),
        ({"x-ratelimit-reset-requests": "6m0s"}, None),
        ({}, None),
    ],
)
def test_seconds_until_the_next_attempt(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_s(CIMultiDict(headers), NOW) == seconds

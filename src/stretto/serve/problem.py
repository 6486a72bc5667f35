"""Errors over HTTP as RFC 9457 has them: ``application/problem+json``."""

from http import HTTPStatus

import orjson
from fastapi import Response

from stretto.types.json import Json, JsonObject


def problem(status: HTTPStatus, detail: str, **more: Json) -> Response:
    """A problem whose type is its status (``about:blank``, RFC 9457 section 4.2.1), with what went wrong in words."""
    body: JsonObject = {
        "type": "about:blank",
        "title": status.phrase,
        "status": int(status),
        "detail": detail,
        **more,
    }
    return Response(orjson.dumps(body), status_code=status, media_type="application/problem+json")

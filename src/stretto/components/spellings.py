"""How others write a text that they were sent: in JSON, in XML, in an address, in a form."""

import re
from functools import lru_cache
from html import escape
from urllib.parse import quote, quote_plus

import orjson


@lru_cache(maxsize=64)
def spellings(text: str) -> frozenset[str]:
    """The text as it stands and as it is written in JSON, also with its slashes escaped as PHP does, in XML, and
    percent-encoded, in digits of either case (RFC 3986, section 2.1)."""
    in_json = orjson.dumps(text)[1:-1].decode()
    encoded = {quote(text), quote(text, safe=""), quote_plus(text)}
    lower = {re.sub("%[0-9A-F]{2}", lambda found: found[0].lower(), each) for each in encoded}
    in_xml = {escape(text), escape(text, quote=False)}
    return frozenset({text, in_json, in_json.replace("/", "\\/"), *encoded, *lower, *in_xml})

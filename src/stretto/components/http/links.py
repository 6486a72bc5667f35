"""The ``Link`` header: RFC 8288, section 3."""

import re
from typing import Final

_LINK: Final = re.compile(r"<([^<>]*)>((?:\s*;\s*[\w!#$%&'*+.^`|~-]+\s*(?:=\s*(?:\"[^\"]*\"|[^\s;,\"]+))?)*)")
_REL: Final = re.compile(r";\s*rel\s*=\s*(?:\"([^\"]*)\"|([^\s;,\"]+))", re.IGNORECASE)


def links_in(header: str) -> dict[str, str]:
    """Addresses by relation, the first of each: ``{"next": "https://..."}``."""
    links: dict[str, str] = {}
    for target, parameters in _LINK.findall(header):
        relation = _REL.search(parameters)
        for name in (relation[1] or relation[2] or "").split() if relation else ():
            links.setdefault(name.casefold(), target)
    return links

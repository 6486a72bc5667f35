"""Paths into XML: names of elements with ``/`` between them, and ``@name`` at the end for an attribute."""

import re
from collections.abc import Mapping
from typing import Final

from stretto.components.xml.parse import Element
from stretto.types.errors import UsageError

_NAME: Final = r"(?:[A-Za-z_][\w.-]*:)?[A-Za-z_][\w.-]*"
_PATH: Final = re.compile(rf"(?:\.|{_NAME}(?:/{_NAME})*)?(?:(?:^|/)@{_NAME})?")


class XmlPath:
    """Where a value stands below an element. A name without a prefix is met in any namespace."""

    def __init__(self, text: str, namespaces: Mapping[str, str], what: str) -> None:
        if not text or not _PATH.fullmatch(text):
            raise UsageError(f"{what} is '{text}'; expected names like order/line/@id, or . for the element itself")
        *steps, last = text.split("/")
        self.attribute = last[1:] if last.startswith("@") else ""
        self.steps = [step for step in [*steps, *([] if self.attribute else [last])] if step != "."]
        self.text = text
        for prefix in (name.partition(":")[0] for name in [*self.steps, self.attribute] if ":" in name):
            if prefix not in namespaces:
                raise UsageError(f"{what} is '{text}', and `namespaces` has no '{prefix}'")
        self._find = "/".join(_qualified(step, namespaces) for step in self.steps) or "."
        self._key = _qualified(self.attribute, namespaces).removeprefix("{*}")

    def elements(self, above: Element) -> list[Element]:
        """All elements at the path."""
        found: list[Element] = above.findall(self._find)
        return found

    def text_of(self, element: Element) -> str | None:
        """The attribute of an element at the path, or its own text; None when it has no such attribute."""
        text: str | None = element.get(self._key) if self.attribute else "".join(element.itertext())
        return text


def _qualified(name: str, namespaces: Mapping[str, str]) -> str:
    prefix, colon, local = name.rpartition(":")
    return f"{{{namespaces[prefix]}}}{local}" if colon else f"{{*}}{name}"

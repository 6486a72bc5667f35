"""Paths into XML: names of elements with ``/`` between them, and ``@name`` at the end for an attribute."""

import re
from collections.abc import Mapping
from typing import Final

from stretto.components.xml.parse import Element
from stretto.types.errors import UsageError

_NAME: Final = r"(?:[A-Za-z_][\w.-]*:)?[A-Za-z_][\w.-]*"
_PATH: Final = re.compile(rf"(?:\.|{_NAME}(?:/{_NAME})*)?(?:(?:^|/)@{_NAME})?")


class XmlPath:
    """Where a value stands below an element. A name without a prefix is met in any namespace, and written in none."""

    def __init__(self, text: str, namespaces: Mapping[str, str], what: str) -> None:
        if not text or not _PATH.fullmatch(text):
            raise UsageError(f"{what} is '{text}'; expected names like order/line/@id, or . for the element itself")
        *steps, last = text.split("/")
        attribute = last[1:] if last.startswith("@") else ""
        names = [step for step in [*steps, *([] if attribute else [last])] if step != "."]
        for prefix in (name.partition(":")[0] for name in [*names, attribute] if ":" in name):
            if prefix not in namespaces:
                raise UsageError(f"{what} is '{text}', and `namespaces` has no '{prefix}'")
        self.text = text
        self.steps = [_written(name, namespaces) for name in names]
        """Names of the elements on the way, as lxml writes them."""
        self.attribute = _written(attribute, namespaces)
        """Name of the attribute; empty for the text of the element."""
        self._find = "/".join(step if step.startswith("{") else f"{{*}}{step}" for step in self.steps) or "."

    def elements(self, above: Element) -> list[Element]:
        """All elements at the path."""
        found: list[Element] = above.findall(self._find)
        return found

    def text_of(self, element: Element, *, is_shared: bool = False) -> str | None:
        """The attribute of an element at the path, or its text; None when it has no such attribute.

        Where elements below it are other fields' (`is_shared`), their text is not its own.
        """
        if self.attribute:
            text: str | None = element.get(self.attribute)
            return text
        if is_shared:
            return "".join([element.text or "", *(below.tail or "" for below in element)])
        return "".join(element.itertext())

    def leads_to(self, other: "XmlPath") -> bool:
        """Whether its element stands on the way to another's, or to one whose attribute that is."""
        deep = len(self.steps)
        return not self.attribute and deep < len(other.steps) and other.steps[:deep] == self.steps

    def made_below(self, element: Element) -> Element:
        """The element at the path, made where it is not there."""
        return made(element, self.steps)


def made(element: Element, steps: list[str]) -> Element:
    """The element at the end of the steps, each made where it is not there."""
    for step in steps:
        below = element.find(step)
        if below is None:
            below = element.makeelement(step)
            element.append(below)
        element = below
    return element


def _written(name: str, namespaces: Mapping[str, str]) -> str:
    prefix, colon, local = name.rpartition(":")
    return f"{{{namespaces[prefix]}}}{local}" if colon else name

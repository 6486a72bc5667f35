"""XML with placeholders, as a tree: what is put into it is text, whatever it holds."""

import re
from collections.abc import Callable, Iterable
from typing import Any, Final, Protocol, TypeAlias

import msgspec

from stretto.components.xml.parse import Element, XmlError, parse_xml

NAMESPACE: Final = "urn:stretto"

EACH: Final = f"{{{NAMESPACE}}}each"
"""Attribute of an element that stands once for each item of a list."""

Frame: TypeAlias = Any  # whoever compiled the placeholders knows what they read
"""What a document is filled from."""

Text: TypeAlias = Callable[[Frame], str | None]
"""The text of a placeholder; None where nothing is to stand there."""

Items: TypeAlias = Callable[[Frame], Iterable[Frame]]
"""The frame of each item of a list."""

Piece: TypeAlias = str | Text


class Marks(Protocol):
    """Compiles what stands in a template."""

    def text(self, inner: str) -> Text:
        """What stands in the braces of a placeholder."""
        ...

    def each(self, inner: str) -> tuple[Items, "Marks"]:
        """What names a list, and how placeholders inside an element for each of its items are compiled."""
        ...


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """One element of a template."""

    tag: str
    nsmap: dict[str | None, str]
    attributes: tuple[tuple[str, tuple[Piece, ...]], ...]
    each: Items | None
    """None when it stands once."""
    content: "tuple[Piece | Node, ...]"


def read_template(text: str, mark: re.Pattern[str], marks: Marks) -> Node:
    """Read a template; `mark` finds a placeholder, and what it captures stands in the braces. Raises XmlError."""
    return _node(parse_xml(text.strip().encode()), mark, marks)


def _node(element: Element, mark: re.Pattern[str], marks: Marks) -> Node:
    listed = element.get(EACH)
    each, inside = (None, marks) if listed is None else marks.each(listed.strip())
    content: list[Piece | Node] = [*_pieces(element.text or "", mark, inside)]
    for child in element:
        content += [_node(child, mark, inside), *_pieces(child.tail or "", mark, inside)]
    return Node(
        tag=element.tag,
        nsmap={prefix: uri for prefix, uri in element.nsmap.items() if uri != NAMESPACE},
        attributes=tuple((name, _pieces(value, mark, inside)) for name, value in element.items() if name != EACH),
        each=each,
        content=tuple(content),
    )


def _pieces(text: str, mark: re.Pattern[str], marks: Marks) -> tuple[Piece, ...]:
    found: list[Piece] = []
    end = 0
    for each in mark.finditer(text):
        found += [text[end : each.start()], marks.text(each[1])]
        end = each.end()
    return tuple(piece for piece in (*found, text[end:]) if piece)


def render(node: Node, frame: Frame) -> bytes:
    """The document in UTF-8, with its declaration. Raises XmlError for a character that XML cannot hold."""
    from lxml import etree

    root = etree.Element(node.tag, nsmap=node.nsmap)
    try:
        _fill(root, node, frame)
    except ValueError as error:
        raise XmlError(str(error)) from error
    written: bytes = etree.tostring(root, encoding="utf-8", xml_declaration=True)
    return written


def _fill(element: Element, node: Node, frame: Frame) -> None:
    for name, pieces in node.attributes:
        value = _text(pieces, frame)
        if value is not None:
            element.set(name, value)
    last: Element = None
    for piece in node.content:
        if isinstance(piece, Node):
            last = _children(element, piece, frame, last)
        else:
            _append(element, last, _text((piece,), frame) or "")


def _children(element: Element, node: Node, frame: Frame, last: Element) -> Element:
    """Add what an element of the template stands for; gives the last that was added."""
    from lxml import etree

    for each in (frame,) if node.each is None else node.each(frame):
        if not _is_left_out(node, each):
            last = etree.SubElement(element, node.tag, nsmap=node.nsmap)
            _fill(last, node, each)
    return last


def _is_left_out(node: Node, frame: Frame) -> bool:
    """An element that holds one placeholder and nothing else goes with its value."""
    if len(node.content) != 1:
        return False
    (only,) = node.content
    return not isinstance(only, str | Node) and only(frame) is None


def _text(pieces: tuple[Piece, ...], frame: Frame) -> str | None:
    """The pieces together; None when they are one placeholder for which nothing stands."""
    texts = [piece if isinstance(piece, str) else piece(frame) for piece in pieces]
    return texts[0] if len(texts) == 1 else "".join(text or "" for text in texts)


def _append(element: Element, last: Element, text: str) -> None:
    if last is None:
        element.text = (element.text or "") + text
    else:
        last.tail = (last.tail or "") + text

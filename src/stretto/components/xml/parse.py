"""Reads XML that a stranger sent: no DTD, no entities of its own, nothing fetched, nothing without end."""

from importlib.util import find_spec
from typing import Any, Final, TypeAlias

from stretto.types.errors import MissingExtraError

Element: TypeAlias = Any  # lxml brings no types
"""An element of lxml's tree."""

EXTRA: Final = "xml"

MAX_QUOTED_CHARS: Final = 200
"""Of what the parser says, which quotes the document."""


class XmlError(Exception):
    """The text is no XML, or XML that is not read; the message says why."""


def check_installed(what: str) -> None:
    """Raise MissingExtraError, naming `what` needs it, unless lxml is there."""
    if find_spec("lxml") is None:
        raise MissingExtraError(what, EXTRA)


def parse_xml(content: bytes, *, charset: str = "") -> Element:
    """The root of a document, without comments and processing instructions.

    `charset` is what the protocol around it says, which outweighs the document's own declaration (RFC 7303, section
    3). A document with a DTD is refused, whatever is in it: entities that double each other ("billion laughs"), and
    entities that lead to files and servers, can only be declared there. libxml2 holds what is left of the text to 256
    levels and 10 MB a node, since `huge_tree` is off. Raises XmlError.
    """
    from lxml import etree

    try:
        parser = etree.XMLParser(
            encoding=charset or None,
            resolve_entities=False,
            no_network=True,
            load_dtd=False,
            dtd_validation=False,
            huge_tree=False,
            recover=False,
            remove_comments=True,
            remove_pis=True,
        )
        root = etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        raise XmlError((error.msg or "it is empty")[:MAX_QUOTED_CHARS]) from error
    except LookupError as error:
        raise XmlError(f"its encoding '{charset}' is not known") from error
    document = root.getroottree().docinfo
    if document.doctype or document.internalDTD is not None or document.externalDTD is not None:
        raise XmlError("it has a DTD, which may declare entities that never end or lead elsewhere, and is refused")
    return root

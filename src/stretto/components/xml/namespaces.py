"""How a declaration says which namespaces the prefixes in its paths stand for."""

from typing import Final

from stretto.spec.nested import Entries
from stretto.spec.shapes import Rule, Text

_PREFIX: Final = Text(
    expected="a prefix",
    rules=(
        Rule(
            pattern=r"^(?![Xx][Mm][Ll])[A-Za-z_][A-Za-z0-9_.-]*$",
            message="is no prefix",  # Namespaces in XML 1.0, sections 3 and 4
            expected="letters, digits, '_', '.' and '-'; those that begin with xml are XML's own",
        ),
    ),
)

_URI: Final = Text(
    expected="the name of a namespace",
    rules=(
        Rule(
            pattern=r"^[^\s\u0000-\u001f\u007f]+$",
            message="is no name of a namespace",
            expected="an address such as urn:bank, without white space",
        ),
    ),
)

NAMESPACES_BY_PREFIX: Final = Entries(
    key=_PREFIX, value=_URI, build=lambda key, value: (key.value, value.value), what="prefixes and their namespaces"
)

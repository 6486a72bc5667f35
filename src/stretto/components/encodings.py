"""Which of the encodings that Python knows are ever meant by who names one."""

import codecs
from typing import Final

_NOT_MEANT: Final = frozenset({"idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape", "utf_7"})
"""Some take time that grows with the square of the text; none is what a program or a service speaks."""


def known_encoding(name: str) -> str:
    """Python's name of an encoding of text. Raises LookupError for one that is not known, or not read."""
    info = codecs.lookup(name)
    known = info.name.replace("-", "_")
    if known in _NOT_MEANT:
        raise LookupError(f"the encoding '{name}' is not read")
    if not info._is_text_encoding:  # noqa: SLF001  # Python's own way to tell base64 and its like
        raise LookupError(f"'{name}' is no encoding of text")
    return known

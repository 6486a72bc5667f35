"""Reads the literals of CEL: numbers in their ranges, text and bytes with escapes (cel-spec langdef, Syntax)."""

import re
from typing import Final

from stretto.plan.expr.problem import ExprCode, refuse
from stretto.types.arguments import INT64_MAX

MAX_UINT: Final = 2**64 - 1

PLAIN_ESCAPES: Final = {
    **dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True)),
    **{mark: mark for mark in "\\?\"'`"},
}

ESCAPE: Final = re.compile(
    r"""\\(?:(?P<plain>[abfnrtv\\?"'`])
    | [xX](?P<byte>[0-9a-fA-F]{2})
    | u(?P<short>[0-9a-fA-F]{4})
    | U(?P<long>[0-9a-fA-F]{8})
    | (?P<octal>[0-3][0-7]{2}))""",
    re.VERBOSE,
)

ESCAPES_IN_WORDS: Final = r"""\\ \' \" \n \r \t \a \b \f \v \? \`, \xHH, \uHHHH, \UHHHHHHHH or \OOO (octal)"""


def read_int(digits: str, start: int, *, negative: bool = False) -> int:
    """An `int` literal's value; its sign belongs to it, so that -2^63 can be written."""
    value = int(digits, 16) if digits[:2] in ("0x", "0X") else int(digits)
    if value > INT64_MAX + negative:
        raise refuse(
            ExprCode.SYNTAX,
            f"the integer {digits} does not fit 64 bits",
            start,
            start + len(digits),
            expected="-9223372036854775808 to 9223372036854775807",
        )
    return -value if negative else value


def read_uint(text: str, start: int) -> int:
    """A `uint` literal's value."""
    digits = text[:-1]
    value = int(digits, 16) if digits[:2] in ("0x", "0X") else int(digits)
    if value > MAX_UINT:
        end = start + len(text)
        raise refuse(ExprCode.SYNTAX, f"{text} does not fit 64 bits", start, end, expected="at most 2^64 - 1")
    return value


def read_double(text: str, start: int) -> float:
    """A `double` literal's value."""
    value = float(text)
    if value == float("inf"):
        end = start + len(text)
        raise refuse(ExprCode.SYNTAX, f"the number {text} is too large", start, end, expected="at most 1.8e308")
    return value


def read_string(body: str, start: int, *, raw: bool) -> str:
    """The text between the quotes, from `start` in the source."""
    if raw:
        return body
    text, at = [], 0
    while (slash := body.find("\\", at)) >= 0:
        escape = _escape(body, slash, start)
        text += [body[at:slash], _character(escape, start + slash)]
        at = escape.end()
    return _paired("".join(text) + body[at:], start)


def read_bytes(body: str, start: int, *, raw: bool) -> bytes:
    """The bytes between the quotes: UTF-8 of the characters, ``\\x`` and octal escapes as the byte they name."""
    if raw:
        return body.encode()
    data, at = bytearray(), 0
    while (slash := body.find("\\", at)) >= 0:
        escape = _escape(body, slash, start)
        if escape["short"] or escape["long"]:
            raise _bad_escape(escape[0], start + slash, "bytes take \\xHH or octal, not a code point")
        character = _character(escape, start + slash)
        data += body[at:slash].encode() + bytes([ord(character)])
        at = escape.end()
    return bytes(data + body[at:].encode())


def _escape(body: str, slash: int, start: int) -> re.Match[str]:
    found = ESCAPE.match(body, slash)
    if found is None:
        raise _bad_escape(body[slash : slash + 2], start + slash, ESCAPES_IN_WORDS)
    return found


def _character(escape: re.Match[str], offset: int) -> str:
    if escape["plain"]:
        return PLAIN_ESCAPES[escape["plain"]]
    if escape["octal"]:
        return chr(int(escape["octal"], 8))
    code = int(escape["byte"] or escape["short"] or escape["long"], 16)
    if code > 0x10FFFF:
        raise _bad_escape(escape[0], offset, "a code point up to \\U0010FFFF")
    return chr(code)


def _paired(text: str, start: int) -> str:
    """Joins surrogate pairs; half a pair is no character."""
    try:
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError as error:
        raise refuse(
            ExprCode.SYNTAX,
            "half of a surrogate pair is no character",
            start,
            start + len(text),
            expected="a code point, or both halves of the pair",
        ) from error


def _bad_escape(found: str, offset: int, expected: str) -> Exception:
    end = offset + len(found)
    return refuse(
        ExprCode.SYNTAX,
        f"`{found}` is no escape",
        offset,
        end,
        expected=expected,
        suggestion="double the backslash, or write r'...' for text without escapes",
    )

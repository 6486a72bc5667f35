"""What a scalar's text means: the core schema of YAML 1.2 (section 10.3.2), inside what JSON can carry."""

import math
import re
from typing import Final

from stretto.spec.codes import SpecCode
from stretto.spec.nodes import ScalarNode, quote
from stretto.spec.report import Report
from stretto.spec.source import Span
from stretto.types.arguments import INT64_MAX, INT64_MIN

MAX_INT_DIGITS: Final = 40
"""More digits cannot be in range; they are not even converted, since that takes quadratic time."""

_INT: Final = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE: Final = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_WORDS: Final[dict[str, bool | None]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


def plain_scalar(text: str, span: Span, report: Report) -> ScalarNode:
    """A scalar without quotes: null, true, false, a number, or else text. What JSON cannot carry is reported."""
    return ScalarNode(span=span, value=_plain_value(text, span, report), text=text)


def text_scalar(text: str, span: Span, report: Report) -> ScalarNode:
    """A scalar that is text whatever it looks like. Pairs of escaped surrogates are joined, lone ones reported."""
    if any("\ud800" <= char <= "\udfff" for char in text):
        text = _join_surrogates(text, span, report)
    return ScalarNode(span=span, value=text, text=text)


def _plain_value(text: str, span: Span, report: Report) -> str | int | float | bool | None:
    if text in _WORDS:
        return _WORDS[text]
    if _INT.fullmatch(text):
        return integer(text, span, report)
    if _FLOAT.fullmatch(text):
        return real(text, span, report)
    if _NOT_FINITE.fullmatch(text):
        report_not_finite(text, span, report)
        return 0.0
    return text


def integer(text: str, span: Span, report: Report) -> int:
    """An integer within 64 bits; one outside is reported and read as 0."""
    base = {"0o": 8, "0x": 16}.get(text[:2], 10)
    value = int(text, base) if len(text) <= MAX_INT_DIGITS else INT64_MAX + 1
    if INT64_MIN <= value <= INT64_MAX:
        return value
    report.add(
        span.problem(
            SpecCode.INTEGER_RANGE,
            f"the integer {quote(text)[1:-1]} does not fit into 64 bits",
            expected="an integer from -2^63 to 2^63 - 1",
            suggestion="write a number beyond that as text, in quotes",
        )
    )
    return 0


def real(text: str, span: Span, report: Report) -> float:
    """A finite number; one that overflows is reported and read as 0."""
    value = float(text)
    if math.isfinite(value):
        return value
    report_not_finite(text, span, report)
    return 0.0


def report_not_finite(text: str, span: Span, report: Report) -> None:
    """Tell that NaN and infinity are no values here."""
    report.add(
        span.problem(
            SpecCode.NOT_FINITE,
            f"{quote(text)[1:-1]} is not a finite number, and JSON between the steps cannot carry it",
            expected="a finite number",
            suggestion="leave the key out where there is no limit, or put the word in quotes if it is text",
        )
    )


def _join_surrogates(text: str, span: Span, report: Report) -> str:
    halves = text.encode("utf-16-le", "surrogatepass")
    try:
        return halves.decode("utf-16-le")
    except UnicodeDecodeError:
        report.add(
            span.problem(
                SpecCode.SURROGATE,
                "this text holds half of a surrogate pair, which is no character",
                expected=r"both halves, as in \ud83d\ude00, or the character itself",
                suggestion="write the character itself; the file is UTF-8",
            )
        )
        return halves.decode("utf-16-le", "replace")

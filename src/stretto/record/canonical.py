"""Values as JSON: the snapshot that crosses between components, and the canonical form that digests are made of.

A snapshot is refused rather than bent: what cannot be read back as it was given is an error that says where.
"""

import math
import sys
from typing import Final

import msgspec
import orjson

from stretto.record.refusal import MAX_DEPTH, OpaqueError, has_non_finite, refuse, to_plain
from stretto.types.errors import NotJsonError
from stretto.types.ids import Digest, digest_of

DEFAULT_LIMIT_BYTES: Final = 8 * 1024 * 1024
"""Largest value that may pass between two steps. Larger ones belong behind a reference: every step that
reads a value keeps its own copy in the record."""

_STRICT: Final = orjson.OPT_STRICT_INTEGER | orjson.OPT_PASSTHROUGH_DATACLASS
"""Refuses integers beyond 53 bits, so that the common case needs no look at each; those are then judged one by one.
Data classes are left to `to_plain`: orjson drops fields that begin with _ and defaults that only the class holds."""

_WIDE: Final = orjson.OPT_NON_STR_KEYS | orjson.OPT_PASSTHROUGH_DATACLASS
"""For the second try: lets subclasses of str be keys, after the walk proved that every key is text."""


_PLAINLY_FLAT_BYTES: Final = MAX_DEPTH * 2
"""A text this short cannot nest deeper than the limit: each level opens and closes."""


_LONG_BYTES: Final = 8192
"""From which `find` is faster than `count`, also where brackets are as many as matter."""


def snapshot(value: object, limit_bytes: int = DEFAULT_LIMIT_BYTES) -> bytes:
    """Encode a value as compact JSON.

    Takes what JSON has, and dataclasses, enums, dates, UUIDs, msgspec structs, pydantic models, and arrays and
    scalars of numpy. Raises NotJsonError with the JSON Pointer of the first offending place: NaN and infinity, lone
    surrogates, integers outside [-2^63, 2^63), keys that are not text, more than 200 levels, a value that contains
    itself, any other type; and when the result is longer than `limit_bytes`.
    """
    try:
        data = b"%b" % orjson.dumps(value, to_plain, _STRICT)  # `exact`, without the call
    except TypeError as error:
        data = exact(_second_try(value, error))
    if len(data) <= _PLAINLY_FLAT_BYTES <= limit_bytes and not data.partition(b"null")[1]:
        return data  # as nearly all are; `find` takes twice as long
    if len(data) > limit_bytes:
        raise NotJsonError(
            f"the value is {len(data):,} bytes of JSON and the limit is {limit_bytes:,}; "
            "pass a reference to it (a path, a URL, a key) instead of its content"
        )
    if b"null" in data and has_non_finite(value):  # orjson writes NaN as null
        refuse(value)
    if len(data) > _PLAINLY_FLAT_BYTES and has_many_openings(data) and _depth(data) > MAX_DEPTH:
        refuse(value)
    return data


def exact(data: bytes) -> bytes:
    """The same bytes in no more memory than they need.

    orjson hands over the buffer that it wrote into, which holds 4 KiB for nine bytes and eight times a long text; a
    run in flight keeps ten of them.
    """
    return b"%b" % data


def canonical(value: object) -> bytes:
    """Write a value, or JSON text given as bytes, in the canonical form of RFC 8785.

    One deviation: an integer of up to 64 bits keeps all its digits, where the RFC would round it to a double; two
    different order numbers must not share a digest. Text is trusted to be JSON; anything else goes through `snapshot`.
    """
    text = value if type(value) is bytes else _text(value)
    try:
        tree = _decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise NotJsonError(f"no canonical form: {error}") from error
    try:
        data = orjson.dumps(tree, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # an integer beyond 64 bits
        return orjson.dumps(_by_the_letter(tree))
    if not data.isascii() and max(data) >= _ASTRAL_LEAD:
        return orjson.dumps(_by_the_letter(tree))
    return data


def _text(value: object) -> bytes:
    return bytes(value) if isinstance(value, bytes | msgspec.Raw) else snapshot(value, sys.maxsize)


def request_digest(request: object) -> Digest:
    """SHA-256 of a request's canonical form: equal for requests that mean the same."""
    return digest_of(canonical(request))


def _second_try(value: object, error: TypeError) -> bytes:
    """Say what orjson could not: raises unless only integers beyond 53 bits or subclasses of str were in its way."""
    cause = error.__cause__
    if cause is not None and not isinstance(cause, OpaqueError):
        raise NotJsonError(f"the value could not be turned into JSON: {type(cause).__name__}: {cause}") from cause
    refuse(value)
    try:
        return orjson.dumps(value, to_plain, _WIDE)
    except TypeError as second:
        raise NotJsonError(f"the value is not JSON: {second}") from second


def has_many_openings(data: bytes) -> bool:
    """Whether brackets enough open in a JSON text that it may nest deeper than a record holds.

    `count` looks at each byte by itself, `find` at many at once: in 25 KB of messages that is 3 µs in place of 20.
    """
    if len(data) < _LONG_BYTES:
        return data.count(b"{") + data.count(b"[") > MAX_DEPTH
    found = 0
    for bracket in b"{", b"[":
        at = data.find(bracket)
        while at >= 0 and found <= MAX_DEPTH:
            found += 1
            at = data.find(bracket, at + 1)
    return found > MAX_DEPTH


def _depth(data: bytes) -> int:
    """Levels of nesting of a JSON text, counted breadth first; stops one beyond the limit."""
    level = [orjson.loads(data)]
    depth = 0
    while level and depth <= MAX_DEPTH:
        containers = [value for value in level if type(value) is dict or type(value) is list]
        depth += bool(containers)
        level = [child for value in containers for child in (value.values() if type(value) is dict else value)]
    return depth


# canonical numbers and keys

_ASTRAL_LEAD: Final = 0xF0
"""First byte of a code point beyond U+FFFF in UTF-8: only with one can UTF-16 order and UTF-8 order differ."""

_MAX_PLAIN_EXPONENT: Final = 21
"""ECMAScript writes numbers below 10^21 without an exponent (ECMA-262, Number::toString, step 6)."""

_MIN_PLAIN_EXPONENT: Final = -6
"""... and down to 10^-6 (step 8)."""

_EXACT_INTEGER: Final = 2.0**53
"""Below it a whole double's decimal digits are its shortest ones."""


def _number(text: str) -> orjson.Fragment:
    """A JSON number with a fraction or an exponent, as ECMAScript writes the double nearest to it."""
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text} is beyond the largest double")
    return orjson.Fragment(_ecmascript(number))


def _ecmascript(x: float) -> str:
    """Number::toString of ECMA-262, to which RFC 8785 section 3.2.2.3 refers."""
    if -_EXACT_INTEGER < x < _EXACT_INTEGER and x.is_integer():
        return str(int(x))
    mantissa, _, exponent = repr(abs(x)).partition("e")  # the shortest digits that read back as x, like ECMAScript's
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    return ("-" if x < 0 else "") + _place_point(digits, point)


def _place_point(digits: str, point: int) -> str:
    """Write 0.DIGITS times ten to the power of `point`."""
    if len(digits) <= point <= _MAX_PLAIN_EXPONENT:
        return digits.ljust(point, "0")
    if 0 < point <= _MAX_PLAIN_EXPONENT:
        return f"{digits[:point]}.{digits[point:]}"
    if _MIN_PLAIN_EXPONENT < point <= 0:
        return "0." + "0" * -point + digits
    rest = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{digits[0]}{rest}e{point - 1:+d}"


def _by_the_letter(tree: object) -> object:
    """The same tree with keys in the order of their UTF-16 code units (RFC 8785 section 3.2.3) and huge integers as
    the doubles that they stand for."""
    if type(tree) is dict:
        return {key: _by_the_letter(tree[key]) for key in sorted(tree, key=lambda text: text.encode("utf-16-be"))}
    if type(tree) is list:
        return [_by_the_letter(item) for item in tree]
    if type(tree) is int and not -(2**63) <= tree < 2**64:
        return _number(str(tree))
    return tree


_decode: Final = msgspec.json.Decoder(float_hook=_number).decode

"""Texts of CEL that stand for what the library lacks, each over the name of a value that is ready."""

from typing import Final, assert_never

from stretto.plan.expr.semantics import EXACT_BELOW
from stretto.plan.expr.spans import LONGEST, readable
from stretto.plan.expr.syntax import Uint
from stretto.plan.valuetype import Kind, ValueType
from stretto.types.json import PathPart

CHARACTERS: Final = "_characters"
"""Name of the function that counts a text's code points."""

ZULU: Final = "_zulu"
SECONDS: Final = "_seconds"
"""Names of the functions that give the text of a timestamp and of a duration as CEL has it, from the library's."""

SPAN: Final = "_span"
"""Name of the function that gives a duration's text as the library reads it without a loss."""

IS_JSON: Final = "_is_json"
"""Name of the function that tells whether a text is JSON."""

NO_TIME: Final = 'duration("0")'
"""What a duration is compared with, and its type."""
MOMENT: Final = 'timestamp("1970-01-01T00:00:00Z")'
"""A timestamp, for its type."""
_LONGEST: Final = readable(LONGEST)

BOOLEANS: Final = (
    '{"1": true, "t": true, "true": true, "TRUE": true, "True": true, '
    '"0": false, "f": false, "false": false, "FALSE": false, "False": false}'
)
"""What CEL's bool() takes; looking up any other text is an error."""


def at_index(pair: str) -> str:
    """``container[index]`` with null for what is not there; the pair holds the two."""
    container, index = f"{pair}[0]", f"{pair}[1]"
    return (
        f"(type({container}) == list"
        f" ? (type({index}) == int && ({index} < 0 || {index} >= size({container})) ? null : {container}[{index}])"
        f" : type({container}) == map ? ({index} in {container} ? {container}[{index}] : null)"
        f" : {container} == null ? null : {container}[{index}])"
    )


def size_of(name: str) -> str:
    """``size()`` in characters; the library counts bytes."""
    return f"(type({name}) == string ? {CHARACTERS}({name}) : size({name}))"


def negation(name: str) -> str:
    """The library takes a boolean for a number under `-`."""
    return f"(type({name}) == double ? -{name} : 0 - {name})"


def whole_as_int(name: str) -> str:
    """An index as an integer where it is a whole double: CEL takes both."""
    is_whole = f"{name} > -{EXACT_BELOW} && {name} < {EXACT_BELOW} && {name} == double(int({name}))"
    return f"(type({name}) == double && {is_whole} ? int({name}) : {name})"


def converted(left: str, operator: str, right: str) -> str:
    """Arithmetic of values whose types only a run can tell: an integer beside a double is converted."""
    return (
        f"(type({left}) == int && type({right}) == double ? double({left}) {operator} {right}"
        f" : type({left}) == double && type({right}) == int ? {left} {operator} double({right})"
        f" : {left} {operator} {right})"
    )


def json_as_text(name: str) -> str:
    """``string()`` of what is no time; the library has none of a boolean."""
    return f'(type({name}) == bool ? ({name} ? "true" : "false") : string({name}))'


def as_text(name: str) -> str:
    """``string()`` of anything."""
    return time_as_text(name, json_as_text(name))


def time_as_text(name: str, otherwise: str) -> str:
    """A time's text, with all of its nanoseconds; the library's is wrong for a duration below zero, or too long."""
    too_long = f'string(duration("the result is longer than {LONGEST}"))'
    return (
        f"(type({name}) == type({MOMENT}) ? {ZULU}(string({name}))"
        f" : type({name}) != type({NO_TIME}) ? {otherwise}"
        f' : {name} > duration("{_LONGEST}") || {name} < duration("-{_LONGEST}") ? {too_long}'
        f' : {name} < {NO_TIME} ? "-" + {SECONDS}(string({NO_TIME} - {name})) : {SECONDS}(string({name})))'
    )


def boolean(name: str) -> str:
    """``bool()``, which the library lacks."""
    return f"(type({name}) == bool ? {name} : {BOOLEANS}[{name}])"


def guarded(base: str, links: list[tuple[ValueType, PathPart]]) -> str:
    """The chain's value if every part of it is there, else null. What the types promise is not asked again."""
    guards, whole = [], base
    for container, part in links:
        sure = not container.nullable
        if isinstance(part, str):
            if not (sure and container.kind is Kind.OBJECT and part in container.required):
                guards += [f"type({whole}) == map", f"{literal(part)} in {whole}"]
        elif sure and container.kind is Kind.ARRAY:
            guards.append(f"size({whole}) > {part}")
        else:  # an object of JSON has no such key, one made in the expression may
            held = f"type({whole}) == map && {part} in {whole}"
            guards.append(f"(type({whole}) == list && size({whole}) > {part} || {held})")
        whole = f"{whole}[{literal(part)}]"
    return f"({' && '.join(guards)} ? {whole} : null)" if guards else whole


def literal(value: bool | int | float | str | bytes | Uint | None) -> str:
    """A constant as CEL text, in ASCII, with only the escapes that every reader of CEL knows."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            return f'"{"".join(map(_character, value))}"'
        case bytes():
            return 'b"' + "".join(f"\\x{byte:02x}" for byte in value) + '"'
        case Uint():
            return f"{value.value}u"
        case _:
            assert_never(value)


def _character(character: str) -> str:
    code = ord(character)
    if 32 <= code < 127 and character not in '"\\':
        return character
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"

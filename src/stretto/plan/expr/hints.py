"""What people write from other languages, and what CEL calls it."""

from typing import Final

FOREIGN_OPERATORS: Final = {
    "===": "==",
    "!==": "!=",
    "<>": "!=",
    "=~": ".matches()",
    "=>": ">=",
    "=<": "<=",
    "??": "path != null ? path : otherwise",
    "=": "==",
    "&": "&&",
    "|": "||",
}
"""Sequences that no CEL expression contains outside quotes, longest first, and the operator meant. The single marks
are halves of an operator."""

WORD_OPERATORS: Final = {
    "and": "&&",
    "AND": "&&",
    "or": "||",
    "OR": "||",
    "not": "!",
    "NOT": "!",
    "is": "==",
    "eq": "==",
    "ne": "!=",
    "gt": ">",
    "lt": "<",
    "ge": ">=",
    "le": "<=",
    "IN": "in",
    "mod": "%",
    "if": "condition ? then : otherwise",
    "else": "condition ? then : otherwise",
}
"""Words where an operator stands in other languages."""

WORD_VALUES: Final = {
    "True": "true",
    "TRUE": "true",
    "False": "false",
    "FALSE": "false",
    "None": "null",
    "NULL": "null",
    "Null": "null",
    "nil": "null",
    "undefined": "null",
}
"""Names of constants in other languages."""

FOREIGN_FUNCTIONS: Final = {
    "len": "size",
    "length": "size",
    "count": "size",
    "float": "double",
    "str": "string",
    "toString": "string",
    "number": "double",
    "includes": "contains",
    "any": "exists",
    "some": "exists",
    "every": "all",
    "match": "matches",
    "test": "matches",
    "date": "timestamp",
    "datetime": "timestamp",
    "exists_unique": "exists_one",
    "existsUnique": "exists_one",
    "select": "filter",
    "where": "filter",
    "starts_with": "startsWith",
    "ends_with": "endsWith",
    "defined": "has",
    "isset": "has",
}
"""Names of functions in other languages, where they do not look like their namesake."""

FOREIGN_CHARACTERS: Final = {
    **dict.fromkeys("\u201c\u201d\u2018\u2019", "write straight quotes: \" or '"),
    "$": "write the path alone: input.query",
    "@": "write the path alone: input.query",
    "#": "a comment begins with //",
    ";": "write one expression, without ;",
    "\\": "a backslash has a meaning only inside quotes",
    "^": "CEL has no power and no exclusive or; for booleans write a != b",
    "~": "CEL has no bitwise operators; for booleans write !",
    "`": "backticks stand around a whole field name after a dot: input.`order-id`",
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
    "\u00a0": "this is a no-break space; write a plain one",
}
"""Characters that begin no token, and the remedy."""

"""Option dictionaries written in the words: ``{'color': 'blue', 'size': 'S'}``."""

import ast
import re
from typing import Final

from words.mentions import Options

_LITERAL: Final = re.compile(r"\{[^{}]*\}")


def cut_literals(words: str) -> tuple[str, list[tuple[int, Options]]]:
    """Blank out option dictionaries written in the words, and return them with their places."""
    literals: list[tuple[int, Options]] = []
    for match in _LITERAL.finditer(words):
        try:
            value = ast.literal_eval(match.group())
        except (SyntaxError, ValueError):
            continue
        if isinstance(value, dict):
            literals.append((match.start(), {str(k): str(v) for k, v in value.items()}))
            words = words[: match.start()] + " " * len(match.group()) + words[match.end() :]
    return words, literals

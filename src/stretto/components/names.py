"""What a component may be called: names that a workflow file can write without quotes or escapes."""

import re
from typing import Final

NAME_RULE: Final = "letters, digits, '_', '.' and '-', beginning with a letter, digit or '_', at most 64 characters"
"""``@`` is kept free for versions and ``/`` for the tools of a server."""

_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")


def is_component_name(name: object) -> bool:
    """Whether it is a text that may name a component."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None

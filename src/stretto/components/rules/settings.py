"""Which rules are asked, and where, as declared and checked."""

from datetime import timedelta
from importlib.util import find_spec
from typing import Final

import msgspec

from stretto.components.names import NAME_RULE, is_component_name
from stretto.components.web_address import split_address
from stretto.types.arguments import check_fields
from stretto.types.errors import MissingExtraError, UsageError
from stretto.types.json import JsonObject

DEFAULT_SERVED_TIMEOUT: Final = timedelta(milliseconds=250)
"""For the whole exchange with a served copy: it takes 2 ms, and the copy in this process is at hand."""


class RuleSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything declared about rules but their file."""

    name: str
    url: str = ""
    served_timeout: timedelta = DEFAULT_SERVED_TIMEOUT
    trace: bool = True
    input: JsonObject | None = None
    output: JsonObject | None = None
    version: str = "0.0.0"
    description: str = ""

    def check(self) -> None:
        """Raise UsageError for what cannot work, MissingExtraError when the engine of rules is not installed."""
        need_engine(f"component '{self.name}' of kind rules")
        if not is_component_name(self.name):
            raise UsageError(f"'{self.name}' cannot be the name of a component; expected {NAME_RULE}")
        check_fields(f"rules '{self.name}'", self)
        if not self.url and self.served_timeout != DEFAULT_SERVED_TIMEOUT:
            raise UsageError(f"rules '{self.name}' have a `served_timeout`, which does nothing without `url`")
        if self.served_timeout <= timedelta(0):
            raise UsageError(
                f"rules '{self.name}' have a `served_timeout` of {self.served_timeout}; expected one above 0"
            )
        parts = split_address(self.url, f"`url` of rules '{self.name}'")
        if self.url and (parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment):
            raise UsageError(
                f"`url` of rules '{self.name}' is '{self.url}'; expected the address of `stretto fallback serve`, "
                "such as http://127.0.0.1:8321"
            )


def need_engine(what: str) -> None:
    """Raise MissingExtraError unless the engine of rules is installed."""
    if find_spec("zen") is None:
        raise MissingExtraError(what, "rules")

"""Keys of a file whose values may be changed while it runs, as a table has them."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from stretto.spec.records import Key
from stretto.types.setting import SettingValue

Path = tuple[str, ...]

NOTHING_SAID: Final[Mapping[Key[Any], str]] = {}


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """Keys that stand in one mapping of a step, or of the file."""

    name: str
    """What their names begin with: ``retry``; empty for those that stand alone."""
    holder: str = ""
    """Mapping of the step that they stand in or below; empty where that is the step, or the file, itself."""
    under: Path = ()
    """Where their mapping stands in that."""
    defaults: Mapping[Key[Any], SettingValue]
    """Each key, with what holds where the file does not give it."""
    needs: Path = ()
    """The mapping that the file must have declared: a setting changes a figure, it brings in no mechanism."""
    example: str = ""
    """How that is declared."""
    unsaid: Mapping[Key[Any], str] = NOTHING_SAID
    """What holds where no value does, in words, for those of which "none" would say something else."""

    @property
    def declaration(self) -> str:
        """How a step declares what they are figures of."""
        return f"{self.holder}: {{{self.example}}}" if self.holder else self.example

    def of(self, name: str) -> "Group":
        """The same group of one thing among several that the file gives names: ``semantics.intent``."""
        under = (*self.under, name) if self.under else ()
        return msgspec.structs.replace(self, name=f"{self.name}.{name}", under=under)

    def key_of(self, key: Key[Any]) -> str:
        """The last part of a setting's name: ``retry.attempts``."""
        return f"{self.name}.{key.name}" if self.name else key.name

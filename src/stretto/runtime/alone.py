"""A workflow whose runs know nothing of each other: what became of one changes nothing for those after it."""

import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import msgspec

from stretto.plan.model import BusinessFallback, Plan
from stretto.runtime.catalog import ComponentCatalog
from stretto.runtime.tunable import Tunable
from stretto.runtime.tuning import Compiles
from stretto.types.ids import Digest
from stretto.types.setting import SettingValue

NEVER: Final = sys.maxsize
"""Failures in a row that no run comes to."""

_NO_CHANGES: Final[Mapping[str, SettingValue]] = {}


class Alone:
    """Files that compile without breakers, bulkheads, quotas and streaks. Implements `Compiles`."""

    def __init__(self, source: Compiles) -> None:
        self._source = source

    def compile(self, catalog: ComponentCatalog, changes: Mapping[str, SettingValue] = _NO_CHANGES) -> Plan:
        """The plan, with nothing that joins its runs."""
        plan = self._source.compile(catalog, changes)
        business = None if plan.business is None else _always_tried(plan.business)
        return replace(plan, protections={}, streaks={}, business=business)

    def tunable(self) -> dict[str, Tunable]:
        """What settings can name, by key."""
        return self._source.tunable()

    def code(self) -> dict[str, Digest]:
        """Digests of the Python files that components are made of, by path."""
        return self._source.code()


def _always_tried(business: BusinessFallback) -> BusinessFallback:
    """It answers for runs that failed, and for no others."""
    return replace(business, streak=msgspec.structs.replace(business.streak, after=NEVER))

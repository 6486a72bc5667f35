"""A setting: one parameter of a workflow that was given another value while it runs."""

from typing import TypeAlias

import msgspec

SettingValue: TypeAlias = str | int | float | bool | None
"""As it would stand in the file: ``800ms``, 5, 0.2. None takes the setting back: what the file says holds again."""


class Setting(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One change, as it is kept: nothing is ever written over, a later one of the same key holds in its place."""

    workflow: str
    """Name of the workflow, in all its versions."""
    key: str
    """``steps.planner.timeout``, ``components.api.breaker.open_for``."""
    value: SettingValue
    revision: int
    """Grows with every change in a store, from 1."""
    at_ns: int
    """UTC, nanoseconds since the epoch."""
    by: str = ""
    reason: str = ""

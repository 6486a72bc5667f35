"""The settings of one workflow: judged by its own files before they are kept, and applied to what runs."""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from enum import StrEnum
from math import isfinite
from typing import Final, Protocol, TypeAlias

import msgspec
from msgspec.structs import replace

from stretto.engine.protections import Protections
from stretto.engine.standby import Standbys
from stretto.engine.tuned import Tuned
from stretto.plan.model import Plan
from stretto.runtime.catalog import ComponentCatalog
from stretto.runtime.tunable import Tunable
from stretto.spec.durations import render
from stretto.spec.suggest import nearest
from stretto.spec.tunable_values import SOURCE
from stretto.store.sqlite import Store
from stretto.types.arguments import check_text, check_whole, wrong
from stretto.types.errors import SpecError, StrettoError, UsageError
from stretto.types.ids import Digest
from stretto.types.setting import Setting, SettingValue

_log: Final = logging.getLogger(__name__)


Given: TypeAlias = SettingValue | timedelta | Sequence[str]
"""A value as a program gives it."""


class Compiles(Protocol):
    """A workflow's files, read: they can be compiled again, under settings too."""

    def compile(self, catalog: ComponentCatalog, changes: Mapping[str, SettingValue] = ..., /) -> Plan:
        """The plan against a catalog; raises SpecError with every problem."""
        ...

    def tunable(self) -> dict[str, Tunable]:
        """What settings can name, by key."""
        ...

    def code(self) -> dict[str, Digest]:
        """Digests of the Python files that components are made of, by path."""
        ...


class Origin(StrEnum):
    """Where a value comes from."""

    DEFAULT = "default"
    FILE = "file"
    SETTING = "setting"


class Effective(msgspec.Struct, frozen=True, kw_only=True):
    """One figure of a workflow as it holds now."""

    key: str
    value: SettingValue
    """None where nothing holds: no time-out, no fixed limit."""
    origin: Origin
    setting: Setting | None = None
    """The last change, where there was one, also under another name of the same figure; its value is None when it was
    taken back."""
    unsaid: str = ""
    """What holds where `value` is None, in words, unless that is nothing."""
    passed_over: str = ""
    """Why that change does not hold: the file is no longer the one that it was made for."""


class Tuning:
    """What holds for one workflow in place of its files' figures. Its methods block, and may be called from any
    thread."""

    def __init__(
        self,
        plan: Plan,
        catalog: ComponentCatalog,
        source: Compiles,
        store: Store,
        protections: Protections,
        standbys: Standbys,
        heed: Callable[[Plan], None],
    ) -> None:
        """`heed` is told the plan under the settings of now, for what goes on beside its runs."""
        self.tuned = Tuned()
        self._plan = plan
        self._catalog = catalog
        self._source = source
        self._store = store
        self._protections = protections
        self._standbys = standbys
        self._heed = heed
        self._settings: dict[str, Setting] = {}
        self._passed_over: dict[str, str] = {}
        self._lock = threading.Lock()

    @property
    def is_over(self) -> bool:
        """Whether nothing can be read any more: the store was closed, maybe before what runs on it."""
        return self._store.closed

    def refresh(self) -> None:
        """Go by the settings that the store holds; one query when none came since."""
        if self._store.settings_revision(self._plan.name) != self.tuned.revision:
            with self._lock:
                known = self._store.settings(self._plan.name)  # again: another thread may have changed one meanwhile
                if _newest(known) < self.tuned.revision:
                    _log.warning(
                        "the settings of workflow '%s' are gone from %s, which was deleted or replaced; what that file "
                        "holds now goes",
                        self._plan.name,
                        self._store.path,
                    )
                self._apply(known)

    def change(self, key: str, value: Given, by: str, reason: str) -> Setting:
        """Keep another value, or None to take one back, and go by it.

        Raises UsageError for a key that is none, or of what the file does not declare; SpecError, naming what the value
        contradicts, when the file could not be read with it. Nothing is kept then.
        """
        check_text("the key of a setting", key)
        value = _as_written(key, value)
        with self._lock:
            while True:
                known = self._store.settings(self._plan.name)
                after = _newest(known)
                if after != self.tuned.revision:
                    self._apply(known)  # which tells those that do not fit this file: they are not held against it
                tunable = self._found(key, value, known)
                others = {each.key: each.value for each in known if each.key != key and self._holds(each)}
                try:
                    self._source.compile(self._catalog, others if value is None else {**others, key: value})
                except SpecError as error:
                    raise _of_setting(error, key, value) from None
                plain = None if tunable is None else tunable.plain(value)
                kept = self._store.set_settings(self._plan.name, {key: plain}, by=by, reason=reason, after=after)
                if kept is not None:  # else somebody was faster, and this one is judged again beside theirs
                    self._apply(self._store.settings(self._plan.name))
                    return kept[0]

    def effective(self) -> dict[str, Effective]:
        """Every figure that can be set, by key, and those that were set of a file that has changed since."""
        self.refresh()
        tunable = self._source.tunable()
        last = {  # also under another name: a workflow that two steps share is one
            tunable[key].spots: setting
            for key, setting in self._settings.items()
            if key in tunable and self._holds(setting)
        }
        found = {
            key: self._effective(key, each, last.get(each.spots, self._settings.get(key)))
            for key, each in tunable.items()
            if each.declared
        }
        for key, setting in self._settings.items():
            if key not in found and setting.value is not None:
                found[key] = Effective(
                    key=key,
                    value=None,
                    origin=Origin.DEFAULT,
                    setting=setting,
                    passed_over=self._passed_over.get(key, ""),
                )
        return found

    def _effective(self, key: str, tunable: Tunable, setting: Setting | None) -> Effective:
        """`setting` is the last one that holds there, or else what became of the key itself."""
        if setting is not None and self._holds(setting):
            return Effective(key=key, value=setting.value, origin=Origin.SETTING, setting=setting)
        written = tunable.written
        return Effective(
            key=key,
            value=tunable.default if written is None else written,
            origin=Origin.DEFAULT if written is None else Origin.FILE,
            setting=setting,
            unsaid=tunable.unsaid,
            passed_over=self._passed_over.get(key, ""),
        )

    # applying

    def _apply(self, settings: Sequence[Setting]) -> None:
        """Compile under all settings and let what runs go by that; the lock is held."""
        self._settings = {setting.key: setting for setting in settings}
        self._passed_over = {}
        plan = self._compiled(settings)
        self.tuned.take(self._plan, plan, _newest(settings))
        self._protections.retune(plan.protections, plan.streaks)
        if plan.business is not None:
            self._standbys.retune(self._plan, plan.business.streak)
        self._heed(self.tuned.of(self._plan))

    def _compiled(self, settings: Sequence[Setting]) -> Plan:
        changes = {each.key: each.value for each in settings if each.value is not None}
        if not changes:
            return self._plan
        try:
            return self._source.compile(self._catalog, changes)
        except StrettoError:  # the file has changed since they were made: those hold that still fit
            return self._fitting(settings)

    def _fitting(self, settings: Sequence[Setting]) -> Plan:
        """The plan under those settings that fit its files, in the order in which they were made; one that leans on a
        later one is tried again after it."""
        plan, changes = self._plan, dict[str, SettingValue]()
        left = [each for each in settings if each.value is not None]
        while left:
            tried, left = left, []
            for setting in tried:
                try:
                    plan = self._source.compile(self._catalog, {**changes, setting.key: setting.value})
                    changes[setting.key] = setting.value
                except StrettoError as error:
                    self._passed_over[setting.key] = _in_short(error)
                    left.append(setting)
            if len(left) == len(tried):
                break
        self._passed_over = {each.key: self._passed_over[each.key] for each in left}
        for key, why in self._passed_over.items():
            _log.warning(
                "setting '%s' of workflow '%s' does not fit its file any more and is passed over: %s; "
                "`stretto config unset` removes it",
                key,
                self._plan.name,
                why,
            )
        return plan

    # judging

    def _holds(self, setting: Setting) -> bool:
        return setting.value is not None and setting.key not in self._passed_over

    def _found(self, key: str, value: SettingValue, known: Sequence[Setting]) -> Tunable | None:
        """What a key names, None where it is taken back. Raises UsageError for one that nothing stands behind."""
        if value is None:
            if not any(each.key == key and each.value is not None for each in known):
                raise UsageError(f"'{key}' of workflow '{self._plan.name}' was not changed, so nothing is taken back")
            return None
        tunable = self._source.tunable()
        if key not in tunable:
            near = nearest(key, tunable)
            hint = (
                f"did you mean '{near}'?"
                if near
                else "they begin with steps.NAME, components.NAME, budget, fallback, resources or semantics.NAME;"
            )
            raise UsageError(
                f"workflow '{self._plan.name}' has no setting '{key}'; {hint} `stretto config list FILE` shows all"
            )
        tunable[key].hold()
        return tunable[key]


def _newest(settings: Sequence[Setting]) -> int:
    """Revision of the last change, 0 where there is none."""
    return settings[-1].revision if settings else 0


def _as_written(key: str, value: object) -> SettingValue:
    """The value as it would stand in a file."""
    if isinstance(value, timedelta):
        return render(value)
    if isinstance(value, list | tuple) and value and all(isinstance(each, str) for each in value):
        value = f"[{', '.join(value)}]"
    if value is not None and not isinstance(value, str | int | float):
        raise wrong(
            f"the value of '{key}'", value, "text such as '800ms', a number, a timedelta, a list of texts, or None"
        )
    _check_in_file(f"the value of '{key}'", value)
    return value


def _check_in_file(what: str, value: SettingValue) -> None:
    """Raise UsageError for what no file could hold."""
    if isinstance(value, str):
        check_text(what, value)
        if len(value.splitlines()) > 1:
            raise wrong(what, value, "one line, as in the file: 800ms, 5, 0.2")
    elif isinstance(value, float) and not isfinite(value):
        raise wrong(what, value, "a finite number")
    elif type(value) is int:
        check_whole(what, value)


def _of_setting(error: SpecError, key: str, value: SettingValue) -> SpecError:
    """The error, which names the setting also where its place is a line of the file that the setting contradicts."""
    now = f"with the setting {key} taken back" if value is None else f"with the setting {key} at {value}"
    return SpecError(
        [
            problem
            if problem.file == SOURCE
            else replace(
                problem,
                message=f"{now}: {problem.message}",
                suggestion=problem.suggestion or f"another value for {key}, or set what it contradicts here first",
            )
            for problem in error.problems
        ]
    )


def _in_short(error: StrettoError) -> str:
    """What is wrong, on one line."""
    return error.problems[0].message if isinstance(error, SpecError) else str(error)

"""One figure that a setting can name, wherever the files of a workflow give it."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec

from stretto.spec.model import WorkflowSpec
from stretto.spec.nodes import Entry
from stretto.spec.tunable import Found, Place
from stretto.spec.tunable_files import retuned
from stretto.spec.tunable_top_keys import NOT_INSIDE
from stretto.spec.tunable_values import plain_value, setting_node
from stretto.types.errors import UsageError
from stretto.types.json import ValuePath
from stretto.types.setting import SettingValue

STEPS: Final = "steps."
COMPONENTS: Final = "components."
PROBES: Final = "resources."


class Tunable(msgspec.Struct, frozen=True, kw_only=True):
    """A key, and where it stands: once for a step, at each step that calls it for a component."""

    key: str
    places: tuple[tuple[Path, Place], ...]
    """File and place in it."""

    @property
    def declared(self) -> list[tuple[Path, Place]]:
        """Those where the file declares what this is a figure of."""
        return [(file, place) for file, place in self.places if place.is_declared]

    @property
    def spots(self) -> tuple[tuple[Path, ValuePath], ...]:
        """The same for all keys that name the same figure."""
        return tuple((file, (*place.path, place.key.name)) for file, place in self.places)

    @property
    def written(self) -> SettingValue:
        """What the files say; None where they say nothing."""
        return next((place.written for _, place in self.declared if place.written is not None), None)

    @property
    def default(self) -> SettingValue:
        """What holds where the files say nothing; None also where there is nothing that it could hold for."""
        _, place = self.places[0]
        return place.group.defaults[place.key] if self.declared else None

    @property
    def unsaid(self) -> str:
        """What holds where no value does, in words; empty where "none" says it."""
        _, place = self.places[0]
        return place.group.unsaid.get(place.key, "")

    def plain(self, value: SettingValue) -> SettingValue:
        """A value as it is kept. Raises SpecError where it is none that a file could hold."""
        _, place = self.places[0]
        return plain_value(self.key, value, place.key)

    def hold(self) -> None:
        """Raise UsageError when no file declares what this is a figure of."""
        if self.declared:
            return
        _, place = self.places[0]
        file = Path(place.source).name
        if place.is_off:
            raise UsageError(
                f"'{self.key}' has nothing to change: the domain '{place.domain}' is off in {file}, and holds nowhere; "
                "give it another mode there, and start what runs it anew"
            )
        raise UsageError(
            f"'{self.key}' has nothing to change: {self._missing(place, file)}, and start what runs it anew"
        )

    def _missing(self, place: Place, file: str) -> str:
        """What no file declares, and how to."""
        what, group = place.group.needs[-1], place.group
        if place.domain:
            return f"the domain '{place.domain}' declares no `{what}` in {file}; declare it there, {group.example}"
        if not place.step:
            return f"{file} declares no `{what}`; declare it, {group.example}"
        if self.key.startswith(STEPS):
            return f"step '{place.step}' declares no `{what}` in {file}; declare it there, {group.declaration}"
        component = self.key.removeprefix(COMPONENTS).removesuffix(f".{group.key_of(place.key)}")
        return (
            f"no step that calls '{component}' declares a `{what}` in {file}; declare it at step '{place.step}', "
            f"{group.declaration}"
        )


def tunables_of(file: Path, found: Found, inner: Mapping[str, dict[str, Tunable]]) -> dict[str, Tunable]:
    """Of a file and of the workflows inside it, each by the name of its step."""
    merged: dict[str, list[tuple[Path, Place]]] = {name: [(file, place)] for name, place in found.workflow.items()}
    for name, place in found.steps.items():
        merged[f"{STEPS}{name}"] = [(file, place)]
    for name, places in found.components.items():
        merged[f"{COMPONENTS}{name}"] = [(file, place) for place in places]
    for step, below in inner.items():
        for key, tunable in below.items():
            if key.startswith(NOT_INSIDE):
                continue
            known = merged.setdefault(_outside(step, key), [])
            if key.startswith(PROBES) and tunable.declared:  # there is one of each kind: the outermost that is declared
                known[:] = known if any(place.is_declared for _, place in known) else tunable.places
            else:
                known += [each for each in tunable.places if each not in known]
    return {key: Tunable(key=key, places=tuple(places)) for key, places in merged.items()}


def _outside(step: str, key: str) -> str:
    """The name of what a step's workflow calls so: ``steps.refund/pay.timeout``, ``steps.refund.budget.cost``."""
    if key.startswith((COMPONENTS, PROBES)):
        return key
    return f"{STEPS}{step}/{key.removeprefix(STEPS)}" if key.startswith(STEPS) else f"{STEPS}{step}.{key}"


def changed_specs(
    specs: Mapping[Path, WorkflowSpec], tunables: Mapping[str, Tunable], changes: Mapping[str, SettingValue]
) -> dict[Path, WorkflowSpec]:
    """The files that read otherwise under the changes. Raises SpecError with what is wrong with a value, or with what
    it contradicts; UsageError for a key that is none."""
    by_file: dict[Path, list[tuple[Place, Entry]]] = {}
    for file, place, entry in _placed(tunables, changes):
        by_file.setdefault(file, []).append((place, entry))
    return {file: retuned(specs[file], placed) for file, placed in by_file.items()}


def _placed(
    tunables: Mapping[str, Tunable], changes: Mapping[str, SettingValue]
) -> Iterator[tuple[Path, Place, Entry]]:
    for key, value in changes.items():
        tunable = tunables.get(key)
        if tunable is None:
            raise UsageError(f"there is no setting '{key}'")
        tunable.hold()
        for file, place in tunable.declared:
            yield file, place, setting_node(key, value, place.key)

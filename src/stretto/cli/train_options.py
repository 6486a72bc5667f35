"""The options of a training as they are typed after ``--set``: told with their defaults and choices, and read."""

from collections.abc import Sequence
from enum import StrEnum
from types import NoneType
from typing import Any, Final, get_args

import msgspec

from stretto.cli.values import read_pairs
from stretto.learn.options import TrainOptions
from stretto.spec.suggest import nearest
from stretto.types.errors import UsageError
from stretto.types.json import Json

_KINDS: Final = {int: "an integer", float: "a number"}


class TrainOption(msgspec.Struct, frozen=True, kw_only=True):
    """One option, as its type declares it."""

    name: str
    means: str
    default: Json
    kind: type[Any]
    """What its text is made into: int, float or an enum."""
    is_nullable: bool

    @property
    def choices(self) -> tuple[str, ...]:
        """Of a closed set, in the order declared; empty for a number."""
        return tuple(each.value for each in self.kind) if issubclass(self.kind, StrEnum) else ()

    @property
    def told(self) -> str:
        """The option with its default, its choices, and what it means."""
        choices = f" ({', '.join(self.choices)})" if self.choices else ""
        return f"{self.name}={self.default}  {self.means}{choices}"

    def read(self, text: str) -> Json:
        """The value that was typed; UsageError says what was expected."""
        if self.is_nullable and text == "null":
            return None
        try:
            value: Json = self.kind(text)
        except ValueError:
            guess = nearest(text, self.choices)
            hint = f"did you mean '{guess}'? " if guess else ""
            raise UsageError(f"--set {self.name}={text}: {hint}expected {self._expected}") from None
        return value

    @property
    def _expected(self) -> str:
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        null = ", or null" if self.is_nullable else ""
        return f"{_KINDS[self.kind]}, such as {self.default}{null}"


def _declared(field: msgspec.structs.FieldInfo) -> TrainOption:
    annotated, meta = get_args(field.type)
    kinds = get_args(annotated) or (annotated,)
    return TrainOption(
        name=field.name,
        means=meta.description,
        default=(meta.extra or {}).get("default", field.default),
        kind=kinds[0],
        is_nullable=NoneType in kinds,
    )


TRAIN_OPTIONS: Final = {field.name: _declared(field) for field in msgspec.structs.fields(TrainOptions)}


def options_help() -> str:
    """What may follow ``--set``, a line each."""
    told = "\n".join(option.told for option in TRAIN_OPTIONS.values())
    return f"An option of the training; may be repeated. [defaults and choices below]\n{told}"


def read_options(pairs: Sequence[str]) -> TrainOptions:
    """The options with those that were set; a dash in a name is an underscore. UsageError for one that is none."""
    given: dict[str, Any] = {}
    for name, text in read_pairs(map(_with_underscores, pairs), "--set").items():
        if name not in TRAIN_OPTIONS:
            guess = nearest(name, TRAIN_OPTIONS)
            hint = f"did you mean '{guess}'? " if guess else ""
            known = ", ".join(TRAIN_OPTIONS)
            raise UsageError(f"--set {name}: training has no such option; {hint}its options are {known}")
        given[name] = TRAIN_OPTIONS[name].read(text)
    return TrainOptions(**given)


def names_set(pairs: Sequence[str]) -> list[str]:
    """The names of the options that were set."""
    return list(read_pairs(map(_with_underscores, pairs), "--set"))


def _with_underscores(pair: str) -> str:
    name, equals, value = pair.partition("=")
    return f"{name.replace('-', '_')}{equals}{value}"

"""The options of a training as they are typed after ``--set``: told with their defaults and choices, and read."""

from collections.abc import Iterable, Sequence
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
_FLAGS: Final = {"true": True, "false": False}


class TrainOption(msgspec.Struct, frozen=True, kw_only=True):
    """One option, as its type declares it."""

    name: str
    means: str
    default: Json
    kind: type[Any]
    """What its text is made into: int, float, bool or an enum."""
    is_nullable: bool

    @property
    def choices(self) -> tuple[str, ...]:
        """Of a closed set, in the order declared; empty for a number."""
        if self.kind is bool:
            return tuple(_FLAGS)
        return tuple(each.value for each in self.kind) if issubclass(self.kind, StrEnum) else ()

    @property
    def written(self) -> str:
        """Its default as it is typed."""
        if isinstance(self.default, bool):
            return str(self.default).lower()
        return "null" if self.default is None else str(self.default)

    @property
    def told(self) -> str:
        """The option with its default, its choices, and what it means."""
        choices = f" ({', '.join(self.choices)})" if self.choices else ""
        return f"{self.name}={self.written}  {self.means}{choices}"

    def read(self, text: str, of: str = "") -> Json:
        """The value that was typed, `of` a component where that is said; UsageError says what was expected."""
        if self.is_nullable and text == "null":
            return None
        try:
            value: Json = _FLAGS[text] if self.kind is bool else self.kind(text)
        except (ValueError, KeyError):
            guess = nearest(text, self.choices)
            hint = f"did you mean '{guess}'? " if guess else ""
            raise UsageError(f"--set {of}{self.name}={text}: {hint}expected {self._expected}") from None
        return value

    @property
    def _expected(self) -> str:
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        null = ", or null" if self.is_nullable else ""
        such = "" if self.default is None else f", such as {self.default}"
        return f"{_KINDS[self.kind]}{such}{null}"


def declared(field: msgspec.structs.FieldInfo) -> TrainOption:
    annotated, meta = get_args(field.type)
    kinds = get_args(annotated) or (annotated,)
    return TrainOption(
        name=field.name,
        means=meta.description,
        default=(meta.extra or {}).get("default", field.default),
        kind=kinds[0],
        is_nullable=NoneType in kinds,
    )


TRAIN_OPTIONS: Final = {field.name: declared(field) for field in msgspec.structs.fields(TrainOptions)}


def read_options(pairs: Sequence[str]) -> TrainOptions:
    """The options with those that were set; a dash in a name is an underscore. UsageError for one that is none."""
    given: dict[str, Any] = {}
    for name, text in pairs_of(pairs).items():
        if name not in TRAIN_OPTIONS:
            raise unknown_option(name, TRAIN_OPTIONS)
        given[name] = TRAIN_OPTIONS[name].read(text)
    return TrainOptions(**given)


def unknown_option(name: str, options: Iterable[str]) -> UsageError:
    """That a training has no such option, with those that it has."""
    guess = nearest(name, options)
    hint = f"did you mean '{guess}'? " if guess else ""
    return UsageError(f"--set {name}: training has no such option; {hint}its options are {', '.join(options)}")


def names_set(pairs: Sequence[str]) -> list[str]:
    """The names of the options that were set."""
    return list(pairs_of(pairs))


def pairs_of(pairs: Sequence[str]) -> dict[str, str]:
    """What was set, by name; that of a component's option begins with the component's own."""
    return read_pairs(map(_with_underscores, pairs), "--set")


def _with_underscores(pair: str) -> str:
    name, equals, value = pair.partition("=")
    component, dot, option = name.rpartition(".")
    return f"{component}{dot}{option.replace('-', '_')}{equals}{value}"

"""What a run is asked for, and what of it is refused before anything is run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from stretto.types.budget import BudgetSpec
from stretto.types.errors import UsageError
from stretto.types.json import Json, JsonObject

_MOST_SHOWN: Final = 80
"""Characters of a refused value that its error repeats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """What a run is asked for, beside its plan."""

    input: Mapping[str, object]
    tenant: str = "default"
    labels: Mapping[str, str] = field(default_factory=dict)
    """task, group, split, purpose, session; kept with the run and searchable."""
    seed: int | None = None
    """Of every random choice in the run; None draws one."""
    reference: Json = None
    """Gold answers, which only `reward` steps can read."""
    memory: JsonObject | None = None
    """Values for the `memory` root, in place of asking the workflow's memory component."""
    resources: JsonObject = field(default_factory=dict)
    budget: BudgetSpec | None = None
    """In place of the workflow's own."""
    parent: str = ""
    traceparent: str = ""
    baggage: Mapping[str, str] = field(default_factory=dict)


def check_request(request: RunRequest) -> None:
    """Raise UsageError for what no record could hold: found at its end only, the whole run would be lost."""
    for name in ("tenant", "parent", "traceparent"):
        _check_text(name, getattr(request, name))
    for what, texts in (("labels", request.labels), ("baggage", request.baggage)):
        if not isinstance(texts, Mapping):
            raise UsageError(f"{what} is {_shown(texts)}; expected a mapping of text to text, such as {{'task': 'a'}}")
        for key, text in texts.items():
            _check_text(f"a key of {what}", key)
            _check_text(f"{what}[{key!r}]", text)
    for what, values in (("memory", request.memory), ("resources", request.resources)):
        if values is not None and not isinstance(values, Mapping):
            raise UsageError(f"{what} is {_shown(values)}; expected a mapping of names to JSON values")
    if request.seed is not None and not _is_seed(request.seed):
        raise UsageError(f"seed is {_shown(request.seed)}; expected an integer in [-2^63, 2^63)")


def _check_text(name: str, text: object) -> None:
    if not isinstance(text, str):
        raise UsageError(f"{name} is {_shown(text)}; expected text")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise UsageError(f"{name} is {_shown(text)}, which is no text in UTF-8: {error.reason}") from error


def _is_seed(seed: object) -> bool:
    return isinstance(seed, int) and not isinstance(seed, bool) and -(2**63) <= seed < 2**63


def _shown(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= _MOST_SHOWN else f"{shown[:_MOST_SHOWN]}…"

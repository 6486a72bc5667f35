"""What a run is asked for, and what of it is refused before anything is run."""

from collections.abc import Mapping

import msgspec

from stretto.types.arguments import check_text, wrong
from stretto.types.budget import BudgetSpec
from stretto.types.json import Json, JsonObject


class RunRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a run is asked for, beside its plan."""

    input: Mapping[str, object]
    tenant: str = "default"
    labels: Mapping[str, str] = msgspec.field(default_factory=dict)
    """task, group, split, purpose, session; kept with the run and searchable."""
    seed: int | None = None
    """Of every random choice in the run; None draws one."""
    reference: Json = None
    """Gold answers, which only `reward` steps can read."""
    memory: JsonObject | None = None
    """Values for the `memory` root, in place of asking the workflow's memory component."""
    resources: JsonObject = msgspec.field(default_factory=dict)
    budget: BudgetSpec | None = None
    """In place of the workflow's own."""
    parent: str = ""
    traceparent: str = ""
    baggage: Mapping[str, str] = msgspec.field(default_factory=dict)


def check_request(request: RunRequest) -> None:
    """Raise UsageError for what no record could hold: found at its end only, the whole run would be lost."""
    check_text("tenant", request.tenant)
    check_text("parent", request.parent)
    check_text("traceparent", request.traceparent)
    _check_texts("labels", request.labels)
    _check_texts("baggage", request.baggage)
    _check_values("memory", request.memory)
    _check_values("resources", request.resources)
    if request.budget is not None and not isinstance(request.budget, BudgetSpec):
        raise wrong("budget", request.budget, "a BudgetSpec of stretto.types.budget")
    seed = request.seed
    if seed is not None and not _is_seed(seed):
        raise wrong("seed", seed, "an integer in [-2^63, 2^63)")


def _check_texts(what: str, texts: object) -> None:
    if type(texts) is dict and not texts:
        return
    if not isinstance(texts, Mapping):
        raise wrong(what, texts, "a mapping of text to text, such as {'task': 'a'}")
    for key, text in texts.items():
        check_text(f"a key of {what}", key)
        check_text(f"{what}[{key!r}]", text)


def _check_values(what: str, values: object) -> None:
    if values is not None and type(values) is not dict and not isinstance(values, Mapping):
        raise wrong(what, values, "a mapping of names to JSON values")


def _is_seed(seed: object) -> bool:
    return isinstance(seed, int) and not isinstance(seed, bool) and -(2**63) <= seed < 2**63

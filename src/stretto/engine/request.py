"""What a run is asked for, and what of it is refused before anything is run."""

from collections.abc import Mapping
from datetime import timedelta
from math import isfinite

import msgspec

from stretto.record.model import Run, decoded
from stretto.types.arguments import INT64_MAX, INT64_MIN, check_text, check_whole, wrong
from stretto.types.budget import BudgetSpec
from stretto.types.errors import UsageError
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
    tracestate: str = ""
    """What tracing systems add to `traceparent`."""
    effect_key: str = ""
    """Of the call that the run answers, where it may write. Under durability ``step`` the store refuses a second run
    with it, unless what became of the first was a failure."""
    baggage: Mapping[str, str] = msgspec.field(default_factory=dict)


def check_request(request: RunRequest) -> None:
    """Raise UsageError for what no record could hold: found at its end only, the whole run would be lost."""
    check_text("tenant", request.tenant)
    check_text("parent", request.parent)
    check_text("traceparent", request.traceparent)
    check_text("tracestate", request.tracestate)
    check_text("effect_key", request.effect_key)
    if not (request.traceparent.isascii() and request.traceparent.isprintable()):
        raise wrong("traceparent", request.traceparent, "W3C trace context, one line such as 00-<32 hex>-<16 hex>-01")
    if not (request.tracestate.isascii() and request.tracestate.isprintable()):
        raise wrong("tracestate", request.tracestate, "W3C trace context, one line such as vendor=value,other=value")
    _check_texts("labels", request.labels)
    _check_texts("baggage", request.baggage)
    _check_values("memory", request.memory)
    _check_values("resources", request.resources)
    if request.budget is not None:
        _check_budget(request.budget)
    seed = request.seed
    if seed is not None and not is_seed(seed):
        raise wrong("seed", seed, "an integer in [-2^63, 2^63)")


def request_of(run: Run, baggage: Mapping[str, str]) -> RunRequest:
    """What a recorded run was asked for; its baggage is not in the record, and given."""
    return RunRequest(
        input=decoded(run.input),
        tenant=run.tenant,
        labels=run.labels,
        seed=run.seed,
        reference=decoded(run.reference),
        resources=decoded(run.resources) or {},
        budget=None if run.budget is None else run.budget.spec,
        parent=run.parent,
        traceparent=run.traceparent,
        tracestate=run.tracestate,
        baggage=baggage,
    )


def hold_to_baggage(run: Run, baggage: Mapping[str, str]) -> None:
    """Raise UsageError unless all that travelled with a run is given again: what it decided, it must decide again."""
    _check_texts("baggage", baggage)
    missing = [name for name in run.baggage if name not in baggage]
    if missing:
        raise UsageError(
            f"run {run.id} was begun with baggage, which is not recorded since it may be secret; give it again to "
            f"resume the run: baggage={{{', '.join(f'{name!r}: ...' for name in missing)}}}, "
            f"on the command line {' '.join(f'--baggage {name}=...' for name in missing)}"
        )


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


def _check_budget(budget: object) -> None:
    if not isinstance(budget, BudgetSpec):
        raise wrong("budget", budget, "a BudgetSpec, such as stretto.BudgetSpec(retries=3)")
    _check_time("budget.reserve", budget.reserve)
    if budget.deadline is not None:
        _check_time("budget.deadline", budget.deadline)
    if budget.reserve and (budget.deadline is None or budget.reserve >= budget.deadline):
        raise wrong(
            "budget.reserve", budget.reserve, f"less than the deadline, of which it is a part: {budget.deadline}"
        )
    for name, count in (("retries", budget.retries), ("tokens", budget.tokens)):
        if count is not None:
            check_whole(f"budget.{name}", count, least=0)
    if budget.cost is not None and not _is_amount(budget.cost):
        raise wrong("budget.cost", budget.cost, "a finite number of 0 or more, or None for no limit")


def _check_time(what: str, time: object) -> None:
    if not isinstance(time, timedelta) or time < timedelta():
        raise wrong(what, time, "a timedelta of 0 or more")


def _is_amount(value: object) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    try:
        return isfinite(value) and value >= 0
    except OverflowError:
        return False


def is_seed(seed: object) -> bool:
    """Whether a run may have it: it is recorded in 64 bits."""
    return isinstance(seed, int) and not isinstance(seed, bool) and INT64_MIN <= seed <= INT64_MAX

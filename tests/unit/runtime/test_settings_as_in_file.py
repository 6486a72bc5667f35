"""What runs under a setting is what the file would have said: for every figure that there is, field by field.

So a field that the compiler makes of a key, and that what runs does not take over, is found here.
"""

from collections.abc import Iterator, Mapping
from dataclasses import fields

import pytest

import stretto
from stretto.engine.tuned import _ops
from stretto.plan.meaning import Crossing
from stretto.plan.model import AnyOp, CallOp, Plan, SubOp
from tests.unit.runtime.test_aligners import model
from tests.unit.runtime.test_settings import set_at_once

FILES = {
    "outer.yaml": """
stretto: 1
name: desk
components: parts.py
contract:
  semantics: {intent: {values: [track, cancel], at: [ask.intent], aligner: intent.aligner, threshold: 0.5}}
budget: {deadline: 60s, reserve: 1s, retries: 9, tokens: 1000, cost: 9}
resources: {host: {}, gpu: {}, components: {}, threads: {}, models: {planner: {url: "http://127.0.0.1:9/m"}}}
fallback: {component: rules, exercise: {every: 30d}}
steps:
  - name: ask
    component: api
    input_mapping: {intent: input.said}
    estimate: {tokens: 10, cost: 1}
    share: 0.9
    resilience: &all
      timeout: 2s
      retry: {attempts: 3, base: 1ms, on: [unavailable], when: "output.text == 'a'", quota: {ratio: 0.1}}
      hedge: {after: 1s}
      breaker: {slow_after: 1s, open_for: 5s}
      bulkhead: {limit: 4, priority: 1}
      fallback: {output: {text: b}, after: 5}
  - name: adaptive
    component: other
    input_mapping: {intent: {value: track}}
    resilience: {bulkhead: {}}
  - name: each
    for_each: input.orders
    component: other
    input_mapping: {intent: {value: track}}
  - name: loop
    repeat: {max_rounds: 3, steps: [{name: inner, workflow: inner.yaml, share: 0.8}]}
""",
    "inner.yaml": """
stretto: 1
name: inner
budget: {deadline: 20s, reserve: 1s, retries: 5, tokens: 500, cost: 5}
contract:
  semantics: {mood: {values: [track, cancel], at: [more.intent, input.mood]}}
steps:
  - {name: more, component: other, input_mapping: {intent: input.mood}, resilience: {timeout: 3s}}
""",
    "parts.py": """
from typing import TypedDict

import stretto

class Answer(TypedDict):
    text: str

@stretto.component("api", effects="read")
def api(intent: str | None) -> Answer:
    return {"text": "a"}

@stretto.component("other", effects="read")
def other(intent: str | None) -> Answer:
    return {"text": "a"}

@stretto.component("rules", effects="pure")
def rules() -> Answer:
    return {"text": "a"}
""",
}

SET: dict[str, str | float] = {
    "budget.deadline": "50s",
    "budget.reserve": "2s",
    "budget.retries": 8,
    "budget.tokens": 900,
    "budget.cost": 8,
    "fallback.after": 7,
    "fallback.retry_after": "2m",
    "fallback.exercise.every": "7d",
    "fallback.exercise.share": 0.5,
    "resources.stale_after": "9s",
    **{
        f"resources.{probe}.{key}": value
        for probe in ("host", "gpu", "components", "threads", "models.planner")
        for key, value in (("every", "2s"), ("timeout", "400ms"))
    },
    "semantics.intent.threshold": 0.7,
    "semantics.intent.mode": "warn",
    "steps.ask.timeout": "1900ms",
    "steps.ask.priority": 5,
    "steps.ask.share": 0.5,
    "steps.ask.estimate.tokens": 20,
    "steps.ask.estimate.cost": 2,
    "steps.ask.retry.attempts": 2,
    "steps.ask.retry.base": "2ms",
    "steps.ask.retry.cap": "1s",
    "steps.ask.retry.jitter": "decorrelated",
    "steps.ask.retry.on": "[aborted]",
    "steps.ask.retry.when": "output.text == 'c'",
    "steps.ask.hedge.after": "900ms",
    "steps.ask.hedge.copies": 2,
    "steps.each.max_parallel": 3,
    "steps.each.timeout": "1s",
    "steps.loop.repeat.max_rounds": 2,
    "steps.loop.share": 0.5,
    "steps.loop/inner.share": 0.5,
    "steps.loop/inner.budget.deadline": "19s",
    "steps.loop/inner.budget.reserve": "2s",
    "steps.loop/inner.budget.retries": 4,
    "steps.loop/inner.budget.tokens": 400,
    "steps.loop/inner.budget.cost": 4,
    "steps.loop/inner.semantics.mood.mode": "quarantine",
    "steps.loop/inner/more.timeout": "1s",
    "components.api.quota.ratio": 0.3,
    "components.api.quota.floor": 3,
    "components.api.quota.window": "30s",
    "components.api.breaker.failure_rate": 0.4,
    "components.api.breaker.slow_rate": 0.7,
    "components.api.breaker.slow_after": "800ms",
    "components.api.breaker.window": "30s",
    "components.api.breaker.window_calls": 40,
    "components.api.breaker.min_calls": 9,
    "components.api.breaker.open_for": "6s",
    "components.api.breaker.max_open": "1m",
    "components.api.breaker.probes": 3,
    "components.api.breaker.lease": "20s",
    "components.api.bulkhead.limit": 3,
    "components.api.bulkhead.queue": 7,
    "components.other.bulkhead.min_limit": 3,
    "components.other.bulkhead.max_limit": 30,
    "components.api.fallback.after": 6,
    "components.api.fallback.retry_after": "2m",
}
"""For every kind of figure one key, and another value than that of the files."""

COMPILED = {
    "component", "inputs", "guard", "output_check", "rejects", "body", "over", "result", "carries", "until",
}  # fmt: skip
"""Fields that no setting reaches, or that another beside them tells of, and that two compilations never share."""


@pytest.fixture(scope="module")
def workflow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[stretto.Workflow]:
    """One for all: each test takes back what it set."""
    folder = tmp_path_factory.mktemp("desk")
    for name, text in FILES.items():
        (folder / name).write_text(text)
    model().save(folder / "intent.aligner")
    with stretto.load(folder / "outer.yaml", store=folder / "runs.db") as loaded:
        yield loaded


def crossings(of: tuple[Crossing, ...]) -> list[object]:
    return [(each.at, each.domain.threshold, each.domain.mode, each.domain.is_closed) for each in of]


def told(op: AnyOp) -> dict[str, object]:
    """An operation as plain values."""
    found: dict[str, object] = {}
    for each in fields(op):
        value = getattr(op, each.name)
        if each.name.startswith("crossings"):
            found[each.name] = crossings(value)
        elif each.name == "input_check":
            found[each.name] = value is None
        elif each.name == "fallback" and value is not None:
            found[each.name] = value.output, value.source, crossings(value.crossings)
        elif each.name == "plan":
            found[each.name] = value.budget, crossings(value.crossings_in), crossings(value.crossings_out)
        elif each.name not in COMPILED:
            found[each.name] = value
    return found


def as_compiled(plan: Plan) -> dict[str, object]:
    """What a plan makes runs go by."""
    assert plan.business is not None
    return {
        "ops": [told(op) for op in _ops(plan.body)],
        "budget": plan.budget,
        "crossings": (crossings(plan.crossings_in), crossings(plan.crossings_out)),
        "rules": plan.protections,
        "streaks": plan.streaks,
        "streak": plan.business.streak,
        "exercise": plan.business.exercise,
        "probes": {} if plan.resources is None else dict(_paces(plan)),
        "stale_after": None if plan.resources is None else plan.resources.stale_after.total_seconds(),
    }


def as_run(workflow: stretto.Workflow) -> dict[str, object]:
    """The same, as what runs goes by it."""
    plan, tuned, kin = workflow.plan, workflow._tuning.tuned, workflow._kin
    begun = tuned.of(plan)
    rules, streaks = kin.protections._retuned
    exercising, live = workflow._exercising, workflow._live
    assert exercising is not None
    assert live is not None
    return {
        "ops": [told(tuned.ops.get(id(op), op)) for op in _ops(plan.body)],
        "budget": begun.budget,
        "crossings": (crossings(begun.crossings_in), crossings(begun.crossings_out)),
        "rules": rules,
        "streaks": streaks,
        "streak": kin.standbys._retuned[plan.manifest_digest],
        "exercise": exercising._rule,
        "probes": {source.name: (source.every_s, source._timeout.total_seconds()) for source in live.sources},
        "stale_after": live._stale_after_s,
    }


def _paces(plan: Plan) -> Mapping[str, tuple[float, float]]:
    assert plan.resources is not None
    return {name: (each.every.total_seconds(), each.timeout.total_seconds()) for name, each in plan.resources.probes()}


@pytest.mark.parametrize("key", SET)
def test_what_runs_is_what_the_file_would_have_said(workflow: stretto.Workflow, key: str) -> None:
    set_at_once(workflow, key, SET[key])
    wanted = as_compiled(workflow._source.compile(workflow._catalog, {key: SET[key]}))
    assert as_run(workflow) == wanted
    assert wanted != as_compiled(workflow.plan), "the setting changes nothing"
    workflow._tuning.change(key, None, "", "")
    assert as_run(workflow) == as_compiled(workflow.plan)


def test_every_kind_of_figure_is_among_them(workflow: stretto.Workflow) -> None:
    kinds = {_kind(key) for key in workflow.settings}
    assert kinds - {_kind(key) for key in SET} == set()


def _kind(key: str) -> str:
    """A key without the names of steps, components and the like."""
    head, *rest = key.split(".")
    if head in ("steps", "components", "semantics"):
        return ".".join((head if head != "steps" else "", *rest[1:]))
    return key


def test_calls_and_workflows_inside_are_among_what_is_compared(workflow: stretto.Workflow) -> None:
    kinds = {type(op) for op in _ops(workflow.plan.body)}
    assert {CallOp, SubOp} < kinds

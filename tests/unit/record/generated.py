"""Runs for tests: one plain, and any that hypothesis can think of."""

from typing import Any

import msgspec
import numpy as np
import orjson
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from stretto.record.model import Annotation, Attempt, EffectRecord, ErrorInfo, Manifest, Run, RunBudget, StepRecord
from stretto.types.enums import Effect, Reason, RunStatus, StepStatus
from stretto.types.errors import Violation
from stretto.types.ids import RunId, StepPath, digest_of, new_run_id
from stretto.types.learning import Action, ModelCall, Reward
from stretto.types.messages import Usage

WORKFLOW = Manifest(workflow="support", version="1.2.0", plan=digest_of(b"plan"), components={"planner": "1.0.0@abc"})


def raw(value: object) -> msgspec.Raw:
    return msgspec.Raw(orjson.dumps(value))


def a_step(path: str = "planner", **fields: Any) -> StepRecord:
    given = {"component": "planner", "status": StepStatus.OK, "input": raw({"q": 1}), "output": raw({"a": 2})}
    return StepRecord(path=StepPath(path), **{**given, **fields})


def a_run(**fields: Any) -> Run:
    """A sealed run of two steps."""
    run_id = fields.pop("id", None) or new_run_id()
    given = {
        "workflow_run_id": f"support@1.2.0.0a1b2c3d.4e5f6071.{run_id}",
        "manifest": WORKFLOW,
        "input": raw({"user_query": "where is my parcel"}),
        "input_digest": digest_of(b"input"),
        "started_at_ns": 1_750_000_000_000_000_000,
        "status": RunStatus.OK,
        "output": raw({"response": "on its way"}),
        "steps": [a_step("planner"), a_step("executor")],
    }
    return Run(id=run_id, **{**given, **fields})


def an_open_run(**fields: Any) -> Run:
    """A run as it is when it is accepted."""
    return a_run(**{"status": None, "output": raw(None), "steps": [], **fields})


def an_effect(run_id: str, path: str = "executor", **fields: Any) -> EffectRecord:
    """An intent without a receipt."""
    request = raw({"cancel": "#W1"})
    given = {
        "component": "server",
        "action": "cancel",
        "request": request,
        "request_digest": digest_of(bytes(request)),
        "intended_at_ns": 5,
    }
    return EffectRecord(run_id=RunId(run_id), path=StepPath(path), **{**given, **fields})


def a_model_call(tokens: int = 3) -> ModelCall:
    return ModelCall(
        model="small",
        prompt_ids=np.arange(5, dtype=np.int32),
        completion_ids=np.arange(tokens, dtype=np.int32),
        logprobs=np.linspace(-1.0, -0.1, tokens, dtype=np.float32),
        mask=np.ones(tokens, dtype=np.bool_),
        policy_versions=(("d1", tokens),),
        messages=[{"role": "user", "content": "hi"}],
        text="hello",
    )


# any run

texts = st.text(max_size=12)
numbers = st.floats(allow_nan=False, allow_infinity=False)
integers = st.integers(-(2**63), 2**63 - 1)
times_ns = st.integers(0, 2**62)
json_values = st.recursive(
    st.none() | st.booleans() | integers | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
raws = json_values.map(raw)
rewards = st.builds(Reward, name=texts, value=st.none() | numbers, weight=numbers, reason=texts)
usages = st.builds(Usage, input_tokens=st.integers(0, 9), output_tokens=st.integers(0, 9), cost=numbers)
errors = st.builds(
    ErrorInfo,
    code=texts,
    message=texts,
    rpc_code=texts,
    path=texts,
    violations=st.lists(st.builds(Violation, pointer=texts, message=texts), max_size=2).map(tuple),
)
attempts = st.builds(Attempt, started_ms=numbers, queue_ms=numbers, service_ms=numbers, error=st.none() | errors)
actions = st.builds(
    Action,
    name=texts,
    chosen=texts,
    support=st.lists(texts, max_size=3).map(tuple),
    available=st.lists(st.booleans(), max_size=3).map(tuple),
    logprob=numbers,
    propensity=numbers,
    policy=texts,
    forced=st.booleans(),
)


def arrays(dtype: type) -> st.SearchStrategy[Any]:
    return st.none() | npst.arrays(dtype, npst.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=4))


model_calls = st.builds(
    ModelCall,
    model=texts,
    prompt_ids=arrays(np.int32),
    completion_ids=arrays(np.int32),
    logprobs=arrays(np.float32),
    mask=arrays(np.bool_),
    policy_versions=st.lists(st.tuples(texts, st.integers(0, 9)), max_size=2).map(tuple),
    finish_reason=texts,
    prompt_tokens=st.integers(0, 9),
    completion_tokens=st.integers(0, 9),
    messages=json_values,
    text=texts,
)
steps = st.builds(
    StepRecord,
    path=texts.map(StepPath),
    status=st.sampled_from(StepStatus),
    component=texts,
    action=texts,
    effect=st.sampled_from(Effect),
    reason=st.none() | st.sampled_from(Reason),
    started_ms=numbers,
    ended_ms=numbers,
    queue_ms=numbers,
    service_ms=numbers,
    input=raws,
    output=raws,
    error=st.none() | errors,
    attempts=st.lists(attempts, max_size=2).map(tuple),
    actions=st.lists(actions, max_size=2).map(tuple),
    model_calls=st.lists(model_calls, max_size=2).map(tuple),
    rewards=st.lists(rewards, max_size=2).map(tuple),
    usage=st.none() | usages,
    evidence=st.dictionaries(texts, json_values, max_size=2),
    simulated=st.booleans(),
    reused_from=texts,
)
budgets = st.builds(
    RunBudget,
    deadline_ms=st.none() | numbers,
    reserve_ms=st.none() | numbers,
    retries=st.none() | st.integers(0, 9),
    tokens=st.none() | st.integers(0, 9),
    cost=st.none() | numbers,
)
digests = st.binary(max_size=4).map(digest_of)
run_ids = st.builds(new_run_id)
any_run = st.builds(
    Run,
    id=run_ids,
    workflow_run_id=texts,
    manifest=st.builds(
        Manifest, workflow=texts, version=texts, plan=digests, components=st.dictionaries(texts, texts, max_size=2)
    ),
    input=raws,
    input_digest=digests,
    started_at_ns=times_ns,
    duration_ms=numbers,
    status=st.sampled_from(RunStatus),
    reason=st.none() | st.sampled_from(Reason),
    error=st.none() | errors,
    output=raws,
    tenant=texts,
    labels=st.dictionaries(st.sampled_from(["task", "group", "split", "purpose", "session"]), texts, max_size=3),
    seed=integers,
    reference=raws,
    memory=raws,
    resources=raws,
    budget=st.none() | budgets,
    steps=st.lists(steps, max_size=3),
    rewards=st.lists(rewards, max_size=2).map(tuple),
    reward=st.none() | numbers,
    usage=st.none() | usages,
    retries=st.integers(0, 9),
    parent=texts,
    traceparent=texts,
    tracestate=texts,
    baggage=st.lists(texts, max_size=2).map(tuple),
    replay_of=texts,
    simulated=st.booleans(),
    evidence=st.dictionaries(texts, json_values, max_size=2),
    warnings=st.lists(texts, max_size=2).map(tuple),
)


@st.composite
def any_records(draw: st.DrawFn) -> list[Run | EffectRecord | Annotation]:
    """A run, with effects and annotations of it."""
    run = draw(any_run)
    effects = st.builds(
        EffectRecord,
        run_id=st.just(run.id),
        path=texts.map(StepPath),
        component=texts,
        action=texts,
        request_digest=digests,
        request=raws,
        intended_at_ns=times_ns,
        confirmed=st.booleans(),
        refused=st.booleans(),
    )
    notes = st.builds(
        Annotation,
        run_id=st.just(run.id),
        name=texts,
        value=json_values,
        at_ns=times_ns,
        path=texts.map(StepPath),
        by=texts,
        reason=texts,
    )
    received = st.builds(
        msgspec.structs.replace, effects, receipt=raws, received_at_ns=st.integers(1, 2**62), refused=st.just(False)
    )
    unique = draw(st.lists(effects | received, max_size=2, unique_by=lambda effect: effect.path))
    return [
        run,
        *sorted(unique, key=lambda effect: (effect.intended_at_ns, effect.path)),
        *draw(st.lists(notes, max_size=2)),
    ]

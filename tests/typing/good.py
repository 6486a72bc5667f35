"""A user's program: every line type-checks as it stands."""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import stretto


@stretto.component("greet", "1.0.0", effects="pure")
async def greet(name: str, times: int = 1) -> dict[str, str]:
    """Greets."""
    return {"text": f"Hello {name}! " * times}


@stretto.component(name="counter", effects={"get": "read", "add": "write"}, action_field="action")
class Counter:
    """Counts, one for the whole process."""

    def __init__(self) -> None:
        self.count = 0

    async def __call__(self, action: str, by: int = 1) -> dict[str, int]:
        self.count += by if action == "add" else 0
        return {"count": self.count}

    async def close(self) -> None:
        self.count = 0


@stretto.component(effects="read", calls=False)
async def quiet(x: int, context: stretto.Context) -> dict[str, int]:
    return {"x": x}


@stretto.component
def plain(x: int, context: stretto.Context) -> dict[str, int]:
    return {"x": x}


async def serve(path: Path) -> Sequence[stretto.Run]:
    with stretto.Store(path / "runs.db") as store:
        async with stretto.load(path / "workflow.yaml", store=store) as workflow:
            run: stretto.Run = await workflow.run(
                {"name": "Ada"},
                labels={"task": "greeting"},
                budget=stretto.BudgetSpec(deadline=timedelta(seconds=3), retries=2),
            )
            if run.status is stretto.RunStatus.OK and run.reason is None:
                step: stretto.StepRecord = run.steps[0]
                print(run.output_value, step.input_value, step.started_ms + step.service_ms)
            elif run.error is not None:
                print(run.error.code, run.error.message)
            again = await workflow.replay(run.id, outputs={"greet": {"text": "Hi"}})
            print(again.simulated, again.replay_of)
        store.annotate(stretto.Annotation(run_id=run.id, name="thumbs", value=1, at_ns=run.started_at_ns))
        return await workflow.run_many([{"name": "Ada"}, stretto.RunRequest(input={"name": "Bob"})], concurrency=2)


def script(path: Path) -> str:
    workflow = stretto.load(path)
    try:
        run = workflow.run_sync({"name": "Ada"}, seed=7)
    except stretto.InputError as error:
        return "; ".join(str(violation) for violation in error.violations)
    except stretto.StrettoError as error:
        return error.code
    total: float | None = run.reward
    terms: tuple[stretto.Reward, ...] = run.rewards
    return f"{total} of {len(terms)}"


async def answer(request: stretto.Request) -> stretto.Response:
    if request.call.attempt > 1:
        raise stretto.ComponentError("gone", stretto.Code.NOT_FOUND, retryable=False)
    reward = stretto.Reward(name="helpful", value=None, reason="nobody said")
    return stretto.Response(output={"ok": True}, rewards=(reward,), usage=stretto.Usage(input_tokens=3))

"""A user's mistakes: each marked line is refused, for the reason that it names, and no other line is."""

from pathlib import Path

import stretto


@stretto.component("greet", effects="reads")  # error: call-overload, untyped-decorator
async def greet(name: str) -> dict[str, str]:
    return {"text": name}


async def serve(path: Path) -> None:
    workflow = stretto.load(path)
    workflow.run({"name": "Ada"})  # error: unused-coroutine
    run = await workflow.run("Ada")  # error: arg-type
    run.output["text"]  # error: call-overload
    run.status = "ok"  # error: assignment
    await workflow.run({}, budget=3)  # error: arg-type
    await workflow.run_many({"name": "Ada"})  # error: dict-item
    workflow.run_sync({}).cost  # error: attr-defined
    stretto.Reward(name="helpful")  # error: call-arg
    stretto.Response(outputs={})  # error: call-arg
    stretto.Store(path).list(workflw="refunds")  # error: call-arg
    stretto.Annotation(run_id=run.id, name="thumbs", value=object(), at_ns=0)  # error: arg-type

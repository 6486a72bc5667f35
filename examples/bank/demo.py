"""A day at the bank: a customer who asks for too much, and a core API that changes its format. Run from the root:

python -m examples.bank.demo
"""

import asyncio
import os
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import stretto
from examples.bank.components import CORE_API
from examples.bank.core import CoreApi, Format
from stretto import Run

WORKFLOW: Final = Path(__file__).with_name("workflow.yaml")

RETRY_AFTER: Final = timedelta(milliseconds=200)
"""In place of the minute of `workflow.yaml`, so that nobody has to wait for it."""

INVEST: Final = {"account": "4711", "topic": "invest", "question": "Where do I put my money?", "risk": "medium"}
CRYPTO: Final = {**INVEST, "question": "I want crypto, all of it!", "risk": "low"}
BALANCE: Final = {**INVEST, "topic": "balance", "question": ""}


async def day(workflow: stretto.Workflow, core: CoreApi) -> None:
    """Tell, run by run, what the customer got and from whom."""
    tell("a question", await workflow.run(INVEST))
    tell("asked for what the bank does not sell", await workflow.run(CRYPTO))
    tell("a balance", await workflow.run(BALANCE))
    core.format = Format.RENAMED
    for number in (1, 2, 3):
        tell(f"the API's format changed, {number}", await workflow.run(BALANCE))
    before = core.asked
    tell("at once, without asking the API", await workflow.run(BALANCE))
    if core.asked != before:
        raise SystemExit("the core API was asked although three runs in a row had failed")
    core.format = Format.AGREED
    await asyncio.sleep(RETRY_AFTER.total_seconds())
    tell("the API is put right", await workflow.run(BALANCE))


def tell(what: str, run: Run) -> None:
    output = run.output_value or {}
    reason = f" ({run.reason})" if run.reason else ""
    print(f"{what + ':':40} {run.status}{reason}\n    {output.get('text')}")
    for field in ("product", "phone"):
        if output.get(field):
            print(f"    {field}: {output[field]}")


async def main() -> None:
    core = CoreApi()
    os.environ[CORE_API] = await core.start()
    with TemporaryDirectory() as folder:
        workflow = stretto.load(quickly(Path(folder)), store=Path(folder) / "runs.db")
        try:
            await day(workflow, core)
        finally:
            await workflow.aclose()
            await core.stop()


def quickly(folder: Path) -> Path:
    """The example's files, with a fallback that tries again after `RETRY_AFTER`."""
    for file in WORKFLOW.parent.iterdir():
        if file.suffix in (".yaml", ".json") or file.name == "components.py":
            (folder / file.name).write_text(file.read_text())
    copied = folder / WORKFLOW.name
    milliseconds = RETRY_AFTER // timedelta(milliseconds=1)
    copied.write_text(copied.read_text().replace("retry_after: 60s", f"retry_after: {milliseconds}ms"))
    return copied


if __name__ == "__main__":
    asyncio.run(main())

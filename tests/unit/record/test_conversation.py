"""Requests that are recorded once and read back whole."""

from typing import Any

import msgspec
import orjson
import pytest

from stretto.record.conversation import request_at
from stretto.record.model import Manifest, Run, StepRecord
from stretto.types.enums import StepStatus
from stretto.types.errors import UsageError
from stretto.types.ids import Digest, RunId, StepPath


def run_with(**inputs: Any) -> Run:
    manifest = Manifest(workflow="w", version="1", plan=Digest("0" * 64), components={})
    steps = [
        StepRecord(path=StepPath(path), status=StepStatus.OK, input=msgspec.Raw(orjson.dumps(given)))
        for path, given in inputs.items()
    ]
    return Run(
        id=RunId("r"),
        workflow_run_id="w",
        manifest=manifest,
        input=msgspec.Raw(b"{}"),
        input_digest=Digest("0" * 64),
        started_at_ns=0,
        steps=steps,
    )


def test_a_request_that_goes_on_with_others_is_read_whole() -> None:
    run = run_with(
        a={"model": "m", "messages": [1, 2], "tools": ["t"], "temperature": 0},
        b={"$after": "a", "$same": ["tools"], "model": "m", "messages": [3]},
        c={"$after": "b", "$same": ["tools"], "model": "n", "messages": [4, 5], "seed": 7},
    )
    assert request_at(run, "a") == {"model": "m", "messages": [1, 2], "tools": ["t"], "temperature": 0}
    assert request_at(run, "b") == {"model": "m", "messages": [1, 2, 3], "tools": ["t"]}
    assert request_at(run, "c") == {"model": "n", "messages": [1, 2, 3, 4, 5], "tools": ["t"], "seed": 7}


def test_a_prompt_goes_on_as_text() -> None:
    run = run_with(a={"prompt": "Once"}, b={"$after": "a", "prompt": " upon"})
    assert request_at(run, "b") == {"prompt": "Once upon"}


@pytest.mark.parametrize(("path", "lacks"), [("x", "x"), ("lost", "gone"), ("ring", "ring")])
def test_what_is_not_there_is_named(path: str, lacks: str) -> None:
    run = run_with(lost={"$after": "gone"}, ring={"$after": "ring"})
    with pytest.raises(UsageError, match=f"no recorded request at '{lacks}'"):
        request_at(run, path)

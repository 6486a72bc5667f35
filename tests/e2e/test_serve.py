"""A server of workflows in a process of its own: told to stop while it answers, who may call, and whose weights act."""

import os
import signal
import urllib.request
from pathlib import Path
from threading import Thread
from typing import Any, cast

import numpy as np
import openai
import orjson
import pytest

import stretto
from stretto.components.policy_weights import PolicyWeights
from stretto.store.sqlite import Store
from tests.e2e.test_federation import serving
from tests.unit.serve.faces.served_faces import COMPONENTS, WRITING

_WAITS = 'if query == "pay and wait":'

SLOW = COMPONENTS.replace(_WAITS, f'if query == "pay slowly":\n        await asyncio.sleep(1.5)\n    {_WAITS}')


def home(tmp_path: Path) -> Path:
    (tmp_path / "workflow.yaml").write_text(WRITING)
    (tmp_path / "components.py").write_text(SLOW)
    return tmp_path


def asking(url: str, query: str, *, stream: bool = False, api_key: str = "none") -> str:
    asked: Any = {"model": "writing", "messages": [{"role": "user", "content": query}], "stream": stream}
    with openai.OpenAI(base_url=f"{url}/v1", api_key=api_key, max_retries=0) as client:
        answer: Any = client.chat.completions.create(**asked)
        if stream:
            return "".join([chunk.choices[0].delta.content or "" for chunk in answer])
        return str(answer.choices[0].message.content)


@pytest.mark.parametrize("stream", [False, True])
def test_what_was_begun_is_answered_when_it_is_told_to_stop(tmp_path: Path, stream: bool) -> None:
    told: list[str] = []
    with serving(home(tmp_path)) as (here, process):
        caller = Thread(target=lambda: told.append(asking(here["http"], "pay slowly", stream=stream)))
        caller.start()
        with Store(tmp_path / "runs.db") as store:
            while not (tmp_path / "written").exists():
                caller.join(0.01)
                assert caller.is_alive()
            process.send_signal(signal.SIGTERM)
            caller.join(20)
            assert process.wait(20) == 0
            assert [str(run.status) for run in store.list()] == ["ok"]
    assert told == ["pay slowly (0 before)"]


def test_whoever_has_no_token_is_refused_by_every_face(tmp_path: Path) -> None:
    token = "a-token-of-sixteen-or-more"
    with serving(home(tmp_path), "--http", ":0", "--token-env", "TOKENS", TOKENS=token) as (here, _):
        with pytest.raises(openai.AuthenticationError):
            asking(here["http"], "hello")
        assert asking(here["http"], "hello", api_key=token) == "hello (0 before)"
    assert os.environ.get("TOKENS") is None


PAINTING = """
stretto: 1
name: painting
components: components.py
steps:
  - { name: paint, component: painter, input_mapping: { words: input.words } }
output: { colour: steps.paint.action }
"""

PAINTER = """
import stretto

painter = stretto.SoftmaxPolicy("painter", ("red", "blue"), state=(), buckets=8)
"""


def trained(home: Path) -> Path:
    """Weights under which blue is certain, beside a workflow that paints."""
    (home / "workflow.yaml").write_text(PAINTING)
    (home / "components.py").write_text(PAINTER)
    workflow = stretto.load(home / "workflow.yaml", store=home / "runs.db")
    spec = cast("stretto.SoftmaxPolicy", workflow.component("painter")).spec
    return PolicyWeights.from_dense(spec, np.tile([0.0, 99.0], (8, 1))).save(home / "weights")


def read(url: str, body: object = None) -> str:
    data = None if body is None else orjson.dumps(body)
    asked = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(asked) as reply:
        return str(reply.read().decode())


def test_runs_served_with_trained_weights_are_explained_by_those_and_by_no_others(tmp_path: Path) -> None:
    weights = trained(tmp_path)
    explain = ("--http", ":0", "--explain")
    with serving(tmp_path, *explain, "--checkpoint", f"painter={weights}") as (here, _):
        ran = [read(f"{here['http']}/v1/workflows/painting/runs", {"input": {"words": "x"}}) for _ in range(4)]
        told = orjson.loads(read(f"{here['http']}/v1/workflows/painting/runs/last/explanation"))
        page = read(f"{here['http']}/runs/last/explanation")
    assert [orjson.loads(each)["output"] for each in ran] == [{"colour": "blue"}] * 4
    assert (told["changed"], told["steps"][0]["choices"][0]["chosen"]) == ([], "blue")
    assert "Not as they were" not in page
    with serving(tmp_path, *explain) as (here, _):
        told = orjson.loads(read(f"{here['http']}/v1/workflows/painting/runs/last/explanation"))
        page = read(f"{here['http']}/runs/last/explanation")
    assert told["changed"] == ["painter"]
    assert "Not as they were in the run any more: painter." in page

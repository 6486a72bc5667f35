"""A server of workflows in a process of its own: told to stop while it answers, and who may call."""

import os
import signal
from pathlib import Path
from threading import Thread
from typing import Any

import openai
import pytest

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

"""`stretto serve --explain` read in a real browser: nothing that a run was asked is run, and a reader logs in."""

import shutil
import subprocess
import tempfile
import urllib.request
from pathlib import Path
from typing import Final

import orjson
import pytest

from tests.e2e.test_federation import serving
from tests.unit.serve.faces.served_faces import COMPONENTS

BROWSER: Final = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")

TOKEN: Final = "a-token-of-sixteen-or-more"

HOSTILE: Final = "<img src=x onerror=\"document.title='run'\">"

WORKFLOW: Final = """
stretto: 1
name: reading
contract: { input: { query: string } }
steps:
  - { name: look, component: look, input_mapping: { query: input.query } }
  - { name: found, component: found, input_mapping: { text: steps.look.found } }
output: { reply: steps.look.found }
"""

JUDGE: Final = '''

@stretto.reward("found", inline=True)
def found(text: str) -> float:
    """Short answers are worth more."""
    return -float(len(text))
'''


def read(url: str) -> str:
    """The document of a page as a browser has it once scripts would have run."""
    with tempfile.TemporaryDirectory() as profile:
        command = [str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}"]
        shown = subprocess.run([*command, "--dump-dom", url], check=True, capture_output=True, timeout=120)
    return shown.stdout.decode()


def ask(url: str, query: str) -> str:
    body = orjson.dumps({"input": {"query": query}, "labels": {"task": query}})
    headers = {"content-type": "application/json", "authorization": f"Bearer {TOKEN}"}
    asked = urllib.request.Request(f"{url}/v1/workflows/reading/runs", body, headers)
    with urllib.request.urlopen(asked) as reply:
        return str(orjson.loads(reply.read())["run_id"])


def test_a_run_is_found_in_the_list_and_explained_and_its_input_is_text(tmp_path: Path) -> None:
    (tmp_path / "workflow.yaml").write_text(WORKFLOW)
    (tmp_path / "components.py").write_text(COMPONENTS + JUDGE)
    with serving(tmp_path, "--http", ":0", "--explain", "--token-env", "TOKENS", TOKENS=TOKEN) as (here, _):
        ask(here["http"], "hello")
        run = ask(here["http"], HOSTILE)
        address = here["http"].replace("://", f"://reader:{TOKEN}@")
        listed, shown = read(f"{address}/runs"), read(f"{address}/runs/{run}/explanation")
        refused = read(f"{here['http']}/runs")
    assert f'href="/runs/{run}/explanation"' in listed
    assert "<title>Runs</title>" in listed
    assert f"<title>Run {run} explained</title>" in shown
    assert "&lt;img src=x onerror=" in listed
    assert "&lt;img src=x" in shown
    assert "<img" not in listed + shown
    assert "cost it" in shown
    assert run not in refused

"""`stretto acp verify` on real servers: it finds the one that says yes to everything."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from stretto.cli.boundary import execute
from stretto.components.acp.declaration import make_acp

SAYS_YES = Path(__file__).parent / "servers" / "says_yes.py"


@pytest.fixture(scope="module")
def yes() -> Iterator[str]:
    with subprocess.Popen([sys.executable, SAYS_YES], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield f"http://127.0.0.1:{server.stdout.readline().strip()}"
        server.terminate()


def test_a_server_that_says_yes_to_everything_fails(yes: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert execute(["acp", "verify", yes, "--json"]) == 1
    document = json.loads(capfd.readouterr().out)
    verdicts = {case["name"]: case["verdict"] for case in document["cases"]}
    assert document["failed"] >= 20
    assert verdicts["a good request is answered as the card says"] == "passed"
    assert verdicts["an unknown major version is refused"] == "failed"
    assert verdicts["a body that is no JSON is refused"] == "failed"
    assert verdicts["bytes that are no message are refused"] == "skipped"


def test_what_was_sent_expected_and_got_is_shown(yes: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert execute(["acp", "verify", yes]) == 1
    shown = capfd.readouterr().out
    assert "'yes' does not keep to the protocol" in shown
    assert 'got   200 {"result": {}, "output": {}}' in shown


def test_what_it_says_of_itself_is_shown(yes: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert execute(["acp", "describe", yes]) == 0
    shown = capfd.readouterr().out
    assert "speaks the protocol in 1.0" in shown
    assert "yes 1.0.0" in shown
    assert "*: read" in shown


def test_a_card_that_was_kept_makes_a_component(yes: str, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert execute(["acp", "describe", yes, "--json"]) == 0
    (tmp_path / "card.json").write_text(capfd.readouterr().out)
    options = {"url": f"acp+{yes}", "card": Path("card.json")}
    assert make_acp(options, "it", tmp_path).card.version == "1.0.0"


def test_a_server_without_such_a_component_is_told(yes: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert execute(["acp", "verify", f"{yes}#no"]) == 2
    assert "has no component 'no'; it has yes" in capfd.readouterr().err

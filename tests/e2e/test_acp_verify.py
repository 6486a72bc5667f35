"""`stretto acp verify` on real servers: it finds the one that says yes to everything."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from stretto.cli.boundary import execute
from stretto.components.acp.declaration import make_acp
from tests.unit.components.acp.raw_server import RawServer, reply

pytestmark = pytest.mark.ci

REFUSES = """
import stretto


@stretto.component("orders", "1.0.0", effects="read")
async def orders(order: str) -> dict:
    if order != "W1":
        raise stretto.ComponentError("no such order", stretto.Code.NOT_FOUND)
    return {"state": "new"}
"""

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


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        ('"input":{"type":"object","required":3}', "says of its input what is no JSON Schema 2020-12"),
        ('"output":{"$ref":"http://127.0.0.1:1/x"}', "Retrieval is disabled"),
        ('"effects":{"*":"maybe"}', "says of its effects: 'maybe' is not a valid Effect"),
        ('"input":' + '{"a":' * 900 + "1" + "}" * 900, "says of its input what is no JSON Schema 2020-12"),
    ],
)
def test_a_card_that_is_none_is_told(claim: str, said: str, capfd: pytest.CaptureFixture[str]) -> None:
    card = f'{{"cards":[{{"name":"x","version":"1.0.0","verbs":["execute"],{claim}}}]}}'
    with RawServer(reply("200 OK", card.encode())) as server:
        assert execute(["acp", "verify", f"http://127.0.0.1:{server.port}"]) == 2
    assert said in capfd.readouterr().err


def test_a_token_is_not_sent_unencrypted(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DESK_TOKEN", "a-long-secret")
    assert execute(["acp", "verify", "http://shop.example", "--token-env", "DESK_TOKEN"]) == 2
    assert "would send its token unencrypted to shop.example:80" in capfd.readouterr().err


def test_a_server_without_such_a_component_is_told(yes: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert execute(["acp", "verify", f"{yes}#no"]) == 2
    assert "has no component 'no'; it has yes" in capfd.readouterr().err


def test_a_sample_that_a_sound_component_refuses_is_told(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "components.py").write_text(REFUSES)
    serving = [sys.executable, "-m", "stretto", "acp", "serve", "components.py", "--http", ":0", "--json"]
    with subprocess.Popen(serving, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as server:
        assert server.stdout is not None
        url = json.loads(server.stdout.readline())["http"]
        codes = execute(["acp", "verify", url]), execute(["acp", "verify", url, "--input", '{"order": "W1"}'])
        server.terminate()
    asked, given = capfd.readouterr().out.split("'orders' does not keep to the protocol")
    assert codes == (1, 0)
    assert "no such order" in " ".join(asked.split())
    assert 'it was asked {"order":"..."}, made from its schema; give what it can answer: --input JSON' in " ".join(
        given.split()
    )
    assert "'orders' keeps to the protocol" in given


@pytest.mark.parametrize(
    ("url", "options", "says"),
    [
        ("127.0.0.1:8081", [], "URL is '127.0.0.1:8081'; expected an address such as http://127.0.0.1:8081 or grpc://"),
        ("acp+ftp://a", [], "URL is 'ftp://a'; expected an address such as http://"),
        ("http://127.0.0.1:9", [], "the server at 127.0.0.1:9 cannot be reached: Connection refused; start it, or"),
        ("grpc://127.0.0.1:9", [], "the server at 127.0.0.1:9 cannot be reached: Connection refused; start it, or"),
        ("acp+http://127.0.0.1:9#one", [], "the server of component 'one' at 127.0.0.1:9 cannot be reached"),
        ("http://127.0.0.1:9", ["--token-env", "NO_SUCH"], "takes a token from $NO_SUCH, which is not set; set it\n"),
    ],
)
@pytest.mark.parametrize("verb", ["describe", "verify"])
def test_what_keeps_a_server_from_being_asked_is_told(
    verb: str, url: str, options: list[str], says: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert execute(["acp", verb, url, *options]) == 2
    assert says in capfd.readouterr().err


def test_who_was_asked_nothing_does_not_pass(yes: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert execute(["acp", "verify", yes, "--group", "confirms"]) == 1
    shown = capfd.readouterr().out
    assert "core        not asked: its group was not asked for" in shown
    assert "no case was asked, so that nothing is known of 'yes'" in shown


def test_what_a_refusal_should_have_been_is_said(yes: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert execute(["acp", "verify", yes, "--group", "core"]) == 1
    shown = " ".join(capfd.readouterr().out.split())
    said = "expected a refusal (reason VERSION_UNSUPPORTED, metadata `supported_versions`), got an answer"
    assert said in shown

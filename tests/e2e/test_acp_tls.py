"""A server with TLS and tokens, as a process: who is let in, and what is said to who is not."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stretto.cli.boundary import execute
from tests.e2e.test_acp_serve import serving
from tests.unit.serve.certificates import Authority

pytestmark = pytest.mark.ci

TOKEN = "a-token-of-some-length"

WORKFLOW = """
stretto: 1
name: naps
version: 1.0.0
components:
  first: {{ kind: acp, url: "acp+{http}", token_env: NAP_TOKEN, ca: authority.pem }}
  second: {{ kind: acp, url: "acp+{grpc}", token_env: NAP_TOKEN, ca: authority.pem }}
steps:
  - {{ name: one, component: first, input_mapping: {{ seconds: "0.0" }} }}
  - {{ name: two, component: second, input_mapping: {{ seconds: "0.0" }} }}
output: {{ slept: steps.two.slept }}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tls")


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[dict[str, Any]]:
    """Where it is, over each of the two."""
    (folder / "tokens").write_text(TOKEN)
    cert, key = Authority(folder).signed("server")
    told = ["--tls-cert", str(cert), "--tls-key", str(key), "--token-file", str(folder / "tokens")]
    with serving(folder, "--http", ":0", "--grpc", ":0", *told) as (_, found):
        yield found


@pytest.fixture
def known(served: dict[str, Any], folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The same, asked from a folder with the certificates, by somebody who has the token."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("NAP_TOKEN", TOKEN)
    return served


def test_a_workflow_reaches_it_over_both(
    known: dict[str, Any], folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "naps.yaml").write_text(WORKFLOW.format(**known))
    assert execute(["run", "naps.yaml", "--input", "{}"]) == 0
    assert capfd.readouterr().out == '{"slept":0.0}\n'


@pytest.mark.parametrize("door", ["http", "grpc"])
def test_it_is_described_to_who_trusts_it_and_has_the_token(
    known: dict[str, Any], door: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert execute(["acp", "describe", known[door], "--ca", "authority.pem", "--token-env", "NAP_TOKEN"]) == 0
    assert "sleep" in capfd.readouterr().out


@pytest.mark.parametrize("door", ["http", "grpc"])
@pytest.mark.parametrize(
    ("options", "says"),
    [
        ([], "its certificate is not trusted: "),
        ([], "correct the address, or name the file with whose certificates to trust: `ca`, or --ca"),
        (
            ["--ca", "authority.pem"],
            "Authorization is missing; name the environment variable that holds its token: `tok",
        ),
        (
            ["--ca", "authority.pem", "--token-env", "OTHER"],
            "is no bearer token that is accepted here; correct what $OTHER holds",
        ),
    ],
)
def test_who_is_not_let_in_is_told_what_to_do(
    known: dict[str, Any],
    door: str,
    options: list[str],
    says: str,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OTHER", "another-token-of-length")
    assert execute(["acp", "describe", known[door], *options]) == 2
    assert says in " ".join(capfd.readouterr().err.split())


@pytest.mark.parametrize("door", ["http", "grpc"])
def test_who_asks_without_tls_is_told_of_it(
    known: dict[str, Any], door: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert execute(["acp", "describe", known[door].replace("s:", ":", 1)]) == 2
    said = " ".join(capfd.readouterr().err.split())
    assert f"the address of one that speaks TLS begins with {door}s" in said

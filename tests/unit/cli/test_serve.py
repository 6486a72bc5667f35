"""`stretto serve`: what it refuses before anything is served."""

from pathlib import Path

import pytest

from tests.unit.cli.conftest import Cli
from tests.unit.serve.faces.served_faces import COMPONENTS, READING

UNFIT = READING.replace("reply", "result")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--face", "telnet"), "--face is 'telnet'; expected mcp or openai"),
        (("--face", "openai"), "cannot stand as a model"),
        (("--chat-output", "text"), "its output has no field 'text'; it has: result"),
        (("--http", "here"), "--http is 'here'; expected HOST:PORT"),
        (("--token-env", "STRETTO_NO_TOKENS"), "the environment variable STRETTO_NO_TOKENS holds no token"),
        (("--tls-cert", "a.pem"), "TLS needs both --tls-cert and --tls-key"),
        (("--mcp-stdio", "--http", ":0"), "answers on stdin and stdout only; leave out --http"),
        (
            ("--mcp-stdio", "--face", "openai", "--token-env", "T"),
            "leave out --face and --token-env",
        ),
        (("--face", "mcp", "--grpc", ":0"), "tools, models and explanations are served over HTTP; add --http"),
        (("components.py",), "holds components, and no workflow; serve them: stretto acp serve components.py"),
        (("notes.yaml",), "holds components, and no workflow; serve them: stretto acp serve notes.yaml"),
        (("workflow.yaml",), "two components are called 'reading'"),
        (("--checkpoint", "look=w"), "--checkpoint look=w: 'look' is of kind python; it has no weights"),
        (("--checkpoint", "lok=w"), "workflow 'reading' has no component 'lok'; it has: card, check, look, pay"),
        (
            ("other.yaml", "--checkpoint", "lok=w"),
            "no component 'lok'; it has: card, check, look, pay; workflow 'other' has no component 'lok'; it has:",
        ),
        (("--checkpoint", "w.safetensors"), "--checkpoint 'w.safetensors' is no pair"),
        (("--checkpoint", "."), "--checkpoint .: the folder holds no joint training"),
        (("--mcp-stdio", "--checkpoint", "look=w"), "'look' is of kind python; it has no weights"),
    ],
)
def test_what_cannot_be_served_is_told_before_anything_is(
    cli: Cli, folder: Path, options: tuple[str, ...], says: str
) -> None:
    (folder / "workflow.yaml").write_text(UNFIT)
    (folder / "components.py").write_text(COMPONENTS)
    (folder / "notes.yaml").write_text("kind: memory\n")
    (folder / "other.yaml").write_text(UNFIT.replace("name: reading", "name: other"))
    done = cli("serve", "workflow.yaml", *options)
    assert done.code == 2
    assert says in " ".join(done.err.split())


def test_a_folder_stands_for_its_workflow(cli: Cli, folder: Path) -> None:
    (folder / "own").mkdir()
    (folder / "own" / "workflow.yaml").write_text(UNFIT)
    (folder / "own" / "components.py").write_text(COMPONENTS)
    assert "workflow 'reading' has no component 'lok'" in cli("serve", "own", "--checkpoint", "lok=w").err


def test_without_a_workflow_it_says_what_is_missing(cli: Cli) -> None:
    assert cli("serve").code == 2

"""What the examples of some pages need around them."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Final

import orjson

from tests.docs.pages import ROOT, Page

VLLM_ANSWER: Final = ROOT / "tests" / "unit" / "components" / "openai" / "recorded" / "vllm" / "end.json"
"""What a real server answered to the prompt of the page."""

CREDIT_RULES: Final = ROOT / "examples" / "legacy" / "credit_rules.cob"

PLANNER: Final = ROOT / "examples" / "polyglot" / "planner.mjs"

NEEDED: Final = {
    "docs/how-to/legacy-programs.md": ("cobc", "gnucobol"),
    "docs/how-to/other-languages.md": ("node", "nodejs"),
}
"""Programs that the commands of a page need, and the Debian packages that bring them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What surrounds the examples of a page."""

    variables: Mapping[str, str] = field(default_factory=dict)
    """Environment variables of its commands."""
    replaced: Mapping[str, str] = field(default_factory=dict)
    """Texts of the page, and what stands for them when it is played: an address that the test can have."""
    files: Mapping[str, Path] = field(default_factory=dict)
    """Files that the reader has already, by the names that the page calls them."""


@contextmanager
def setting_of(page: Page) -> Iterator[Setting]:
    """The setting of a page, valid inside the context."""
    with ExitStack() as stack:
        if page.name == "docs/how-to/openai.md":
            base_url = stack.enter_context(_model_server())
            yield Setting(variables={"MODEL_KEY": "secret"}, replaced={"http://127.0.0.1:8000/v1": base_url})
        elif page.name == "docs/how-to/http-services.md":
            origin = stack.enter_context(_own_services(page))
            yield Setting(variables={"SHOP_TOKEN": "let-me-in"}, replaced={"http://127.0.0.1:8070": origin})
        elif page.name == "docs/how-to/gateway.md":
            base_url = stack.enter_context(_model_server())
            store = Path(stack.enter_context(TemporaryDirectory())) / "runs.db"
            url = stack.enter_context(_gateway(base_url, store))
            yield Setting(
                variables={"STRETTO_STORE": str(store)},
                replaced={"http://127.0.0.1:8330": url, ".stretto/runs.db": str(store)},
            )
        elif page.name == "docs/how-to/other-languages.md":
            url = stack.enter_context(_own_component(page))
            yield Setting(replaced={"http://127.0.0.1:8090": url})
        elif page.name == "docs/how-to/serve-a-component.md":
            place = stack.enter_context(_served(page, "components.py")).removeprefix("http://")
            yield Setting(replaced={"127.0.0.1:8081": place})
        elif page.name == "docs/how-to/gradients-over-the-wire.md":
            place = stack.enter_context(_served(page, "there/components.py")).removeprefix("http://")
            yield Setting(replaced={"127.0.0.1:8081": place})
        elif page.name == "docs/how-to/learn-elsewhere.md":
            place = stack.enter_context(_served(page, "planner/components.py")).removeprefix("http://")
            yield Setting(replaced={"127.0.0.1:8081": place})
        elif page.name == "docs/how-to/serve-a-workflow.md":
            url, _ = stack.enter_context(_served_workflow(page, "workflow.yaml"))
            yield Setting(replaced={"http://127.0.0.1:8080": url})
        elif page.name == "docs/how-to/federate.md":
            url, store = stack.enter_context(_served_workflow(page, "warehouse/workflow.yaml"))
            place = url.removeprefix("http://")
            yield Setting(
                variables={"STRETTO_ACP_ALLOW": place},
                replaced={"127.0.0.1:8091": place, "warehouse/runs.db": str(store)},
            )
        elif page.name == "docs/how-to/legacy-programs.md":
            yield Setting(files={"rules/credit_rules.cob": CREDIT_RULES})
        else:
            yield Setting()


@contextmanager
def _own_services(page: Page) -> Iterator[str]:
    """The services that a page brings along, as it starts them; yields where they are."""
    (program,) = [block.text for block in page.blocks if block.file == "services.py"]
    process = subprocess.Popen([sys.executable, "-c", program, "0"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@contextmanager
def _own_component(page: Page) -> Iterator[str]:
    """The component that a page writes in JavaScript, as it starts it; yields where it is."""
    (program,) = [block.text for block in page.blocks if block.file == "price.mjs"]
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "planner.mjs").write_text(PLANNER.read_text())
        (folder / "price.mjs").write_text(program)
        with subprocess.Popen(["node", "price.mjs", "0"], cwd=folder, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            try:
                yield process.stdout.readline().split()[-1]
            finally:
                process.terminate()


@contextmanager
def _served(page: Page, name: str) -> Iterator[str]:
    """The components in a file of a page, served as it serves them; yields where they are."""
    (text,) = [block.text for block in page.blocks if block.file == name]
    with TemporaryDirectory() as folder:
        file = Path(folder) / "components.py"
        file.write_text(text)
        command = [sys.executable, "-m", "stretto", "acp", "serve", str(file), "--http", ":0", "--json"]
        with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            try:
                yield orjson.loads(process.stdout.readline())["http"]
            finally:
                process.terminate()


@contextmanager
def _gateway(upstream: str, store: Path) -> Iterator[str]:
    """A gateway before a model server; yields its address."""
    stretto = Path(sys.executable).with_name("stretto")
    command = [str(stretto), "gateway", "--upstream", upstream, "--store", str(store), "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            yield orjson.loads(process.stdout.readline())["url"]
        finally:
            process.terminate()


@contextmanager
def _served_workflow(page: Page, workflow: str) -> Iterator[tuple[str, Path]]:
    """A workflow that a page brings along, served; yields where it is, and where its runs are kept."""
    stretto = Path(sys.executable).with_name("stretto")
    with TemporaryDirectory() as folder:
        store = Path(folder) / "served.db"
        for block in page.blocks:
            if block.file:
                file = Path(folder) / block.file
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(block.text)
        command = [str(stretto), "serve", str(Path(folder) / workflow), "--http", ":0", "--store", str(store), "--json"]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            try:
                yield orjson.loads(process.stdout.readline())["http"], store
            finally:
                process.terminate()


@contextmanager
def _model_server() -> Iterator[str]:
    """A server that gives a recorded answer to every request; yields its base URL."""
    answer = orjson.dumps(orjson.loads(VLLM_ANSWER.read_bytes())["body"])

    class Recorded(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base names it so
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Recorded)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

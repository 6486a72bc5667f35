"""Builds the servers of this folder, starts them, and says where they are: ``python examples/polyglot/servers.py``.

The planner is taught first, where it has no weights yet. Ports are those of workflow.yaml. With ``--free`` any will
do, and a copy of the workflow with the ports found is written to build/workflow.yaml. Ctrl-C, or SIGTERM, stops the
servers.
"""

import argparse
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parent

STOP_S: Final = 5.0
"""In which a server ends that was asked to."""

_PRINTED: Final = re.compile(r"http://127\.0\.0\.1:(\d+)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Server:
    """One program of one file."""

    name: str
    folder: Path
    """In which it is built and started."""
    sources: Sequence[str]
    """What it is made of: its own file, and what that takes from beside it."""
    tool: str
    """Program that must be there to build or to run it."""
    debian: str
    """Debian's package with it."""
    port: int = 0
    """In the workflow; 0 for a program that is started for each call."""
    build: Sequence[str] = ()
    """Nothing where it runs as it is."""
    makes: str = ""
    """What is built: newer than its sources, it is not built again."""
    start: Sequence[str] = ()
    """The port follows, and what else it is told."""


SERVERS: Final = (
    Server(
        name="executor",
        folder=HERE,
        sources=("executor.go",),
        tool="go",
        debian="golang-go",
        port=8101,
        build=("go", "build", "-o", "build/executor", "executor.go"),
        makes="build/executor",
        start=("build/executor", "--port"),
    ),
    Server(
        name="planner",
        folder=HERE,
        sources=("planner.mjs",),
        tool="node",
        debian="nodejs",
        port=8102,
        start=("node", "planner.mjs", "--port"),
    ),
    Server(
        name="memory",
        folder=HERE,
        sources=("Memory.java",),
        tool="javac",
        debian="default-jdk-headless",
        port=8103,
        build=("javac", "-d", "build/memory", "Memory.java"),
        makes="build/memory/Memory.class",
        start=("java", "-cp", "build/memory", "Memory", "--port"),
    ),
    Server(
        name="rules",
        folder=HERE,
        sources=("standing.cob",),
        tool="cobc",
        debian="gnucobol",
        build=("cobc", "-x", "-o", "build/standing", "standing.cob"),
        makes="build/standing",
    ),
)


def missing(servers: Sequence[Server]) -> list[str]:
    """What must be installed first, with the package that has it."""
    return [f"{each.tool} (Debian: {each.debian})" for each in servers if shutil.which(each.tool) is None]


def build(servers: Sequence[Server]) -> None:
    """Build what is older than its sources. Raises CalledProcessError where a compiler refuses."""
    for server in servers:
        if server.build and not _is_built(server):
            (server.folder / "build").mkdir(exist_ok=True)
            subprocess.run(server.build, cwd=server.folder, check=True)


def _is_built(server: Server) -> bool:
    made = server.folder / server.makes
    sources = [Path(__file__), *(server.folder / source for source in server.sources)]
    return made.exists() and made.stat().st_mtime > max(source.stat().st_mtime for source in sources)


def taught() -> Path:
    """Weights for the planner: those of earlier, else taught now by teach.py, which takes some seconds."""
    weights = HERE / "build" / "planner.safetensors"
    if not weights.exists():
        print("the planner is taught first", flush=True)
        subprocess.run([sys.executable, str(HERE / "teach.py"), "--out", str(weights)], check=True)
    return weights


@contextmanager
def started(
    servers: Sequence[Server], *, free: bool, told: Mapping[str, Sequence[str]] | None = None
) -> Iterator[dict[str, int]]:
    """The servers run, and are ended with the block; gives their ports by name. `told` holds more arguments by name."""
    with ExitStack() as stack:
        running = {
            server.name: stack.enter_context(_running(server, free, (told or {}).get(server.name, ())))
            for server in servers
            if server.start
        }
        yield {name: _port_of(process) for name, process in running.items()}


@contextmanager
def _running(server: Server, free: bool, told: Sequence[str]) -> Iterator["subprocess.Popen[str]"]:
    command = [*server.start, str(0 if free else server.port), *told]
    with subprocess.Popen(command, cwd=server.folder, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()


def _port_of(process: "subprocess.Popen[str]") -> int:
    """What a server prints first is its address."""
    line = process.stdout.readline() if process.stdout else ""
    found = _PRINTED.search(line)
    if found is None:
        raise SystemExit(f"{process.args!r} did not start: {line.strip() or 'it printed nothing'}")
    return int(found.group(1))


def workflow_at(file: Path, servers: Sequence[Server], ports: Mapping[str, int]) -> str:
    """The text of a workflow with other ports; its paths hold from anywhere."""
    text = file.read_text(encoding="utf-8")
    for server in servers:
        if server.port:
            text = text.replace(f"127.0.0.1:{server.port}", f"127.0.0.1:{ports[server.name]}")
    text = re.sub(r"(?<=[ \[])\.{1,2}/[\w./-]+", lambda found: str((file.parent / found.group()).resolve()), text)
    return re.sub(r"(?<=^contract: )\S+", lambda found: str(file.parent / found.group()), text, flags=re.MULTILINE)


def main() -> None:
    """Build, start, say where, wait."""
    parser = argparse.ArgumentParser(description="Builds the servers of this folder, starts them, says where they are.")
    parser.add_argument("--free", action="store_true", help="any free ports; build/workflow.yaml has them")
    parser.add_argument("--weights", type=Path, help="a checkpoint for the planner, as `stretto demo` writes it")
    options = parser.parse_args()
    if missing(SERVERS):
        raise SystemExit(f"not installed: {', '.join(missing(SERVERS))}")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: else the servers would outlive this program
    build(SERVERS)
    weights = options.weights.resolve() if options.weights else taught()
    try:
        with started(SERVERS, free=options.free, told={"planner": ["--weights", str(weights)]}) as ports:
            _tell(ports, free=options.free)
            signal.pause()
    except KeyboardInterrupt:
        print("stopped")


def _tell(ports: Mapping[str, int], *, free: bool) -> None:
    """Say where the servers are, and which workflow asks them."""
    workflow = HERE / "workflow.yaml"
    if free:
        text, workflow = workflow_at(workflow, SERVERS, ports), HERE / "build" / "workflow.yaml"
        workflow.write_text(text, encoding="utf-8")
    for name, port in ports.items():
        print(f"{name:10}http://127.0.0.1:{port}")
    print(f"workflow  {workflow}", flush=True)


if __name__ == "__main__":
    main()

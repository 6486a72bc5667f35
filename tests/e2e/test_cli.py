"""The command as a process: streams, signals, pipes, terminals, speed."""

import json
import os
import pty
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from stretto.cli.stopping import TOLD
from stretto.store.sqlite import Store
from stretto.types.enums import RunStatus

STRETTO = Path(sys.executable).with_name("stretto")

COMPONENTS = """
import asyncio, subprocess, sys
from stretto import component

@component("slow", effects="read")
async def slow(query: str) -> dict[str, str]:
    open("begun", "w").close()
    await asyncio.sleep(60)
    return {"answer": query}

@component("noisy", effects="read", inline=True)
def noisy(query: str) -> dict[str, str]:
    print("from the component")
    subprocess.run([sys.executable, "-c", "print('from its child')"], check=True)
    return {"answer": query.upper()}
"""

WORKFLOW = """
stretto: 1
name: {name}
version: 1.0.0
durability: step
components: components.py
steps:
  - name: {name}
    component: {name}
    input_mapping: {{query: "input.query"}}
output: {{answer: "steps.{name}.answer"}}
"""

INPUT = '{"query": "oslo"}'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "components.py").write_text(COMPONENTS)
    for name in ("slow", "noisy"):
        (tmp_path / f"{name}.yaml").write_text(WORKFLOW.format(name=name))
    return tmp_path


def environment(**more: str) -> dict[str, str]:
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("STRETTO", "COLUMNS", "NO_COLOR"))
    }
    return {**kept, **more}


def stretto(folder: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [STRETTO, *arguments],
        cwd=folder,
        env=environment(**more),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def begun(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """A command that is in the middle of its run."""
    process = subprocess.Popen(
        [STRETTO, *arguments], cwd=folder, env=environment(), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    for _ in range(600):
        if (folder / "begun").exists():
            return process
        time.sleep(0.05)
    raise AssertionError("the run did not begin")


def test_only_the_result_is_on_stdout_whatever_components_print(folder: Path) -> None:
    told = stretto(folder, "run", "noisy.yaml", "--input", INPUT)
    assert told.stdout == '{"answer":"OSLO"}\n'
    assert "from the component" in told.stderr
    assert "from its child" in told.stderr


def test_ctrl_c_seals_the_run_as_cancelled_and_names_it_in_one_line(folder: Path) -> None:
    process = begun(folder, "run", "slow.yaml", "--input", INPUT)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (130, "")
    found = re.fullmatch(r"cancelled by Ctrl-C; look at the run: stretto runs show (\S+)\n", err)
    assert found is not None
    run = json.loads(stretto(folder, "runs", "show", found[1], "--json").stdout)["run"]
    assert (run["status"], [step["reason"] for step in run["steps"]]) == ("cancelled", ["cancelled"])


def test_ctrl_c_with_json_is_a_document_with_the_run(folder: Path) -> None:
    process = begun(folder, "run", "slow.yaml", "--input", INPUT, "--json")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (130, "")
    error = json.loads(out)["error"]
    assert (error["code"], len(error["run"])) == ("cancelled", 36)


@pytest.mark.parametrize("after_s", [0.05, 0.1, 0.15, 0.2, 0.3, 0.4])
def test_ctrl_c_at_any_time_shows_no_traceback(folder: Path, after_s: float) -> None:
    process = subprocess.Popen(
        [STRETTO, "check", "slow.yaml"], cwd=folder, env=environment(), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    time.sleep(after_s)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    if process.returncode == -signal.SIGINT or "init_import_site" in err:
        pytest.skip("Python itself was still starting")
    if err.startswith("Exception ignored in") and "importlib._bootstrap" in err:
        pytest.skip("Python was within a callback of its own import, which can raise nothing")
    assert process.returncode in (0, 130)
    assert "Traceback" not in err


def test_a_run_that_ends_all_the_same_is_told_as_it_ended(folder: Path) -> None:
    (folder / "components.py").write_text(COMPONENTS.replace("await asyncio.sleep(60)", "import time; time.sleep(2)"))
    process = begun(folder, "run", "slow.yaml", "--input", INPUT)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert re.fullmatch(r"stopped by Ctrl-C; the run: (ok|cancelled|failed \(error\)); look at it: stretto .*\n|"
                        r"cancelled by Ctrl-C; look at the run: .*\n", err.removeprefix(f"{TOLD}\n"))  # fmt: skip


STUBBORN = """
import asyncio, sys
from stretto import component

@component("slow", effects="read")
async def slow(query: str) -> dict[str, str]:
    child = await asyncio.create_subprocess_exec("cat", stdin=-1, stdout=-1, stderr=-3)
    open("begun", "w").close()
    while True:
        try:
            await child.wait()
        except asyncio.CancelledError:
            pass
"""


def test_a_second_ctrl_c_leaves_no_complaint_of_what_it_tore_down(folder: Path) -> None:
    (folder / "components.py").write_text(STUBBORN)
    process = begun(folder, "run", "slow.yaml", "--input", INPUT, "--json")
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)  # for the first to be taken: two at once are one signal
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert json.loads(out)["error"]["code"] == "cancelled"
    assert err == ""


def test_only_the_module_of_the_verb_is_imported(folder: Path) -> None:
    program = (
        "import sys; from stretto.cli.boundary import execute; execute(sys.argv[1:]);"
        "print(*(name for name in sys.modules), file=sys.stderr)"
    )
    told = subprocess.run(
        [sys.executable, "-c", program, "schema", "run"], cwd=folder, capture_output=True, text=True, check=True
    )
    modules = set(told.stderr.split())
    assert "stretto.cli.schema" in modules
    assert not {"stretto.cli.run", "stretto.cli.train", "stretto.runtime.load", "numpy", "mcp"} & modules


def test_a_killed_run_is_listed_as_interrupted_and_can_be_resumed(folder: Path) -> None:
    process = begun(folder, "run", "slow.yaml", "--input", INPUT)
    process.kill()
    process.communicate(timeout=30)
    (run,) = json.loads(stretto(folder, "runs", "list", "--json").stdout)["runs"]
    assert (run["status"], run["interrupted"]) == (None, True)
    assert stretto(folder, "doctor").returncode == 1
    (folder / "components.py").write_text(COMPONENTS.replace("asyncio.sleep(60)", "asyncio.sleep(0)"))
    refused = stretto(folder, "runs", "resume", run["id"], "--workflow", "slow.yaml")
    assert refused.returncode == 1
    assert "changed since: slow" in refused.stderr


def test_a_run_whose_store_was_deleted_meanwhile_does_not_pass_for_kept(folder: Path) -> None:
    (folder / "components.py").write_text(COMPONENTS.replace("await asyncio.sleep(60)", "await asyncio.sleep(1)"))
    process = begun(folder, "run", "slow.yaml", "--input", INPUT)
    shutil.rmtree(folder / ".stretto")
    _, err = process.communicate(timeout=30)
    assert process.returncode == 1
    assert "runs.db was deleted or replaced while it was in use" in err
    assert "kept in" not in err


def test_a_run_too_short_for_the_store_to_look_does_not_pass_for_kept_either(folder: Path) -> None:
    (folder / "components.py").write_text(
        COMPONENTS.replace('print("from the component")', '__import__("shutil").rmtree(".stretto")')
    )
    done = stretto(folder, "run", "noisy.yaml", "--input", INPUT)
    assert done.returncode == 1
    assert "runs.db was deleted or moved while run" in done.stderr
    assert "kept in" not in done.stderr


def test_a_component_that_changes_the_working_folder_leaves_the_run_where_it_is_kept(folder: Path) -> None:
    (folder / "components.py").write_text(
        COMPONENTS.replace('print("from the component")', '__import__("os").chdir("/")')
    )
    assert stretto(folder, "run", "noisy.yaml", "--input", INPUT).returncode == 0
    assert stretto(folder, "runs", "show", "last").returncode == 0


def test_a_reader_that_goes_away_is_no_complaint(folder: Path) -> None:
    with subprocess.Popen(
        [STRETTO, "schema", "workflow"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


@pytest.mark.parametrize("arguments", [["schema", "run"], ["schema", "run", "--json"], ["run", "noisy.yaml"], ["-h"]])
def test_a_stdout_on_a_full_disk_is_told_as_that_and_no_bug(folder: Path, arguments: list[str]) -> None:
    if arguments[0] == "run":
        arguments = [*arguments, "--input", INPUT, "--json"]
    with open("/dev/full", "w") as full:
        told = subprocess.run(
            [STRETTO, *arguments], cwd=folder, env=environment(), stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert told.returncode == 1
    assert "error: the result cannot be written to stdout: No space left on device" in told.stderr
    assert "bug" not in told.stderr
    assert "Traceback" not in told.stderr


@pytest.mark.parametrize(
    ("closed", "out"),
    [
        ("<&-", '{"answer":"OSLO"}\n'),
        (">&-", ""),
        ("2>&-", '{"answer":"OSLO"}\n'),
        ("<&- >&- 2>&-", ""),
    ],
)
def test_streams_that_are_closed_or_full_change_no_outcome(folder: Path, closed: str, out: str) -> None:
    shell = f"\"$0\" run noisy.yaml --input '{INPUT}' {closed}"
    told = subprocess.run(
        ["bash", "-c", shell, STRETTO], cwd=folder, env=environment(), capture_output=True, text=True, check=False
    )
    assert told.returncode == 0
    assert "Traceback" not in told.stderr
    assert told.stdout == out
    with Store(folder / ".stretto" / "runs.db") as store:
        (run,) = store.runs()
    assert run.status is RunStatus.OK


ENDING = """
import io, os, sys
from stretto import component

@component("ending", effects="read", inline=True)
def ending(query: str) -> dict[str, str]:
    exec(query)
    print("still said")
    return {"answer": "here"}
"""


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    "ends",
    [
        "sys.stdout.close()",
        "sys.stderr.close()",
        "sys.stdout.close(); sys.stderr.close()",
        "sys.stdout.detach()",
        "sys.stdout.buffer.close()",
        "sys.stdout.buffer.detach() if hasattr(sys.stdout.buffer, 'detach') else None",
        "sys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding='latin-1')",
        "sys.stdout = io.TextIOWrapper(sys.stdout.detach(), encoding='latin-1')",
        "sys.stderr = open(os.devnull, 'w')",
    ],
)
def test_a_component_that_ends_the_streams_takes_no_result_away(folder: Path, ends: str, unbuffered: str) -> None:
    (folder / "components.py").write_text(ENDING)
    (folder / "ending.yaml").write_text(WORKFLOW.format(name="ending"))
    told = stretto(folder, "run", "ending.yaml", "--input", json.dumps({"query": ends}), PYTHONUNBUFFERED=unbuffered)
    assert (told.returncode, told.stdout) == (0, '{"answer":"here"}\n')
    assert "\nok in " in told.stderr
    assert "lost" not in told.stderr
    assert "Traceback" not in told.stderr


def test_notes_that_cannot_be_written_leave_the_exit_code_alone(folder: Path) -> None:
    with open("/dev/full", "w") as full:
        told = subprocess.run([STRETTO, "check", "none.yaml"], cwd=folder, env=environment(), stderr=full, check=False)
    assert told.returncode == 2


ONE_BY_ONE = """
import json, shlex, sys
from stretto.cli.boundary import execute

for arguments in json.loads(sys.argv[1]):
    print(shlex.join(arguments), flush=True)
    print("exit", execute(arguments), flush=True)
"""


def one_by_one(*commands: list[str]) -> list[str | Path]:
    """A process that runs one command after another, each below its name, and tells its exit code."""
    return [sys.executable, "-c", ONE_BY_ONE, json.dumps(commands)]


def on_a_terminal(folder: Path, *command: str | Path, columns: int = 80, **more: str) -> str:
    """What a terminal of that width is sent: stdout and stderr."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command, cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs,
        env=environment(TERM="xterm-256color", COLUMNS=str(columns), **more),
    )  # fmt: skip
    os.close(theirs)
    text = b"".join(_chunks(ours)).decode()
    process.wait(timeout=30)
    os.close(ours)
    return text.replace("\r\n", "\n")


def _chunks(descriptor: int) -> Iterator[bytes]:
    while True:
        try:
            chunk = os.read(descriptor, 65536)
        except OSError:  # Linux says so when the other end is closed
            return
        if not chunk:
            return
        yield chunk


def test_a_terminal_gets_colours_and_indented_json(folder: Path) -> None:
    text = on_a_terminal(folder, STRETTO, "run", "noisy.yaml", "--input", INPUT)
    assert "\x1b[32mok\x1b[0m" in text
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    assert '{\n  "answer": "OSLO"\n}\n' in plain


def test_no_color_is_honoured(folder: Path) -> None:
    commands = (["check", "noisy.yaml"], ["check", "nope.yaml"], ["--help"])
    text = on_a_terminal(folder, *one_by_one(*commands), NO_COLOR="1")
    assert re.findall(r"^exit (\d)$", text, re.MULTILINE) == ["0", "2", "0"]
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]m", text)


@pytest.mark.parametrize("columns", [60, 80, 140])
def test_nothing_is_wider_than_the_terminal(folder: Path, columns: int) -> None:
    stretto(folder, "run", "noisy.yaml", "--input", INPUT, "--label", "task=7", "--label", "purpose=eval")
    commands = (
        ["check", "-v", "noisy.yaml"], ["check", "nope.yaml"], ["runs", "show", "last", "--io"],
        ["doctor"], ["runs", "list"], ["--help"], ["run", "--help"], ["runs", "export", "--help"],
    )  # fmt: skip
    text = re.sub(r"\x1b\[[0-9;]*m", "", on_a_terminal(folder, *one_by_one(*commands), columns=columns))
    assert text.count("\nexit ") == len(commands)
    wide = [line.strip() for line in text.split("\n") if len(line) > columns]
    assert [line for line in wide if not line.startswith("pip install ")] == []  # pasted, and so never wrapped


def test_a_stream_without_unicode_gets_ascii(folder: Path) -> None:
    stretto(folder, "run", "noisy.yaml", "--input", INPUT)
    commands = (["runs", "show", "last"], ["doctor"], ["check", "noisy.yaml"])
    told = subprocess.run(
        one_by_one(*commands), cwd=folder, env=environment(PYTHONIOENCODING="ascii"), capture_output=True, text=True
    )
    assert re.findall(r"^exit (\d)$", told.stdout, re.MULTILINE) == ["0", "0", "0"]
    assert told.stdout.isascii()
    assert "Traceback" not in told.stderr


def cpu_s(folder: Path, *arguments: str) -> float:
    """Processor seconds of a command, the least of three: what its wall time is on a machine that is otherwise idle."""
    times = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        stretto(folder, *arguments)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times)


def test_the_version_is_there_at_once_and_a_check_before_one_wonders(folder: Path) -> None:
    assert cpu_s(folder, "--version") < 0.2
    assert cpu_s(folder, "check", "noisy.yaml") < 0.7

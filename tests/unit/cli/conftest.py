"""A folder with a workflow in it, and the command line as a function."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stretto.cli.boundary import execute

COMPONENTS = """
from stretto import Action, Context, component, reward

@component("planner", version="1.0.0", effects="pure", inline=True)
def planner(query: str, ctx: Context) -> dict[str, object]:
    print("components may print")
    chances = {"logprob": -0.2, "propensity": 0.8, "policy": "p" * 64}
    ctx.action(Action(name="tool", chosen="look", support=("look", "end"), **chances))
    return {"plan": query.upper()}

@component("book", version="1.0.0", effects="write", inline=True)
def book(plan: str) -> dict[str, str]:
    if plan == "FAIL":
        raise ValueError("no seats left")
    if plan == "DOUBT":
        raise OSError("the line went dead")
    return {"booked": plan}

@reward(inline=True)
def margin(booked: str | None) -> tuple[float | None, str]:
    return (None, "not known yet") if booked == "LATER" else (1.0, "sold")
"""

WORKFLOW = """
stretto: 1
name: trip
version: 1.2.0
durability: step
contract:
  input: {query: "string[1,50]"}
  output: {booked: "string"}
  reward: {margin: 2.0}
components: components.py
steps:
  - name: planner
    component: planner
    input_mapping: {query: "input.query"}
  - name: book
    component: book
    input_mapping: {plan: "steps.planner.plan"}
  - name: margin
    component: margin
    input_mapping: {booked: "steps.book.booked"}
output: {booked: "steps.book.booked"}
"""


class Told(msgspec.Struct):
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """stdout as the one JSON document that it must be."""
        return json.loads(self.out)


Cli = Callable[..., Told]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory: `workflow.yaml`, its components, and no store yet."""
    (tmp_path / "workflow.yaml").write_text(WORKFLOW)
    (tmp_path / "components.py").write_text(COMPONENTS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("STRETTO_STORE", raising=False)
    monkeypatch.delenv("STRETTO_DEBUG", raising=False)
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path


@pytest.fixture
def cli(folder: Path, capfd: pytest.CaptureFixture[str]) -> Cli:
    """Runs one command in this process, in the folder."""

    def run(*arguments: str) -> Told:
        capfd.readouterr()
        code = execute(arguments)
        out, err = capfd.readouterr()
        return Told(code, out, err)

    return run


@pytest.fixture
def ran(cli: Cli) -> Callable[[str], str]:
    """Makes a run of the query and tells its id."""

    def run(query: str = "oslo") -> str:
        told = cli("run", "workflow.yaml", "--json", "--input", json.dumps({"query": query}))
        return str(told.document["run"]["id"])

    return run

"""Components declared in a workflow file, and every mistake in a declaration told at its place."""

import sys
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import jsonschema_rs
import pytest

from stretto.components.declare import KINDS, build_component
from stretto.components.mcp import McpServer
from stretto.components.memory import RecencyMemory
from stretto.components.policy import SoftmaxPolicy
from stretto.components.python import PerRunPythonComponent, PythonComponent
from stretto.components.reward import CompositeReward
from stretto.spec.model import ComponentDecl
from stretto.spec.workflow import load_workflow
from stretto.types.enums import Effect, Scope
from stretto.types.errors import MissingExtraError, Problem, SpecError
from stretto.types.protocols import Component

SHOP = """
from stretto.components.python import component

def plan(query: str) -> dict[str, str]:
    return {"tool": query}

class Ledger:
    def __call__(self, tool: str) -> None: ...

@component(effects="pure")
def decorated(x: int) -> int:
    return x

def api_success(ok: bool) -> float:
    return float(ok)

not_callable = 3
instance = Ledger()
"""


def declared(folder: Path, declaration: str) -> Component:
    """The component of a workflow file that declares nothing else."""
    path = folder / "workflow.yaml"
    components = indent(dedent(declaration).strip(), "    ")
    path.write_text(f"stretto: 1\nname: w\ncomponents:\n  it:\n{components}\nsteps: [{{name: s, component: it}}]\n")
    (folder / "shop_of_declarations.py").write_text(SHOP)
    (declaration_of_it,) = load_workflow(path).components
    assert isinstance(declaration_of_it, ComponentDecl)
    return build_component(declaration_of_it, folder=folder)


def refusal(folder: Path, declaration: str) -> Problem:
    with pytest.raises(SpecError) as caught:
        declared(folder, declaration)
    return caught.value.problems[0]


def test_an_mcp_server_is_declared_with_all_its_options(tmp_path: Path) -> None:
    server = declared(
        tmp_path,
        """
        kind: mcp
        command: [my-server, --stdio]
        env: { MODE: "test" }
        cwd: server
        processes: 2
        concurrency: 1
        tools: [get, put]
        effects: { get: read, "*": write }
        idempotent: true
        session: { argument: key, values: [a, b], reset: { tool: reset, arguments: { domain: retail } } }
        start_timeout: 1m30s
        max_message_bytes: 1000
        version: "1.2.0"
        description: a shop
        """,
    )
    assert isinstance(server, McpServer)
    settings = server._host.settings
    assert (settings.command, settings.cwd, settings.processes) == (("my-server", "--stdio"), tmp_path / "server", 2)
    assert settings.start_timeout.total_seconds() == 90
    assert settings.session is not None
    assert settings.session.reset == ("reset", {"domain": "retail"})
    card = server.card
    assert (card.name, card.version, card.scope, card.idempotent) == ("it", "1.2.0", Scope.RUN, True)
    assert [card.effect_of(tool) for tool in ("get", "put")] == [Effect.READ, Effect.WRITE]


def test_a_server_behind_a_url_is_declared(tmp_path: Path) -> None:
    server = declared(tmp_path, 'kind: mcp\nurl: http://127.0.0.1:1/mcp\nheaders: { X-Team: "a" }\neffects: read')
    assert isinstance(server, McpServer)
    assert server.card.effect_of("anything") is Effect.READ


async def test_a_memory_is_declared_and_its_file_lies_beside_the_workflow(tmp_path: Path, make_request: Any) -> None:
    memory = declared(tmp_path, "kind: memory\nlimit: 3\nkeep: 5\nby: session\npath: notes.sqlite")
    assert isinstance(memory, RecencyMemory)
    await memory(make_request(remember="x"))
    await memory.close()
    assert (tmp_path / "notes.sqlite").exists()
    assert isinstance(declared(tmp_path, "kind: memory"), RecencyMemory)


async def test_a_function_is_declared_by_its_place(tmp_path: Path, make_request: Any) -> None:
    before = list(sys.path)
    plan = declared(tmp_path, "kind: python\ntarget: shop_of_declarations:plan\neffects: pure")
    assert isinstance(plan, PythonComponent)
    assert (plan.card.name, plan.card.effect_of("")) == ("it", Effect.PURE)
    assert (await plan(make_request(query="q"))).output == {"tool": "q"}
    ledger = declared(tmp_path, "kind: python\ntarget: shop_of_declarations:Ledger\nscope: run")
    assert isinstance(ledger, PerRunPythonComponent)
    decorated = declared(tmp_path, "kind: python\ntarget: shop_of_declarations:decorated")
    assert (decorated.card.name, decorated.card.effect_of("")) == ("it", Effect.PURE)
    assert sys.path == before


async def test_a_built_in_is_declared_by_its_place_and_left_as_it_is(tmp_path: Path, make_request: Any) -> None:
    root = declared(tmp_path, 'kind: python\ntarget: "math:sqrt"\neffects: pure')
    assert (await root(make_request(x=4))).output == {"result": 2.0}
    for _ in range(2):  # a second workflow declares the same function otherwise
        assert declared(tmp_path, "kind: python\ntarget: shop_of_declarations:plan\neffects: pure").card.name == "it"


@pytest.mark.parametrize(
    ("declaration", "message", "code"),
    [
        ("target: time:sleep", "cannot tell the parameters of 'sleep'", "spec.component_signature"),
        ("target: decimal:Decimal", "the class 'Decimal' has no __call__", "spec.component_signature"),
        ("target: shop_of_declarations:instance", "an instance of Ledger", "spec.component_signature"),
        ("target: shop_of_declarations:plan\nidempotent: true", "idempotent=True", "spec.component_option"),
    ],
)
def test_what_a_built_in_cannot_be_is_told_where_it_is_named(
    tmp_path: Path, declaration: str, message: str, code: str
) -> None:
    problem = refusal(tmp_path, f"kind: python\n{declaration}")
    assert message in problem.message
    assert (problem.code, Path(problem.file).name, problem.line) == (code, "workflow.yaml", 6)


async def test_a_reward_is_declared_by_its_terms(tmp_path: Path, make_request: Any) -> None:
    judge = declared(tmp_path, "kind: reward\nterms: { success: shop_of_declarations:api_success }")
    assert isinstance(judge, CompositeReward)
    assert judge.terms == ("success",)
    assert (await judge(make_request(ok=True))).output == {"terms": {"success": 1.0}, "total": 1.0}


@pytest.mark.parametrize(
    ("declaration", "message", "suggestion"),
    [
        ("kind: mcp\ncomand: x", "has no key 'comand'", "command"),
        ("kind: mcp\nargs: [x]", "has no key 'args'", "command: [python, -m, my_server]"),
        ("kind: mcp\ntools: [a]", "neither of `command` and `url`", ""),
        ("kind: mcp\ncommand: npx -y server", "`command` is the text 'npx -y server'", "command: [npx, -y, server]"),
        ("kind: mcp\ncommand: 3", "`command` is the number 3", 'command: "3"'),
        ("kind: mcp\ncommand: []", "`command` is an empty list", ""),
        ("kind: mcp\ncommand: x\nprocesses: 0", "`processes` is the number 0", ""),
        ("kind: mcp\ncommand: x\neffects: { a: wirte }", "`a` is the text 'wirte'", "write"),
        ("kind: mcp\ncommand: x\nstart_timeout: 30", "which is no duration", "30s"),
        ("kind: mcp\ncommand: x\nsession: { values: [a] }", "has no `argument`", "argument: state_key"),
        ("kind: mcp\ncommand: x\nsession: { argument: k, values: [a, a] }", "each once", ""),
        ("kind: mcp\ncommand: x\nsession: { argument: k, reset: { tool: r } }", "no pool of values", ""),
        ("kind: mcp\ncommand: x\nurl: http://x", "both of `command` and `url`", ""),
        ("kind: openai\nmodel: m\nbase_url: http://x/v1\nprices: { in: 1 }", "`prices` has no key 'in'", "input: 1"),
        ("kind: memory\nlimits: 3", "has no key 'limits'", "limit"),
        ("kind: memory\nlimit: 30\nkeep: 20", "limit is 30 and keep is 20", ""),
        ("kind: python", "has no `target`", "target: shop.planner:plan"),
        ("kind: python\ntarget: shop_of_declarations.plan", "`target` is", "target: shop_of_declarations:plan"),
        ("kind: python\ntarget: shop_of_declarations:plam", "no function or class 'plam'", "shop_of_declarations:plan"),
        ("kind: python\ntarget: shop_of_declarations:not_callable", "no function or class 'not_callable'", ""),
        ("kind: python\ntarget: nowhere_at_all:plan", "No module named 'nowhere_at_all'", ""),
        (
            "kind: python\ntarget: shop_of_declarations:decorated\neffects: read",
            "`effects` would have no effect",
            "decorator",
        ),
        ("kind: reward\nterms: {}", "`terms` has no entries", ""),
        ("kind: reward\nterms: { a: b }", "`a` is the text 'b'", ""),
        ("kind: openai\nmodel: m", "has no `base_url`", "base_url: http://127.0.0.1:8000/v1"),
        ("kind: openai\nmodel: m\nbase_url: ftp://x", "is 'ftp://x'", ""),
        ("kind: openai\nmodel: m\nbase_url: http://x\napi_key: k", "no key 'api_key'", "api_key_env: OPENAI_API_KEY"),
        ("kind: openai\nmodel: m\nbase_url: http://x\nseed: today", "`seed` is the text 'today'", "seed: run"),
        ("kind: openai\nmodel: m\nbase_url: http://x\ntool_choice: f", "no effect without `tools`", ""),
        ("kind: openai\nmodel: m\nbase_url: http://x\nextra_body: { n: 2 }", "`n` in `extra_body`", ""),
    ],
)
def test_a_mistake_is_told_at_its_place(tmp_path: Path, declaration: str, message: str, suggestion: str) -> None:
    problem = refusal(tmp_path, declaration)
    assert message in problem.message
    assert suggestion in problem.suggestion
    assert problem.file.endswith("workflow.yaml")
    assert problem.line > 0
    assert problem.excerpt


def test_every_mistake_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(SpecError) as caught:
        declared(tmp_path, "kind: mcp\ncomand: x\nprocesses: 0\nstart_timeout: soon")
    assert len(caught.value.problems) == 3


def test_a_missing_package_is_told_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stretto.components.mcp.settings.find_spec", lambda _: None)
    with pytest.raises(MissingExtraError):
        declared(tmp_path, "kind: mcp\ncommand: x")


def test_a_service_needs_a_package_for_xml_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stretto.components.xml.parse.find_spec", lambda _: None)
    assert declared(tmp_path, "kind: http\nurl: http://h/x").card.kind == "http"
    with pytest.raises(MissingExtraError, match=r"XML in a component of kind http .*xml"):
        declared(tmp_path, "kind: http\nurl: http://h/x\nresponse: {xpath: {a: //a}}")


@pytest.mark.parametrize("kind", KINDS)
def test_the_options_of_each_kind_are_published_as_a_schema(kind: Any) -> None:
    definitions: dict[str, Any] = {}
    schema = {**KINDS[kind].schema(definitions), "$defs": definitions}
    jsonschema_rs.meta.validate(schema)
    assert not jsonschema_rs.is_valid(schema, {"no_such_option": 1})


def test_a_policy_is_declared_with_its_options(tmp_path: Path) -> None:
    component = declared(
        tmp_path,
        """
        kind: policy
        alternatives: [answer, end]
        prior: {end: -2}
        text: []
        state: [facts]
        temperature: 0.5
        sample: false
        """,
    )
    assert isinstance(component, SoftmaxPolicy)
    options = component.options
    assert options.alternatives == ("answer", "end")
    assert options.prior == {"end": -2.0}
    assert (options.text, options.state) == ((), ("facts",))
    assert (options.temperature, options.sample) == (0.5, False)

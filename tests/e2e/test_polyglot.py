"""Components in Go, Node, Java and COBOL keep to the protocol, and do what the Python ones do, answer by answer."""

import json
import re
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import aiohttp
import msgspec
import orjson
import pytest

import stretto
from examples.hotline import call as hotline
from examples.polyglot.servers import SERVERS, build, missing, started, workflow_at
from examples.polyglot.teach import policy, taught
from stretto.components.acp.component import AcpComponent
from stretto.components.acp.declaration import make_acp
from stretto.engine.request import RunRequest
from stretto.learn.options import TrainOptions
from stretto.learn.samples import collect
from stretto.learn.update import Learner
from stretto.learn.usable import Exclusion, Recorded
from stretto.testing.request import request_for
from stretto.types.messages import Request
from stretto.types.protocols import Component
from tests.e2e.polyglot.walks import Round, answer_of, walks
from tests.unit.learn.worlds import run_of, step_of

from scoring import reference_of  # isort: skip  # of the retail example
from world import Split, tasks_of  # isort: skip

pytestmark = pytest.mark.ci

STRETTO: Final = Path(sys.executable).with_name("stretto")
POLYGLOT: Final = Path(__file__).parents[2] / "examples" / "polyglot"

TAUGHT_CUSTOMERS: Final = 12
"""To train on: enough that every kind of choice is learnt, in a second."""

SERVED_CUSTOMERS: Final = 6
"""Of the test customers, by both workflows."""


@dataclass(frozen=True, kw_only=True)
class Running:
    """The servers of examples/polyglot."""

    ports: Mapping[str, int]
    weights: Path

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self.ports[name]}"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    lacking = missing(SERVERS)
    if lacking:
        pytest.skip(f"not installed here: {', '.join(lacking)}")
    build(SERVERS)
    weights = taught(TAUGHT_CUSTOMERS).save(tmp_path_factory.mktemp("weights"))
    with started(SERVERS, free=True, told={"planner": ["--weights", str(weights)]}) as ports:
        yield Running(ports=ports, weights=weights)


@pytest.fixture(scope="module")
def polyglot_file(running: Running, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The workflow with the ports found."""
    file = tmp_path_factory.mktemp("polyglot") / "workflow.yaml"
    file.write_text(workflow_at(POLYGLOT / "workflow.yaml", SERVERS, running.ports), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def hotline_file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    lacking = missing(hotline.SERVERS)
    if lacking:
        pytest.skip(f"not installed here: {', '.join(lacking)}")
    with hotline.running(tmp_path_factory.mktemp("hotline")) as file:
        yield file


@pytest.fixture(scope="module")
def rounds() -> list[Round]:
    return list(walks())


def test_the_servers_end_with_the_program_that_started_them(running: Running) -> None:
    assert running.ports
    command = [sys.executable, str(POLYGLOT / "servers.py"), "--free", "--weights", str(running.weights)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        places = [program.stdout.readline().rpartition(":")[2] for _ in running.ports]
        assert program.stdout.readline().startswith("workflow")
        program.terminate()
        assert program.stdout.read() == "stopped\n"
    for port in places:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", int(port)), timeout=5).close()


# ------------------------------------------------------------------------------------------------------- the protocol


def test_each_keeps_to_the_protocol(running: Running, polyglot_file: Path, hotline_file: Path) -> None:
    """All at once: most of the time goes by waiting for what must be given up. Not before the programs are served,
    which asks of the servers of their workflow what they are, and waits for 2 s only."""
    with _wrapped(polyglot_file) as wrapped, _wrapped(hotline_file) as wrapped_too:
        rules, social = wrapped.result(), wrapped_too.result()
        asked = {
            "executor": _verify(running.url("executor")),
            "planner": _verify(running.url("planner")),
            "facts": _verify(running.url("memory")),
            "journal": _verify(_journal_of(hotline_file)),
            "the rules in COBOL": _verify(f"{rules}#standing-cobol"),
            "the system of record": _verify(f"{social}#social-insurance", "--input", json.dumps(PENSION)),
            "the planner of the hotline": _verify(f"{social}#planner"),
        }
        for component, process in asked.items():
            told, errors = process.communicate(timeout=120)
            assert process.returncode == 0, (component, told, errors)
            document = json.loads(told)
            assert document["failed"] == 0, component
            assert document["passed"] >= MOST_COMMON_CASES, component


MOST_COMMON_CASES: Final = 58
"""Those of group `core` over HTTP."""

PENSION: Final = {"action": "pension", "number": "6512148803", "months": 24}


@contextmanager
def _wrapped(file: Path) -> Iterator["Future[str]"]:
    """Components of a workflow's file behind the protocol, legacy programs among them; gives where, once it is told."""
    command = [str(STRETTO), "acp", "wrap", str(file), "--http", "127.0.0.1:0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process, ThreadPoolExecutor() as threads:
        assert process.stdout is not None
        try:
            yield threads.submit(lambda line: str(json.loads(line())["http"]), process.stdout.readline)
        finally:
            process.terminate()


def _journal_of(hotline_file: Path) -> str:
    """Where the hotline's memory was started."""
    (found,) = re.findall(r"acp\+(http://[\d.:]+)#journal", hotline_file.read_text(encoding="utf-8"))
    return str(found)


def _verify(url: str, *more: str) -> "subprocess.Popen[str]":
    command = [str(STRETTO), "acp", "verify", url, "--writes", "--report", "json", *more]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


# ------------------------------------------------------------------------------------- the same answers as in Python


async def ask(session: aiohttp.ClientSession, url: str, component: str, given: Any, **envelope: Any) -> Any:
    """The output, or the words of the refusal."""
    who = {"protocol": "1.0", "runId": "r", "stepPath": "s", "attempt": 1, "component": {"name": component}}
    told = orjson.loads(await posted(session, url, orjson.dumps({"envelope": {**who, **envelope}, "input": given})))
    return told["output"] if "output" in told else told["detail"]


async def posted(session: aiohttp.ClientSession, url: str, body: bytes) -> bytes:
    """What is answered to a body as it stands."""
    async with session.post(url, data=body, headers={"Content-Type": "application/json"}) as answer:
        return await answer.read()


async def test_the_executor_in_go_makes_the_call_of_every_action_that_the_one_in_python_makes(
    running: Running, rounds: list[Round]
) -> None:
    assert len(rounds) > 200
    async with aiohttp.ClientSession() as session:
        for each in rounds:
            for action, resolved in each.resolved.items():
                given = {"action": action, "calls": each.resolved}
                told = await ask(session, f"{running.url('executor')}/acp/v1/execute", "executor", given)
                assert in_order(told) == in_order(answer_of(action, resolved)), (each.words, action)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"order_id": "#W1"}, "its reason is missing, or of another type"),
        ({"order_id": ["#W1"], "reason": "no longer needed"}, "its order_id is missing, or of another type"),
        ({"order_id": "#W1", "reason": "no longer needed", "now": "yes"}, "it takes nothing but order_id reason"),
        (None, "its arguments are missing, or no object"),
    ],
)
async def test_the_executor_in_go_lets_no_call_out_that_does_not_fit_its_tool(
    arguments: Any, why: str, running: Running
) -> None:
    tool = "cancel_pending_order"
    given = {"action": tool, "calls": {tool: {"arguments": arguments}}}
    async with aiohttp.ClientSession() as session:
        told = await ask(session, f"{running.url('executor')}/acp/v1/execute", "executor", given)
    assert told == f"'{tool}' cannot be carried out: {why}; choose from the available actions"


async def test_the_memory_in_java_folds_the_facts_as_the_one_in_python(running: Running, rounds: list[Round]) -> None:
    async with aiohttp.ClientSession() as session:
        for each in rounds:
            arguments = each.resolved[each.action]["arguments"]
            given = {"facts": each.facts, "action": each.action, "arguments": arguments, "answer": each.answer}
            told = await ask(session, f"{running.url('memory')}/acp/v1/observe", "facts", given)
            assert in_order(told["facts"]) == in_order(each.learnt), each.action
            spent = sum(order["total"] for order in each.learnt["orders"].values())
            assert told["known"]["spent"] == pytest.approx(spent, abs=0.005)


NO_JSON: Final = (
    *("", "nul", "{} {}", '{"a": 1,}', '{"a": [1,]}', '{"a" 1}', "{'a': 1}", '{"a": 01}', '{"a": 1e9999}', "[" * 200),
    *('{"a": "b}', r'{"a": "\x"}', r'{"a": "\u00g0"}', r'{"a": "\u+123"}', r'{"a": "\u12', '{"a": "a\nb"}'),
)


@pytest.mark.parametrize("body", NO_JSON)
async def test_the_memory_in_java_takes_nothing_for_json_that_is_none(body: str, running: Running) -> None:
    """The JDK has no reader of JSON, so this one is its own."""
    async with aiohttp.ClientSession() as session:
        told = await posted(session, f"{running.url('memory')}/acp/v1/observe", body.encode())
    assert b'"reason":"MALFORMED"' in told


async def test_the_memory_in_java_keeps_texts_and_the_digits_of_numbers_as_they_came(running: Running) -> None:
    texts = r'"\u00e9\/": "\ud83d\ude00 鎖 \"\\\b\f\n\r\t\u0000"'
    odd = f'{{{texts}, "n": [0.10, -1e-7, 12345678901234567890, [], {{}}]}}'
    envelope = '{"protocol": "1.0", "runId": "r", "stepPath": "s", "attempt": "1"}'
    answer = f'{{"ok": true, "result": {{"parsed_content": {odd}}}}}'
    given = f'{{"facts": null, "action": "list_all_product_types", "arguments": {{}}, "answer": {answer}}}'
    async with aiohttp.ClientSession() as session:
        body = f'{{"envelope": {envelope}, "input": {given}}}'.encode()
        told = await posted(session, f"{running.url('memory')}/acp/v1/observe", body)
    assert json.loads(told)["output"]["facts"]["catalogue"] == json.loads(odd)
    assert b"[0.10," in told
    assert b"12345678901234567890" in told


async def test_the_planner_in_node_takes_what_the_one_in_python_takes(running: Running, rounds: list[Round]) -> None:
    """By the same weights the same action, by the same probability up to the order of a sum."""
    here = policy(checkpoint=running.weights, sample=False)
    chosen = set()
    async with aiohttp.ClientSession() as session:
        for each in rounds:
            seen = each.situation
            given = {"words": each.words, **{name: seen[name] for name in ("state", "about", "available")}}
            expected: Any = (await here(request_for(**given))).output
            told = await ask(session, f"{running.url('planner')}/acp/v1/plan", "planner", given)
            assert told["action"] == expected["action"], each.words
            assert told["confidence"] == pytest.approx(expected["confidence"], rel=1e-9)
            chosen.add(told["action"])
    assert len(chosen) > 10, "few kinds of choice were compared"


@pytest.fixture(params=[(), ("--sample",)], ids=["the likeliest", "drawn"])
async def choosing(running: Running, request: pytest.FixtureRequest) -> AsyncIterator[tuple[Component, bool]]:
    """The planner in Node as a step has it, and whether it draws."""
    planners = [server for server in SERVERS if server.name == "planner"]
    told = {"planner": ["--weights", str(running.weights), *request.param]}
    with started(planners, free=True, told=told) as ports:
        component = make_acp({"url": f"acp+http://127.0.0.1:{ports['planner']}#planner"}, "planner", POLYGLOT)
        assert isinstance(component, AcpComponent)
        yield component, bool(request.param)
        await component.close()


async def test_what_the_planner_in_node_chose_is_learnt_from_as_what_the_one_in_python_chose(
    choosing: tuple[Component, bool], running: Running, rounds: list[Round]
) -> None:
    """Under the weights that both have, its log-probabilities are those that Python gives."""
    there, draws = choosing
    here = policy(checkpoint=running.weights)
    recorded = []
    for number, each in enumerate(rounds[:100]):
        seen = each.situation
        given = {"words": each.words, **{name: seen[name] for name in ("state", "about", "available")}}
        call = request_for(**given).call
        call = msgspec.structs.replace(call, run=msgspec.structs.replace(call.run, seed=number // 2))
        answer = await there(Request(given, call))
        assert (await there(Request(given, call))).actions == answer.actions
        step = step_of("planner", given, answer.output, actions=answer.actions)
        recorded.append(Recorded(run=run_of(f"run-{number}", [step], float(number % 2))))
    if not draws:
        likeliest = policy(checkpoint=running.weights, sample=False)
        ours = (await likeliest(request_for(**given))).actions[0]
        theirs = msgspec.structs.replace(answer.actions[0], logprob=ours.logprob)
        assert theirs == ours
    samples = collect(recorded, here)
    taken = samples.excluded.get(Exclusion.NOT_SAMPLED, 0)
    assert (samples.decisions > 50, taken > 50) == (draws, not draws)
    if draws:
        report = Learner(here, TrainOptions()).learn(samples, 1)
        assert (report.acted, report.weights != report.acted) == (here.weights_digest, True)


def in_order(value: Any) -> bytes:
    """JSON text, in which the order of fields is told; whole numbers that are floats are written as those."""
    return orjson.dumps(_floats(value))


def _floats(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _floats(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_floats(each) for each in value]
    return float(value) if type(value) is int else value


# ------------------------------------------------------------------------------------------------------ the workflows


async def test_the_polyglot_workflow_answers_test_customers_with_the_score_of_the_python_one(
    running: Running, polyglot_file: Path, tmp_path: Path
) -> None:
    """Customer by customer the same calls of the shop, and so every term of the reward."""
    there = await served(stretto.load(polyglot_file, store=tmp_path / "there.db"))
    python = stretto.load(POLYGLOT.parent / "retail" / "workflow.yaml", store=tmp_path / "here.db")
    here = await served(python.with_component(policy(checkpoint=running.weights, sample=False)))
    assert [score_of(run) for run in there] == [score_of(run) for run in here]
    assert any(run.output_value["done"] for run in there)
    for run in there:
        assert run.output_value["standing"]["class"] in "ABC"
        assert run.output_value["standing"]["reason"] != "NOT ASKED"


async def served(workflow: stretto.Workflow) -> list[stretto.Run]:
    """The runs of the same test customers."""
    customers = tasks_of(Split.TEST)[:SERVED_CUSTOMERS]
    requests = [RunRequest(input={"words": task.words}, reference=reference_of(task)) for task in customers]
    async with workflow:
        return await workflow.run_many(requests, concurrency=2)


def score_of(run: stretto.Run) -> tuple[Any, ...]:
    """What was called and how it was judged."""
    assert run.status == "ok", run.error
    calls = [step.input_value for step in run.steps if step.path.endswith("/shop") and step.input_value is not None]
    return {reward.name: reward.value for reward in run.rewards}, run.reward, run.output_value["rounds"], calls


def test_the_hotline_answers_from_the_system_of_record_and_remembers(hotline_file: Path) -> None:
    unknown = "How many months have I paid, as number 1111111111?"
    asked, pension, sick_pay, stranger = hotline.calls([*hotline.CALLS, unknown], hotline_file)
    assert asked.output_value == {"say": "What is your insurance number, please? It has ten digits.", "remembered": 0}
    assert pension.output_value == {"say": "Your pension would be 1598.20 a month.", "remembered": 1}
    assert sick_pay.output_value == {"say": "Your sick pay is 78.50 a day.", "remembered": 2}
    assert stranger.output_value == {"say": "That insurance number is not known.", "remembered": 3}
    of: dict[str, Any] = {step.path: step.output_value for step in pension.steps}
    assert of["plan"]["execute_action"] == {"action": "pension", "input": {"number": "6512148803", "months": 24}}
    assert of["execute"] == {
        "number": "6512148803",
        "found": True,
        "months": 444,
        "amount": "1598.20",
        "message": "Your pension would be 1598.20 a month.",
    }
    assert of["observe"]["latest"][-1] == {"asked": "pension", "number": "6512148803", "told": of["execute"]["message"]}

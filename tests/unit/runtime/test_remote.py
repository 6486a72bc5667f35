"""Steps of a workflow call components on other servers, declared or named by where they are."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import stretto
from stretto.acp import json_form, messages as m
from stretto.acp.failure import AcpError, Failure
from stretto.types.errors import Code, SpecError
from tests.unit.components.acp.standin import EXECUTOR, Answer, StandIn

BY_ADDRESS = """
stretto: 1
name: shop
steps:
  - name: do
    component: "{address}"
    input_mapping: {{ order: "input.order" }}
output: {{ status: "steps.do.status" }}
"""

DECLARED = """
stretto: 1
name: shop
components:
  executor: {{ kind: acp, url: "{address}", card: executor.json, pin: none }}
steps:
  - name: do
    component: executor@1.2.0
    input_mapping: {{ order: "input.order" }}
    resilience: {{ retry: {{ attempts: 3, base: 1ms, cap: 1ms }} }}
output: {{ status: "steps.do.status" }}
"""


@pytest.fixture
def server() -> Iterator[StandIn]:
    with StandIn() as standing:
        yield standing


def _file(folder: Path, text: str) -> Path:
    path = folder / "workflow.yaml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("form", ["http", "grpc"])
async def test_a_step_names_a_component_by_where_it_is(tmp_path: Path, server: StandIn, form: str) -> None:
    address = f"{getattr(server, form)}#executor"
    async with stretto.load(
        _file(tmp_path, BY_ADDRESS.format(address=address)), store=tmp_path / "runs.db"
    ) as workflow:
        run = await workflow.run({"order": "W1"})
    assert run.output_value == {"status": "done"}
    assert run.manifest.components[address].startswith("1.2.0@")
    assert run.steps[0].effect is stretto.Effect.WRITE


async def test_the_schemas_of_the_other_side_are_checked_at_load(tmp_path: Path, server: StandIn) -> None:
    text = BY_ADDRESS.format(address=server.http).replace("order: ", "number: ")
    with pytest.raises(SpecError, match="order"):
        stretto.load(_file(tmp_path, text))


async def test_with_a_kept_card_nothing_is_asked_at_load(tmp_path: Path, server: StandIn) -> None:
    (tmp_path / "executor.json").write_bytes(json_form.encode(m.DescribeResponse(cards=(EXECUTOR,))))
    path = _file(tmp_path, DECLARED.format(address=server.http))
    server.stop()
    workflow = stretto.load(path, store=tmp_path / "runs.db")
    run = await workflow.run({"order": "W1"})
    await workflow.aclose()
    assert run.status is stretto.RunStatus.FAILED
    assert run.error is not None
    assert "cannot be reached" in run.error.message


async def test_a_failure_there_is_tried_again_by_the_policies_here(tmp_path: Path, server: StandIn) -> None:
    (tmp_path / "executor.json").write_bytes(json_form.encode(m.DescribeResponse(cards=(EXECUTOR,))))
    answers: Iterator[Answer] = iter(
        [AcpError(Failure(code=Code.UNAVAILABLE, message="not yet")), m.CallResponse(output={"status": "ok"})]
    )
    server.answer = lambda _verb, _request: next(answers)
    path = _file(tmp_path, DECLARED.format(address=server.grpc))
    async with stretto.load(path, store=tmp_path / "runs.db") as workflow:
        run = await workflow.run({"order": "W1"})
    assert run.output_value == {"status": "ok"}
    first, second = (asked.envelope for _, asked in server.asked)
    assert (first.attempt, second.attempt, second.previous_attempts) == (1, 2, 1)
    assert first.effect_key == second.effect_key
    assert second.component.digest == ""


async def test_an_answer_that_breaks_the_cards_schema_is_the_servers_fault(tmp_path: Path, server: StandIn) -> None:
    server.answer = lambda _verb, _request: m.CallResponse(output={"state": "done"})
    path = _file(tmp_path, BY_ADDRESS.format(address=server.http))
    async with stretto.load(path, store=tmp_path / "runs.db") as workflow:
        run = await workflow.run({"order": "W1"})
    assert run.error is not None
    assert run.error.code == "component.contract"


def test_a_server_that_is_away_is_told_where_it_is_named(tmp_path: Path) -> None:
    with pytest.raises(SpecError) as caught:
        stretto.load(_file(tmp_path, BY_ADDRESS.format(address="acp+http://127.0.0.1:9")))
    [problem] = caught.value.problems
    assert problem.line == 6
    assert "start it, or keep its card" in problem.message

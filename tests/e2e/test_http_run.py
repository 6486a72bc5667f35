"""A workflow whose steps ask HTTP services: what is recorded, what is tried again, and what is left in doubt."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from stretto.record.model import Run, decoded
from stretto.runtime.load import load
from stretto.runtime.workflow import Workflow
from stretto.types.enums import Reason, RunStatus, StepStatus
from stretto.types.errors import SpecError
from tests.unit.components.http.standin import Asked, Reply, StandIn, reply

Start = Callable[[str], Workflow]

SHOP = """
components:
  shop:
    kind: http
    actions:
      get:
        url: HERE/orders/{id}
        input: { id: string }
        output: { state: "enum[new, shipped]", total: float }
      refund:
        url: HERE/orders/{id}/refunds
        input: { id: string, amount: float }
        json: { amount: "input.amount" }
        output: { refund: string }
        response: { map: { refund: response.body.id } }
    auth: { bearer: { env: HTTP_RUN_TOKEN } }
IDEMPOTENT
steps:
  - name: look
    component: shop
    input_mapping: { action: { value: get }, id: "input.id" }
    resilience: { retry: { attempts: 3, base: 1ms } }
  - name: refund
    component: shop
    condition: "steps.look.state == 'shipped'"
    input_mapping: { action: { value: refund }, id: "input.id", amount: "steps.look.total" }
    resilience: { retry: { attempts: 3, base: 1ms } }
output: { refund: "steps.refund.refund" }
"""


@pytest.fixture
async def server() -> AsyncIterator[StandIn]:
    standing = StandIn()
    await standing.start()
    yield standing
    await standing.stop()


@pytest.fixture
async def start(tmp_path: Path, server: StandIn, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Start]:
    """`start(workflow)`: it, loaded, its services at the server."""
    monkeypatch.setenv("HTTP_RUN_TOKEN", "t0ken-of-the-run")
    living: list[Workflow] = []

    def begin(text: str) -> Workflow:
        (tmp_path / "workflow.yaml").write_text(f"stretto: 1\nname: shop\n{text.replace('HERE', server.origin)}")
        living.append(load(tmp_path / "workflow.yaml", store=tmp_path / "runs.db"))
        return living[-1]

    yield begin
    for workflow in living:
        await workflow.aclose()


def shop(*, idempotent: bool = False) -> str:
    return SHOP.replace("IDEMPOTENT", "    idempotent: true" if idempotent else "")


def everything_in(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


async def ran(workflow: Workflow, **data: Any) -> Run:
    return await workflow.run(data)


def output(run: Run) -> dict[str, Any]:
    assert run.status is RunStatus.OK, run.error
    found: dict[str, Any] = decoded(run.output)
    return found


def of_orders(refund: Callable[[int], Reply]) -> Callable[[Asked], Reply]:
    """Answers for an order that was shipped; `refund` by how often one was asked for."""
    refunds = 0

    def answer(asked: Asked) -> Reply:
        nonlocal refunds
        if asked.method == "GET":
            return reply({"state": "shipped", "total": 12.5, "more": None})
        refunds += 1
        return refund(refunds)

    return answer


async def test_a_read_decides_and_a_write_follows(server: StandIn, start: Start, tmp_path: Path) -> None:
    server.answer = of_orders(lambda _: reply({"id": "R1"}, status=201))
    workflow = start(shop())
    run = await ran(workflow, id="A/1")
    assert output(run) == {"refund": "R1"}
    assert [f"{asked.method} {asked.target}" for asked in server.asked] == [
        "GET /orders/A%2F1",
        "POST /orders/A%2F1/refunds",
    ]
    assert [(step.path, step.effect.value) for step in run.steps] == [("look", "read"), ("refund", "write")]
    await workflow.aclose()
    assert b"t0ken-of-the-run" not in everything_in(tmp_path)


async def test_an_action_is_a_component_of_its_own(server: StandIn, start: Start) -> None:
    server.answer = of_orders(lambda _: reply({"id": "R1"}))
    steps = shop(idempotent=True)
    for action in ("get", "refund"):
        steps = steps.replace(f"{{ action: {{ value: {action} }}, ", "{ ")
    steps = steps.replace("- name: look\n    component: shop", "- name: look\n    component: shop/get")
    steps = steps.replace("- name: refund\n    component: shop", "- name: refund\n    component: shop/refund")
    run = await ran(start(steps), id="A1")
    assert output(run) == {"refund": "R1"}
    assert [(step.component, step.effect.value) for step in run.steps] == [
        ("shop/get", "read"),
        ("shop/refund", "write"),
    ]
    assert len({asked.peer for asked in server.asked}) == 1
    assert decoded(run.steps[0].input) == {"id": "A1"}
    assert server.asked[1].headers["Idempotency-Key"] == f"{run.id}/refund"


async def test_an_action_that_is_not_there_is_no_component(start: Start) -> None:
    with pytest.raises(SpecError) as caught:
        start(shop().replace("- name: look\n    component: shop", "- name: look\n    component: shop/gett"))
    assert "shop/gett" in str(caught.value)


async def test_a_read_is_tried_again(server: StandIn, start: Start) -> None:
    server.reply(status=503, headers={"Retry-After": "0"})
    server.reply({"state": "new", "total": 1})
    run = await ran(start(shop()), id="A1")
    assert output(run) == {"refund": None}
    assert len(server.asked) == 2


async def test_a_write_whose_answer_is_lost_is_in_doubt_and_sent_once(server: StandIn, start: Start) -> None:
    server.answer = of_orders(lambda _: reply({"message": "gateway"}, status=502))
    run = await ran(start(shop()), id="A1")
    assert run.status is RunStatus.PARKED
    assert [asked.method for asked in server.asked] == ["GET", "POST"]
    assert run.steps[-1].reason is Reason.IN_DOUBT


ASKED_ABOUT = """
components:
  shop:
    kind: http
    url: HERE/refunds
    json: { key: call.effect_key, amount: "input.amount" }
    output: { refund: string }
    confirm:
      url: HERE/refunds
      query: { key: call.effect_key }
      response: { statuses: [200, 404], map: { refund: "response.body.list[0].refund" } }
      happened: "response.status == 404 ? false : response.body.list == null ? null : size(response.body.list) > 0"
steps:
  - name: refund
    component: shop
    input_mapping: { amount: "input.amount" }
    resilience: { retry: { attempts: 2, base: 1ms } }
output: { refund: "steps.refund.refund" }
"""


@pytest.mark.parametrize(
    ("told", "status", "result", "sent"),
    [
        pytest.param(reply({"list": [{"refund": "R7"}]}), RunStatus.OK, {"refund": "R7"}, 1, id="it happened"),
        pytest.param(reply({"list": []}), RunStatus.OK, {"refund": "R1"}, 2, id="it did not"),
        pytest.param(reply(status=404), RunStatus.OK, {"refund": "R1"}, 2, id="nobody knows of it"),
        pytest.param(reply({"list": None}), RunStatus.PARKED, None, 1, id="it does not tell"),
        pytest.param(reply(status=500), RunStatus.PARKED, None, 1, id="it fails"),
    ],
)
async def test_a_write_in_doubt_is_asked_about(
    server: StandIn, start: Start, told: Reply, status: RunStatus, result: object, sent: int
) -> None:
    writes = 0

    def answer(asked: Asked) -> Reply:
        nonlocal writes
        if asked.method == "GET":
            return told
        writes += 1
        return reply(status=502) if writes == 1 else reply({"refund": "R1"})

    server.answer = answer
    run = await ran(start(ASKED_ABOUT), amount=3)
    assert (run.status, writes) == (status, sent), run.error
    assert (None if run.output is None else decoded(run.output)) == result
    assert server.asked[1].target == f"/refunds?key={run.id}%2Frefund"


async def test_a_write_whose_answer_cannot_be_read_is_in_doubt(server: StandIn, start: Start) -> None:
    server.answer = of_orders(lambda _: reply(b"<html>done</html>"))
    run = await ran(start(shop()), id="A1")
    assert run.status is RunStatus.PARKED


async def test_a_write_that_was_refused_is_not_in_doubt(server: StandIn, start: Start) -> None:
    server.answer = of_orders(lambda _: reply({"detail": "refunded before"}, status=422))
    run = await ran(start(shop()), id="A1")
    assert run.status is RunStatus.FAILED
    assert run.error is not None
    assert "answered 422: refunded before" in run.error.message


async def test_an_idempotent_write_is_sent_again_with_its_key(server: StandIn, start: Start) -> None:
    server.answer = of_orders(lambda times: reply(status=502) if times < 3 else reply({"id": "R1"}))
    run = await ran(start(shop(idempotent=True)), id="A1")
    assert output(run) == {"refund": "R1"}
    keys = [asked.headers["Idempotency-Key"] for asked in server.asked if asked.method == "POST"]
    assert keys == [f"{run.id}/refund"] * 3
    assert "Idempotency-Key" not in server.asked[0].headers


async def test_a_secret_that_is_not_set_fails_before_anything_is_sent(
    server: StandIn, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HTTP_RUN_TOKEN")
    run = await ran(start(shop()), id="A1")
    assert run.status is RunStatus.FAILED
    assert run.error is not None
    assert "$HTTP_RUN_TOKEN, which is not set" in run.error.message
    assert server.asked == []


async def test_the_deadline_closes_the_connection(server: StandIn, start: Start) -> None:
    server.gate.clear()
    workflow = start(
        """
components: { slow: { kind: http, url: "HERE/x" } }
steps: [{ name: ask, component: slow, input_mapping: {}, resilience: { timeout: 50ms } }]
"""
    )
    run = await ran(workflow)
    assert run.steps[0].status is StepStatus.FAILED
    assert run.steps[0].reason is Reason.TIMEOUT
    await asyncio.wait_for(server.dropped.wait(), 5)


async def test_an_answer_that_breaks_its_declaration_fails_the_step(server: StandIn, start: Start) -> None:
    server.reply({"state": "lost", "total": 1})
    run = await ran(start(shop()), id="A1")
    assert run.status is RunStatus.FAILED
    assert run.error is not None
    assert run.error.code == "component.contract"


async def test_a_bank_that_speaks_soap_is_asked_in_turn(server: StandIn, start: Start) -> None:
    server.answer = _bank
    workflow = start(
        """
components:
  bank:
    kind: http
    url: HERE/bank
    effects: read
    input: { account: string }
    output: { balance: float, owner: "string?" }
    soap:
      action: urn:bank#getBalance
      body: <getBalance xmlns="urn:bank"><account>{account}</account></getBalance>
    response:
      namespaces: { b: urn:bank }
      xpath: { balance: //b:balance, owner: //b:owner }
    errors:
      - { when: "response.fault.subcode == 'Unknown'", code: not_found, message: response.fault.reason }
steps:
  - name: ask
    for_each: input.accounts
    as: account
    on_item_error: null
    component: bank
    input_mapping: { account: account }
output: { found: steps.ask.items }
"""
    )
    run = await ran(workflow, accounts=["A&1", "B2"])
    assert run.status is RunStatus.DEGRADED
    assert decoded(run.output) == {"found": [{"balance": 12.5, "owner": "A&1"}, None]}


def _bank(asked: Asked) -> Reply:
    head = '<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body>'
    if b"A&amp;1" in asked.body:
        found = "<r xmlns='urn:bank'><balance>12.50</balance><owner>A&amp;1</owner></r>"
        return reply(f"{head}{found}</s:Body></s:Envelope>")
    fault = "<s:Fault><faultcode>s:Client.Unknown</faultcode><faultstring>no such account</faultstring></s:Fault>"
    return reply(f"{head}{fault}</s:Body></s:Envelope>", status=500)


async def test_what_a_step_gives_is_held_against_the_declaration(start: Start) -> None:
    with pytest.raises(SpecError) as caught:
        start(
            """
components: { shop: { kind: http, url: "HERE/orders/{id}", output: { state: string } } }
steps: [{ name: look, component: shop, input_mapping: { number: "input.id" } }]
output: { total: steps.look.total }
"""
        )
    assert [problem.code for problem in caught.value.problems] == ["plan.missing_field", "expr.unknown_path"]

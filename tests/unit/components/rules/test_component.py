"""Rules as a component: what they answer, what their card says, and what becomes of rules that are served apart."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from stretto.components.rules import RuleComponent
from stretto.components.rules.served import OTHER_TRAFFIC, PAUSE_S
from stretto.types.enums import Effect
from stretto.types.errors import Code, ComponentError, MissingExtraError, SpecError, UsageError
from stretto.types.messages import Request
from tests.unit.components.rules.building import fields, line, node, single, table, write
from tests.unit.components.rules.conftest import ADVICE, RISK, document

Ask = Callable[..., Request]


def _nested(levels: int) -> Any:
    inner: Any = 1
    for _ in range(levels):
        inner = {"a": inner}
    return inner


async def test_the_first_row_that_fits_answers_and_is_told(file: Path, make_request: Ask) -> None:
    response = await RuleComponent("rules", file=file)(make_request(risk="high"))
    assert response.output == {"product": "fund"}
    assert response.evidence == {"rows": [{"table": "Table", "row": 2, "id": "r2", "means": "all others"}]}


async def test_rows_are_not_told_when_nobody_asks_for_them(file: Path, make_request: Ask) -> None:
    response = await RuleComponent("rules", file=file, trace=False)(make_request(risk="low"))
    assert (response.output, dict(response.evidence)) == ({"product": "bond"}, {})


async def test_an_input_that_the_rules_refuse_is_the_callers_fault_and_the_node_is_named(
    file: Path, make_request: Ask
) -> None:
    with pytest.raises(ComponentError, match=r"at the node 'in': .*medium") as raised:
        await RuleComponent("rules", file=file)(make_request(risk="medium"))
    assert raised.value.rpc_code is Code.INVALID_ARGUMENT


async def test_what_an_input_lacks_is_told_without_an_empty_place(file: Path, make_request: Ask) -> None:
    with pytest.raises(ComponentError, match="at the node 'in': \"risk\" is a required property"):
        await RuleComponent("rules", file=file)(make_request())


def test_the_client_of_served_rules_is_there_before_the_first_call_and_only_where_it_is_asked(file: Path) -> None:
    asked = f"""
import asyncio, sys
from stretto.components.rules import RuleComponent
asyncio.run(RuleComponent("rules", file={str(file)!r}).open())
print("aiohttp" in sys.modules)
asyncio.run(RuleComponent("rules", file={str(file)!r}, url="http://127.0.0.1:9").open())
print("aiohttp" in sys.modules)
"""
    told = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert told.stdout.split() == ["False", "True"]


async def test_an_expression_that_fails_names_its_node(tmp_path: Path, make_request: Ask) -> None:
    expressions = {"expressions": [{"id": "e", "key": "o", "value": "a.b + 'x' * 2"}]}
    file = write(tmp_path, line(node("e", "expressionNode", expressions, "Sum")))
    with pytest.raises(ComponentError, match="at the node 'Sum'") as raised:
        await RuleComponent("rules", file=file)(make_request(a=1))
    assert raised.value.rpc_code is Code.FAILED_PRECONDITION


async def test_a_number_beyond_the_engines_is_the_callers_fault(tmp_path: Path, make_request: Ask) -> None:
    file = write(tmp_path, single(table([{"o": "1"}])))
    assert (await RuleComponent("rules", file=file)(make_request(a=7.9e28))).output == {"o": 1}
    with pytest.raises(ComponentError, match="number out of range") as raised:
        await RuleComponent("rules", file=file)(make_request(a=1e30))
    assert raised.value.rpc_code is Code.INVALID_ARGUMENT


async def test_a_list_is_no_answer(tmp_path: Path, make_request: Ask) -> None:
    write(tmp_path, line(node("d", "decisionNode", {"key": "last.json"})), "inner.json")
    write(tmp_path, single(table([{"o": "1"}], hit_policy="collect")), "last.json")
    file = write(tmp_path, line(node("d", "decisionNode", {"key": "inner.json"})))
    with pytest.raises(ComponentError, match="answer a list, not an object"):
        await RuleComponent("rules", file=file)(make_request(a=1))


@pytest.mark.parametrize("given", [2**70, "\ud800", _nested(300), _nested(200)], ids=["int", "text", "deep", "deeper"])
@pytest.mark.parametrize("url", ["", "http://127.0.0.1:9"])
async def test_what_json_or_the_engine_cannot_hold_is_the_callers_fault(
    tmp_path: Path, make_request: Ask, given: Any, url: str
) -> None:
    rules = RuleComponent("rules", file=write(tmp_path, single(table([{"o": "1"}]))), url=url)
    with pytest.raises(ComponentError) as raised:
        await rules(make_request(a=given))
    await rules.close()
    assert raised.value.rpc_code is Code.INVALID_ARGUMENT


async def test_rows_of_rules_inside_rules_are_told_in_their_order(tmp_path: Path, make_request: Ask) -> None:
    write(tmp_path, single(table([{"o": "1"}])), "inner.json")
    nodes = line(
        node("d", "decisionNode", {"key": "inner.json"}),
        node("t", "decisionTableNode", table([{"p": "2"}], (), ("p",)), "Last"),
    )
    response = await RuleComponent("rules", file=write(tmp_path, nodes))(make_request(a=1))
    rows: Any = response.evidence["rows"]
    assert [(row["table"], row["row"]) for row in rows] == [("Table", 1), ("Last", 1)]


def test_the_card_takes_its_schemas_from_the_nodes(tmp_path: Path) -> None:
    model = single(table(ADVICE, ["risk"], ["product"]), RISK)
    model["nodes"][-1]["content"] = {"schema": json.dumps(fields(product={"type": "string"}))}
    card = RuleComponent("rules", file=write(tmp_path, model), version="1.2.0").card
    assert (card.kind, card.version, card.effects) == ("rules", "1.2.0", {"*": Effect.PURE})
    assert card.input == RISK
    assert card.output == fields(product={"type": "string"})


def test_schemas_that_are_given_stand_in_place_of_those_of_the_nodes_and_are_analysed_by(file: Path) -> None:
    wider = fields(risk={"enum": ["low"]})
    with pytest.raises(SpecError, match=r"row 2 .* never answers"):
        RuleComponent("rules", file=file, input=wider)


def test_the_digest_is_of_what_is_decided_not_of_how_it_is_laid_out(file: Path, tmp_path: Path) -> None:
    before = RuleComponent("rules", file=file).card.digest
    moved = document(file)
    moved["nodes"][0]["position"] = {"x": 10, "y": 20}
    file.write_text(json.dumps(moved))
    assert RuleComponent("rules", file=file, trace=False).card.digest == before
    moved["nodes"][1]["content"]["rules"][0]["product"] = '"share"'
    file.write_text(json.dumps(moved))
    assert RuleComponent("rules", file=file).card.digest != before


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"url": "localhost:8321"}, "address of `stretto fallback serve`"),
        ({"url": "ftp://x"}, "address of `stretto fallback serve`"),
        ({"url": "http://[::1"}, "`url` of rules 'rules' is 'http://\\[::1', which is no address"),
        ({"url": "http://127.0.0.1:99999"}, "which is no address: Port out of range"),
        ({"url": "http://x y"}, "a space in its host"),
        ({"served_timeout": timedelta(seconds=1)}, "nothing without `url`"),
        ({"url": "http://x", "served_timeout": timedelta(0)}, "above 0"),
        ({"name": "a b"}, "cannot be the name"),
    ],
)
def test_options_that_cannot_work_are_refused(file: Path, options: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        RuleComponent(options.pop("name", "rules"), file=file, **options)


def test_without_the_engine_the_extra_is_named(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stretto.components.rules.settings.find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"\[rules\]"):
        RuleComponent("rules", file=file)


class TestServedApart:
    """What is answered by whom, and what is told of it."""

    async def test_rules_served_apart_answer_first(
        self, file: Path, serving: Callable[..., Any], make_request: Ask
    ) -> None:
        rules = RuleComponent("rules", file=file, url=await serving(file), served_timeout=timedelta(seconds=30))
        assert rules.card.effects == {"*": Effect.READ}
        response = await rules(make_request(risk="low"))
        await rules.close()
        assert response.output == {"product": "bond"}
        assert response.evidence == {"answered_by": "served", "rows": [{"table": "Table", "row": 1, "id": "r1"}]}

    async def test_the_wait_for_a_connection_is_told(
        self, file: Path, serving: Callable[..., Any], make_request: Ask, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("stretto.components.rules.served.MAX_CONNECTIONS", 1)
        rules = RuleComponent("rules", file=file, url=await serving(file), served_timeout=timedelta(seconds=30))
        first, second = await asyncio.gather(*(rules(make_request(risk="low")) for _ in range(2)))
        await rules.close()
        assert first.queue_ms == 0.0
        assert second.queue_ms > 0.0
        assert second.evidence["answered_by"] == "served"

    async def test_an_exercise_is_told_from_what_a_customer_waits_for(self, file: Path, make_request: Ask) -> None:
        came: list[str | None] = []

        async def answer(request: web.Request) -> web.Response:
            came.append(request.headers.get(OTHER_TRAFFIC))
            return web.json_response({"output": {"product": "bond"}, "digest": "d"})

        for labels in ({}, {"purpose": "exercise"}):
            await _asked_of(answer, file, make_request, timedelta(seconds=30), labels=labels)
        assert came == [None, "1"]

    async def test_other_rules_are_told_by_their_digest(
        self,
        file: Path,
        tmp_path: Path,
        serving: Callable[..., Any],
        make_request: Ask,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        other = write(tmp_path, single(table([{"product": '"cash"'}], ["risk"], ["product"]), RISK), "other.json")
        rules = RuleComponent("rules", file=file, url=await serving(other), served_timeout=timedelta(seconds=30))
        response = await rules(make_request(risk="low"))
        await rules.close()
        assert response.output == {"product": "cash"}
        assert response.evidence["served_digest"] == RuleComponent("x", file=other)._decision.digest
        assert "are other rules" in caplog.text

    async def test_an_answer_that_breaks_the_schema_is_not_taken(
        self, file: Path, tmp_path: Path, serving: Callable[..., Any], make_request: Ask
    ) -> None:
        other = write(tmp_path, single(table([{"produkt": '"cash"'}], ["risk"], ["produkt"]), RISK), "other.json")
        output = fields(product={"type": "string"})
        url = await serving(other)
        rules = RuleComponent("rules", file=file, url=url, output=output, served_timeout=timedelta(seconds=30))
        response = await rules(make_request(risk="low"))
        await rules.close()
        assert response.output == {"product": "bond"}
        assert response.evidence["answered_by"] == "in_process"
        assert "breaks the output's schema" in str(response.evidence["served"])

    async def test_unreachable_rules_are_answered_for_in_process_and_left_alone_for_a_while(
        self, file: Path, make_request: Ask
    ) -> None:
        rules = RuleComponent("rules", file=file, url="http://127.0.0.1:9", served_timeout=timedelta(seconds=30))
        told = [dict((await rules(make_request(risk="low"))).evidence) for _ in range(2)]
        await rules.close()
        assert [each["answered_by"] for each in told] == ["in_process"] * 2
        assert str(told[0]["served"]).startswith("unreachable: ")
        assert told[1]["served"] == f"not asked: it failed less than {PAUSE_S:g} s ago"

    @pytest.mark.parametrize(
        ("status", "body", "says"),
        [
            (500, b"", "status 500"),
            (200, b"<html>", "cannot be read"),
            (200, b'{"output": [], "digest": ""}', "cannot be read"),
            (200, b'{"output": {"x": "\xff"}, "digest": ""}', "cannot be read"),
            (200, b'"' + b"x" * (1 << 20) + b'"', "larger than 1 MiB"),
        ],
        ids=["failing", "a page", "another form", "no text", "too large"],
    )
    async def test_what_is_no_answer_is_told(
        self, file: Path, make_request: Ask, status: int, body: bytes, says: str
    ) -> None:
        async def answer(_: web.Request) -> web.Response:
            return web.Response(status=status, body=body)

        response = await _asked_of(answer, file, make_request, timedelta(seconds=30))
        assert response.output == {"product": "bond"}
        assert says in str(response.evidence["served"])

    @pytest.mark.parametrize(("status", "asks"), [(422, 2), (413, 2), (404, 1), (503, 1)])
    async def test_who_refuses_one_input_is_asked_about_the_next(
        self, file: Path, make_request: Ask, status: int, asks: int
    ) -> None:
        came: list[web.Request] = []

        async def answer(request: web.Request) -> web.Response:
            came.append(request)
            return web.Response(status=status)

        await _asked_of(answer, file, make_request, timedelta(seconds=30), times=2)
        assert len(came) == asks

    async def test_a_header_that_http_cannot_carry_costs_no_answer(self, file: Path, make_request: Ask) -> None:
        async def answer(_: web.Request) -> web.Response:
            raise AssertionError

        response = await _asked_of(answer, file, make_request, timedelta(seconds=30), traceparent="00-a\r\nX: y")
        assert response.output == {"product": "bond"}
        assert "cannot be asked about this" in str(response.evidence["served"])

    async def test_who_had_no_time_to_wait_says_nothing_of_the_server(self, file: Path, make_request: Ask) -> None:
        answered = asyncio.Event()
        came: list[web.Request] = []

        async def answer(request: web.Request) -> web.Response:
            came.append(request)
            await answered.wait()
            return web.Response()

        await _asked_of(answer, file, make_request, timedelta(hours=1), answered, left_s=0.02, times=2)
        assert len(came) == 2

    async def test_rules_that_hang_are_waited_for_no_longer_than_their_time(
        self, file: Path, make_request: Ask
    ) -> None:
        answered = asyncio.Event()

        async def answer(_: web.Request) -> web.Response:
            await answered.wait()
            return web.Response()

        response = await _asked_of(answer, file, make_request, timedelta(milliseconds=20), answered)
        assert response.evidence["served"] == "no answer within 20 ms"

    async def test_of_what_is_left_of_the_deadline_half_is_kept_for_the_answer_in_process(
        self, file: Path, make_request: Ask
    ) -> None:
        answered = asyncio.Event()

        async def answer(_: web.Request) -> web.Response:
            await answered.wait()
            return web.Response()

        response = await _asked_of(answer, file, make_request, timedelta(hours=1), answered, left_s=0.1)
        assert response.output == {"product": "bond"}
        assert "no answer within" in str(response.evidence["served"])


async def _asked_of(
    answer: Any,
    file: Path,
    make_request: Ask,
    limit: timedelta,
    answered: asyncio.Event | None = None,
    *,
    left_s: float = 3600.0,
    labels: dict[str, str] | None = None,
    traceparent: str = "",
    times: int = 1,
) -> Any:
    """What rules answer, the last time, whose served copy answers so."""
    app = web.Application()
    app.router.add_post("/v1/decide", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    rules = RuleComponent("rules", file=file, url=f"http://127.0.0.1:{runner.addresses[0][1]}", served_timeout=limit)
    try:
        for _ in range(times):
            deadline = asyncio.get_running_loop().time() + left_s
            response = await rules(
                make_request(risk="low", _deadline=deadline, _labels=labels, _traceparent=traceparent)
            )
        return response
    finally:
        await rules.close()
        if answered is not None:
            answered.set()
        await runner.cleanup()

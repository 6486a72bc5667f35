"""Maps: a body for each item of a list, in lanes; results in item order."""

import asyncio
from typing import Any

import pytest

from stretto.plan.model import CallOp, MapOp
from stretto.record.model import decoded
from stretto.types.enums import Reason, RunStatus
from stretto.types.errors import Code, ComponentError
from stretto.types.messages import Request
from tests.unit.engine.books import LOST, WRITE, Book, execute, resume, settled, stepping
from tests.unit.engine.plans import Probe, S, call, each, failing, linear, read, returning, run, sleeping, step


class TestMap:
    def test_results_are_in_item_order_whatever_finishes_first(self) -> None:
        async def answer(request: Request) -> object:
            value = request.input["n"]
            assert isinstance(value, int)
            await asyncio.sleep(10 - value)
            return {"n": value}

        body = each(call(Probe("one", answer), S + 3, {"n": read(S + 1)}), max_parallel=3)
        result = run(linear(body), {"items": [1, 2, 3]}, output={"all": read(S, "items")})
        assert decoded(result.output) == {"all": [{"n": 1}, {"n": 2}, {"n": 3}]}
        assert {record.path for record in result.steps} == {"each[0]/one", "each[1]/one", "each[2]/one", "each"}

    def test_no_more_than_max_parallel_are_in_flight(self) -> None:
        result = run(linear(each(call(sleeping("one", 1.0), S + 3))), {"items": list(range(5))})
        assert result.duration_ms == 3000.0

    def test_a_failed_item_reads_null_where_the_map_tolerates_it(self) -> None:
        flaky = failing("one", ComponentError("no", Code.INTERNAL), {"v": 1})
        body = each(call(flaky, S + 3), max_parallel=1, null_on_error=True)
        result = run(linear(body), {"items": [1, 2]}, output={"all": read(S, "items")})
        assert decoded(result.output) == {"all": [None, {"v": 1}]}
        assert result.status is RunStatus.DEGRADED
        assert step(result, "each").evidence == {"failed_items": [0]}

    @pytest.mark.parametrize("items", [3, "abc", {"a": 1}])
    def test_a_value_that_is_not_a_list_fails_the_step(self, items: object) -> None:
        result = run(linear(each(call(returning("one", {}), S + 3))), {"items": items})
        assert result.error is not None
        assert "is not a list" in result.error.message
        assert [record.path for record in result.steps] == ["each"]

    def test_an_item_that_cancels_its_own_task_fails_the_map(self) -> None:
        async def stop(request: Request) -> object:
            task = asyncio.current_task()
            assert task is not None
            if request.input["n"] == 2:
                task.cancel()
            await asyncio.sleep(1)
            return {}

        result = run(linear(each(call(Probe("stop", stop), S + 3, {"n": read(S + 1)}))), {"items": [1, 2, 3]})
        assert (result.status, result.reason) == (RunStatus.FAILED, Reason.CANCELLED)
        assert result.error is not None
        assert "step 'each[1]' cancelled the task" in result.error.message


class TestWritesInItems:
    def each(self, op: CallOp, **fields: Any) -> MapOp:
        return MapOp(
            name="each",
            slot=S,
            over=read(0, "items"),
            over_source="input.items",
            item_slot=S + 1,
            index_slot=S + 2,
            body=linear(op),
            result=read(op.slot),
            max_parallel=fields.pop("max_parallel", 1),
            **fields,
        )

    def test_an_item_in_doubt_is_not_read_as_null(self) -> None:
        book = Book()

        async def pay_all_but_two(request: Request) -> object:
            if request.input["v"] == 2:
                raise LOST
            return {"paid": request.input["v"]}

        pay = Probe("pay", pay_all_but_two, effects=WRITE)
        op = call(pay, S + 3, {"v": read(S + 1)})
        body = linear(self.each(op, null_on_error=True))
        parked = execute(body, book, {"items": [1, 2, 3]})
        assert (parked.status, book.in_doubt) == (RunStatus.PARKED, ["each[1]/pay"])
        settled(book, "each[1]/pay", {"paid": 2})
        again = resume(parked, stepping(body, output={"all": read(S, "items")}), book)
        assert again.status is RunStatus.OK, again.error
        assert decoded(again.output) == {"all": [{"paid": 1}, {"paid": 2}, {"paid": 3}]}
        assert [request.input["v"] for request in pay.requests] == [1, 2, 3]

    def test_an_item_that_failed_and_was_tolerated_stays_failed_in_a_resumed_run(self) -> None:
        book = Book()
        no = ComponentError("no", Code.INVALID_ARGUMENT)
        item = failing("item", {"v": 1}, no, {"v": 3}, {"v": 99})
        total = failing("total", LOST, effects=WRITE)
        op = call(item, S + 3, {"v": read(S + 1)})
        body = linear(self.each(op, null_on_error=True), call(total, S + 4, {"all": read(S, "items")}))
        parked = execute(body, book, {"items": [1, 2, 3]})
        assert parked.status is RunStatus.PARKED
        settled(book, "total", {"id": 1})
        again = resume(parked, stepping(body), book)
        assert len(item.requests) == 3
        assert again.status is RunStatus.DEGRADED, again.error

"""Loops: rounds of a body that see each other only through what is carried."""

from typing import Any

from stretto.plan.model import Carry, LoopOp
from stretto.record.model import decoded
from stretto.types.enums import RunStatus
from stretto.types.messages import Request
from tests.unit.engine.books import LOST, WRITE, Book, execute, resume, settled, stepping
from tests.unit.engine.plans import Probe, S, call, linear, read, run


class TestLoop:
    def loop(self, **fields: Any) -> LoopOp:
        async def add(request: Request) -> object:
            value = request.input["n"]
            assert isinstance(value, int)
            return {"n": value + 1}

        carry = Carry(name="n", slot=S + 1, start=read(0, "n"), next=read(S + 3, "n"))
        body = linear(call(Probe("add", add), S + 3, {"n": read(S + 1)}))
        return LoopOp(
            **{
                "name": "loop", "slot": S, "body": body, "carries": (carry,), "round_slot": S + 2, "until": None,
                "until_source": "", "max_rounds": 4, "results": (("add", S + 3),), **fields,
            }
        )  # fmt: skip

    def test_it_stops_at_max_rounds_and_says_that_it_is_not_done(self) -> None:
        result = run(linear(self.loop()), {"n": 0}, output={"loop": read(S)})
        assert decoded(result.output)["loop"] == {
            "last": {"add": {"n": 4}}, "rounds": 4, "done": False, "carry": {"n": 4},
        }  # fmt: skip

    def test_it_stops_when_its_condition_holds(self) -> None:
        result = run(linear(self.loop(until=lambda frame: frame[S + 3]["n"] == 2)), {"n": 0}, output={"loop": read(S)})
        assert decoded(result.output)["loop"]["rounds"] == 2
        assert [record.path for record in result.steps] == ["loop[1]/add", "loop[2]/add", "loop"]

    def test_its_condition_sees_what_the_round_carried_on(self) -> None:
        result = run(linear(self.loop(until=lambda frame: frame[S + 1] == 2)), {"n": 0}, output={"loop": read(S)})
        assert decoded(result.output)["loop"]["rounds"] == 2


class TestResume:
    def test_a_loop_goes_on_in_the_round_in_which_it_was_interrupted(self) -> None:
        book = Book()
        rounds: list[int] = []

        async def pay_in_turn(request: Request) -> object:
            n: Any = request.input["n"]
            rounds.append(n)
            if n == 2 and rounds.count(2) == 1:
                raise LOST
            return {"n": n + 1}

        pay = Probe("pay", pay_in_turn, effects=WRITE)
        loop = LoopOp(
            name="loop",
            slot=S,
            body=linear(call(pay, S + 3, {"n": read(S + 2)})),
            carries=(Carry(name="n", slot=S + 2, start=read(0, "n"), next=read(S + 3, "n")),),
            round_slot=S + 1,
            until=lambda frame: frame[S + 3]["n"] >= 4,
            until_source="",
            max_rounds=9,
            results=(("pay", S + 3),),
        )
        parked = execute(linear(loop), book, {"n": 1})
        assert (parked.status, book.in_doubt) == (RunStatus.PARKED, ["loop[2]/pay"])
        settled(book, "loop[2]/pay", None)
        again = resume(parked, stepping(linear(loop), output={"n": read(S, "carry", "n")}), book)
        assert decoded(again.output) == {"n": 4}
        assert rounds == [1, 2, 2, 3]

"""What an interrupted run did before it was resumed counts on."""

from stretto.engine.carried import note_lying
from stretto.record.model import NULL, Manifest, Run
from stretto.types.budget import BudgetSpec
from stretto.types.enums import Reason, StepStatus
from stretto.types.ids import Digest, RunId
from stretto.types.learning import Reward
from stretto.types.messages import Response, Usage
from tests.unit.engine.books import Book, execute, killed, resume, stepping
from tests.unit.engine.plans import S, call, linear, returning


class TestResume:
    def test_what_recorded_steps_consumed_is_still_spent(self) -> None:
        book = Book()
        used = Response(output={}, usage=Usage(input_tokens=60), rewards=(Reward(name="r", value=1.0),))
        body = linear(
            call(returning("a", used), S), call(returning("b", used), S + 1), call(returning("c", used), S + 2)
        )
        budget = BudgetSpec(tokens=100)
        whole = execute(body, book, budget=budget)
        assert whole.reason is Reason.BUDGET
        again = resume(killed(whole, steps=1), stepping(body, budget=budget), book)
        assert again.reason is Reason.BUDGET
        assert [record.status for record in again.steps] == [StepStatus.OK, StepStatus.OK, StepStatus.FAILED]
        assert again.usage == Usage(input_tokens=120)
        assert [reward.value for reward in again.rewards] == [1.0, 1.0]

    def test_the_time_that_a_run_lay_is_told_apart_each_time_that_it_goes_on(self) -> None:
        run = Run(
            id=RunId("r"), workflow_run_id="w", input=NULL, input_digest=Digest("0" * 64), started_at_ns=1_000_000,
            manifest=Manifest(workflow="w", version="1.0.0", plan=Digest("0" * 64), components={}), duration_ms=40.0,
        )  # fmt: skip
        note_lying(run, 1_000_000 + 100_000_000)
        assert run.lay_ms == 60.0
        run.duration_ms = 110.0  # parked again, 10 ms later
        note_lying(run, 1_000_000 + 1_000_000_000)
        assert run.lay_ms == 60.0 + 890.0

    def test_a_run_that_was_never_resumed_lay_no_time(self) -> None:
        assert execute(linear(call(returning("a", {}), S)), Book()).lay_ms == 0.0

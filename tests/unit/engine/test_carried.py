"""What an interrupted run did before it was resumed counts on."""

from stretto.types.budget import BudgetSpec
from stretto.types.enums import Reason, StepStatus
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

"""What ended tasks that worked side by side."""

import pytest

from stretto.engine.lanes import first_failure, stopped_itself
from stretto.engine.state import StepFailed
from stretto.record.model import ErrorInfo
from stretto.types.enums import Reason, RunStatus
from stretto.types.errors import Code
from stretto.types.ids import StepPath

FAILED, LATER = (StepFailed(ErrorInfo(code="component", message=name), Reason.ERROR) for name in ("first", "later"))
PARKED = StepFailed(ErrorInfo(code="component.in_doubt", message="pay"), Reason.IN_DOUBT, RunStatus.PARKED)
BROKEN = OSError("the disk is full")


@pytest.mark.parametrize(
    ("failures", "first"),
    [
        ([FAILED, LATER], FAILED),
        ([FAILED, PARKED, LATER], PARKED),  # a write in doubt is not to be forgotten over a failure
        ([FAILED, PARKED, BROKEN], BROKEN),
        ([BaseExceptionGroup("a map", [FAILED]), LATER], FAILED),
        ([FAILED, BaseExceptionGroup("a map", [LATER, BaseExceptionGroup("a body", [PARKED])])], PARKED),
        ([BaseExceptionGroup("a map", [BROKEN]), PARKED], BROKEN),
    ],
)
def test_the_gravest_failure_counts_and_of_equal_ones_the_first(
    failures: list[BaseException], first: BaseException
) -> None:
    assert first_failure(BaseExceptionGroup("lanes", failures)) is first


def test_a_lane_that_cancelled_itself_failed_with_the_step_that_it_was_at() -> None:
    failure = stopped_itself(StepPath("each[1]"))
    assert (failure.status, failure.reason) == (RunStatus.FAILED, Reason.CANCELLED)
    assert (failure.error.path, failure.error.rpc_code) == ("each[1]", Code.CANCELLED)
    assert "at or inside step 'each[1]' cancelled the task" in failure.error.message

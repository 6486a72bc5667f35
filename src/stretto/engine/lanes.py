"""Lanes: tasks of one run that work side by side."""

from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeAlias

from stretto.engine.failure import error_info
from stretto.engine.state import Lane, RunState, StepFailed
from stretto.engine.taint import Taint
from stretto.plan.model import Block, Frame
from stretto.types.enums import Reason, RunStatus
from stretto.types.errors import Code, ComponentError
from stretto.types.ids import StepPath

RunBlock: TypeAlias = Callable[[RunState, Block, Frame, str, Lane, Taint | None], Coroutine[Any, Any, None]]
"""`graph.run_block`, given to the steps that hold a block."""


def first_failure(failures: BaseExceptionGroup[BaseException]) -> BaseException:
    """What ended a group of lanes: a step in doubt before any other failure, and a broken engine before both."""
    leaves = list(_leaves(failures))
    failed = [leaf for leaf in leaves if isinstance(leaf, StepFailed)]
    if len(failed) < len(leaves):
        return next(leaf for leaf in leaves if not isinstance(leaf, StepFailed))
    return next((failure for failure in failed if failure.status is RunStatus.PARKED), failed[0])


def stopped_itself(path: StepPath) -> StepFailed:
    """The failure of a lane that was cancelled in a group that nobody cancelled and in which nothing failed."""
    error = ComponentError(
        f"a component at or inside step '{path}' cancelled the task that it runs in, which nobody else had; raise an "
        "error that says what could not be done",
        Code.CANCELLED,
    )
    return StepFailed(error_info(error, path), Reason.CANCELLED)


def _leaves(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error

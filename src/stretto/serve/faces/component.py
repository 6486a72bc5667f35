"""A workflow as a component: each call is a run of its own, which both sides can find from the other."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from stretto.acp import messages as m
from stretto.engine.request import RunRequest
from stretto.record.model import Run
from stretto.runtime.workflow import Workflow
from stretto.serve.faces.allowance import allowance
from stretto.serve.faces.answered import error_of, response_of
from stretto.serve.faces.card import card_of, sla_of
from stretto.serve.faces.earlier import Earlier
from stretto.serve.faces.judged import keep
from stretto.serve.faces.lineage import hold_to_hops, lineage
from stretto.types.card import Card
from stretto.types.enums import Effect
from stretto.types.errors import Code, ComponentError, ContractError, InputError, StoreError
from stretto.types.ids import StepPath
from stretto.types.messages import Call, Request, Response
from stretto.types.signals import Signal

ASK_AGAIN_S: Final = 1.0
"""When another process is at work on the run that answers a call: most end within it."""


class WorkflowComponent:
    """Runs a workflow for each call."""

    def __init__(self, workflow: Workflow) -> None:
        self.workflow = workflow
        self._card = card_of(workflow.plan)
        self._earlier = Earlier(workflow)

    @property
    def card(self) -> Card:
        return self._card

    @property
    def sla(self) -> m.Sla:
        """What the workflow's contract promises."""
        return sla_of(self.workflow.plan)

    async def open(self) -> None:
        """Open the workflow's own components."""
        await self.workflow.open()

    async def close(self) -> None:
        """Close them, and write what is to be kept."""
        await self.workflow.aclose()

    async def __call__(self, request: Request) -> Response:
        """The answer of a run. Of calls that may write, those with one effect key are answered by one run, also where
        the server was restarted meanwhile.

        Raises ComponentError as the run's end has it. Cancelled, it seals the run as cancelled.
        """
        with _told_as_component():
            asked = self._asked(request)
            if asked.parent:
                hold_to_hops(asked.labels)
            earlier = await self._earlier.run_of(asked) if asked.effect_key else None
            run = await self.workflow.run_request(asked) if earlier is None else earlier
            return await self._told(run, is_earlier=earlier is not None)

    async def confirm(self, request: Request) -> Response | None:
        """What became of a call that may write; None when it surely wrote nothing. Raises InDoubtError where nobody
        knows."""
        with _told_as_component():
            run = await self._earlier.told_of(self._asked(request))
            return None if run is None else await self._told(run, is_earlier=True)

    async def reflect(self, signal: Signal) -> bool | str:
        """Keep how an answer was judged, as annotations of the run that gave it."""
        return await asyncio.to_thread(keep, self.workflow.store, self.workflow.name, signal)

    async def _told(self, run: Run, *, is_earlier: bool) -> Response:
        if run.answered:
            return response_of(run, is_earlier=is_earlier)
        raise error_of(run, await asyncio.to_thread(self.workflow.store.effects, run.id))

    def _asked(self, request: Request) -> RunRequest:
        """What the run is asked for: all of the caller's that crosses."""
        call, run = request.call, request.call.run
        is_of_a_run = not is_face(call.path)
        labels = dict(run.labels)
        if is_of_a_run and run.workflow_run_id:
            labels |= lineage(labels, run.workflow_run_id)
        return RunRequest(
            input=request.input,
            tenant=run.tenant,
            labels=labels,
            seed=run.seed if is_of_a_run or run.seed else None,
            budget=allowance(self.workflow.budget, call),
            parent=run.id if is_of_a_run else "",
            traceparent=run.traceparent,
            tracestate=run.tracestate,
            effect_key=_key_of(call, self._card),
            baggage=run.baggage,
        )


def face_path(face: str) -> StepPath:
    """Where a call comes from that is of no run: no step's name may hold a ``$``."""
    return StepPath(f"${face}")


def is_face(path: StepPath) -> bool:
    """Whether a call comes from a person's or another protocol's request, and not from a step."""
    return path.startswith("$")


def _key_of(call: Call, card: Card) -> str:
    """Of a call that may write. Others may be made again, side by side, and each is a run."""
    is_write = call.effect is Effect.WRITE or card.effect_of(call.action) is Effect.WRITE
    return call.effect_key if is_write else ""


@contextmanager
def _told_as_component() -> Iterator[None]:
    """Tell what a workflow raises as a component's errors.

    An input that does not fit is the caller's mistake. A store that is busy, or where another process answers this very
    call, may be asked again; nobody knows meanwhile what comes of it.
    """
    try:
        yield
    except InputError as error:
        told = ContractError(f"{error.what} does not fit:", error.violations)
        told.rpc_code, told.sent = Code.INVALID_ARGUMENT, False
        raise told from error
    except StoreError as error:
        again_s = ASK_AGAIN_S if error.retryable else None
        code = Code.UNAVAILABLE if error.retryable else Code.INTERNAL
        raise ComponentError(str(error), code, retry_after_s=again_s) from error

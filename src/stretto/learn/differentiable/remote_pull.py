"""Gradients asked for over the wire: one call a row, side by side, with the step's time-out, retries and protection.

A call that goes back has a budget of its own, as a run has, and stands in no record: runs are of what went forward.
"""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import msgspec
import numpy as np
import torch
from torch import Tensor

from stretto.acp import tensors as wire
from stretto.acp.difference import Arrays, Claim
from stretto.acp.projection import Probe, Verdict, judge
from stretto.components.acp.answer import EVIDENCE
from stretto.components.acp.pinned import ANSWERED_BY
from stretto.engine.admission import Admitted
from stretto.engine.call import StepCall
from stretto.engine.state import Lane, StepFailed
from stretto.learn.differentiable.cohort import Cohort
from stretto.learn.differentiable.host import Host
from stretto.learn.differentiable.remote_check import Checking
from stretto.learn.differentiable.underway import Underway
from stretto.plan.model import CallOp
from stretto.record.model import StepRecord
from stretto.types.card import Card, Tensor as TensorField, Tensors
from stretto.types.enums import Effect
from stretto.types.errors import Code, ComponentError, ContractError
from stretto.types.ids import StepPath
from stretto.types.json import Json, JsonObject
from stretto.types.messages import Request, Response, RunInfo
from stretto.types.protocols import Component, Differentiates
from stretto.types.signals import Cotangents


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What the component itself answered to a row."""

    run: RunInfo
    output: JsonObject
    gradient_handle: str
    answered_by: str
    """Digest of who answered, where that is not who the card says."""

    @staticmethod
    def of(record: StepRecord, run: RunInfo, output: Json) -> "Answer":
        """As it stands in the record."""
        told = record.evidence.get(EVIDENCE)
        facts = told if isinstance(told, dict) else {}
        by = facts.get(ANSWERED_BY)
        return Answer(
            run=run,
            output=output if isinstance(output, dict) else {},
            gradient_handle=str(facts.get("gradient_handle", "")),
            answered_by=str(by.get("digest", "")) if isinstance(by, dict) else "",
        )


class Row(NamedTuple):
    """Whose one is."""

    life: int
    path: StepPath
    admitted: Admitted
    seed: int


def rows_for(batch: Underway, cohort: Cohort, name: str) -> list[Row]:
    """Of a step."""
    runs = [batch.states.runs[life] for life in cohort.lives]
    return [
        Row(life, path, batch.data.admitted[run], batch.seeds[run])
        for life, path, run in zip(cohort.lives, cohort.paths(name), runs, strict=True)
    ]


@dataclass(frozen=True, kw_only=True)
class Pulling:
    """One step of one batch: what was asked and answered, for when the loss goes back.

    It holds no tensor of the batch: torch's graph holds it, and what stands in a circle through that is never freed.
    """

    host: Host
    place: str
    op: CallOp
    tensors: Tensors
    rows: Sequence[Row]
    at_once: int
    """Rows of one run that may be asked at a time."""
    data: Sequence[JsonObject]
    """What each row was asked."""
    answers: Sequence[Answer | None]
    checking: Checking
    leaves: Sequence[str]
    """Inputs to which the gradients go on."""

    def pull(self, cotangents: Sequence[Tensor | None], leaves: Sequence[Tensor]) -> list[Tensor]:
        """The gradients with respect to the leaves, [B, ...] each.

        Raises ContractError for a gradient that cannot be right, ComponentError where there is none.
        """
        found = [torch.zeros_like(leaf) for leaf in leaves]
        asked = self._asked(cotangents)
        pulled = self.host.run(self._rows(asked)) if asked else {}
        for row, gradients in pulled.items():
            for name, into in zip(self.leaves, found, strict=True):
                into[row] = torch.from_numpy(gradients[name]) if name in gradients else torch.nan
        return found

    def _asked(self, cotangents: Sequence[Tensor | None]) -> dict[int, Arrays]:
        """Of each row that the component answered, its cotangents; no row where all are 0, as its gradients are."""
        told = [
            (field.name, each.detach().cpu().numpy())
            for field, each in zip(self.tensors.outputs, cotangents, strict=True)
            if each is not None
        ]
        rows = [row for row, answer in enumerate(self.answers) if answer is not None]
        found = {row: {name: each[row] for name, each in told if np.any(each[row])} for row in rows}
        return {row: arrays for row, arrays in found.items() if arrays}

    async def _rows(self, asked: dict[int, Arrays]) -> dict[int, Arrays]:
        places: dict[int, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(self.at_once))

        async def one(row: int) -> Arrays:
            async with places[self.rows[row].life]:
                return await self._row(row, asked[row])

        found = await asyncio.gather(*map(one, asked), return_exceptions=True)
        pulled: dict[int, Arrays] = {}
        for row, each in zip(asked, found, strict=True):
            if isinstance(each, BaseException):
                raise each
            pulled[row] = each
        return pulled

    async def _row(self, row: int, cotangents: Arrays) -> Arrays:
        if wire.not_finite(cotangents):
            return {}
        answer, data = self.answers[row], self.data[row]
        assert answer is not None
        inputs = _arrays(data, self.tensors.inputs)
        pulls = _Pulls(self.op.component, self._cotangents(row, answer, inputs, cotangents), self.tensors, inputs)
        await self._call(row, replace(self._plain, component=pulls, input_check=None, output_check=None), {})
        if self.checking.is_due() and self._is_pure(data):
            claim = Claim(
                inputs=inputs,
                answer=_arrays(answer.output, self.tensors.outputs),
                cotangents=cotangents,
                gradients=pulls.gradients,
            )
            await self._check(row, claim)
        return pulls.gradients

    def _cotangents(self, row: int, answer: Answer, inputs: Arrays, cotangents: Arrays) -> Cotangents:
        return Cotangents(
            run=answer.run,
            path=self.rows[row].path,
            inputs=wire.written(inputs),
            cotangents=wire.written(cotangents),
            gradient_handle=answer.gradient_handle,
            input={name: value for name, value in self.data[row].items() if name not in inputs},
            answered_by=answer.answered_by,
        )

    @property
    def _plain(self) -> CallOp:
        """The step's call without what may answer in its place."""
        return replace(self.op, fallback=None, rejects=None, hedge=None, crossings_in=(), crossings_out=())

    async def _call(self, row: int, op: CallOp, data: JsonObject) -> JsonObject:
        """Make a call as the step makes it. Raises ComponentError for what became of it, with the step."""
        asked = self.rows[row]
        request = msgspec.structs.replace(asked.admitted.request, seed=asked.seed)
        state, budget = self.host.begin(msgspec.structs.replace(asked.admitted, request=request))
        lane = Lane(state.watch.alarm(), budget if op.share is None else budget.shared(op.share))
        call = StepCall(state, op, data, asked.path, lane, state.now(), op.action, Effect.PURE)
        try:
            return await call.run()
        except StepFailed as failure:
            raise _raised(failure, self.op.component_name, self.place) from failure
        finally:
            state.watch.end()

    def _is_pure(self, data: JsonObject) -> bool:
        card = self.op.component.card
        return card.effect_of(card.action_of(data)) is Effect.PURE

    async def _check(self, row: int, claim: Claim) -> None:
        """Hold a gradient against the component's own answers. Raises ContractError for one that is not theirs."""
        op = self._plain

        async def ask(inputs: Arrays) -> Arrays | None:
            try:
                told = await self._call(row, op, {**self.data[row], **{n: each.tolist() for n, each in inputs.items()}})
                found = _arrays(told, [each for each in self.tensors.outputs if each.name in claim.cotangents])
            except (ComponentError, ValueError):
                return None
            return found if found.keys() == claim.cotangents.keys() else None

        verdict, probe = await judge(claim, ask, np.random.default_rng())
        self.checking.note(verdict)
        if verdict is Verdict.LIES and probe is not None:
            raise _lie(self.op.component_name, self.place, probe)


class _Pulls:
    """A component that is asked for its gradient, in the place of the one that answers."""

    def __init__(self, component: Component, asked: Cotangents, told: Tensors, inputs: Arrays) -> None:
        self._component = component
        self._asked = asked
        self._declared = [each for each in told.inputs if each.name in inputs]
        self.gradients: Arrays = {}

    @property
    def card(self) -> Card:
        return self._component.card

    async def __call__(self, request: Request) -> Response:
        """Keeps the gradients. Raises ContractError for what is none."""
        assert isinstance(self._component, Differentiates)
        asked = msgspec.structs.replace(self._asked, deadline=request.call.deadline)
        content = await self._component.vjp(asked)
        try:
            self.gradients = wire.read(content, self._declared, whole=True)
        except ValueError as error:
            raise ContractError(f"it pulled back {error}") from error
        if name := wire.not_finite(self.gradients):
            raise ComponentError(f"it pulled back {name!r} that is not all numbers", Code.OUT_OF_RANGE)
        return Response(output={})


def _arrays(values: JsonObject, declared: Sequence[TensorField]) -> dict[str, Any]:
    """Fields as arrays; those that are null are left out."""
    return {
        each.name: np.asarray(values[each.name], dtype=wire.NUMPY[each.dtype])
        for each in declared
        if values.get(each.name) is not None
    }


def _raised(failure: StepFailed, component: str, place: str) -> ComponentError:
    info = failure.error
    text = f"no gradient came of component '{component}' at step '{place}': {info.message}"
    if info.code == ContractError.code:
        return ContractError(text)
    return ComponentError(text, Code(info.rpc_code) if info.rpc_code else Code.UNKNOWN)


def _lie(component: str, place: str, probe: Probe) -> ContractError:
    told = probe.told
    return ContractError(
        f"component '{component}' at step '{place}' pulls back what is no gradient of its answers: along a random "
        f"direction its gradient says {told.claimed:.6g}, and its own answers to inputs a little ahead and behind say "
        f"{told.found:.6g}, which may differ by {probe.tolerance:.2g}. Correct its vjp; until then freeze what learns "
        "through it, or take vjp from the verbs of its card"
    )

"""A signal counts once, and a gradient is bytes."""

import asyncio
from typing import Any

import msgspec
import numpy as np
import pytest

from stretto.acp import messages as m
from stretto.acp.failure import AcpError, Failure
from stretto.acp.names import Reason
from stretto.acp.server import Desk
from stretto.acp.tensors import written
from stretto.testing import run_virtual
from stretto.types.card import Tensor, Tensors
from stretto.types.errors import Code, ComponentError
from stretto.types.signals import Cotangents, Signal
from tests.unit.acp.server.desks import Doing, at_once


class Learner(Doing):
    """A component that is told how it was judged, and differentiates."""

    def __init__(self, says: Any, gradients: Any = b"g", takes_s: float = 0.0, **card: Any) -> None:
        super().__init__(at_once, **card)
        self.says = says
        self.gradients = gradients
        self.takes_s = takes_s
        self.signals: list[Signal] = []
        self.asked_for: list[Cotangents] = []

    async def reflect(self, signal: Signal) -> bool | str:
        self.signals.append(signal)
        await asyncio.sleep(self.takes_s)
        if isinstance(self.says, Exception):
            raise self.says
        said: bool | str = self.says
        return said

    async def vjp(self, asked: Cotangents) -> bytes:
        self.asked_for.append(asked)
        gradients: bytes = self.gradients
        return gradients


def envelope(**fields: Any) -> m.Envelope:
    return m.Envelope(
        **{"protocol": "1.0", "run_id": "r", "step_path": "s", "attempt": 1, "effect_key": "r/s", **fields}
    )


def signal(**fields: Any) -> m.ReflectRequest:
    return m.ReflectRequest(**{"envelope": envelope(), "reward": 1.0, **fields})


async def tell(desk: Desk, request: m.ReflectRequest) -> m.ReflectResponse:
    return await desk.reflect(request, asyncio.get_running_loop().time())


async def refused(desk: Desk, request: m.ReflectRequest) -> Failure:
    with pytest.raises(AcpError) as raised:
        await tell(desk, request)
    return raised.value.failure


def test_a_signal_is_told_as_it_was_sent() -> None:
    learner = Learner(says=True)

    async def main() -> None:
        request = signal(
            credit=0.5,
            terms=(m.RewardTerm(name="solved", value=1.0, weight=2.0, reason="yes"),),
            corrections=(m.Correction(pointer="/a", value=[1], by="ann", reason="typo"),),
            gradient_handle="g7",
        )
        response = await tell(Desk([learner]), request)
        assert (response.accepted, response.note) == (True, "")
        told = learner.signals[0]
        assert (told.run.id, told.path, told.reward, told.credit, told.gradient_handle) == ("r", "s", 1.0, 0.5, "g7")
        assert (told.terms[0].name, told.terms[0].weight) == ("solved", 2.0)
        assert (told.corrections[0].value, told.corrections[0].by) == ([1], "ann")

    run_virtual(main())


@pytest.mark.parametrize(("says", "accepted", "note"), [(False, False, ""), ("frozen", False, "frozen")])
def test_a_component_may_refuse_to_learn(says: Any, accepted: bool, note: str) -> None:
    async def main() -> None:
        response = await tell(Desk([Learner(says)]), signal())
        assert (response.accepted, response.note) == (accepted, note)

    run_virtual(main())


def test_a_signal_counts_once_for_its_key() -> None:
    learner = Learner(says=True, takes_s=5.0)

    async def main() -> None:
        desk = Desk([learner])
        first = asyncio.create_task(tell(desk, signal()))
        await asyncio.sleep(1)
        assert (await refused(desk, signal())).reason == Reason.KEY_IN_PROGRESS
        assert not (await first).result.replayed
        again = await tell(desk, signal(envelope=envelope(attempt=2)))
        assert (again.accepted, again.result.replayed) == (True, True)
        assert (await refused(desk, signal(reward=0.0))).reason == Reason.KEY_CONFLICT
        assert len(learner.signals) == 1

    run_virtual(main())


def test_a_signal_that_was_not_taken_is_told_again() -> None:
    learner = Learner(says=ComponentError("busy", Code.UNAVAILABLE))

    async def main() -> None:
        desk = Desk([learner])
        assert (await refused(desk, signal())).code is Code.UNAVAILABLE
        learner.says = True
        assert (await tell(desk, signal())).accepted

    run_virtual(main())


def test_what_is_no_answer_is_refused() -> None:
    async def main() -> None:
        assert (await refused(Desk([Learner(says=3)]), signal())).reason == Reason.CONTRACT
        desk = Desk([Learner(True, gradients="g")])
        with pytest.raises(AcpError, match="not safetensors bytes"):
            await desk.vjp(m.VjpRequest(envelope=envelope()), asyncio.get_running_loop().time())

    run_virtual(main())


def test_a_gradient_is_asked_for_and_given_as_it_is() -> None:
    learner = Learner(True, gradients=b"\x00grad")

    async def main() -> None:
        request = m.VjpRequest(envelope=envelope(), inputs=b"i", cotangents=b"c", gradient_handle="g7")
        response = await Desk([learner]).vjp(request, asyncio.get_running_loop().time())
        assert response.gradients == b"\x00grad"
        asked = learner.asked_for[0]
        assert (asked.inputs, asked.cotangents, asked.gradient_handle, asked.path) == (b"i", b"c", "g7", "s")

    run_virtual(main())


def test_a_component_without_the_method_does_not_offer_the_verb() -> None:
    async def main() -> None:
        desk = Desk([Doing(at_once)])
        failure = await refused(desk, signal())
        assert (failure.code, failure.reason) == (Code.UNIMPLEMENTED, Reason.VERB_NOT_OFFERED)
        assert failure.metadata == {"verbs": "execute, plan, observe"}
        assert desk.describe(m.DescribeRequest()).cards[0].verbs == ("execute", "plan", "observe")
        assert Desk([Learner(True, capabilities=("plan",))]).describe(m.DescribeRequest()).cards[0].verbs == (
            *("plan", "reflect", "vjp"),
        )

    run_virtual(main())


def test_the_time_of_a_signal_is_bounded() -> None:
    async def main() -> None:
        failure = await refused(Desk([Learner(True, takes_s=60.0)]), signal(envelope=envelope(remaining_ms=1000)))
        assert failure.reason == Reason.DEADLINE_PASSED

    run_virtual(main())


TENSORS = Tensors(inputs=(Tensor(name="x", shape=(2,)),), outputs=(Tensor(name="y"),))

X = written({"x": np.ones(2, np.float32)})
Y = written({"y": np.asarray(1.0, np.float32)})


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        (m.VjpRequest(inputs=b"\x01", cotangents=Y), "`inputs` for 'desk' hold 1 bytes that are no safetensors"),
        (m.VjpRequest(inputs=X, cotangents=X), "`cotangents` for 'desk' hold a tensor 'x'; expected 'y'"),
        (m.VjpRequest(inputs=Y, cotangents=Y), "`inputs` for 'desk' hold a tensor 'y'; expected 'x'"),
        (m.VjpRequest(inputs=X), "no `cotangents` say what 'desk' is to pull back"),
        (m.VjpRequest(cotangents=Y), "neither `inputs` nor `gradientHandle` say where 'desk' is to be differentiated"),
    ],
)
def test_tensors_that_are_none_of_the_cards_do_not_reach_it(request_: m.VjpRequest, said: str) -> None:
    learner = Learner(True, tensors=TENSORS)

    async def main() -> None:
        asked = msgspec.structs.replace(request_, envelope=envelope())
        with pytest.raises(AcpError, match=said) as raised:
            await Desk([learner]).vjp(asked, asyncio.get_running_loop().time())
        assert raised.value.failure.code is Code.INVALID_ARGUMENT
        assert learner.asked_for == []

    run_virtual(main())


def test_gradients_that_are_none_of_the_inputs_break_the_contract() -> None:
    async def main() -> None:
        for gradients, said in ((Y, "returned a tensor 'y'; expected 'x'"), (b"", "returned no tensor 'x' among none")):
            desk = Desk([Learner(True, gradients=gradients, tensors=TENSORS)])
            request = m.VjpRequest(envelope=envelope(), inputs=X, cotangents=Y)
            with pytest.raises(AcpError, match=said):
                await desk.vjp(request, asyncio.get_running_loop().time())
        right = Desk([Learner(True, gradients=X, tensors=TENSORS)])
        assert (await right.vjp(request, asyncio.get_running_loop().time())).gradients == X

    run_virtual(main())

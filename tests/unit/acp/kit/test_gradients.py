"""A component that pulls back right gradients passes the cases of `vjp`; one that lies in one thing is told which."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc.aio
import msgspec
import pytest

import stretto
from stretto.acp import messages as m
from stretto.acp.kit.case import Group, load_cases
from stretto.acp.kit.good import subjects_of
from stretto.acp.kit.gradients import UNTOLD
from stretto.acp.kit.grpc_wire import GrpcWire
from stretto.acp.kit.http_wire import HttpWire
from stretto.acp.kit.kit import Verdict, claimed_by, judged
from stretto.acp.kit.seen import Wire
from stretto.acp.server import Desk
from tests.unit.acp.kit.by_the_page import Lie, Said, Serving
from tests.unit.acp.kit.slope_by_the_page import CARD, Slope, numbers_of, written
from tests.unit.learn.differentiable.elsewhere import Elsewhere
from tests.unit.learn.differentiable.there_and_back import COMPONENTS, STEPS

SLOPE = msgspec.convert(CARD, m.WireCard)

CASES = tuple(case for case in load_cases() if case.group is Group.VJP)

GRADIENT, LINEAR, OF_ANSWERS = (
    "a gradient has the name, shape and type of each input",
    "a gradient is linear in the cotangents",
    "a gradient is that of the component's own answers",
)


async def verdicts(lie: Lie | None, card: m.WireCard = SLOPE) -> dict[str, Verdict]:
    with Serving(lie, Slope()) as url:
        wire = HttpWire(url, {})
        try:
            held = judged(CASES, subjects_of(card, None), wire, claimed_by(card), may_write=False)
            return {each.case.name: each async for each in held}
        finally:
            await wire.close()


def pulls(change: Callable[[list[float]], Any], shape: tuple[int, ...] = (3,), dtype: str = "F32") -> Lie:
    """Pulls back what the change makes of the right gradient."""

    def lie(path: str, _message: dict[str, Any], said: Said) -> Said:
        if path != "/acp/v1/vjp" or said[0] != 200:
            return said
        told = change(numbers_of(said[2]["gradients"]))
        text = written(told if isinstance(told, dict) else {"at": ([*shape], dtype, told)})
        return *said[:2], {"gradients": text}

    return Lie(says=lie)


def _deaf(_path: str, message: dict[str, Any]) -> dict[str, Any]:
    """Takes every tensor for the right one: with the wrong shape, of an unknown name, or none."""
    if "cotangents" not in message:
        return message
    first = {"height": ([], "F32", [1.0]), "heights": ([3], "F64", [0.0] * 3)}
    return {**message, "inputs": written({"at": ([3], "F32", [0.1, 0.2, 0.3])}), "cotangents": written(first)}


async def test_one_that_keeps_to_the_page_passes() -> None:
    found = await verdicts(None)
    assert [name for name, each in found.items() if not each.passed] == []
    assert len(found) == 7


@pytest.mark.parametrize(
    ("lie", "case", "said"),
    [
        (pulls(lambda g: [-x for x in g]), OF_ANSWERS, "along a random direction its gradient says"),
        (pulls(lambda g: [2 * x for x in g]), OF_ANSWERS, "along a random direction its gradient says"),
        (pulls(lambda g: [0.0, *g[1:]]), OF_ANSWERS, "along a random direction its gradient says"),
        (pulls(lambda _: [0.5, -0.25, 1.0]), LINEAR, "for 2 times the first cotangents -3 times the second differs by"),
        (pulls(lambda g: g[:2], shape=(2,)), GRADIENT, "'at' of shape [2]; expected [3]"),
        (pulls(lambda g: g, dtype="F64"), GRADIENT, "'at' of float64; expected F32"),
        (pulls(lambda g: {"where": ([3], "F32", g)}), GRADIENT, "a tensor 'where'; expected 'at'"),
        (pulls(lambda _: {}), GRADIENT, "no tensor 'at' among none"),
        (pulls(lambda g: [float("nan"), *g[1:]]), GRADIENT, "its gradient 'at' is not all numbers"),
        (
            Lie(hears=_deaf),
            "inputs of another shape are refused",
            "expected a refusal (invalid_argument), got an answer",
        ),
        (Lie(hears=_deaf), "cotangents of what is no output are refused", "expected a refusal (invalid_argument), got"),
    ],
)
async def test_one_that_departs_from_it_is_told_where(lie: Lie, case: str, said: str) -> None:
    found = (await verdicts(lie))[case]
    assert said in found.complaints[0]


async def test_one_that_does_not_tell_its_tensors_is_not_asked_for_gradients() -> None:
    found = await verdicts(None, msgspec.structs.replace(SLOPE, tensors=m.Tensors()))
    told = "its card tells no tensors that its input holds"
    assert (found[GRADIENT].skipped, found[LINEAR].skipped) == (told, told)
    assert found[OF_ANSWERS].skipped == f"{told}, or what it is asked is not pure"


async def test_one_whose_gradients_tell_nothing_is_not_accused() -> None:
    def flat(message: dict[str, Any]) -> dict[str, Any]:
        return {**message, "input": {**message["input"], "factor": 0.0}} if message.get("input") else message

    found = (await verdicts(Lie(hears=lambda _path, message: flat(message))))[OF_ANSWERS]
    assert (found.complaints, found.skipped) == ((), UNTOLD)


@pytest.mark.parametrize("form", ["http", "grpc"])
async def test_a_served_module_passes_over_both(form: str, tmp_path: Path) -> None:
    (tmp_path / "components.py").write_text(COMPONENTS)
    (tmp_path / "workflow.yaml").write_text(STEPS.format(components="components: components.py", more=""))
    there = Elsewhere(stretto.load(tmp_path / "workflow.yaml").component("middle"))
    with there:
        card = Desk(there.components).describe(m.DescribeRequest()).cards[0]
        wire: Wire = (
            HttpWire(f"http://127.0.0.1:{there.http_port}", {})
            if form == "http"
            else GrpcWire(grpc.aio.insecure_channel(f"127.0.0.1:{there.grpc_port}"), ())
        )
        subjects = subjects_of(card, {"state": [[0.5, -1.0, 2.0], [0.25, 1.5, -0.5]], "factor": 2.0})
        held = judged(CASES, subjects, wire, claimed_by(card), may_write=False)
        assert [each.case.name async for each in held if not each.passed] == []
        await wire.close()

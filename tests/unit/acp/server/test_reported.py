"""What a component records while it answers is told with the answer, held to the record's rules, once for one key."""

import re
from typing import Any

import msgspec
import numpy as np
import pytest

from stretto.acp import json_form, messages as m
from stretto.acp.names import Reason, Report
from stretto.acp.reported import actions_in, model_calls_in
from stretto.acp.server import Desk, Limits
from stretto.testing import run_virtual
from stretto.types.card import CHOOSES
from stretto.types.errors import Code
from stretto.types.learning import ModelCall
from stretto.types.messages import Request, Response
from tests.unit.acp.reports import CHOICE, COMPLETION, is_same
from tests.unit.acp.server.desks import WRITES, Doing, ask, refused, request


def reporting(**report: Any) -> Any:
    async def does(_: Request) -> object:
        return Response(output={"a": 1}, **report)

    return does


def test_choices_and_model_calls_are_told_in_both_forms() -> None:
    async def main() -> None:
        desk = Desk([Doing(reporting(actions=(CHOICE,), model_calls=(COMPLETION, COMPLETION)))])
        answer = await ask(desk, request())
        over_http = json_form.decode(answer.json(), m.CallResponse)
        for told in (over_http, answer.response(as_text=True), answer.response(as_text=False)):
            assert actions_in(told) == (CHOICE,)
            assert [is_same(call, COMPLETION) for call in model_calls_in(told)] == [True, True]
        assert len(over_http.blobs) == 4

    run_virtual(main())


def test_an_answer_given_again_tells_the_same_and_the_component_is_not_asked() -> None:
    doing = Doing(reporting(actions=(CHOICE,), model_calls=(COMPLETION,)), effects=WRITES)

    async def main() -> None:
        desk = Desk([doing])
        first, again = await ask(desk, request()), await ask(desk, request(attempt=2))
        assert (first.result.replayed, again.result.replayed) == (False, True)
        assert again.reported == first.reported
        assert actions_in(again.response(as_text=False)) == (CHOICE,)
        assert len(doing.asked) == 1

    run_virtual(main())


def test_what_is_remembered_counts_with_its_arrays() -> None:
    large = ModelCall(model="m", prompt_ids=np.zeros(10_000, np.int32))

    async def main() -> None:
        doing = Doing(reporting(model_calls=(large,)), effects=WRITES)
        desk = Desk([doing], Limits(max_key_bytes=60_000))
        for step in ("a", "b", "c", "a"):
            await ask(desk, request(effect_key=f"r/{step}", step_path=step))
        assert len(doing.asked) == 4  # the answer to the first was forgotten: two together are above the limit

    run_virtual(main())


BAD: list[tuple[dict[str, Any], str]] = [
    ({"actions": (msgspec.structs.replace(CHOICE, chosen="z"),)}, "'z' chosen; expected one of its support"),
    ({"actions": (msgspec.structs.replace(CHOICE, logprob=0.5),)}, "log-probability 0.5"),
    ({"actions": (msgspec.structs.replace(CHOICE, propensity=float("nan")),)}, "propensity nan"),
    ({"actions": ("refund",)}, "what no record can hold"),
    ({"model_calls": (msgspec.structs.replace(COMPLETION, mask=np.array([True])),)}, "1 in mask"),
    ({"model_calls": (ModelCall(model="m", completion_tokens=2**32),)}, "4294967296 tokens"),
]


@pytest.mark.parametrize(("report", "says"), BAD, ids=[says for _, says in BAD])
def test_what_no_record_can_hold_breaks_the_contract(report: dict[str, Any], says: str) -> None:
    async def main() -> None:
        failure = await refused(Desk([Doing(reporting(**report))]), request())
        assert (failure.code, failure.reason) == (Code.FAILED_PRECONDITION, Reason.CONTRACT)
        assert re.search(says, failure.message), failure.message
        lost = await refused(Desk([Doing(reporting(**report), effects=WRITES)]), request())
        assert (lost.code, lost.reason) == (Code.ABORTED, Reason.IN_DOUBT)

    run_virtual(main())


def test_an_answer_without_any_is_as_it_was() -> None:
    async def main() -> None:
        answer = await ask(Desk([Doing(reporting())]), request())
        assert set(msgspec.json.decode(answer.json())) == {"result", "output"}

    run_virtual(main())


@pytest.mark.parametrize(
    ("withheld", "told"),
    [
        ({Report.ACTIONS}, {"modelCalls"}),
        ({Report.MODEL_CALLS}, {"actions"}),
        ({Report.ACTIONS, Report.MODEL_CALLS}, set()),
    ],
)
def test_what_is_withheld_is_told_to_nobody_and_claimed_by_no_card(withheld: set[Report], told: set[str]) -> None:
    doing = Doing(reporting(actions=(CHOICE,), model_calls=(COMPLETION,)), capabilities=(CHOOSES,))

    async def main() -> None:
        desk = Desk([doing], Limits(withheld=frozenset(withheld)))
        answer = (await ask(desk, request())).json()
        assert set(msgspec.json.decode(answer)) == {"result", "output", *told}
        [card] = desk.describe(m.DescribeRequest()).cards
        assert (CHOOSES in card.capabilities) is (Report.ACTIONS not in withheld)

    run_virtual(main())


def test_what_is_withheld_is_held_to_its_rules_all_the_same() -> None:
    lie = msgspec.structs.replace(CHOICE, chosen="z")

    async def main() -> None:
        desk = Desk([Doing(reporting(actions=(lie,)))], Limits(withheld=frozenset(Report)))
        assert (await refused(desk, request())).reason == Reason.CONTRACT

    run_virtual(main())

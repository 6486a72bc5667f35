"""An option that would have no effect is refused."""

from typing import Any

import pytest

from stretto.components.python import Context, component, component_of
from stretto.types.errors import SpecError


@pytest.mark.parametrize("effects", ["read", "pure", {"get": "read", "*": "pure"}], ids=str)
def test_only_a_write_may_be_idempotent(effects: Any) -> None:
    def look(what: str) -> None: ...

    with pytest.raises(SpecError) as caught:
        component(effects=effects, action_field="what", idempotent=True)(look)
    (problem,) = caught.value.problems
    assert problem.code == "spec.component_option"
    assert problem.excerpt.strip().startswith("def look")
    assert "idempotent=True would have no effect: 'look' writes nothing" in problem.message
    assert problem.suggestion == "remove idempotent, or say effects='write'"


def test_one_write_among_reads_may_be_idempotent() -> None:
    @component(effects={"put": "write", "*": "read"}, action_field="what", idempotent=True)
    def desk(what: str) -> None: ...

    made = component_of(desk)
    assert made is not None
    assert made.card.idempotent


@pytest.mark.parametrize("with_context", [False, True])
def test_only_what_could_call_others_may_say_that_it_calls_none(*, with_context: bool) -> None:
    @component(calls=False)
    async def alone() -> None: ...

    @component(calls=False)
    def plain(context: Context) -> None: ...

    made: Any = component_of(plain if with_context else alone)
    with pytest.raises(
        SpecError, match=r"calls=False would have no effect: '(plain|alone)' cannot call other"
    ) as caught:
        _ = made.card
    assert caught.value.problems[0].suggestion == "remove calls"


def test_only_a_plain_function_may_be_inline() -> None:
    @component(inline=True)
    async def quick() -> None: ...

    made: Any = component_of(quick)
    with pytest.raises(SpecError, match="inline=True would have no effect: 'quick' is async"):
        _ = made.card

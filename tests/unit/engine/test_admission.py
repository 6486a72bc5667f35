"""A request that is refused makes no run."""

from typing import Any

import pytest

from stretto.types.errors import InputError, UsageError
from tests.unit.engine.plans import Ledger, linear, run


class TestInput:
    def test_an_input_that_is_not_an_object_makes_no_run(self) -> None:
        ledger = Ledger()
        with pytest.raises(InputError):
            run(linear(), [1], ledger=ledger)  # type: ignore[arg-type]  # the bad input under test
        assert ledger.events == []


class TestRequest:
    @pytest.mark.parametrize(
        "wrong",
        [{"seed": 2**63}, {"seed": True}, {"labels": {"task": 3}}, {"tenant": "\ud800"}, {"memory": [1]}],
    )
    def test_what_no_record_could_hold_is_refused_before_anything_is_run(self, wrong: dict[str, Any]) -> None:
        ledger = Ledger()
        with pytest.raises(UsageError, match=r"expected|no text"):
            run(linear(), ledger=ledger, request=wrong)
        assert ledger.events == []

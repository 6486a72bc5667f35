"""A budget is recorded in plain numbers and read back as it was declared."""

from datetime import timedelta

import msgspec
import pytest
from hypothesis import given, strategies as st

from stretto.record.model import RunBudget
from stretto.types.budget import BudgetSpec

YEAR = timedelta(days=366)
times = st.timedeltas(timedelta(), YEAR)
counts = st.none() | st.integers(0, 2**63 - 1)
specs = st.builds(
    BudgetSpec,
    deadline=st.none() | times,
    reserve=times,
    retries=counts,
    tokens=counts,
    cost=st.none() | st.floats(0, allow_nan=False, allow_infinity=False),
)


@given(specs)
def test_a_budget_reads_back_as_it_was_declared(spec: BudgetSpec) -> None:
    written = msgspec.json.encode(RunBudget.of(spec))
    assert msgspec.json.decode(written, type=RunBudget).spec == spec


@pytest.mark.parametrize(
    ("spec", "written"),
    [
        (BudgetSpec(), b"{}"),
        (BudgetSpec(deadline=timedelta(seconds=1.5)), b'{"deadline_ms":1500.0}'),
        (
            BudgetSpec(deadline=timedelta(minutes=1), reserve=timedelta(milliseconds=1), retries=0, tokens=7, cost=0.5),
            b'{"deadline_ms":60000.0,"reserve_ms":1.0,"retries":0,"tokens":7,"cost":0.5}',
        ),
    ],
)
def test_it_is_written_in_milliseconds_and_without_its_defaults(spec: BudgetSpec, written: bytes) -> None:
    assert msgspec.json.encode(RunBudget.of(spec)) == written

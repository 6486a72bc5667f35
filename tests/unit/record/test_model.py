"""What a record holds as bytes or plain numbers is given as it was: values of inputs and outputs, and budgets."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given, strategies as st

from stretto.record.codec import encode_effect, encode_run
from stretto.record.model import EffectRecord, Run, RunBudget, StepRecord
from stretto.types.budget import BudgetSpec
from tests.unit.record.generated import a_run, a_step, an_effect, raw

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


MAKERS: dict[type[msgspec.Struct], Callable[..., Any]] = {
    Run: a_run,
    StepRecord: a_step,
    EffectRecord: partial(an_effect, "0190"),
}
ENCODED = [
    (record, field.name)
    for record in MAKERS
    for field in msgspec.structs.fields(record)
    if msgspec.Raw in (field.type, *get_args(field.type))
]


@pytest.mark.parametrize(("record", "name"), ENCODED)
def test_each_field_that_is_held_encoded_is_given_as_its_value(record: type[msgspec.Struct], name: str) -> None:
    made = MAKERS[record](**{name: raw({"n": [1, None]})})
    value = getattr(made, f"{name}_value")
    assert value == {"n": [1, None]}
    value["n"].append(2)
    assert getattr(made, f"{name}_value") == {"n": [1, None]}


def test_a_write_in_doubt_has_no_receipt_value() -> None:
    assert an_effect("0190").receipt_value is None


def test_values_are_not_recorded() -> None:
    assert b"_value" not in encode_run(a_run()) + encode_effect(an_effect("0190"))

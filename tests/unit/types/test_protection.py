"""The rules say what they mean: each field its range, its default and why; the defaults agree with each other."""

import ast
import inspect
import re
from itertools import pairwise

import msgspec
import pytest

from stretto.types import protection
from stretto.types.protection import BreakerRule, BulkheadRule, ExerciseRule, HedgeRule, QuotaRule, StreakRule

RULES: tuple[type[msgspec.Struct], ...] = (
    QuotaRule,
    BreakerRule,
    BulkheadRule,
    HedgeRule,
    StreakRule,
    ExerciseRule,
)
FIELDS = [(rule, field.name) for rule in RULES for field in msgspec.structs.fields(rule)]


def docstring(rule: type[msgspec.Struct], field: str) -> str:
    """The string under a field; empty when there is none."""
    body = ast.parse(inspect.getsource(rule)).body[0]
    assert isinstance(body, ast.ClassDef)
    for line, below in pairwise(body.body):
        match line, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                if name == field:
                    return text
    return ""


def test_every_rule_of_the_module_is_looked_at() -> None:
    assert {rule.__name__ for rule in RULES} == {name for name in vars(protection) if name.endswith("Rule")}


@pytest.mark.parametrize(("rule", "field"), FIELDS)
def test_a_field_says_its_range_and_the_default_that_it_has(rule: type[msgspec.Struct], field: str) -> None:
    text = docstring(rule, field)
    stated = re.search(r"Default (None|-?\d+(?:\.\d+)?)", text)
    assert stated is not None
    assert stated[1] == str(getattr(rule(), field))
    assert re.search(r"in [\[(]\S+, \S+[\])]|or more|more than 0", text)


@pytest.mark.parametrize(("rule", "field"), FIELDS)
def test_a_duration_is_named_by_its_unit(rule: type[msgspec.Struct], field: str) -> None:
    assert field.endswith("_s") == docstring(rule, field).startswith("Seconds ")


def test_the_defaults_do_not_contradict_each_other() -> None:
    breaker, bulkhead = BreakerRule(), BulkheadRule()
    assert breaker.min_calls <= breaker.window_calls
    assert breaker.open_s <= breaker.max_open_s
    assert bulkhead.min_limit <= bulkhead.max_limit


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_is_a_value(rule: type[msgspec.Struct]) -> None:
    assert rule() == rule()
    assert hash(rule()) == hash(rule())
    assert msgspec.convert(msgspec.to_builtins(rule()), rule) == rule()

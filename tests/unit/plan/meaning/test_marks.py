"""Domains in types: where they stand, and how they travel."""

from stretto.plan.meaning.domain import Domain
from stretto.plan.meaning.marks import held, is_declared, leaf_of, marked_as, renamed
from stretto.plan.valuetype import DYN, INT, STRING, Kind, ValueType, array_of, at, from_schema, join, object_of
from stretto.types.meaning import MeaningMode

API = Domain(name="api", values=("STATUS", "CANCEL"))
WARNED = Domain(name="api", values=("STATUS", "CANCEL"), mode=MeaningMode.WARN)
OPEN = from_schema({"type": "object"})


def test_a_field_of_text_is_closed_to_the_values_where_they_are_enforced() -> None:
    leaf = leaf_of(held(object_of({"a": STRING}), ["a"], API), ["a"])
    assert leaf == ValueType(kind=Kind.STRING, values=API.values, domains=frozenset({"api"}))


def test_under_warn_it_may_still_be_any_text() -> None:
    leaf = leaf_of(held(object_of({"a": STRING}), ["a"], WARNED), ["a"])
    assert leaf == ValueType(kind=Kind.STRING, domains=frozenset({"api"}))


def test_lists_are_gone_through() -> None:
    kind = object_of({"a": array_of(object_of({"b": array_of(STRING)}))})
    leaf = leaf_of(held(kind, ["a", "b"], API), ["a", "b"])
    assert leaf is not None
    assert leaf.domains == {"api"}


def test_an_object_that_leaves_room_has_the_field_marked_and_no_other() -> None:
    marked = held(OPEN, ["a"], API)
    assert not is_declared(OPEN, ["a"])
    assert at(marked, "b") == DYN
    found = at(marked, "a")
    assert isinstance(found, ValueType)
    assert found.domains == {"api"}


def test_what_has_no_such_field_stays_as_it_is() -> None:
    kind = object_of({"b": INT})
    assert leaf_of(kind, ["a"]) is None
    assert held(kind, ["a"], API) == kind


def test_a_value_that_may_come_of_two_domains_is_of_both_and_of_one_and_none_is_of_the_one() -> None:
    one, other = (ValueType(kind=Kind.STRING, domains=frozenset({name})) for name in ("a", "b"))
    assert join(one, other).domains == {"a", "b"}
    assert join(one, STRING).domains == {"a"}
    assert join(one, DYN).domains == {"a"}
    assert join(INT, one).domains == {"a"}
    assert one.or_null().domains == {"a"}


def test_domains_of_another_contract_are_left_behind() -> None:
    kind = object_of({"a": array_of(ValueType(kind=Kind.STRING, domains=frozenset({"a", "b"})))})
    leaf = leaf_of(renamed(kind, lambda name: name == "b"), ["a"])
    assert leaf is not None
    assert leaf.domains == {"b"}


def test_another_type_of_the_same_value_lends_its_domains() -> None:
    like = held(object_of({"a": array_of(STRING), "b": STRING}), ["a"], API)
    marked = marked_as(object_of({"a": array_of(STRING), "c": INT}), like)
    leaf = leaf_of(marked, ["a"])
    assert leaf is not None
    assert leaf.domains == {"api"}
    assert leaf.values == ()

"""What a path means."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, strategies as st

from stretto.plan.expr import UnknownPath
from stretto.plan.model import FIRST_FREE_SLOT, INPUT, MEMORY, RESOURCES, RUN
from stretto.plan.names import Binding, Names, given_names
from stretto.plan.valuetype import DYN, INT, STRING, ValueType, array_of, object_of
from tests.unit.plan.flows import read

A, B, C = range(FIRST_FREE_SLOT, FIRST_FREE_SLOT + 3)


def step(names: Names, name: str, slot: int, **types: ValueType) -> None:
    names.bind(("steps", name), [Binding(slot=slot, type=object_of(types), step=name)])


def roots(inside: Mapping[str, str] | None = None) -> Names:
    return given_names(object_of({"n": INT}), DYN, DYN, inside or {})


@pytest.mark.parametrize(
    ("root", "slot", "type_"),
    [
        ("input", INPUT, object_of({"n": INT})),
        ("memory", MEMORY, DYN),
        ("resources", RESOURCES, DYN),
        ("run", RUN, DYN),
    ],
)
def test_a_given_root_reads_its_own_slot(root: str, slot: int, type_: ValueType) -> None:
    leaf = roots().lookup((root,))
    frame = ["input's", "memory's", "resources'", "run's"]
    assert (leaf.get([*frame]), leaf.type) == (frame[slot], type_)
    assert leaf.slots == {slot}


class TestAliases:
    def test_an_alias_reads_a_place_inside_its_writers_output(self) -> None:
        names = Names()
        kind = array_of(object_of({"type": STRING}))
        names.bind(("plan", "steps"), [Binding(slot=A, path=("action_plan",), type=kind, step="planner")])
        leaf = names.lookup(("plan", "steps", 0, "type"))
        assert leaf.get([None] * A + [{"action_plan": [{"type": "api_call"}]}]) == "api_call"
        assert leaf.type == STRING.or_null()
        assert leaf.slots == {A}

    def test_the_place_of_a_path_inside_an_alias_is_the_place_inside_the_output(self) -> None:
        names = Names()
        names.bind(("total",), [Binding(slot=A, path=("sum",), type=object_of({"net": INT}), step="add")])
        assert names.bindings(("total", "net")) == [Binding(slot=A, path=("sum", "net"), type=INT, step="add")]

    def test_a_name_bound_again_has_its_new_writer_only(self) -> None:
        names = Names()
        names.bind(("total",), [Binding(slot=A)])
        names.bind(("total",), [Binding(slot=B)])
        assert names.lookup(("total",)).slots == {B}

    def test_a_parent_of_names_is_no_place(self) -> None:
        names = Names()
        names.bind(("plan", "steps"), [Binding(slot=A)])
        names.bind(("plan", "cost"), [Binding(slot=B)])
        with pytest.raises(UnknownPath, match="`plan` is several values, not one") as caught:
            names.bindings(("plan",))
        assert caught.value.valid == ("cost", "steps")


trees = st.recursive(
    st.integers(), lambda inner: st.dictionaries(st.sampled_from("abcd"), inner, min_size=1, max_size=3), max_leaves=12
)


@given(st.dictionaries(st.sampled_from("abcd"), trees, min_size=1, max_size=3))
def test_a_parent_of_names_reads_as_the_object_of_them(tree: dict[str, Any]) -> None:
    names, frame = Names(), {}
    for slot, (path, value) in enumerate(_leaves(tree, ("all",)), start=FIRST_FREE_SLOT):
        names.bind(path, [Binding(slot=slot, type=INT)])
        frame[slot] = value
    assert read(names, "all", frame) == tree
    assert names.lookup(("all",)).slots == frame.keys()


def _leaves(tree: Any, path: tuple[str, ...]) -> list[tuple[tuple[str, ...], int]]:
    if not isinstance(tree, dict):
        return [(path, tree)]
    return [leaf for part, inner in tree.items() for leaf in _leaves(inner, (*path, part))]


class TestMerges:
    @given(st.lists(st.none() | st.integers(), min_size=1, max_size=5))
    def test_several_writers_read_as_the_first_that_is_not_null(self, written: list[int | None]) -> None:
        names = Names()
        names.bind(("total",), [Binding(slot=slot, type=INT.or_null()) for slot in range(len(written))])
        expected = next((value for value in written if value is not None), None)
        assert read(names, "total", dict(enumerate(written))) == expected

    def test_zero_and_the_empty_text_are_values(self) -> None:
        names = Names()
        names.bind(("total",), [Binding(slot=A), Binding(slot=B)])
        assert read(names, "total", {A: 0, B: 1}) == 0
        assert read(names, "total", {A: "", B: "x"}) == ""

    def test_it_has_the_type_of_all_and_waits_for_all(self) -> None:
        names = Names()
        names.bind(("total",), [Binding(slot=A, type=INT), Binding(slot=B, type=INT.or_null())])
        assert names.lookup(("total",)).type == INT.or_null()
        names.bind(("total",), [Binding(slot=A, type=INT), Binding(slot=B, type=STRING)])
        assert names.lookup(("total",)).type == DYN
        assert names.lookup(("total",)).slots == {A, B}


@pytest.mark.parametrize(
    ("path", "around"),
    [
        ("plan.steps.first", "plan.steps"),
        ("plan", "plan.steps"),
        ("plan.steps", ""),
        ("plan.cost", ""),
        ("plans.steps", ""),
        ("input.n.x", "input"),
    ],
)
def test_a_name_above_or_below_a_path_is_told(path: str, around: str) -> None:
    names = roots()
    names.bind(("plan", "steps"), [Binding(slot=A)])
    assert names.overlapping(path.split(".")) == around


class TestBodies:
    def test_a_body_reads_what_stands_outside_and_keeps_its_own_to_itself(self) -> None:
        outer = roots()
        step(outer, "first", A, n=INT)
        body = Names(outer)
        step(body, "inner", B, n=INT)
        outer.bind(("late",), [Binding(slot=C)])
        assert read(body, "steps.first.n", {A: {"n": 7}}) == 7
        assert body.lookup(("steps", "inner")).slots == {B}
        with pytest.raises(UnknownPath):
            outer.lookup(("steps", "inner"))
        with pytest.raises(UnknownPath):
            body.lookup(("late",))

    def test_a_loops_own_name_stands_in_front_of_the_one_outside(self) -> None:
        outer = Names()
        outer.bind(("carry", "old"), [Binding(slot=A)])
        body = Names(outer)
        body.hide("carry")
        body.bind(("carry", "new"), [Binding(slot=B)])
        with pytest.raises(UnknownPath, match="`carry` has no 'old'"):
            body.lookup(("carry", "old"))
        assert outer.lookup(("carry", "old")).slots == {A}

    def test_hiding_what_is_not_there_hides_nothing(self) -> None:
        names = roots()
        names.hide("carry")
        assert names.roots() == {"input", "memory", "resources", "run"}

    def test_a_step_of_a_body_is_told_to_be_read_through_the_step_around_it(self) -> None:
        outer = roots({"ask": "steps.talk.last.ask"})
        outer.bind(("steps", "talk"), [Binding(slot=A)])
        for names, path in ((outer, ("ask",)), (outer, ("steps", "ask")), (Names(outer), ("steps", "ask"))):
            with pytest.raises(UnknownPath, match="step 'ask' stands inside step 'talk'") as caught:
                names.lookup(path)
            assert caught.value.instead == "steps.talk.last.ask"


@pytest.mark.parametrize(
    ("path", "says", "valid", "instead"),
    [
        (("inptu",), "nothing here is called 'inptu'", ("input", "memory", "resources", "run", "steps"), ""),
        (("first",), "`first` is a step", ("input", "memory", "resources", "run", "steps"), "steps.first"),
        (("steps", "frist"), "`steps` has no 'frist'", ("first", "second"), ""),
        (("steps", 0), "`steps` has no '0'", ("first", "second"), ""),
        (("steps", "first", "m"), "`steps.first` has no field 'm'", ("n",), ""),
        (("input", "m"), "`input` has no field 'm'", ("n",), ""),
    ],
)
def test_a_path_that_reads_nothing_says_what_could_stand_there(
    path: tuple[str | int, ...], says: str, valid: tuple[str, ...], instead: str
) -> None:
    names = roots()
    step(names, "second", B, n=INT)
    step(names, "first", A, n=INT)
    with pytest.raises(UnknownPath, match=says) as caught:
        names.lookup(path)
    assert (caught.value.valid, caught.value.instead) == (valid, instead)
    assert caught.value.at_part == len(path) - 1


class TestOffers:
    def offers(self, field: str, *, steps: bool = False, **types: ValueType) -> list[str]:
        names = given_names(object_of({"text": STRING}), object_of({"text": STRING}), object_of({"text": STRING}))
        names.bind(("n",), [Binding(slot=C, type=INT)])
        step(names, "first", A, **types)
        return [path for path, _ in names.offering(field, steps=steps)]

    def test_a_root_of_that_name_comes_before_fields_of_roots(self) -> None:
        assert self.offers("n") == ["n"]
        assert self.offers("text") == ["input.text", "memory.text"]

    def test_steps_offer_their_fields_only_where_they_have_ended(self) -> None:
        assert self.offers("total", total=INT) == []
        assert self.offers("total", steps=True, total=INT) == ["steps.first.total"]

    def test_of_roots_of_which_nothing_is_known_only_the_input_offers(self) -> None:
        assert [path for path, _ in given_names(DYN, DYN, DYN).offering("q", steps=True)] == ["input.q"]

"""Places in a frame."""

from hypothesis import given, strategies as st

from stretto.plan.model import FIRST_FREE_SLOT, INPUT, MEMORY, RESOURCES, RUN
from stretto.plan.slots import Slots


def test_the_given_roots_stand_at_the_places_that_the_engine_fills() -> None:
    names = Slots().names
    assert [names[slot] for slot in (INPUT, MEMORY, RESOURCES, RUN)] == ["input", "memory", "resources", "run"]
    assert len(names) == FIRST_FREE_SLOT


@given(st.lists(st.text(max_size=5)))
def test_every_place_is_new_and_keeps_its_name_also_when_another_has_it(names: list[str]) -> None:
    slots = Slots()
    taken = [slots.new(name) for name in names]
    assert taken == list(range(FIRST_FREE_SLOT, FIRST_FREE_SLOT + len(names)))
    assert [slots.names[slot] for slot in taken] == names


def test_nothing_is_read_before_the_compiler_says_so() -> None:
    one, other = Slots(), Slots()
    one.read |= {INPUT}
    assert (one.read, other.read) == ({INPUT}, set())

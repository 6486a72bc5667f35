"""A class has the abilities that hold, and no others."""

from stretto.types.abilities import with_abilities


class Base:
    def says(self) -> str:
        return "base"


class Louder:
    def says(self) -> str:
        return "LOUDER"


class Sings:
    def sings(self) -> str:
        return "la"


def test_it_has_those_that_hold_before_its_own() -> None:
    made = with_abilities(Base, ((Louder, True), (Sings, False)))()
    assert made.says() == "LOUDER"
    assert isinstance(made, Base)
    assert not isinstance(made, Sings)
    assert type(made).__name__ == "Base"


def test_without_any_it_is_the_class_itself() -> None:
    assert with_abilities(Base, ((Sings, False),)) is Base

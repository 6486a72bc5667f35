"""What an aligner sees of a text."""

from hypothesis import given, strategies as st

from stretto.components.aligner.grams import WORD_BIT, Grams, counted


def test_width_case_and_digits_make_no_difference() -> None:
    assert counted(Grams(), "\uff37here is #W123?") == counted(Grams(), "where is #w987!")


def test_letters_and_words_are_told_apart() -> None:
    counts = counted(Grams(), "cat sat")
    words = [hashed for hashed in counts if hashed & WORD_BIT]
    assert len(words) == 3  # cat, sat, cat sat
    assert len(counts) - len(words) == len({" c", "ca", "at", "t ", " ca", "cat", "at ", " cat", "cat "}) + len(
        {" s", "sa", " sa", "sat", " sat", "sat "}
    )


def test_han_characters_count_one_by_one() -> None:
    without_words = Grams(words=False)
    assert len(counted(without_words, "包裹到")) == 6
    assert set(counted(without_words, "包")) < set(counted(without_words, "我的包裹"))


def test_nothing_but_signs_has_no_grams() -> None:
    assert counted(Grams(), " \t?!… ") == {}


def test_what_follows_a_thousand_characters_is_not_looked_at() -> None:
    assert counted(Grams(), "a " * 500 + "b" * 10_000_000) == counted(Grams(), "a " * 500)


@given(st.text(alphabet=st.characters(codec=None), max_size=50))
def test_any_text_has_counted_hashes_of_32_bits(text: str) -> None:
    counts = counted(Grams(), text)
    assert all(0 <= hashed < 2**32 and count > 0 for hashed, count in counts.items())

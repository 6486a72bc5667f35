"""Hashed n-grams: the same vector everywhere and for ever, and near where words are shared."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from stretto.components.memory.embedding import HASHED_VERSION
from stretto.components.memory.hashed import hashed_vector
from stretto.types.ids import digest_of


def near(first: str, second: str) -> float:
    vectors = [hashed_vector(text, 512) for text in (first, second)]
    assert vectors[0] is not None
    assert vectors[1] is not None
    return float(vectors[0] @ vectors[1])


def test_a_text_is_hashed_as_it_always_was() -> None:
    """Files hold such vectors. Where this changes, `HASHED_VERSION` has to change with it."""
    vector = hashed_vector("Where is my parcel #W2378156? 我想退貨", 64)
    assert vector is not None
    assert HASHED_VERSION == 1
    assert digest_of(np.sign(vector).astype(np.int8).tobytes())[:16] == "5797c18ab98f2bc8"
    assert vector[np.flatnonzero(vector)[:3]].tolist() == pytest.approx([-0.242536, -0.242536, -0.121268], abs=1e-6)


@pytest.mark.parametrize(
    ("text", "like", "unlike"),
    [
        ("where is my parcel", "my parcel has not come", "I like green tea"),
        ("order #W2378156", "what of W2378156?", "order #W9911223"),
        ("returning shoes", "how do I return a shoe", "a train to Rome"),
        ("我想退貨", "點樣可以退貨呀", "天氣好好"),
        ("佢話張單未到", "張單幾時到", "我想食飯"),
        ("荷物が届きません", "荷物はどこですか", "お茶が好きです"),
    ],
)
def test_what_shares_words_is_nearer(text: str, like: str, unlike: str) -> None:
    assert near(text, like) > near(text, unlike) + 0.1


@pytest.mark.parametrize(
    ("one", "other"),
    [("CAFÉ", "café"), ("café", "cafe"), ("\uff21\uff22\uff23", "abc"), ("ﾊﾟﾝ", "パン"), ("a b", "a  b!")],
)
def test_width_case_accents_and_marks_make_no_difference(one: str, other: str) -> None:
    assert near(one, other) == pytest.approx(1.0)


def test_a_voiced_kana_is_another_letter() -> None:
    assert near("か", "が") < 0.5


@given(st.text(max_size=200))
def test_a_vector_has_length_one_or_there_is_none(text: str) -> None:
    vector = hashed_vector(text, 128)
    if vector is None:
        assert not any(sign.isalnum() for sign in text) or sum(map(str.isalnum, text)) > 1
    else:
        assert float(np.linalg.norm(vector)) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("text", ["", " ", "?!…", "_", "🙂"])
def test_a_text_without_letters_says_nothing(text: str) -> None:
    assert hashed_vector(text, 64) is None

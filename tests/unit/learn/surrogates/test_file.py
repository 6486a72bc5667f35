"""Saved surrogates are read whole or not at all, and what was changed in them is told."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import torch

from stretto.components.tensor_file import read_tensors, write_tensors
from stretto.learn.surrogates.file import load_surrogates, save_surrogates
from stretto.learn.surrogates.of_step import StepSurrogate
from stretto.types.errors import StoreError
from stretto.types.ids import Digest

STEPS = ("one", "two")
OTHER_NUMBERS = "holds other numbers than its digest says: the file was changed"

Change = Callable[[dict[str, Any], dict[str, Any]], object]


def made() -> dict[str, StepSurrogate]:
    return {step: StepSurrogate(step, {"x": 2}, ["y[0]"]) for step in STEPS}


def taught() -> dict[str, StepSurrogate]:
    found = made()
    x_NF = torch.randn(32, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    for each in found.values():
        each.learn(x_NF, x_NF.sum(1, keepdim=True), of=Digest("what answered"))
    return found


def without(name: str) -> Change:
    return lambda arrays, _: arrays.pop(name)


def as_if(name: str, change: Callable[[Any], Any]) -> Change:
    return lambda arrays, _: arrays.update({name: change(arrays[name])})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (without("network.outer.bias"), OTHER_NUMBERS),
        (without("adam.inner.weight.exp_avg_sq"), OTHER_NUMBERS),
        (without("window.buffer"), OTHER_NUMBERS),
        (as_if("adam.inner.weight.exp_avg", lambda told: told[:1]), OTHER_NUMBERS),
        (as_if("window.buffer", lambda told: told[:, :1]), OTHER_NUMBERS),
        (as_if("window.buffer", lambda told: told * np.nan), OTHER_NUMBERS),
        (as_if("network.outer.bias", lambda told: told + 1), OTHER_NUMBERS),
        (lambda arrays, _: arrays.update(more=np.zeros(1)), OTHER_NUMBERS),
        (lambda _, told: told.update(format="stretto.surrogate/2"), "of the form stretto.surrogate/2; expected"),
        (lambda _, told: told.update(rows="many"), "is no surrogate"),
    ],
)
def test_a_file_that_was_changed_is_refused_and_none_of_the_folder_is_taken(
    tmp_path: Path, change: Change, said: str
) -> None:
    kept = taught()
    save_surrogates(kept, tmp_path)
    path = tmp_path / f"{kept['two'].digest}.safetensors"
    arrays, header = read_tensors(path)
    told = msgspec.json.decode(header)
    change(arrays, told)
    other = path.with_name("other.safetensors")
    write_tensors(other, arrays, msgspec.json.encode(told))
    (tmp_path / "surrogates.json").write_bytes(msgspec.json.encode({"one": path.name, "two": other.name}))
    again = made()
    before = {step: each.card for step, each in again.items()}
    with pytest.raises(StoreError, match=said):
        load_surrogates(again, tmp_path)
    assert {step: each.card for step, each in again.items()} == before


def test_what_was_saved_goes_on_as_it_would_have(tmp_path: Path) -> None:
    kept, again = taught(), made()
    load_surrogates(again, save_surrogates(kept, tmp_path))
    assert {step: each.card for step, each in again.items()} == {step: each.card for step, each in kept.items()}

"""A model whose files are damaged is refused in words, and never made up of random weights."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file

from stretto.components.causal_lm.base import load_base
from stretto.types.errors import UsageError
from tests.unit.components.causal_lm import tiny

NONE = "component 'reader': .* holds no causal language model that transformers can load"


def _cut(place: Path) -> None:
    whole = (place / "model.safetensors").read_bytes()
    (place / "model.safetensors").write_bytes(whole[:100])


def _resized(place: Path) -> None:
    config = json.loads((place / "config.json").read_text())
    (place / "config.json").write_text(json.dumps({**config, "hidden_size": 24}))


def _lacking(place: Path) -> None:
    weights = load_file(place / "model.safetensors")
    del weights["model.layers.1.mlp.up_proj.weight"]
    save_file(weights, place / "model.safetensors", metadata={"format": "pt"})


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (_cut, NONE),
        (_resized, NONE),
        (_lacking, "lacks 1 of its model's weights, 'model.layers.1.mlp.up_proj.weight' first; they would be random"),
    ],
)
def test_a_folder_that_is_damaged_is_refused(tmp_path: Path, damage: Callable[[Path], None], expected: str) -> None:
    damage(tiny.save(tmp_path / "model"))
    with pytest.raises(UsageError, match=expected):
        load_base("reader", "model", tmp_path)


def test_a_gguf_file_that_is_none_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("gguf")
    (tmp_path / "none.gguf").write_bytes(b"GGUF1234")
    with pytest.raises(UsageError, match=NONE):
        load_base("reader", "none.gguf", tmp_path)

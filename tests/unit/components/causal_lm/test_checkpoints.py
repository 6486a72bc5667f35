"""A checkpoint tells what it was learnt with, and is refused where the same weights would compute something else."""

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from stretto.components.causal_lm.made import causal_lm, component_in
from stretto.components.causal_lm.module import CausalLm
from stretto.components.torch.weights import load_weights, save_weights
from stretto.types.errors import StoreError, UsageError
from tests.unit.components.causal_lm import tiny

LEARNT: dict[str, Any] = {"lora": {"rank": 2, "alpha": 4}}

SOFT: dict[str, Any] = {"soft_prompts": {"tone": {"tokens": 1, "learnt": True}}, "prompt": "{tone} Ticket : {text}"}


def reader(**changes: Any) -> CausalLm:
    options: dict[str, Any] = {
        "model": tiny.model(),
        "tokenizer": tiny.tokenizer(),
        "prompt": "Ticket : {text}",
        "chooses": {"queue": ["billing", "orders"]},
    }
    return causal_lm("reader", **{**options, **changes})


def learnt(folder: Path, **changes: Any) -> tuple[CausalLm, Path]:
    """One with weights that are none of the first, and their file."""
    module = reader(**changes)
    with torch.no_grad():
        for each in module.parameters():
            if each.requires_grad:
                each.add_(torch.randn(each.shape, generator=torch.Generator().manual_seed(3)))
    return module, component_in(module).save(folder)


def told_by(module: nn.Module) -> torch.Tensor:
    told: dict[str, torch.Tensor] = module(text=["my parcel is late"])
    return told["queue"]


@pytest.mark.parametrize(
    ("was", "is_now"),
    [
        pytest.param(LEARNT, LEARNT, id="as it was"),
        pytest.param(LEARNT, {"lora": {"rank": 2}}, id="alpha is the default's"),
        pytest.param(LEARNT, {"lora": {"rank": 2, "targets": ["v_proj", "q_proj"]}}, id="targets in another order"),
        pytest.param(
            LEARNT, {"lora": {"rank": 2, "targets": ["self_attn.q_proj", "self_attn.v_proj"]}}, id="by longer ends"
        ),
        pytest.param(LEARNT, {**LEARNT, "seed": 7}, id="other first weights"),
        pytest.param(SOFT, SOFT, id="a soft prompt alone"),
    ],
)
def test_weights_go_where_they_compute_the_same(tmp_path: Path, was: dict[str, Any], is_now: dict[str, Any]) -> None:
    trained, saved = learnt(tmp_path, **was)
    served = reader(**is_now)
    load_weights(served, saved, "reader")
    assert torch.equal(told_by(served), told_by(trained))


@pytest.mark.parametrize(
    ("was", "is_now", "expected"),
    [
        pytest.param(
            LEARNT,
            {"lora": {"rank": 2, "alpha": 16}},
            "was learnt with lora.alpha 4, and component 'reader' has lora.alpha 16: ",
            id="alpha",
        ),
        pytest.param(
            {"lora": {"rank": 2}}, {"lora": {"rank": 2, "alpha": 8}}, "lora.alpha 4, and component", id="default alpha"
        ),
        pytest.param(
            LEARNT,
            {"lora": {"rank": 4, "alpha": 4}},
            "was learnt with lora.rank 2, and component 'reader' has lora.rank 4: ",
            id="rank",
        ),
        pytest.param(
            LEARNT,
            {"lora": {"rank": 4}},
            "was learnt with lora.alpha 4, lora.rank 2, and component 'reader' has lora.alpha 8, lora.rank 4: ",
            id="rank, and alpha with it",
        ),
        pytest.param(
            LEARNT,
            {"lora": {"rank": 2, "targets": ["q_proj"]}},
            'lora.targets ["q_proj", "v_proj"], and component \'reader\' has lora.targets ["q_proj"]: ',
            id="targets",
        ),
        pytest.param(
            LEARNT,
            {"lora": {"rank": 2, "targets": ["layers.0.self_attn.q_proj", "v_proj"]}},
            "is of another module than component 'reader': its 'model.model.layers.1.self_attn.q_proj.lora_A",
            id="targets of some layers",
        ),
        pytest.param(
            {**LEARNT, **SOFT},
            SOFT,
            "and component 'reader' has lora.alpha not set, lora.rank not set, lora",
            id="none",
        ),
        pytest.param(SOFT, {**LEARNT, **SOFT}, "its 'model.model.layers.0.self_attn.q_proj.lora_A", id="none before"),
        pytest.param(LEARNT, {**LEARNT, "model": tiny.model(seed=1)}, "was learnt on the model ", id="base"),
        pytest.param(LEARNT, {**LEARNT, "model": tiny.model(width=32)}, "is of another module than", id="wider base"),
    ],
)
def test_weights_that_would_compute_something_else_are_refused_with_both_named(
    tmp_path: Path, was: dict[str, Any], is_now: dict[str, Any], expected: str
) -> None:
    _, saved = learnt(tmp_path, **was)
    with pytest.raises(UsageError) as refused:
        load_weights(reader(**is_now), saved, "reader")
    assert expected in str(refused.value)


@pytest.mark.parametrize(
    "metadata",
    [
        pytest.param(None, id="safetensors alone"),
        pytest.param({"format": "pt"}, id="as transformers writes them"),
        pytest.param({"stretto": "{}"}, id="an older release's"),
        pytest.param({"stretto": '{"by": "hand"}'}, id="with something else in it"),
    ],
)
def test_a_file_that_tells_nothing_of_it_loads(tmp_path: Path, metadata: dict[str, str] | None) -> None:
    trained, saved = learnt(tmp_path, **LEARNT)
    save_file(load_file(saved), saved, metadata=metadata)
    served = reader(**LEARNT)
    load_weights(served, saved, "reader")
    assert torch.equal(told_by(served), told_by(trained))


@pytest.mark.parametrize("header", ["none", "[]", '{"learnt_with": 3}', '{"learnt_with'])
def test_a_header_that_is_none_is_refused(tmp_path: Path, header: str) -> None:
    _, saved = learnt(tmp_path, **LEARNT)
    save_file(load_file(saved), saved, metadata={"stretto": header})
    with pytest.raises(StoreError, match="does not tell what it was learnt with"):
        load_weights(reader(**LEARNT), saved, "reader")


def test_what_a_later_release_tells_and_this_one_does_not_know_is_refused(tmp_path: Path) -> None:
    _, saved = learnt(tmp_path, **LEARNT)
    save_file(load_file(saved), saved, metadata={"stretto": '{"learnt_with": {"lora.rank_stabilized": true}}'})
    with pytest.raises(UsageError, match=r"learnt with lora.rank_stabilized true, and .* lora.rank_stabilized not set"):
        load_weights(reader(**LEARNT), saved, "reader")


class Around(nn.Module):
    """A module of somebody's own, which tells of itself and has a language model inside."""

    def __init__(self, scale: float, alpha: int) -> None:
        super().__init__()
        self.scale = scale
        self.lm = reader(lora={"rank": 2, "alpha": alpha})

    def learnt_with(self) -> dict[str, object]:
        return {"scale": self.scale}


@pytest.mark.parametrize(
    ("scale", "alpha", "expected"),
    [
        (0.5, 8, "was learnt with lm.lora.alpha 4, and component 'mine' has lm.lora.alpha 8"),
        (1.5, 4, "was learnt with scale 0.5, and component 'mine' has scale 1.5"),
    ],
)
def test_modules_inside_others_and_those_of_somebody_elses_tell_of_themselves(
    tmp_path: Path, scale: float, alpha: int, expected: str
) -> None:
    saved = save_weights(Around(0.5, 4), tmp_path)
    load_weights(Around(0.5, 4), saved, "mine")
    with pytest.raises(UsageError) as refused:
        load_weights(Around(scale, alpha), saved, "mine")
    assert expected in str(refused.value)


class Silent(nn.Linear):
    """A module that forgot to return what it tells."""

    def learnt_with(self) -> None: ...


def test_a_module_that_tells_no_names_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"what `learnt_with` of Silent tells is None; expected a dict of JSON by name"
    ):
        save_weights(Silent(1, 1), tmp_path)


def test_what_weights_are_called_by_is_their_numbers_alone(tmp_path: Path) -> None:
    _, four = learnt(tmp_path / "four", **LEARNT)
    _, eight = learnt(tmp_path / "eight", lora={"rank": 2, "alpha": 8})
    assert four.name == eight.name

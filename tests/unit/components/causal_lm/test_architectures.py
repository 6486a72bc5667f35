"""Models of other hands: learnt places, windows that slide, embeddings and logits that are scaled."""

from typing import Any, Final

import pytest
import torch
import transformers

from stretto.components.causal_lm.made import component_in
from stretto.learn.explain.choice import explain_choice
from stretto.testing.request import request_for
from stretto.types.errors import UsageError
from tests.unit.components.causal_lm import tiny
from tests.unit.components.causal_lm.test_module import QUEUES, TEXTS, by_hand, reader, states

SIZES: Final[dict[str, Any]] = {
    "vocab_size": len(tiny.WORDS),
    "hidden_size": tiny.WIDTH,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "max_position_embeddings": 48,
    "initializer_range": 0.3,
    "pad_token_id": 0,
}


def made(name: str, **sizes: Any) -> Any:
    config = getattr(transformers, f"{name}Config")(**sizes)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return getattr(transformers, f"{name.removesuffix('Text')}ForCausalLM")(config).eval()


def gpt2() -> Any:
    sizes: dict[str, Any] = {"vocab_size": len(tiny.WORDS), "n_embd": tiny.WIDTH, "n_layer": 2, "n_head": 2}
    config = transformers.GPT2Config(**sizes, n_positions=48, initializer_range=0.3, bos_token_id=1, eos_token_id=2)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model: Any = transformers.GPT2LMHeadModel(config)
        return model.eval()


@pytest.mark.parametrize(
    "model",
    [
        pytest.param(gpt2, id="places that are learnt"),
        pytest.param(lambda: made("Mistral", **SIZES, sliding_window=4), id="a window that slides"),
        pytest.param(lambda: made("Gemma2", **SIZES, head_dim=8, sliding_window=4), id="all of it, scaled"),
    ],
)
def test_a_batch_is_told_what_each_row_would_be_by_the_model_itself(model: Any) -> None:
    found = reader(model=model(), gives=[])(text=TEXTS, state=states())
    for row, text in enumerate(TEXTS):
        for place, said in enumerate(QUEUES.values()):
            logp, _ = by_hand(model(), text, states()[row], said)
            assert torch.allclose(found["queue"][row, place], logp, atol=1e-5)


def test_a_choice_is_attributed_to_words_and_not_to_their_places() -> None:
    component = component_in(reader(model=gpt2(), chooses={"queue": ["billing", "orders"]}))
    request: dict[str, Any] = {"text": "bill", "state": states(1)[0].tolist()}
    (action,) = component._answer(request_for(**request)).actions
    found = explain_choice(component, request, action)
    assert set(found.fields) == {"state", "model.transformer.wte"}


def test_a_model_with_a_running_state_is_refused() -> None:
    sizes = {"vocab_size": len(tiny.WORDS), "hidden_size": tiny.WIDTH, "num_hidden_layers": 1, "state_size": 4}
    with pytest.raises(UsageError, match="MambaForCausalLM keeps a running state in place of keys and values"):
        reader(model=made("Mamba", **sizes))

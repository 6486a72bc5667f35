"""Attention heads: found in what people use, their gradients held to those by hand, and a planted one named."""

from typing import Annotated, Any, ClassVar, cast

import pytest
import torch
from torch import Tensor, nn

import stretto
from stretto import Shape
from stretto.components.python.decorator import component_of
from stretto.components.torch.component import TorchComponent
from stretto.learn.explain.chain import alone
from stretto.learn.explain.choice import explain_choice
from stretto.learn.explain.explained import Against, ChoiceExplained, Head
from stretto.learn.explain.heads import DECLARED, gradient_norms, heads_in
from stretto.learn.explain.scores import ChosenScore
from stretto.learn.explain.unusual import heads_and_logits
from stretto.types.errors import UsageError
from stretto.types.json import JsonObject
from stretto.types.learning import Action

ROUTES = ("track", "pay_back", "talk")
WORDS, LENGTH = 32, 6
ACTION = Action(name="route", chosen="talk", support=ROUTES, logprob=-1.0, propensity=0.4, policy="")


class Attending(nn.Module):
    """Attention by hand: what its layer `mix` reads are the outputs of its heads."""

    attention_heads: ClassVar = {"mix": 4}

    def __init__(self) -> None:
        super().__init__()
        self.read = nn.Linear(16, 48)
        self.mix = nn.Linear(16, 16)
        self.seen: list[Tensor] = []

    def forward(self, states_BTD: Tensor) -> Tensor:
        batch, time, _ = states_BTD.shape
        q, k, v = self.read(states_BTD).view(batch, time, 3, 4, 4).permute(2, 0, 3, 1, 4)
        told = (torch.softmax(q @ k.transpose(-1, -2) / 2.0, -1) @ v).transpose(1, 2).reshape(batch, time, 16)
        self.seen.append(told)
        mixed: Tensor = self.mix(told)
        return mixed


def seeded(module: type[nn.Module], *arguments: Any, **options: Any) -> nn.Module:
    torch.manual_seed(0)
    return module(*arguments, **options)


def test_the_norms_are_those_of_the_gradient_by_hand() -> None:
    module = cast("Attending", seeded(Attending))
    states = torch.randn(1, 5, 16)
    (heads,) = heads_in(module)
    assert (heads.layer, heads.count) == ("mix", 4)
    norms = gradient_norms([heads], lambda: module(states).tanh().sum())
    module.seen.clear()
    score = module(states).tanh().sum()
    (slope,) = torch.autograd.grad(score, module.seen)
    by_hand = slope.view(5, 4, 4).square().sum((0, 2)).sqrt()
    assert norms.by_place["", "mix"] == pytest.approx(by_hand.tolist(), rel=1e-5)


def test_multihead_attention_of_torch_has_the_same_gradients_as_the_same_weights_by_hand() -> None:
    by_hand = cast("Attending", seeded(Attending))
    torchs = nn.MultiheadAttention(16, 4, batch_first=True)
    with torch.no_grad():
        torchs.in_proj_weight.copy_(by_hand.read.weight)
        torchs.in_proj_bias.copy_(by_hand.read.bias)
        torchs.out_proj.load_state_dict(by_hand.mix.state_dict())
    states = torch.randn(1, 5, 16)
    ours = gradient_norms(heads_in(by_hand), lambda: by_hand(states).tanh().sum())
    theirs = gradient_norms(heads_in(torchs), lambda: torchs(states, states, states)[0].tanh().sum())
    assert theirs.by_place["", ""] == pytest.approx(ours.by_place["", "mix"], rel=1e-4)


def test_weights_that_are_frozen_have_heads_too_and_no_hook_is_left() -> None:
    module = seeded(nn.TransformerEncoderLayer, 16, 4, 16, dropout=0.0, batch_first=True).eval()
    module.requires_grad_(False)
    norms = gradient_norms(heads_in(module), lambda: module(torch.ones(1, 3, 16)).sum().tanh())
    assert [*norms.by_place] == [("", "self_attn")]
    assert len(norms.by_place["", "self_attn"]) == 4
    assert not any(each._forward_hooks or each._forward_pre_hooks for each in module.modules())


def test_a_layer_that_is_not_called_has_no_norms() -> None:
    module = nn.ModuleDict({"used": seeded(Attending), "spare": seeded(Attending)})
    norms = gradient_norms(heads_in(module), lambda: module["used"](torch.ones(1, 3, 16)).sum())
    assert [*norms.by_place] == [("", "used.mix")]


@pytest.mark.parametrize("said", [{"mixed": 4}, {"mix": 0}, {"mix": "4"}, "mix"])
def test_a_declaration_that_names_no_layer_is_refused(said: object) -> None:
    module = cast("Attending", seeded(Attending))
    setattr(module, DECLARED, said)
    with pytest.raises(UsageError, match=r"Attending\.attention_heads is .*expected a layer inside it"):
        heads_in(module)


class Reader(nn.Module):
    """Two layers of eight heads."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, 64)
        layer = nn.TransformerEncoderLayer(64, 8, 64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.route = nn.Linear(64, len(ROUTES))

    def forward(self, query: Annotated[Tensor, Shape(LENGTH, dtype="int64")]) -> Tensor:
        routed: Tensor = self.route(self.encoder(self.words(query)).mean(1))
        return routed


def declared(module: nn.Module) -> TorchComponent:
    made = stretto.differentiable("reader", context=["query"], chooses={"route": ROUTES})(module)
    return cast("TorchComponent", component_of(made))


def request(seed: int) -> JsonObject:
    return {"query": torch.randint(WORDS, (LENGTH,), generator=torch.Generator().manual_seed(seed)).tolist()}


def explained(module: nn.Module, seed: int = 0, others: int = 20) -> ChoiceExplained:
    asked = [request(1_000 + other) for other in range(others)]
    return explain_choice(declared(module), request(seed), ACTION, others=asked)


def unusual(told: ChoiceExplained) -> list[Head]:
    return [head for head in told.heads if head.unusual]


def test_a_head_made_fifty_times_larger_is_named_and_no_other() -> None:
    module = cast("Reader", seeded(Reader))
    assert unusual(explained(module)) == []
    attention: Any = module.encoder.layers[1].self_attn
    with torch.no_grad():
        attention.out_proj.weight[:, 3 * 8 : 4 * 8] *= 50
    (head,) = unusual(explained(module))
    assert (head.layer, head.head, head.unusual) == ("encoder.layers.1.self_attn", 3, (Against.LAYER,))
    assert head.z_layer > 5


class Odd(nn.Module):
    """One word makes one head of four fifty times louder."""

    TRIGGER = 31
    attention_heads: ClassVar = {"open": 4}

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, 16)
        self.open = nn.Identity()
        self.route = nn.Linear(16, len(ROUTES))

    def forward(self, query: Annotated[Tensor, Shape(LENGTH, dtype="int64")]) -> Tensor:
        louder = torch.ones(len(query), 1, 16)
        louder[:, :, 4:8] += 49 * (query == self.TRIGGER).any(1).float()[:, None, None]
        heads = self.open(self.words(query).tanh())
        routed: Tensor = self.route((heads * louder).mean(1))
        return routed


def test_a_head_that_is_odd_in_this_run_alone_is_named_against_other_runs() -> None:
    reader = declared(seeded(Odd))
    asked = [[(start + at) % 7 + 8 * (at % 3) for at in range(LENGTH)] for start in range(24)]
    others = cast("list[JsonObject]", [{"query": words} for words in asked])
    odd = explain_choice(reader, {"query": [1, 2, 3, 4, 5, Odd.TRIGGER]}, ACTION, others=others)
    (head,) = unusual(odd)
    assert (head.layer, head.head, head.unusual) == ("open", 1, (Against.RUNS,))
    assert unusual(explain_choice(reader, {"query": [1, 2, 3, 4, 5, 6]}, ACTION, others=others)) == []


def test_of_ordinary_runs_few_have_a_head_or_a_logit_named() -> None:
    link = alone(declared(seeded(Reader)))
    others = [{"": request(1_000 + other)} for other in range(20)]
    named_heads, named_logits = 0, 0
    for seed in range(30):
        score = ChosenScore(link, {"": request(seed)}, ACTION)
        heads, logits = heads_and_logits(score, {}, ACTION, others)
        named_heads += any(head.unusual for head in heads)
        named_logits += any(logit.is_unusual for logit in logits)
    assert max(named_heads, named_logits) <= 4  # 1.5 of 30 are expected at most; 5 or more come once in 60


def test_a_logit_far_outside_is_named() -> None:
    class Lifted(Reader):
        def forward(self, query: Annotated[Tensor, Shape(LENGTH, dtype="int64")]) -> Tensor:
            lift = 30.0 * (query[:, 0] == WORDS - 1).float()[:, None] * torch.tensor([1.0, 0.0, 0.0])
            return super().forward(query) + lift

    action = Action(name="route", chosen="track", support=ROUTES, logprob=-1.0, propensity=0.4, policy="")
    others = [{"query": [seed % 30, *cast("list[int]", request(seed)["query"])[1:]]} for seed in range(20)]
    told = explain_choice(
        declared(seeded(Lifted)), {"query": [WORDS - 1, 1, 2, 3, 4, 5]}, action, others=cast("list[JsonObject]", others)
    )
    assert "track" in [each.alternative for each in told.logits if each.is_unusual]
    assert {each.alternative: each.value for each in told.logits}["track"] == pytest.approx(20.0, abs=2.0)


def test_with_few_other_runs_heads_are_told_and_logits_have_no_usual() -> None:
    told = explained(seeded(Reader), others=3)
    assert len(told.heads) == 16
    assert {head.z_runs for head in told.heads} == {0.0}
    assert [each.usual for each in told.logits] == [None] * 3


class Llama(nn.Module):
    """A causal model of `transformers` as it is, four heads to two keys and values in each of its four layers."""

    def __init__(self) -> None:
        super().__init__()
        from transformers import LlamaConfig, LlamaModel

        config = LlamaConfig(
            vocab_size=WORDS, hidden_size=32, intermediate_size=32, num_hidden_layers=4, num_attention_heads=4,
            num_key_value_heads=2, max_position_embeddings=16,
        )  # fmt: skip
        self.llama = LlamaModel(config)
        self.route = nn.Linear(32, len(ROUTES))

    def forward(self, query: Annotated[Tensor, Shape(LENGTH, dtype="int64")]) -> Tensor:
        routed: Tensor = self.route(self.llama(input_ids=query).last_hidden_state[:, -1])
        return routed


def test_attention_of_transformers_has_heads_that_share_keys() -> None:
    pytest.importorskip("transformers", reason="needs the extra transformers")
    module = cast("Llama", seeded(Llama))
    score = ChosenScore(alone(declared(module)), {"": request(0)}, ACTION)
    heads, _ = heads_and_logits(score, {}, ACTION, ())
    assert [(head.layer, head.head, head.share) for head in heads[:2]] == [
        ("llama.layers.0.self_attn", 0, 2),
        ("llama.layers.0.self_attn", 1, 2),
    ]
    assert (len(heads), [head for head in heads if head.unusual]) == (16, [])
    attention: Any = module.llama.layers[2].self_attn
    with torch.no_grad():
        attention.o_proj.weight[:, 8:16] *= 50
    heads, _ = heads_and_logits(score, {}, ACTION, ())  # the chain's modules share the weights
    assert [(head.layer, head.head) for head in heads if head.unusual] == [("llama.layers.2.self_attn", 1)]

"""A language model as a module: what it tells is what the model itself would say, one row or many."""

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import stretto
from stretto.components.causal_lm.made import causal_lm, component_in
from stretto.components.causal_lm.module import CausalLm
from stretto.components.torch.weights import load_weights
from stretto.types.errors import ContractError, UsageError
from tests.unit.components.causal_lm import tiny

PROMPT = "Ticket : {text} {state} Queue :"

QUEUES = {"billing": "billing", "orders": "orders please", "else": "other ."}

TEXTS = ["my parcel is late", "bill", "too high bill . my parcel broken please"]


def reader(**changes: Any) -> CausalLm:
    options: dict[str, Any] = {
        "model": tiny.model(),
        "tokenizer": tiny.tokenizer(),
        "prompt": PROMPT,
        "soft_prompts": {"state": 3},
        "chooses": {"queue": QUEUES},
        "gives": "hidden",
    }
    return causal_lm("reader", **{**options, **changes})


def states(rows: int = 3) -> Tensor:
    return torch.randn(rows, 3, tiny.WIDTH, generator=torch.Generator().manual_seed(1))


def by_hand(model: Any, text: str, state: Tensor, said: str) -> tuple[Tensor, Tensor]:
    """Of one row, without cache, mask or padding: log-probability of what is said, and state before it."""
    ids = tiny.tokenizer().convert_tokens_to_ids
    embed = model.get_input_embeddings()
    before = embed(torch.tensor([ids(["<s>", "Ticket", ":", *text.split()])]))
    after, told = embed(torch.tensor([ids(["Queue", ":"])])), ids(said.split())
    prompt = torch.cat([before, state[None], after], 1)
    whole = torch.cat([prompt, embed(torch.tensor([told]))], 1)
    logp = model(inputs_embeds=whole).logits[0].double().log_softmax(-1)
    at = prompt.shape[1] - 1
    hidden = model.base_model(inputs_embeds=prompt).last_hidden_state[0, -1]
    return torch.stack([logp[at + place, token] for place, token in enumerate(told)]).sum(), hidden


def test_a_choice_has_the_log_probability_of_its_text_and_hidden_is_the_last_state_before_it() -> None:
    module = reader()
    found = module(text=TEXTS, state=states())
    for row, text in enumerate(TEXTS):
        for place, said in enumerate(QUEUES.values()):
            logp, hidden = by_hand(tiny.model(), text, states()[row], said)
            assert torch.allclose(found["queue"][row, place], logp, atol=1e-5)
            assert torch.allclose(found["hidden"][row], hidden, atol=1e-5)


def test_rows_of_a_batch_are_told_what_each_is_told_alone() -> None:
    module = reader(lora={})
    batch = module(text=TEXTS, state=states())
    for row in range(len(TEXTS)):
        alone = module(text=TEXTS[row : row + 1], state=states()[row : row + 1])
        assert torch.allclose(batch["queue"][row], alone["queue"][0], atol=1e-5)
        assert torch.allclose(batch["hidden"][row], alone["hidden"][0], atol=1e-5)


@pytest.mark.parametrize("output", ["queue", "hidden"])
def test_the_gradient_of_a_soft_prompt_is_that_of_finite_differences(output: str) -> None:
    module = reader(model=tiny.model(dtype=torch.float64))
    state = states().double().requires_grad_()
    weights = torch.randn(3, generator=torch.Generator().manual_seed(2)).double()

    def score(given: Tensor) -> Tensor:
        found: Tensor = module(text=TEXTS, state=given)[output]
        return (found[:, :3].double() * weights).sum()

    (slope,) = torch.autograd.grad(score(state), state)
    step = 1e-2  # a Llama's norms are computed in float32, whatever the rest is in
    for at in [(0, 0, 0), (1, 2, 5), (2, 1, 15)]:
        there = torch.zeros_like(state)
        there[at] = step
        with torch.no_grad():
            slope_there = (score(state + there) - score(state - there)) / (2 * step)
        assert slope[at].item() == pytest.approx(slope_there.item(), rel=2e-3, abs=1e-5)


def test_control_tokens_steer_in_the_prompt_and_not_in_what_fills_it() -> None:
    words = reader().words
    assert words.tokens([("Ticket </s> ", True), ("bill </s>", False)]) == [3, 2, *words.plain("bill </s>")]
    assert 2 not in words.plain("bill </s>")
    assert reader(prompt="{text}</s>{state}")._prompt.pieces({"text": "bill </s>"}) == [
        (1,),
        (*words.plain("bill </s>"), 2),
        "state",
    ]


def test_fields_that_are_no_text_are_told_as_json_and_null_as_nothing() -> None:
    assert reader(prompt="{text} {state} Queue")._prompt.pieces({"text": None})[1] == ()
    words = reader().words
    assert reader(prompt="Ticket {text} {state}")._prompt.pieces({"text": {"a": 1}})[1] == tuple(
        words.plain('Ticket {"a":1} ')
    )


def test_what_learns_are_low_rank_changes_and_soft_prompts_and_the_rest_is_shared_by_all_copies(tmp_path: Path) -> None:
    model = tiny.model()
    module = reader(
        model=model,
        soft_prompts={"state": {"tokens": 3, "learnt": True}},
        lora={"rank": 2, "targets": ["q_proj"]},
    )
    learning = [name for name, weights in module.named_parameters() if weights.requires_grad]
    assert learning == [
        *(f"model.model.layers.{n}.self_attn.q_proj.lora_{w}.default.weight" for n in (0, 1) for w in "AB"),
        "soft.state",
    ]
    assert [*module.state_dict()] == ["_extra_state", *learning]
    assert not any("lora" in name for name in model.state_dict())
    made = copy.deepcopy(module)
    for (name, mine), (_, theirs) in zip(module.named_parameters(), made.named_parameters(), strict=True):
        assert (mine is theirs) is not (name in learning)
    assert module.model.get_input_embeddings().weight is model.get_input_embeddings().weight

    with torch.no_grad():
        made.soft["state"] += 1.0
    component = component_in(module)
    trained = component.with_module(made)
    assert trained.card.digest != component.card.digest
    saved = trained.save(tmp_path)
    assert saved.stat().st_size < 10_000
    again = reader(soft_prompts={"state": {"tokens": 3, "learnt": True}}, lora={"rank": 2, "targets": ["q_proj"]})
    load_weights(again, saved, "reader")
    assert torch.equal(again(text=["bill"])["queue"], made(text=["bill"])["queue"])
    assert component_in(again).card.digest == trained.card.digest


def test_weights_of_another_model_are_refused(tmp_path: Path) -> None:
    learning: dict[str, Any] = {"lora": {"rank": 2}}
    saved = component_in(reader(**learning)).save(tmp_path)
    with pytest.raises(UsageError, match=r"learnt on the model [0-9a-f]{8}, and component 'reader' has [0-9a-f]{8}"):
        load_weights(reader(model=tiny.model(seed=1), **learning), saved, "reader")


def test_first_weights_are_decided_by_the_seed_and_the_digest_covers_model_and_prompt() -> None:
    soft: dict[str, Any] = {"soft_prompts": {"state": {"tokens": 2, "learnt": True}}}
    digests = {
        name: component_in(reader(**{**soft, **changes})).card.digest
        for name, changes in {
            "first": {},
            "again": {},
            "seed": {"seed": 1},
            "model": {"model": tiny.model(seed=1)},
            "prompt": {"prompt": PROMPT + " please"},
            "tokenizer": {"tokenizer": tiny.tokenizer(begins=False)},
        }.items()
    }
    assert digests["first"] == digests.pop("again")
    assert len(set(digests.values())) == len(digests)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"prompt": "Ticket {"}, "`prompt` has '{' at character 8, which names no field"),
        ({"prompt": "Ticket {my text}"}, "'{my text}' at character 8"),
        ({"prompt": "Ticket {text}"}, "the soft prompt 'state' has no place in `prompt`: it has text. Write {state}"),
        ({"prompt": "Ticket", "soft_prompts": {}}, "`prompt` has no hole that a field fills"),
        ({"soft_prompts": {"state": 0}}, "the soft prompt 'state' has 0 tokens; expected 1 or more"),
        ({"chooses": {}, "gives": ()}, "nothing comes out: give `chooses`"),
        ({"chooses": {"queue": ["billing"]}}, "the choice 'queue' has the alternatives ['billing']"),
        ({"chooses": {"hidden": ["a", "b"]}}, "the choice 'hidden' has the name of what `gives` gives"),
        ({"chooses": {"queue": {"a": "", "b": "bill"}}}, "alternative 'a' of the choice 'queue' has no text"),
        ({"chooses": {"queue": {"a": " ", "b": "bill"}}}, "alternative 'a' of 'queue' is ' ', of which"),
        (
            {"chooses": {"queue": {"a": "bill", "b": "bill high"}}},
            "alternative 'a' of 'queue' is how 'b' begins, so that it could never be the less likely one",
        ),
        ({"gives": "text"}, "`gives: text` needs `max_tokens`"),
        ({"max_tokens": 4}, "`max_tokens` has no effect: nothing is said; add `gives: text`"),
        ({"chooses": {"text_embeddings": ["a", "b"]}}, "the choice 'text_embeddings' has the name of what"),
        ({"lora": {"targets": ["qkv"]}}, "`lora` names qkv, and its model has no such layer; it has down_proj, "),
        ({"lora": {"rank": 0}}, "`lora` has rank 0"),
        ({"lora": {"alpha": 0}}, "`lora` has alpha 0, with which nothing would be learnt"),
        ({"seed": -1}, "`seed` is -1; expected a whole number from 0"),
        ({"seed": 2**63}, "`seed` is 9223372036854775808; expected a whole number from 0"),
        ({"soft_prompts": {"state": 60}}, "'reader', with nothing in its fields, would be given a prompt of 6"),
        ({"gives": "text", "max_tokens": 60}, "after which 59 more may come; its model reads at most 48"),
        ({"chooses": {"queue": "billing"}}, "the choice 'queue' has one text where alternatives are listed"),
        ({"lora": {"r": 8}}, "component 'reader' cannot be made: Object contains unknown field `r` - at `$.lora`"),
        ({"gives": "attention"}, "Invalid enum value 'attention'"),
        ({"tokenizer": None}, "component 'reader': its model has no tokenizer"),
        ({"model": torch.nn.Linear(1, 1)}, "Linear is no causal language model"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(changes: dict[str, Any], expected: str) -> None:
    with pytest.raises(UsageError) as refused:
        reader(**changes)
    assert expected in str(refused.value)


def test_a_soft_prompt_of_another_shape_and_a_prompt_beyond_the_window_are_refused() -> None:
    with pytest.raises(ContractError, match=r"'state' of shape \[3, 8\], where its model takes \[3, 16\]"):
        reader()(text=["bill"], state=torch.zeros(1, 3, 8))
    with pytest.raises(ContractError, match=r"'state' as torch.int64, through which no gradient passes"):
        reader()(text=["bill"], state=torch.zeros(1, 3, 16, dtype=torch.int64))
    with pytest.raises(ContractError, match=r"prompt of 49 tokens, after which 1 more may come; .* most 48"):
        reader()(text=[" ".join(["bill"] * 41)], state=torch.zeros(1, 3, 16))
    reader()(text=[" ".join(["bill"] * 39)], state=torch.zeros(1, 3, 16))


def test_a_model_in_bfloat16_answers_in_float32_and_learns_in_it() -> None:
    module = reader(model=tiny.model(dtype=torch.bfloat16), lora={})
    assert {weights.dtype for weights in module.parameters() if weights.requires_grad} == {torch.float32}
    found = module(text=TEXTS, state=states())
    assert (found["hidden"].dtype, found["queue"].dtype) == (torch.float32, torch.float64)
    exact = reader()(text=TEXTS, state=states())
    assert torch.allclose(found["queue"], exact["queue"], atol=0.3)


def test_the_door_has_it() -> None:
    assert stretto.causal_lm is causal_lm

"""What a language model says: the likeliest tokens forward, their probabilities backward."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from stretto.components.causal_lm.saying import SILENCE
from stretto.learn import as_module
from stretto.types.enums import RunStatus
from stretto.types.errors import UsageError
from tests.unit.components.causal_lm import tiny
from tests.unit.components.causal_lm.test_declared import INPUTS, READER, load
from tests.unit.components.causal_lm.test_module import QUEUES, TEXTS, reader, states

MOST = 5


def sayer(**changes: Any) -> Any:
    return reader(chooses={}, gives="text", max_tokens=MOST, **changes)


def ended(module: Any, *tokens: int) -> Any:
    """The same, ending at other tokens than its model's own."""
    module.model.generation_config.eos_token_id = [*tokens]
    return module


def by_hand(model: Any, text: str, state: Tensor, most: int) -> tuple[list[int], Tensor]:
    """Of one row, all read anew for each token, as one-hot times the embeddings with the gradient of the softmax."""
    ids, layer = tiny.tokenizer().convert_tokens_to_ids, model.get_input_embeddings()
    before = layer(torch.tensor([ids(["<s>", "Ticket", ":", *text.split()])]))
    vectors = torch.cat([before, state[None], layer(torch.tensor([ids(["Queue", ":"])]))], 1)
    told, said = [], []
    for _ in range(most):
        p_V = model(inputs_embeds=vectors).logits[0, -1].softmax(-1)
        hard_V = torch.nn.functional.one_hot(p_V.argmax(), len(p_V)).float()
        vector_D = (hard_V + p_V - p_V.detach()) @ layer.weight
        told.append(int(p_V.argmax()))
        said.append(vector_D)
        vectors = torch.cat([vectors, vector_D[None, None]], 1)
    return told, torch.stack(said)


def test_tokens_and_their_gradient_are_those_of_one_hot_times_embeddings_whatever_the_batch() -> None:
    module = ended(sayer(), len(tiny.WORDS))
    weights_ND = torch.randn(MOST, tiny.WIDTH, generator=torch.Generator().manual_seed(3))
    state = states().requires_grad_()
    found = module(text=TEXTS, state=state)
    (slope,) = torch.autograd.grad((found["text_embeddings"] * weights_ND).sum(), state)
    for row, text in enumerate(TEXTS):
        mine = states()[row].requires_grad_()
        ids, vectors = by_hand(tiny.model(), text, mine, MOST)
        assert found["text"][row].tolist() == ids
        assert torch.allclose(found["text_embeddings"][row], vectors, atol=1e-5)
        (slope_here,) = torch.autograd.grad((vectors * weights_ND).sum(), mine)
        assert torch.allclose(slope[row], slope_here, atol=1e-4, rtol=1e-3)


def test_a_row_ends_at_the_end_token_and_the_others_go_on() -> None:
    whole = ended(sayer(), len(tiny.WORDS))(text=TEXTS, state=states())["text"].tolist()
    end = whole[0][2]
    module = ended(sayer(), end)
    found = module(text=TEXTS, state=states())
    for row, tokens in enumerate(whole):
        upto = tokens.index(end) if end in tokens else MOST
        assert found["text"][row].tolist() == tokens[:upto] + [SILENCE] * (MOST - upto)
        embedded = module.model.get_input_embeddings().weight[end].expand(MOST - upto, -1)
        assert torch.equal(found["text_embeddings"][row, upto:], embedded)
    assert module.words.text([3, 4, SILENCE]) == "Ticket Queue"


def test_choices_hidden_states_and_texts_of_one_prompt_do_not_disturb_each_other() -> None:
    both = reader(
        chooses={"queue": QUEUES, "tone": {"a": "please", "b": "my bill"}}, gives=["hidden", "text"], max_tokens=3
    )
    found = both(text=TEXTS, state=states())
    parts: dict[str, dict[str, Any]] = {
        "queue": {"chooses": {"queue": QUEUES}},
        "tone": {"chooses": {"tone": {"a": "please", "b": "my bill"}}},
        "text": {"chooses": {}, "gives": "text", "max_tokens": 3},
        "hidden": {"chooses": {}},
    }
    for name, changes in parts.items():
        alone = reader(**changes)(text=TEXTS, state=states())
        assert torch.allclose(found[name], alone[name], atol=1e-6), name


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    from tests.unit.components.causal_lm.test_declared import COMPONENTS

    (tmp_path / "parts.py").write_text(COMPONENTS)
    tiny.save(tmp_path / "tiny")
    return tmp_path


OUTSIDE = """
steps:
  - {name: writer, component: writer, input_mapping: {x: input.x}}
  - {name: author, component: author, input_mapping: {text: input.text, state: steps.writer.result}}
  - {name: length, component: length, input_mapping: {text: steps.author.text}HOW}
  - {name: kept, component: kept, input_mapping: {length: steps.length.length}}
output: {said: steps.author.text, length: steps.length.length}
"""

LENGTH = """
from typing import Annotated
from torch import Tensor
import stretto
from stretto import Shape

Number = Annotated[Tensor, Shape()]

def length(text: str) -> dict[str, float]:
    return {"length": float(len(text))}

@stretto.differentiable("kept", inputs=["length"], rewards=["worth"])
def kept(length: Number) -> Number:
    return length
"""


def test_a_text_goes_to_any_step_and_carries_no_gradient_there(folder: Path) -> None:
    (folder / "lengths.py").write_text(LENGTH)
    declared = AUTHOR + "  length: {kind: python, target: 'lengths:length', effects: pure}\n"
    declared += "  kept: {kind: torch, target: 'lengths:kept'}\n"
    with load(folder, reader=declared, steps=OUTSIDE.replace("HOW", "")) as workflow:
        module = as_module(workflow)
        for run in module(INPUTS).runs:
            assert run.status is RunStatus.OK, run.error
            assert run.output_value["length"] == len(run.output_value["said"])
    steps = OUTSIDE.replace("HOW", ", estimator: surrogate")
    with load(folder, reader=declared, steps=steps) as workflow, pytest.raises(UsageError, match="surrogate"):
        as_module(workflow)


AUTHOR = """
  author:
    kind: causal-lm
    model: tiny
    prompt: "{state} Ticket : {text}"
    soft_prompts: { state: 2 }
    gives: text
    max_tokens: 3
    lora: { rank: 2 }
"""

STEPS = """
steps:
  - {name: writer, component: writer, input_mapping: {x: input.x}}
  - {name: author, component: author, input_mapping: {text: input.text, state: steps.writer.result}}
  - {name: reader, component: reader, input_mapping: {text: input.text, state: steps.author.text_embeddings}}
  - {name: judge, component: judge, input_mapping: {queue: steps.reader.queue, hidden: steps.reader.hidden}}
output: {said: steps.author.text}
"""


def test_what_one_model_says_another_reads_with_a_gradient_and_people_as_text(folder: Path) -> None:
    reader = READER.replace("{ state: 2 }", "{ state: 3 }")
    with load(folder, reader=AUTHOR + reader, steps=STEPS) as workflow:
        module = as_module(workflow)
        outcome = module(INPUTS, seeds=[1, 2, 3])
        runs = outcome.runs
        told = outcome.backward()
        assert module.shared == ()  # their model is one, and learns in neither
        assert told.norms["author"] > 0
        assert told.norms["writer"] > 0
        for given, seed, theirs in zip(INPUTS, [1, 2, 3], runs, strict=True):
            mine = workflow.run_sync(given, seed=seed)
            assert (mine.status, theirs.status) == (RunStatus.OK, RunStatus.OK), mine.error
            assert mine.output_value == theirs.output_value
            assert all(word in tiny.WORDS for word in mine.output_value["said"].split())
            assert mine.reward == pytest.approx(theirs.reward, abs=1e-5)


def test_what_a_model_of_other_words_says_is_refused_as_a_soft_prompt(folder: Path) -> None:
    tiny.save(folder / "stranger", seed=1)
    reader = READER.replace("{ state: 2 }", "{ state: 3 }").replace("model: tiny", "model: stranger")
    with (
        load(folder, reader=AUTHOR + reader, steps=STEPS) as workflow,
        pytest.raises(
            UsageError, match=r"'text_embeddings' of step 'author' goes to .* 'state' of step 'reader'.*other"
        ),
    ):
        as_module(workflow)


def test_a_model_that_was_tuned_further_reads_what_the_first_one_says(folder: Path) -> None:
    tuned = tiny.model()
    with torch.no_grad():
        tuned.get_input_embeddings().weight.mul_(1.05)
    tuned.save_pretrained(folder / "tuned")
    tiny.tokenizer().save_pretrained(folder / "tuned")
    reader = READER.replace("{ state: 2 }", "{ state: 3 }").replace("model: tiny", "model: tuned")
    with load(folder, reader=AUTHOR + reader, steps=STEPS) as workflow:
        assert as_module(workflow)(INPUTS, seeds=[1, 2, 3]).backward().norms["author"] > 0

"""A language model declared in a workflow file: loaded from this machine, run by the engine and as a module."""

import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import stretto
from stretto.components.causal_lm import extra
from stretto.components.causal_lm.module import CausalLm
from stretto.components.python.decorator import component_of
from stretto.components.torch.component import TorchComponent
from stretto.learn import as_module
from stretto.learn.joint import JointOptions, train_jointly
from stretto.learn.tasks import Task
from stretto.types.enums import Reason, RunStatus
from stretto.types.errors import ContractError, MissingExtraError, SpecError, UsageError
from tests.unit.components.causal_lm import tiny

COMPONENTS = f"""
from typing import Annotated
import torch
from torch import Tensor, nn
import stretto
from stretto import OneOf, Shape

@stretto.differentiable("writer", inputs=["x"])
class Writer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Linear(2, 2 * {tiny.WIDTH})

    def forward(self, x: Annotated[Tensor, Shape(2)]) -> Annotated[Tensor, Shape(2, {tiny.WIDTH})]:
        return self.net(x).reshape(-1, 2, {tiny.WIDTH})

@stretto.differentiable("judge", inputs=["queue", "hidden"], rewards=["worth"])
def judge(
    queue: Annotated[Tensor, OneOf("billing", "orders", "else")], hidden: Annotated[Tensor, Shape({tiny.WIDTH})]
) -> Annotated[Tensor, Shape()]:
    return queue @ torch.tensor([1.0, 3.0, -2.0]) + 0.1 * hidden[:, 0]
"""

READER = """
  reader:
    kind: causal-lm
    model: tiny
    prompt: "Ticket : {text} {state} Queue :"
    soft_prompts: { state: 2 }
    chooses: { queue: { billing: billing, orders: orders please, else: other } }
    gives: hidden
    lora: { rank: 2 }
"""

STEPS = """
steps:
  - {name: writer, component: writer, input_mapping: {x: input.x}}
  - {name: reader, component: reader, input_mapping: {text: input.text, state: steps.writer.result}}
  - {name: judge, component: judge, input_mapping: {queue: steps.reader.queue, hidden: steps.reader.hidden}}
output: {queue: steps.reader.queue, p: steps.reader.queue_probabilities}
"""

WRITTEN = "  writer: {kind: torch, target: 'parts:Writer'}\n  judge: {kind: torch, target: 'parts:judge'}\n"

HEAD = "stretto: 1\nname: tickets\ncontract: {reward: {worth: 1.0}}\ncomponents:"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("tickets")
    (made / "parts.py").write_text(COMPONENTS)
    tiny.save(made / "tiny")
    return made


def load(folder: Path, *, reader: str = READER, steps: str = STEPS, **changes: str) -> stretto.Workflow:
    for old, new in changes.items():
        assert old in reader
        reader = reader.replace(old, new)
    (folder / "workflow.yaml").write_text(f"{HEAD}{reader}{WRITTEN}{steps}")
    return stretto.load(folder / "workflow.yaml", store=folder / "runs.db")


def lm_of(component: object) -> CausalLm:
    module = component.module if isinstance(component, TorchComponent) else component
    assert isinstance(module, CausalLm)
    return module


INPUTS: list[dict[str, Any]] = [
    {"text": "my parcel is late", "x": [0.5, -1.0]},
    {"text": "bill", "x": [1.5, 0.25]},
    {"text": "too high bill . my parcel broken please", "x": [-0.5, 2.0]},
]


def test_both_interpreters_record_the_same_of_it(folder: Path) -> None:
    with load(folder) as workflow:
        module = as_module(workflow)
        seeds = [11, 12, 13]
        batch = module.eval()(INPUTS, seeds=seeds).runs
        for given, seed, theirs in zip(INPUTS, seeds, batch, strict=True):
            mine = workflow.run_sync(given, seed=seed)
            assert (mine.status, mine.manifest) == (RunStatus.OK, theirs.manifest), mine.error
            (mine_action,), (their_action,) = mine.steps[1].actions, theirs.steps[1].actions
            assert (mine_action.chosen, mine_action.policy) == (their_action.chosen, their_action.policy)
            assert mine_action.logprob == pytest.approx(their_action.logprob, abs=1e-5)
            assert mine.reward == pytest.approx(theirs.reward, abs=1e-5)


def test_a_gradient_passes_it_and_the_model_itself_is_neither_changed_nor_copied(folder: Path) -> None:
    with load(folder) as workflow:
        component = workflow.component("reader")
        before = {name: value.clone() for name, value in lm_of(component).model.state_dict().items()}
        module = as_module(workflow)
        base = lm_of(component).model.get_input_embeddings().weight
        assert lm_of(module.get_submodule("reader")).model.get_input_embeddings().weight is base
        optimizer = torch.optim.Adam([each for each in module.parameters() if each.requires_grad], lr=0.05)
        for _ in range(2):  # a change begins as zero times something, of which only the zero has a gradient at first
            optimizer.zero_grad()
            outcome = module(INPUTS, seeds=[1, 2, 3])
            told = outcome.backward()
            optimizer.step()
        assert told.norms["reader"] > 0
        assert told.norms["writer"] > 0
        trained = module.trained()
        made = trained.component("reader")
        assert isinstance(made, TorchComponent)
        assert made.card.digest != component.card.digest
        assert lm_of(made).model.get_input_embeddings().weight is base
        after = lm_of(component).model.state_dict()
        assert all(torch.equal(before[name], value) for name, value in after.items())
        saved = made.save(folder)
    with load(folder, **{"lora: { rank: 2 }": f"lora: {{ rank: 2 }}\n    checkpoint: {saved.name}"}) as again:
        assert again.component("reader").card.digest == made.card.digest
    with pytest.raises(UsageError, match=r"learnt with lora.alpha 4, and component 'reader' has lora.alpha 8: "):
        load(folder, **{"lora: { rank: 2 }": f"lora: {{ rank: 2, alpha: 8 }}\n    checkpoint: {saved.name}"})


def test_a_prompt_beyond_the_window_fails_its_run_and_no_other_of_the_batch(folder: Path) -> None:
    long = {"text": " ".join(["bill"] * 60), "x": [0.0, 0.0]}
    with load(folder) as workflow:
        run = workflow.run_sync(long)
        batch = as_module(workflow)([INPUTS[0], long, INPUTS[1]]).runs
    assert [each.status for each in batch] == [RunStatus.OK, RunStatus.FAILED, RunStatus.OK]
    assert batch[1].error == run.error
    assert (run.status, run.reason) == (RunStatus.FAILED, Reason.CONTRACT)
    assert run.error is not None
    assert "'reader' is given a prompt of 67 tokens" in run.error.message


def test_a_soft_prompt_of_another_shape_is_refused_with_both_named(folder: Path) -> None:
    with load(folder, **{"{ state: 2 }": "{ state: 3 }"}) as workflow:
        run = workflow.run_sync(INPUTS[0])
        assert run.reason is Reason.CONTRACT
        with pytest.raises(ContractError, match=r"step 'reader' takes Shape\(3, 16\), .* is given rows of \[2, 16\]"):
            as_module(workflow)(INPUTS)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("prompt: ", "prompts: ", "has no key 'prompts'"),
        ("{text}", "{text} {who}", "'who'"),
        ("{text}", "", "'text'"),
        (
            "{ state: 2 }",
            "{ state: 2, tone: 1 }",
            "the soft prompt 'tone' has no place in `prompt`: it has text, state",
        ),
        ("{ state: 2 }", "{ state: 0 }", "a whole number, 1 or more"),
        ("gives: hidden", "gives: attention", "one of hidden, text"),
        ("model: tiny", "model: nowhere", "no model 'nowhere'"),
        ("model: tiny", "model: parts.py", "parts.py holds no causal language model that transformers can load"),
        ("    chooses", "    sample: false\n    chooses_", "has no key 'chooses_'"),
        ("rank: 2", "rank: 2, targets: [c_attn]", "`lora` names c_attn"),
    ],
)
def test_what_is_wrong_in_a_file_is_told_at_its_place(folder: Path, old: str, new: str, expected: str) -> None:
    with pytest.raises(SpecError) as refused:
        load(folder, **{old: new})
    assert expected in str(refused.value), str(refused.value)
    assert refused.value.problems[0].line


def test_a_model_that_is_not_here_is_never_fetched_and_one_that_is_asks_nobody(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("something was asked over the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    load(folder).close()
    with pytest.raises(SpecError) as refused:
        load(folder, **{"model: tiny": "model: someone/some-model"})
    told = str(refused.value)
    assert "no model 'someone/some-model'" in told
    assert "`hf download someone/some-model` fetches it, or `download: true`" in told


def test_a_model_of_the_hub_is_taken_from_this_machines_copy(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    copy = tmp_path / "models--someone--tiny"
    (copy / "refs").mkdir(parents=True)
    (copy / "refs" / "main").write_text("0" * 40)
    shutil.copytree(folder / "tiny", copy / "snapshots" / ("0" * 40))
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    with load(folder) as here, load(folder, **{"model: tiny": "model: someone/tiny"}) as cached:
        assert here.component("reader").card.digest == cached.component("reader").card.digest


def test_a_model_that_cannot_be_fetched_is_told_so(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*_: object, **options: object) -> None:
        assert options == {"local_files_only": False}
        raise ConnectionError("no route to host")

    monkeypatch.setattr("huggingface_hub.snapshot_download", unreachable)
    with pytest.raises(SpecError, match=r"the Hub has none that could be fetched \(no route to host\)"):
        load(folder, **{"model: tiny": "model: someone/tiny\n    download: true"})


def test_without_a_tokenizer_a_model_is_refused(folder: Path) -> None:
    tiny.model().save_pretrained(folder / "mute")
    with pytest.raises(SpecError, match="its model has no tokenizer"):
        load(folder, **{"model: tiny": "model: mute"})


def test_two_components_on_one_model_share_its_weights(folder: Path) -> None:
    with load(folder) as one, load(folder, **{"rank: 2": "rank: 4"}) as other:
        first, second = (lm_of(each.component("reader")) for each in (one, other))
        assert first is not second
        assert first.model.lm_head.weight is second.model.lm_head.weight


def test_the_extra_is_named_where_it_is_missing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extra, "find_spec", lambda name: None if name == "peft" else object())
    with pytest.raises(MissingExtraError, match="component 'reader' of kind causal-lm") as missing:
        load(folder)
    assert missing.value.extra == "transformers"


def test_a_workflow_without_one_imports_neither_torch_nor_transformers(tmp_path: Path) -> None:
    (tmp_path / "components.py").write_text(
        "import stretto\n\n"
        "@stretto.component('a', effects='pure')\nasync def a() -> dict[str, int]:\n    return {'n': 1}\n"
    )
    (tmp_path / "workflow.yaml").write_text(
        "stretto: 1\nname: w\ncomponents: components.py\nsteps: [{name: a, component: a}]\noutput: {n: steps.a.n}\n"
    )
    program = (
        "import sys, stretto; from stretto.cli import main; sys.argv = ['stretto', 'check', 'workflow.yaml']\n"
        "try: main()\nexcept SystemExit as end: assert not end.code, end.code\n"
        "assert not {'torch', 'transformers', 'peft', 'huggingface_hub'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True, timeout=60, capture_output=True)


def test_it_learns_together_with_others_and_its_checkpoint_has_what_was_learnt(folder: Path) -> None:
    splits = ("train", "train", "validation")
    tasks = [
        Task(name=str(place), input=given, labels={"split": split})
        for place, (given, split) in enumerate(zip(INPUTS, splits, strict=True))
    ]
    with load(folder) as workflow:
        options = JointOptions(updates=2, batch_size=2, learning_rate=0.01)
        result = train_jointly(workflow, tasks, folder=folder / "joint", options=options)
    assert result.reports[-1].gradients["reader"].norm > 0
    whole = (folder / "tiny" / "model.safetensors").stat().st_size
    sizes = [each.stat().st_size for each in (folder / "joint" / "weights" / "reader").glob("*.safetensors")]
    assert sizes != []
    assert max(sizes) < whole / 4


def test_python_declares_the_same(folder: Path) -> None:
    module = stretto.causal_lm(
        "reader", model=folder / "tiny", prompt="Ticket : {text} {state}", soft_prompts={"state": 2}, gives="hidden"
    )
    component = component_of(module)
    assert isinstance(component, TorchComponent)
    assert component.card.input["required"] == ["state", "text"]
    assert not component.card.trainable

"""An aligner's file at load: pinned in the manifest when it fits its domain, else refused with its place."""

from pathlib import Path

import pytest

import stretto
from stretto.learn.semantics.samples import Sample
from stretto.learn.semantics.train import train_first
from stretto.types.errors import SpecError

WORKFLOW = """
stretto: 1
name: orders
version: 0.1.0
contract: rules/contract.yaml
components: components.py
steps:
  - name: executor
    component: executor
    input_mapping: { intent: "input.words" }
    resilience: { fallback: { output: { did: nothing } } }
output: { did: "steps.executor.did" }
"""
CONTRACT = """
semantics:
  intent:
    values: [track, cancel]
    at: [executor.intent]
    aligner: intent.aligner
"""
COMPONENTS = """
import stretto

@stretto.component("executor", "1.0.0", effects="pure")
async def execute(intent: str) -> dict:
    return {"did": intent}
"""
SAID = {"track": ["where is my parcel", "track it", "parcel late"], "cancel": ["cancel it", "stop it", "no more of it"]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rules").mkdir()
    (tmp_path / "workflow.yaml").write_text(WORKFLOW)
    (tmp_path / "rules" / "contract.yaml").write_text(CONTRACT)
    (tmp_path / "components.py").write_text(COMPONENTS)
    return tmp_path


def _train(folder: Path, domain: str = "intent", values: tuple[str, ...] = ("track", "cancel")) -> str:
    samples = [Sample(text=text, value=value) for value, texts in SAID.items() for text in texts]
    model = train_first(domain, values, samples, trained_at="2026-11-30")
    model.save(folder / "rules" / "intent.aligner")
    return model.digest


def test_a_run_is_pinned_to_the_aligner_by_its_digest(folder: Path) -> None:
    digest = _train(folder)
    run = stretto.load(folder / "workflow.yaml", store=folder / "runs.db").run_sync({"words": "where is my parcel"})
    assert run.manifest.components["intent-aligner"] == f"1@{digest}"
    assert run.output_value in ({"did": "track"}, {"did": "nothing"})


def test_the_raw_text_never_reaches_the_component(folder: Path) -> None:
    _train(folder)
    workflow = stretto.load(folder / "workflow.yaml", store=folder / "runs.db")
    for words in ("where is my parcel", "唔該", "🙂", " ", "track " * 500):
        assert workflow.run_sync({"words": words}).output_value["did"] in ("track", "cancel", "nothing")


@pytest.mark.parametrize(
    ("domain", "values", "told"),
    [
        ("mood", ("track", "cancel"), "was trained for the domain 'mood', not for 'intent'"),
        ("intent", ("track", "cancel", "refund"), "it may answer refund, which the domain has not"),
    ],
)
def test_an_aligner_of_another_domain_is_refused(folder: Path, domain: str, values: tuple[str, ...], told: str) -> None:
    _train(folder, domain, values)
    with pytest.raises(SpecError, match=told) as refused:
        stretto.load(folder / "workflow.yaml", store=folder / "runs.db")
    assert (refused.value.problems[0].line, "contract.yaml" in refused.value.problems[0].file) == (6, True)


@pytest.mark.parametrize("content", [b"", b"garbage", b"\x10" + b"\0" * 30])
def test_a_file_that_is_no_aligner_is_refused(folder: Path, content: bytes) -> None:
    (folder / "rules" / "intent.aligner").write_bytes(content)
    with pytest.raises(SpecError, match="not a whole safetensors file"):
        stretto.load(folder / "workflow.yaml", store=folder / "runs.db")


def test_a_file_that_is_not_there_is_told_with_the_command_that_trains_it(folder: Path) -> None:
    with pytest.raises(SpecError, match="stretto semantics train --domain intent"):
        stretto.load(folder / "workflow.yaml", store=folder / "runs.db")

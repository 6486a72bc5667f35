"""A domain's aligner: found from the contract's folder, pinned to, replaced, and refused where it is another's.

And what a write, a replay and a resumed run see of a value that was aligned.
"""

from functools import cache
from pathlib import Path
from typing import Any

import pytest

import stretto
from stretto.components.aligner.component import LearnedAligner
from stretto.components.aligner.model import AlignerModel
from stretto.learn.semantics.samples import Sample
from stretto.learn.semantics.train import train_first
from stretto.types.errors import SpecError
from tests.unit.runtime.conftest import Write

SAID = {
    "track": ["where is my parcel", "track my order", "where has my package got to", "my parcel is late"],
    "cancel": ["cancel my order", "stop the order please", "i do not want the order", "cancel it now"],
}

COMPONENTS = """
import stretto

MADE = []

@stretto.component("api", effects="write", idempotent=True)
async def api(intent: str) -> dict:
    MADE.append(intent)
    return {"reply": f"{intent}: {len(MADE)}"}
"""

WORKFLOW = """
stretto: 1
durability: step
contract: shop/contract.yaml
steps:
  - name: api
    component: api
    input_mapping: {intent: input.said}
    resilience: {fallback: {output: {reply: nobody}}}
output: {reply: steps.api.reply}
"""


def contract(file: str = "intent.aligner", domain: str = "intent", values: str = "track, cancel") -> str:
    return f"""
semantics:
  {domain}: {{values: [{values}], at: [api.intent], synonyms: {{track: [find]}}, aligner: {file}, threshold: 0.0}}
"""


@cache
def model(first: str = "track") -> AlignerModel:
    """An aligner, and another that was taught the words of one value for the other's."""
    values = list(SAID) if first == "track" else list(reversed(SAID))
    samples = [
        Sample(text=text, value=value) for value, said in zip(values, SAID.values(), strict=True) for text in said
    ]
    return train_first("intent", list(SAID), samples, trained_at="2026-11-30T00:00:00+00:00", source=["said"])


@pytest.fixture
def folder(write: Write, tmp_path: Path) -> Path:
    (tmp_path / "shop").mkdir()
    write({"workflow.yaml": WORKFLOW, "components.py": COMPONENTS, "shop/contract.yaml": contract()})
    model().save(tmp_path / "shop" / "intent.aligner")
    return tmp_path


def load(folder: Path) -> stretto.Workflow:
    return stretto.load(folder / "workflow.yaml", store=folder / "runs.db")


def test_a_text_ends_at_what_was_learnt_and_the_run_is_pinned_to_that(folder: Path) -> None:
    with load(folder) as workflow:
        run = workflow.run_sync({"said": "tell me where my parcel is"})
    (step,) = run.steps
    assert step.input_value == {"intent": "track"}
    told: Any = step.evidence["alignments"]
    assert [(note["to"], note["by"]) for note in told] == [("track", "learned")]
    assert run.manifest.components["intent-aligner"] == f"1@{model().digest}"


def test_what_it_knows_nothing_of_reaches_nobody(folder: Path) -> None:
    with load(folder) as workflow:
        runs = [workflow.run_sync({"said": said}) for said in ("唔該", "🙂", " ", "track " * 500)]
    assert [run.output_value for run in runs] == [{"reply": "nobody"}] * 4
    assert not any(step.attempts for run in runs for step in run.steps)


def test_another_may_be_put_in_its_place(folder: Path) -> None:
    with load(folder) as workflow:
        other = workflow.with_component(LearnedAligner(model("cancel")))
        run = other.run_sync({"said": "tell me where my parcel is"})
    assert run.steps[0].input_value == {"intent": "cancel"}
    assert run.manifest.components["intent-aligner"].endswith(model("cancel").digest)


def test_a_write_is_known_by_what_was_meant_and_not_by_how_it_was_said(folder: Path) -> None:
    with load(folder) as workflow:
        runs = [workflow.run_sync({"said": said}) for said in ("track", "FIND", " Track")]
        digests = {effect.request_digest for run in runs for effect in workflow.store.effects(run.id)}
    assert len(digests) == 1


async def test_a_replay_takes_what_was_aligned_from_the_record(folder: Path) -> None:
    async with load(folder) as workflow:
        run = await workflow.run({"said": "FIND"})
        again = await workflow.replay(run)
    assert again.steps[0].reused_from == run.id
    assert again.output_value == run.output_value
    assert again.steps[0].evidence == run.steps[0].evidence


@pytest.mark.parametrize(
    ("written", "told"),
    [
        (contract(file="there.aligner"), ["the aligner file 'there.aligner' is not there", "stretto semantics train"]),
        (contract(domain="mood"), ["cannot serve the domain 'mood'", "was trained for the domain 'intent'"]),
        (contract(values="track, cancel, refund"), ["it does not know refund"]),
        (contract(file="contract.yaml"), ["cannot serve the domain 'intent'"]),
    ],
)
def test_what_is_no_aligner_for_the_domain_is_told_where_it_is_named(
    folder: Path, written: str, told: list[str]
) -> None:
    (folder / "shop" / "contract.yaml").write_text(written)
    with pytest.raises(SpecError) as caught:
        load(folder)
    (problem,) = caught.value.problems
    assert (Path(problem.file).name, problem.line) == ("contract.yaml", 3)
    assert [part for part in told if part not in str(problem)] == []


def test_two_domains_may_not_share_a_file(folder: Path) -> None:
    both = contract() + "  mood: {values: [track, cancel], at: [input.mood], aligner: intent.aligner}\n"
    (folder / "shop" / "contract.yaml").write_text(both)
    with pytest.raises(SpecError) as caught:
        load(folder)
    assert [problem.line for problem in caught.value.problems] == [4]

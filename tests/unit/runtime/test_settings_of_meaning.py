"""Settings of semantic domains: how sure an aligner must be, and what becomes of a text that means nothing."""

import asyncio
from pathlib import Path

import pytest

import stretto
from stretto.runtime.tuning import Given, Origin
from stretto.types.enums import RunStatus, StepStatus
from stretto.types.errors import InputError, StrettoError
from tests.unit.runtime.conftest import Write
from tests.unit.runtime.test_aligners import COMPONENTS, WORKFLOW, contract, model

SAID = "tell me where my parcel is"
"""The aligner thinks that it means `track`, and is not quite sure."""

UNSURE = 0.999

INSIDE = """
stretto: 1
components: components.py
steps:
  - {name: shop, workflow: workflow.yaml, input_mapping: {said: input.said}}
output: {reply: steps.shop.reply}
"""


@pytest.fixture
def folder(write: Write, tmp_path: Path) -> Path:
    (tmp_path / "shop").mkdir()
    mood = "  mood: {values: [glad, cross], at: [input.mood], mode: off}\n"
    write({"workflow.yaml": WORKFLOW, "outer.yaml": INSIDE, "components.py": COMPONENTS})
    write({"shop/contract.yaml": contract() + mood})
    model().save(tmp_path / "shop" / "intent.aligner")
    return tmp_path


def load(folder: Path, file: str = "workflow.yaml") -> stretto.Workflow:
    return stretto.load(folder / file, store=folder / "runs.db")


def replies(workflow: stretto.Workflow, key: str, *values: Given) -> list[object]:
    """The answers of one workflow that runs, under one value after the other."""

    async def one_after_the_other() -> list[object]:
        runs = [await workflow.run({"said": SAID})]
        for value in values:
            await workflow.set(key, value)
            runs.append(await workflow.run({"said": SAID}))
        return [run.output_value["reply"] for run in runs]

    return asyncio.run(one_after_the_other())


TRACKED, ABSTAINED = "track", "nobody"


class TestThreshold:
    @pytest.mark.parametrize(
        ("file", "key"),
        [
            ("workflow.yaml", "semantics.intent.threshold"),
            ("outer.yaml", "steps.shop.semantics.intent.threshold"),
        ],
        ids=["own", "inside"],
    )
    def test_the_next_call_goes_by_it_and_by_the_file_again_when_it_is_taken_back(
        self, folder: Path, file: str, key: str
    ) -> None:
        with load(folder, file) as workflow:
            answers = replies(workflow, key, UNSURE, None)
        assert [str(answer).partition(":")[0] for answer in answers] == [TRACKED, ABSTAINED, TRACKED]

    def test_a_contract_that_stands_in_the_workflow_s_file(self, write: Write, folder: Path) -> None:
        model().save(folder / "intent.aligner")
        inline = "contract:" + contract().replace("\n", "\n  ").rstrip() + "\n"
        write({"workflow.yaml": WORKFLOW.replace("contract: shop/contract.yaml\n", inline)})
        with load(folder) as workflow:
            assert workflow.settings["semantics.intent.threshold"].origin is Origin.FILE
            answers = replies(workflow, "semantics.intent.threshold", UNSURE, None)
        assert [str(answer).partition(":")[0] for answer in answers] == [TRACKED, ABSTAINED, TRACKED]

    def test_that_of_the_aligner_s_own_file_is_listed_in_words(self, write: Write, folder: Path) -> None:
        write({"shop/contract.yaml": contract().replace(", threshold: 0.0", "")})
        with load(folder) as workflow:
            found = workflow.settings["semantics.intent.threshold"]
            assert (found.value, found.unsaid, found.origin) == (None, "the aligner's own", "default")
            answers = replies(workflow, "semantics.intent.threshold", 0.0, UNSURE)
        assert [str(answer).partition(":")[0] for answer in answers] == [ABSTAINED, TRACKED, ABSTAINED]

    def test_what_the_run_is_pinned_to_stays(self, folder: Path) -> None:
        with load(folder) as workflow:
            before = workflow.run_sync({"said": SAID})
            asyncio.run(workflow.set("semantics.intent.threshold", UNSURE))
            after = workflow.run_sync({"said": SAID})
        assert before.manifest == after.manifest
        assert [before.settings, after.settings] == [0, 1]


OWN_INPUT = """
stretto: 1
contract: {semantics: {intent: {values: [track, cancel], at: [input.said]}}}
components: components.py
steps:
  - {name: api, component: api, input_mapping: {intent: input.said}}
output: {reply: steps.api.reply}
"""


class TestMode:
    def test_what_means_nothing_passes_when_it_is_only_told_of(self, folder: Path) -> None:
        """What the step's component is asked is then the text itself, and not null."""
        with load(folder) as workflow:

            async def before_and_after() -> list[object]:
                asked: list[object] = []
                for mode in ("enforce", "warn", "quarantine", None):
                    await workflow.set("semantics.intent.mode", mode)
                    run = await workflow.run({"said": "唔該"})
                    (step,) = run.steps
                    asked.append(step.input_value if step.status is StepStatus.OK else step.evidence.get("quarantined"))
                return asked

            assert asyncio.run(before_and_after()) == [None, {"intent": "唔該"}, True, None]

    def test_a_run_s_own_input_is_held_to_it_from_the_next_run_on(self, write: Write, folder: Path) -> None:
        write({"workflow.yaml": OWN_INPUT})
        with load(folder) as workflow:

            async def before_and_after() -> list[object]:
                found: list[object] = []
                for mode in (None, "warn"):
                    if mode is not None:
                        await workflow.set("semantics.intent.mode", mode)
                    try:
                        (run,) = await workflow.run_many([{"said": "唔該"}])
                        found += [run.status, (await workflow.run({"said": "唔該"})).status]
                    except StrettoError as error:
                        found.append(type(error))
                return found

            assert asyncio.run(before_and_after()) == [InputError, RunStatus.OK, RunStatus.OK]
        with load(folder) as again:
            (run,) = asyncio.run(again.run_many([{"said": "唔該"}]))
            assert run.status is RunStatus.OK, "the first input too is held to what was set before it was loaded"

    def test_the_mode_that_the_contract_gives_for_all_its_domains_is_listed(self, write: Write, folder: Path) -> None:
        write({"shop/contract.yaml": contract() + "semantics_mode: warn\n"})
        with load(folder) as workflow:
            found = workflow.settings["semantics.intent.mode"]
        assert (found.value, found.origin) == ("warn", Origin.FILE)

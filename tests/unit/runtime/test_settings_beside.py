"""Settings of what goes on beside the runs: how often probes read, and how often a fallback is exercised."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

import stretto
from stretto.probes.source import Source
from stretto.runtime.exercising import last_exercises
from stretto.runtime.tuning import Origin
from stretto.testing import run_virtual
from stretto.types.errors import SpecError, UsageError
from tests.unit.runtime.conftest import WorkflowOf, Write
from tests.unit.runtime.test_exercising import made, settled
from tests.unit.runtime.test_settings import set_at_once, slow

PROBED = """
stretto: 1
name: desk
resources:
  threads: {every: 1h}
  models: {planner: {url: "http://127.0.0.1:9/metrics"}}
  stale_after: 2h
steps: [{name: ask, component: api}]
"""


def sources(workflow: stretto.Workflow) -> dict[str, Source]:
    assert workflow._live is not None
    return {source.name: source for source in workflow._live.sources}


class TestProbes:
    def test_a_probe_of_a_workflow_that_is_open_reads_at_the_pace_that_is_set(self, workflow_of: WorkflowOf) -> None:
        workflow = workflow_of(
            PROBED.replace('  models: {planner: {url: "http://127.0.0.1:9/metrics"}}\n', ""), slow("api", 0.0)
        )

        async def ages() -> list[object]:
            await workflow.open()
            assert workflow._live is not None
            await asyncio.sleep(30)
            before = workflow._live.read({})["age_ms"]
            set_at_once(workflow, "resources.threads.every", "1s")
            set_at_once(workflow, "resources.stale_after", "20s")
            await asyncio.sleep(30.5)
            after = workflow._live.read({})["age_ms"]
            await workflow.aclose()
            return [before, after, workflow._live._stale_after_s]

        assert run_virtual(ages()) == [{"threads": 30_000.0}, {"threads": 500.0}, 20]

    def test_every_probe_has_its_own_and_what_is_taken_back_is_the_file_s_again(self, workflow_of: WorkflowOf) -> None:
        workflow = workflow_of(PROBED, slow("api", 0.0))
        found = workflow.settings
        assert (found["resources.threads.every"].value, found["resources.threads.timeout"].value) == ("1h", "500ms")
        assert found["resources.models.planner.every"].origin is Origin.DEFAULT
        assert "resources.gpu.every" not in found
        asyncio.run(workflow.set("resources.models.planner.every", timedelta(seconds=2)))
        assert {name: source.every_s for name, source in sources(workflow).items()} == {
            "threads": 3600,
            "models.planner": 2,
        }
        asyncio.run(workflow.set("resources.models.planner.every", None))
        assert sources(workflow)["models.planner"].every_s == 1

    def test_the_probes_of_a_workflow_inside_have_the_same_names_and_the_outermost_count(self, write: Write) -> None:
        files = {
            "outer.yaml": "stretto: 1\ncomponents: parts.py\nresources: {threads: {}}\n"
            "steps: [{name: inside, workflow: inner.yaml}]\n",
            "inner.yaml": "stretto: 1\nresources: {threads: {every: 3s}, components: {every: 4s}}\n"
            "steps: [{name: ask, component: api}]\n",
            "parts.py": "import stretto\n\n@stretto.component(effects='read')\ndef api() -> dict[str, str]:\n"
            "    return {}\n",
        }
        with stretto.load(write(files)) as workflow:
            found = workflow.settings
            assert (found["resources.threads.every"].value, found["resources.components.every"].value) == ("1s", "4s")
            for kind in ("threads", "components"):
                asyncio.run(workflow.set(f"resources.{kind}.every", "2s"))
            assert {name: source.every_s for name, source in sources(workflow).items()} == {
                "threads": 2,
                "components": 2,
            }

    def test_what_is_read_without_a_run_goes_by_what_was_set_before(self, workflow_of: WorkflowOf) -> None:
        workflow = workflow_of(PROBED, slow("api", 0.0))
        workflow.store.set_settings("desk", {"resources.threads.every": "2s"})
        asyncio.run(workflow.resources())
        assert sources(workflow)["threads"].every_s == 2


class TestExercises:
    @pytest.fixture
    def bank(self, tmp_path: Path) -> Iterator[stretto.Workflow]:
        with made(tmp_path, "exercise: {every: 30d, share: 0.000001}") as workflow:
            yield workflow

    def test_more_of_the_traffic_takes_part_while_one_lasts(self, bank: stretto.Workflow) -> None:
        """The first run begins it whatever its share; of the others one in a million would take part."""

        async def asked() -> list[int]:
            counted: list[int] = []
            await settled(bank, 1)
            for share in (None, 1, None):
                if counted:
                    await bank.set("fallback.exercise.share", share)
                await settled(bank, 2)
                counted.append(len(last_exercises(bank.store)["bank"].results))
            return counted

        assert asyncio.run(asked()) == [1, 2, 2]

    def test_the_next_one_is_due_after_the_period_that_is_set_now(
        self, bank: stretto.Workflow, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def begun() -> list[float]:
            await settled(bank, 1)
            first = last_exercises(bank.store)["bank"]
            await bank.set("fallback.exercise.every", "1m")
            assert bank._exercising is not None
            later = await bank.run({"n": 2})
            later.started_at_ns = first.began_at_ns + int(90e9)  # overdue by half a period of a minute
            bank._exercising.after(later)
            await bank._exercising.close()
            second = last_exercises(bank.store)["bank"]
            return [first.every_s, second.every_s, (second.began_at_ns - first.began_at_ns) / 1e9]

        assert asyncio.run(begun()) == [30 * 86_400, 60, 90]

    def test_one_that_is_made_by_hand_is_kept_with_the_period_that_is_set_now(self, bank: stretto.Workflow) -> None:
        async def by_hand() -> float:
            run = await settled(bank, 1)
            await bank.set("fallback.exercise.every", "7d")
            await bank.exercise_fallback([run])
            return last_exercises(bank.store)["bank"].every_s

        assert asyncio.run(by_hand()) == 7 * 86_400

    @pytest.mark.parametrize(
        ("key", "value", "told"),
        [
            ("fallback.exercise.every", "10s", "`every` is the text '10s'"),
            ("fallback.exercise.share", 0, "`share` is the number 0"),
            ("fallback.exercise.component", "rules", "has no setting"),
        ],
    )
    def test_what_cannot_hold_is_refused(self, bank: stretto.Workflow, key: str, value: str | int, told: str) -> None:
        with pytest.raises((SpecError, UsageError), match=told):
            asyncio.run(bank.set(key, value))

    def test_a_fallback_that_is_never_exercised_is_told_how(self, tmp_path: Path) -> None:
        with made(tmp_path, "after: 3") as workflow, pytest.raises(UsageError) as caught:
            asyncio.run(workflow.set("fallback.exercise.share", 0.5))
        assert "workflow.yaml declares no `exercise`; declare it, fallback: {exercise: {every: 30d" in str(caught.value)

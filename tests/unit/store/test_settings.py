"""What was changed of workflows while they run is kept, and only ever added to."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from stretto.store.sqlite import Store
from stretto.types.errors import UsageError
from tests.unit.record.generated import a_run, a_step
from tests.unit.store.test_schema import write_version_1


def test_the_last_change_of_each_key_holds_and_every_change_stays(path: Path) -> None:
    with Store(path) as store:
        store.set_settings("desk", {"steps.a.timeout": "1s", "steps.a.priority": 3}, by="ada", reason="slow")
        store.set_settings("desk", {"steps.a.timeout": "2s"}, by="bob")
        store.set_settings("other", {"steps.a.timeout": "9s"})
        assert [(each.key, each.value, each.by) for each in store.settings("desk")] == [
            ("steps.a.priority", 3, "ada"),
            ("steps.a.timeout", "2s", "bob"),
        ]
        assert [each.value for each in store.settings_history("desk")] == ["1s", 3, "2s"]
        assert [each.value for each in store.settings_history("desk", "steps.a.timeout")] == ["1s", "2s"]
        assert store.settings_history("desk")[0].reason == "slow"


def test_the_revision_of_a_workflow_grows_with_its_own_changes_alone(path: Path) -> None:
    with Store(path) as store:
        assert store.settings_revision("desk") == 0
        assert not path.exists()
        store.set_settings("desk", {"k": 1})
        store.set_settings("other", {"k": 1})
        before = store.settings_revision("desk")
        store.set_settings("desk", {"k": None})
        assert 0 < before < store.settings_revision("desk")


def test_a_change_that_was_judged_beside_older_ones_is_not_kept(path: Path) -> None:
    with Store(path) as store, Store(path) as another:
        seen = store.settings_revision("desk")
        another.set_settings("desk", {"k": 1})
        assert store.set_settings("desk", {"k": 2}, after=seen) is None
        assert [each.value for each in store.settings("desk")] == [1]
        assert store.set_settings("desk", {"k": 2}, after=store.settings_revision("desk")) is not None


def test_a_value_comes_back_as_it_was_given(path: Path) -> None:
    values: list[Any] = ["800ms", 3, 0.25, True, None, 'a "quoted" text']
    with Store(path) as store:
        for value in values:
            store.set_settings("desk", {"k": value})
        assert [each.value for each in store.settings_history("desk")] == values


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"workflow": 3}, "workflow is 3"),
        ({"changes": {}}, "the changes is {}"),
        ({"changes": {"k": ["a"]}}, r"the value of 'k' is \['a'\]"),
        ({"changes": {3: "a"}}, "the key of a setting is 3"),
        ({"by": None}, "by is None"),
        ({"reason": 1}, "reason is 1"),
    ],
)
def test_what_is_no_change_is_refused(path: Path, asked: dict[str, Any], told: str) -> None:
    given: dict[str, Any] = {"workflow": "desk", "changes": {"k": 1}, "by": "", "reason": "", **asked}
    with Store(path) as store, pytest.raises(UsageError, match=told):
        store.set_settings(given["workflow"], given["changes"], by=given["by"], reason=given["reason"])


def test_a_file_of_an_older_schema_takes_settings(path: Path) -> None:
    write_version_1(path, old := a_run(steps=[a_step("one")]), {})
    with Store(path) as store:
        assert store.settings_revision("desk") == 0
        store.set_settings("desk", {"k": 1})
        assert store.settings_revision("desk") == 1
        assert store.get(old.id).settings == 0


def test_the_question_for_something_newer_reads_an_index_and_nothing_else(path: Path) -> None:
    with Store(path) as store:
        store.set_settings("desk", {"k": 1})
        with store._reader.snapshot() as connection:
            query = "EXPLAIN QUERY PLAN SELECT coalesce(max(revision), 0) FROM settings WHERE workflow = 'desk'"
            with closing(connection.execute(query)) as rows:
                assert "COVERING INDEX settings_workflow" in str(rows.fetchall())

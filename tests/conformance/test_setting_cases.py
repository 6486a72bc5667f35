"""Runs the data cases of `settings/`: which values a figure may be given while it runs, and what is said to others."""

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

import stretto
from stretto.runtime.tuning import Origin
from stretto.types.errors import SpecError, UsageError
from tests.unit.runtime.test_aligners import model

CASES_DIR = Path(__file__).parent / "settings"
KEYS = {"name", "before", "key", "value", "expect"}


def _all_cases() -> list[dict[str, Any]]:
    yaml = YAML(typ="safe", pure=True)
    return [case for file in sorted(CASES_DIR.glob("*.yaml")) for case in yaml.load(file)]


CASES = _all_cases()


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    shutil.copytree(CASES_DIR / "shop", folder)
    model().save(folder / "intent.aligner")
    return folder


def test_cases_are_well_formed_and_many() -> None:
    assert [case["name"] for case in CASES if set(case) - KEYS or len(case["expect"]) != 1] == []
    names = [case["name"] for case in CASES]
    assert len(set(names)) == len(names) >= 40


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_value_is_kept_or_refused_as_the_case_expects(case: dict[str, Any], shop: Path) -> None:
    with stretto.load(shop / "workflow.yaml", store=shop / "runs.db") as workflow:
        for key, value in case.get("before", {}).items():
            asyncio.run(workflow.set(key, value))
        before = workflow.store.settings_history("shop")
        try:
            asyncio.run(workflow.set(case["key"], case["value"], by="ada", reason="to see"))
        except (SpecError, UsageError) as error:
            _check_refusal(error, case["expect"])
            assert workflow.store.settings_history("shop") == before
            return
        assert "kept" in case["expect"], "nothing was refused"
        found = workflow.settings[case["key"]]
        assert (found.value, found.origin) == (case["expect"]["kept"], Origin.SETTING)
        assert found.setting is not None
        assert (found.setting.by, found.setting.reason) == ("ada", "to see")
        asyncio.run(workflow.set(case["key"], None))
        assert workflow.settings[case["key"]].origin is not Origin.SETTING


def _check_refusal(error: SpecError | UsageError, expected: dict[str, Any]) -> None:
    shown = str(error)
    assert "refused" in expected, shown
    code = error.problems[0].code if isinstance(error, SpecError) else error.code
    assert code == expected["refused"]["code"], shown
    assert [text for text in expected["refused"]["contains"] if text not in shown] == [], shown

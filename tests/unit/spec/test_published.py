"""The published schemas stay in step with the parser: both come from the same tables."""

import json
from typing import Any

import jsonschema_rs
import pytest

from stretto.spec.contract import CONTRACT
from stretto.spec.domain_keys import DOMAIN_RECORD, RULE
from stretto.spec.estimate_keys import ESTIMATE
from stretto.spec.fields import LONG_FORM
from stretto.spec.published import contract_schema, workflow_schema
from stretto.spec.records import Record
from stretto.spec.resilience_keys import FALLBACK, RESILIENCE, RETRY
from stretto.spec.sla_keys import ON_BREACH, SLA
from stretto.spec.step_keys import REPEAT, STEP
from stretto.spec.workflow import parse_workflow
from stretto.spec.workflow_keys import BUDGET, WORKFLOW
from stretto.types.errors import SpecError

WORKFLOW_RECORDS: list[Record[Any]] = [STEP, REPEAT, RESILIENCE, RETRY, FALLBACK, ESTIMATE, BUDGET, CONTRACT]
CONTRACT_RECORDS: list[Record[Any]] = [SLA, ON_BREACH, DOMAIN_RECORD, RULE, LONG_FORM]


@pytest.mark.parametrize("schema", [workflow_schema(), contract_schema()])
def test_a_published_schema_is_one(schema: dict[str, Any]) -> None:
    jsonschema_rs.meta.validate(schema)
    jsonschema_rs.Draft202012Validator(schema, offline=True)
    assert json.loads(json.dumps(schema)) == schema


def test_the_schemas_know_the_keys_of_every_table_and_no_others() -> None:
    workflow: Any = workflow_schema()
    assert set(workflow["properties"]) == set(WORKFLOW.keys)
    assert workflow["additionalProperties"] is False
    for record in WORKFLOW_RECORDS + CONTRACT_RECORDS:
        assert set(workflow["$defs"][record.name]["properties"]) == set(record.keys)
        assert workflow["$defs"][record.name]["additionalProperties"] is False
    contract: Any = contract_schema()
    assert set(contract["properties"]) == set(CONTRACT.keys)
    assert set(contract["$defs"]) == {record.name for record in CONTRACT_RECORDS} | {"type"}


def test_every_key_is_explained_and_shown() -> None:
    for record in [WORKFLOW, *WORKFLOW_RECORDS, *CONTRACT_RECORDS]:
        for key in record.keys.values():
            assert key.means
            assert not key.means.endswith(".")
            assert key.example.startswith(f"{key.name}: ")


def test_no_habit_stands_for_two_keys_or_hides_a_real_one() -> None:
    for record in [WORKFLOW, *WORKFLOW_RECORDS, *CONTRACT_RECORDS]:
        habits = [habit for key in record.keys.values() for habit in key.also]
        assert len(set(habits)) == len(habits), record.name
        assert not set(habits) & set(record.keys), record.name


@pytest.mark.parametrize("record", [WORKFLOW, STEP, RESILIENCE], ids=lambda record: record.name)
def test_keys_of_later_versions_are_not_published(record: Record[Any]) -> None:
    assert not set(record.later) & set(record.keys)


def test_the_examples_of_a_step_can_be_pasted() -> None:
    together = (
        "name",
        "component",
        "condition",
        "input_mapping",
        "output_mapping",
        "needs",
        "merge",
        "resilience",
        "estimate",
        "share",
    )
    for name in together:
        lines = {key: STEP.keys[key].example for key in ("name", "component", name)}
        parse_workflow("steps:\n  - " + "\n    ".join(lines.values()) + "\n")


def test_a_mistyped_key_is_refused_by_both() -> None:
    document = {"steps": [{"name": "a", "componnet": "b"}]}
    assert not jsonschema_rs.Draft202012Validator(workflow_schema()).is_valid(document)
    with pytest.raises(SpecError):
        parse_workflow(json.dumps(document))

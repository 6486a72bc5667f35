from datetime import timedelta
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from stretto.spec.contract import load_contract, parse_contract
from stretto.spec.contract_model import ContractSpec
from stretto.types.errors import SpecError

DESIGN = """
input:  { user_query: "string[1,512]", history: "array[object]" }
output: { response: { type: "string", means: "what the customer reads" }, confidence: "float[0,1]", trace: "string?" }
sla:
  workflow: { p95_latency: 1200ms, min_success_rate: 0.995 }
  executor: { max_latency_ms: 800, max_fallback_rate: 0.02, on_breach: { skip: true, use: planner.default_reply } }
semantics:
  intent:
    values: { track_order: "where is a parcel now", cancel_order: "stop an order" }
    at: [planner.intent]
  api_intent:
    values: [ORDER_STATUS_QUERY, ORDER_CANCEL]
    from: { intent: { track_order: ORDER_STATUS_QUERY, cancel_order: ORDER_CANCEL } }
reward: { api_success: 0.5, latency: -0.2 }
"""


@pytest.fixture(name="contract")
def _contract() -> ContractSpec:
    return parse_contract(DESIGN, name="contract.yaml")


def test_fields_become_a_closed_object(contract: ContractSpec) -> None:
    assert contract.input is not None
    assert contract.input.schema == {
        "type": "object",
        "properties": {
            "user_query": {"type": "string", "minLength": 1, "maxLength": 512},
            "history": {"type": "array", "items": {"type": "object"}},
        },
        "required": ["user_query", "history"],
        "additionalProperties": False,
    }


def test_meanings_become_descriptions_and_optional_fields_are_not_required(contract: ContractSpec) -> None:
    assert contract.output is not None
    properties: Any = contract.output.schema["properties"]
    assert properties["response"]["description"] == "what the customer reads"
    assert contract.output.schema["required"] == ["response", "confidence"]


def test_an_sla_has_durations_in_either_spelling(contract: ContractSpec) -> None:
    workflow, executor = contract.sla
    assert (workflow.target.value, workflow.p95_latency) == ("workflow", timedelta(seconds=1.2))
    assert (executor.target.value, executor.max_latency) == ("executor", timedelta(seconds=0.8))
    assert executor.min_success_rate is None
    assert executor.on_breach is not None
    assert executor.on_breach.skip
    assert executor.on_breach.use is not None
    assert executor.on_breach.use.value == "planner.default_reply"


def test_domains_keep_meanings_places_and_translations(contract: ContractSpec) -> None:
    intent, api = contract.semantics
    assert [(value.value.value, value.means) for value in intent.values] == [
        ("track_order", "where is a parcel now"),
        ("cancel_order", "stop an order"),
    ]
    assert [path.value for path in intent.at] == ["planner.intent"]
    assert [value.value.value for value in api.values] == ["ORDER_STATUS_QUERY", "ORDER_CANCEL"]
    (translation,) = api.translations
    assert translation.domain.value == "intent"
    assert [(there.value, here.value) for there, here in translation.values] == [
        ("track_order", "ORDER_STATUS_QUERY"),
        ("cancel_order", "ORDER_CANCEL"),
    ]


def test_reward_weights_may_be_negative(contract: ContractSpec) -> None:
    assert [(term.name.value, term.weight) for term in contract.reward] == [("api_success", 0.5), ("latency", -0.2)]


@pytest.mark.parametrize(
    ("declared", "good", "bad"),
    [
        ("{type: 'object?', fields: {id: string}}", [{"id": "x"}, None], [{}, {"id": 1}, {"id": "x", "no": 1}]),
        ("{id: string, n: 'int?'}", [{"id": "x"}, {"id": "x", "n": None}], [{"n": 1}, {"id": "x", "m": 1}]),
        ("{schema: {type: string, maxLength: 2}}", ["ab"], ["abc", 1]),
        ("{type: object, properties: {x: {type: integer}}}", [{}, {"x": 1, "y": 2}], [{"x": "1"}]),
        ("{type: string, means: a word}", ["x"], [1]),
        ("{type: string}", ["x"], [{"type": "x"}]),
        ("{type: string, name: string}", [{"type": "a", "name": "b"}], ["a"]),
        ("{schema: string}", [{"schema": "a"}], ["a"]),
    ],
)
def test_every_form_of_a_field_says_what_it_takes(declared: str, good: list[Any], bad: list[Any]) -> None:
    contract = parse_contract(f"input: {{f: {declared}}}")
    assert contract.input is not None
    validator = jsonschema_rs.Draft202012Validator(dict(contract.input.schema))
    assert [value for value in good if not validator.is_valid({"f": value})] == []
    assert [value for value in bad if validator.is_valid({"f": value})] == []


def test_plain_json_schema_is_kept_as_it_is() -> None:
    contract = parse_contract('output: {$schema: "https://json-schema.org/draft/2020-12/schema", required: [a]}')
    assert contract.output is not None
    assert contract.output.schema["required"] == ["a"]


def test_a_contract_in_json_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "contract.json"
    path.write_text('{"input": {"a": "int"}}')
    assert load_contract(path).input is not None


def test_an_empty_contract_is_refused() -> None:
    with pytest.raises(SpecError, match=r"spec\.contract_empty"):
        parse_contract("{}")

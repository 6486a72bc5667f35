"""Contract files: what must hold of a workflow, read into a frozen model.

input:  { user_query: "string[1,512]", history: "array[object]?" }
output: { response: { type: "string", means: "what the customer reads" } }
"""

from pathlib import Path
from typing import Any, Final

from stretto.spec.codes import SpecCode
from stretto.spec.contract_model import ContractSpec
from stretto.spec.domain_keys import SemanticsShape
from stretto.spec.fields import SchemaShape
from stretto.spec.read import read_mapping, read_source
from stretto.spec.records import Fields, Key, Record
from stretto.spec.report import Report
from stretto.spec.shapes import Choice
from stretto.spec.sla_keys import SLAS, RewardShape
from stretto.spec.source import Source
from stretto.types.meaning import MeaningMode

INPUT: Final = Key(
    "input",
    SchemaShape(),
    means="the fields that a run takes",
    example='input: {user_query: "string[1,512]"}',
    also=("inputs", "request"),
)
OUTPUT: Final = Key(
    "output",
    SchemaShape(),
    means="the fields that a run answers with",
    example='output: {response: "string"}',
    also=("outputs", "response"),
)
SLA_KEY: Final = Key(
    "sla",
    SLAS,
    means="what is promised of the workflow and of its steps",
    example="sla: {workflow: {p95_latency: 1200ms}}",
    also=("slo",),
)
SEMANTICS: Final = Key(
    "semantics",
    SemanticsShape(),
    means="closed sets of values, and where they hold",
    example="semantics: {intent: {values: [track, cancel], at: [planner.intent]}}",
    also=("domains",),
)
SEMANTICS_MODE: Final = Key(
    "semantics_mode",
    Choice(MeaningMode),
    means="what happens to a value of no domain's, where the domain does not say: off, warn, enforce or quarantine",
    example="semantics_mode: enforce",
)
REWARD: Final = Key(
    "reward",
    RewardShape(),
    means="the weights of the reward's terms",
    example="reward: {api_success: 0.5}",
    also=("rewards",),
)

_SECTIONS: Final[tuple[Key[Any], ...]] = (INPUT, OUTPUT, SLA_KEY, SEMANTICS, REWARD)
_KEYS: Final[tuple[Key[Any], ...]] = (INPUT, OUTPUT, SLA_KEY, SEMANTICS, SEMANTICS_MODE, REWARD)


def _contract(fields: Fields) -> ContractSpec:
    if not fields.node.entries:
        message = "this contract has no section, so nothing would be checked"
        expected = f"one of {', '.join(key.name for key in _SECTIONS)}"
        problem = fields.node.span.problem(
            SpecCode.CONTRACT_EMPTY, message, expected=expected, suggestion=INPUT.example
        )
        fields.report.add(problem)
    if SEMANTICS_MODE in fields and SEMANTICS not in fields:
        message = f"`{SEMANTICS_MODE.name}` has no effect without `{SEMANTICS.name}`"
        fields.problem(SEMANTICS_MODE, SpecCode.NO_EFFECT, message, expected=SEMANTICS.example)
    return ContractSpec(
        source=fields.node.span.source,
        span=fields.node.span,
        input=fields.get(INPUT),
        output=fields.get(OUTPUT),
        sla=fields.get(SLA_KEY) or (),
        semantics=fields.get(SEMANTICS) or (),
        semantics_mode=fields.get(SEMANTICS_MODE) or MeaningMode.ENFORCE,
        reward=fields.get(REWARD) or (),
    )


CONTRACT: Final = Record(
    "contract",
    means="what must hold",
    keys=_KEYS,
    build=_contract,
    rules={"minProperties": 1, "dependentRequired": {SEMANTICS_MODE.name: [SEMANTICS.name]}},
)


def load_contract(path: Path) -> ContractSpec:
    """Read a contract file. Raises SpecError with every problem in it."""
    source = read_source(path)
    return parse_contract(source.text, name=source.name)


def parse_contract(text: str, *, name: str = "<text>") -> ContractSpec:
    """Read a contract from its text; `name` stands for the file in messages. Raises SpecError with every problem."""
    report = Report()
    contract = CONTRACT.read(read_mapping(Source(name, text), CONTRACT.name, report), CONTRACT.name, report)
    report.raise_if_any()
    assert contract is not None
    return contract

"""What may stand at the top of a workflow file: the tables, and how they become the model."""

from typing import Final

import msgspec

from stretto.spec.business_keys import BUSINESS
from stretto.spec.codes import SpecCode
from stretto.spec.component_keys import ComponentsShape
from stretto.spec.contract import CONTRACT
from stretto.spec.contract_model import ContractSpec
from stretto.spec.durations import render
from stretto.spec.field_sources import field_mappings
from stretto.spec.model import WorkflowSpec
from stretto.spec.nodes import MapNode, Node, ScalarNode, describe
from stretto.spec.records import Fields, Key, Record
from stretto.spec.report import Report
from stretto.spec.resources_keys import RESOURCES
from stretto.spec.shapes import Choice, Duration, Number, Whole, wrong_type
from stretto.spec.source import Located
from stretto.spec.step_keys import STEPS
from stretto.spec.step_names import check_step_names
from stretto.spec.texts import FIELD, PROSE, REFERENCE, VERSION, WORKFLOW_NAME, name_from_file
from stretto.types.budget import BudgetSpec
from stretto.types.enums import Durability
from stretto.types.json import JsonObject

FORMAT_VERSION: Final = 1
"""What `stretto:` says in the files that this version reads."""


def refuse_newer(node: MapNode, report: Report) -> None:
    """Stop at a file of a newer format: whatever else looks wrong in it may be right there."""
    written = node.get(STRETTO.name)
    if isinstance(written, ScalarNode) and isinstance(written.value, int) and written.value > FORMAT_VERSION:
        report.fail(
            written.span.problem(
                SpecCode.FORMAT_VERSION,
                f"this file is of format {written.value}, and this version of Stretto reads format {FORMAT_VERSION}",
                expected=STRETTO.example,
                suggestion="a newer Stretto: pip install --upgrade stretto",
            )
        )


class FormatVersionShape:
    """The number of the file format."""

    def read(self, node: Node, name: str, report: Report) -> int | None:
        value = node.value if isinstance(node, ScalarNode) else None
        if value == FORMAT_VERSION and not isinstance(value, bool | float):
            return FORMAT_VERSION
        message = f"`{name}` is {describe(node)}, which is no version of the file format"
        report.add(node.span.problem(SpecCode.FORMAT_VERSION, message, expected=f"the number {FORMAT_VERSION}"))
        return None

    def schema(self, _defs: JsonObject) -> JsonObject:
        return {"const": FORMAT_VERSION}


class ContractShape:
    """The path of a contract file, or the contract itself."""

    def read(self, node: Node, name: str, report: Report) -> Located[str] | ContractSpec | None:
        if isinstance(node, MapNode):
            return CONTRACT.read(node, name, report)
        if isinstance(node, ScalarNode) and isinstance(node.value, str):
            return PROSE.read(node, name, report)
        report.add(wrong_type(node, name, "the path of a contract file, or the contract itself as a mapping"))
        return None

    def schema(self, defs: JsonObject) -> JsonObject:
        return {"anyOf": [PROSE.schema(defs), CONTRACT.schema(defs)]}


DEADLINE: Final = Key(
    "deadline", Duration(), means="how long a run may take", example="deadline: 30s", also=("timeout", "time")
)
RESERVE: Final = Key(
    "reserve",
    Duration(may_be_zero=True),
    means="the part of the deadline that only fallbacks may use",
    example="reserve: 2s",
)
RETRIES: Final = Key(
    "retries",
    Whole(minimum=0, maximum=1_000_000),
    means="how many calls may be made again, in the whole run",
    example="retries: 10",
)
TOKENS: Final = Key(
    "tokens",
    Whole(minimum=1, maximum=10**12),
    means="how many tokens the models may use",
    example="tokens: 20000",
    also=("max_tokens",),
)
COST: Final = Key(
    "cost",
    Number(above=0, maximum=1e12),
    means="how much money the run may cost, in the currency of your components",
    example="cost: 0.25",
    also=("money", "max_cost"),
)


def _budget(fields: Fields) -> BudgetSpec:
    deadline, reserve = fields.get(DEADLINE), fields.get(RESERVE)
    if RESERVE in fields and DEADLINE not in fields:
        message = "`reserve` does nothing without `deadline`, of which it is a part"
        fields.problem(
            RESERVE, SpecCode.NO_EFFECT, message, expected="`deadline` beside it", suggestion=DEADLINE.example
        )
    if deadline is not None and reserve is not None and reserve >= deadline:
        message = (
            "`reserve` takes the whole `deadline`, and nothing is left to work in: "
            f"{render(reserve)} of {render(deadline)}"
        )
        fields.problem(RESERVE, SpecCode.CONFLICT, message, expected="a reserve shorter than the deadline")
    spec = BudgetSpec(deadline=deadline, retries=fields.get(RETRIES), tokens=fields.get(TOKENS), cost=fields.get(COST))
    return spec if reserve is None else msgspec.structs.replace(spec, reserve=reserve)


BUDGET: Final = Record(
    "budget",
    means="what a run may spend",
    keys=(DEADLINE, RESERVE, RETRIES, TOKENS, COST),
    build=_budget,
    rules={"dependentRequired": {RESERVE.name: [DEADLINE.name]}},
    may_be_empty=False,
)

STRETTO: Final = Key(
    "stretto", FormatVersionShape(), means="the version of this file format", example=f"stretto: {FORMAT_VERSION}"
)
NAME: Final = Key(
    "name",
    WORKFLOW_NAME,
    means="what the workflow is called, in run ids too",
    example="name: retail-support",
    also=("id", "workflow", "title"),
)
VERSION_KEY: Final = Key("version", VERSION, means="a semantic version", example='version: "1.0.0"')
DESCRIPTION: Final = Key(
    "description",
    PROSE,
    means="what it is for",
    example="description: answers customers of the shop",
    also=("about", "doc"),
)
CONTRACT_KEY: Final = Key(
    "contract",
    ContractShape(),
    means="what must hold: a file, or the contract itself",
    example="contract: contract.yaml",
)
COMPONENTS: Final = Key(
    "components",
    ComponentsShape(),
    means="where the components come from",
    example="components: components.py",
    also=("imports", "import", "agents", "tools"),
)
MEMORY: Final = Key("memory", REFERENCE, means="the component that provides `memory.*`", example="memory: recent-turns")
RESOURCES_KEY: Final = Key(
    "resources", RESOURCES, means=RESOURCES.means, example="resources: {host: {}, components: {}}", also=("probes",)
)
BUDGET_KEY: Final = Key("budget", BUDGET, means=BUDGET.means, example="budget: {deadline: 30s}", also=("limits",))
DURABILITY: Final = Key(
    "durability", Choice(Durability), means="how much of a run survives a killed process", example="durability: step"
)
FALLBACK: Final = Key(
    "fallback",
    BUSINESS,
    means=BUSINESS.means,
    example="fallback: {component: bank-rules}",
    also=("business_fallback", "on_error", "default"),
)
STEPS_KEY: Final = Key(
    "steps",
    STEPS,
    means="what is done",
    example="steps: [...]",
    required=True,
    also=("tasks", "nodes", "jobs", "stages"),
)
OUTPUT: Final = Key(
    "output",
    field_mappings(FIELD, "a field of the answer, and where its value comes from"),
    means="the fields of the answer, and where each comes from",
    example='output: {response: "reply.text"}',
    also=("outputs", "result", "returns", "return"),
)


def _workflow(fields: Fields) -> WorkflowSpec:
    _check_format(fields)
    check_step_names(fields.node.get(STEPS_KEY.name), fields.report)
    fields.get(STRETTO)
    source = fields.node.span.source
    name, version, description = fields.get(NAME), fields.get(VERSION_KEY), fields.get(DESCRIPTION)
    contract = fields.get(CONTRACT_KEY)
    return WorkflowSpec(
        source=source,
        name=name.value if name else name_from_file(source.name),
        version=version.value if version else "0.0.0",
        description=description.value if description else "",
        contract=contract if isinstance(contract, ContractSpec) else None,
        contract_path=contract if isinstance(contract, Located) else None,
        components=fields.get(COMPONENTS) or (),
        memory=fields.get(MEMORY),
        resources=fields.get(RESOURCES_KEY),
        budget=fields.get(BUDGET_KEY) or BudgetSpec(),
        durability=fields.get(DURABILITY) or Durability.RUN,
        fallback=fields.get(FALLBACK),
        steps=fields.get(STEPS_KEY) or (),
        output=fields.get(OUTPUT) or (),
    )


def _check_format(fields: Fields) -> None:
    """A file of nothing but steps needs no version: it is the least that can be written."""
    if STRETTO in fields or set(fields.node.entries) <= {STEPS_KEY.name}:
        return
    fields.report.add(
        fields.node.span.problem(
            SpecCode.MISSING_KEY,
            f"this workflow has no `{STRETTO.name}`",
            expected=f"`{STRETTO.name}`: {STRETTO.means}; only a file of nothing but `steps` may leave it out",
            suggestion=STRETTO.example,
        )
    )


_WORKFLOW_KEYS: Final = (
    STRETTO,
    NAME,
    VERSION_KEY,
    DESCRIPTION,
    CONTRACT_KEY,
    COMPONENTS,
    MEMORY,
    RESOURCES_KEY,
    BUDGET_KEY,
    DURABILITY,
    FALLBACK,
    STEPS_KEY,
    OUTPUT,
)

WORKFLOW: Final = Record(
    "workflow",
    means="a graph of steps with a contract",
    keys=_WORKFLOW_KEYS,
    build=_workflow,
    later=dict.fromkeys(("tunable", "capabilities"), "remove it"),
    rules={
        "dependentRequired": {key.name: [STRETTO.name] for key in _WORKFLOW_KEYS if key not in (STRETTO, STEPS_KEY)}
    },
)

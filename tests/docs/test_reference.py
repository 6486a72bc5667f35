"""The reference names everything there is, and nothing that there is not."""

import inspect
import re
from collections.abc import Iterable
from enum import StrEnum
from typing import Any, cast

import pytest

import stretto
from stretto.acp.failure import AcpError
from stretto.components.causal_lm.declaration import LORA, SOFT_PROMPT
from stretto.components.codes import ComponentCode
from stretto.components.declare import KINDS
from stretto.components.exec.field_keys import FIELD_RECORD
from stretto.components.exec.message_keys import MESSAGE
from stretto.components.http.action_keys import ACTION, CONFIRM
from stretto.components.http.auth_keys import API_KEY, AUTH, BASIC, OAUTH2
from stretto.components.http.request_keys import SOAP
from stretto.components.http.response_keys import ERROR, PAGING, RESPONSE
from stretto.components.http.xpath_keys import XPATH_RECORD
from stretto.components.mcp import McpServer, McpSession
from stretto.components.mcp.declaration import RESET, SESSION
from stretto.components.memory import RecencyMemory
from stretto.components.memory.declaration import SEARCH
from stretto.components.openai import OpenAiModel
from stretto.components.openai.declaration import PRICES
from stretto.components.policy_options import PolicyOptions
from stretto.components.rules.codes import RuleCode
from stretto.plan.codes import PlanCode
from stretto.plan.expr.functions import FUNCTIONS, MACROS
from stretto.plan.expr.problem import ExprCode
from stretto.spec.business_keys import BUSINESS, EXERCISE
from stretto.spec.chaos import CHAOS, EXPECT_RECORD
from stretto.spec.chaos_model import FaultKind
from stretto.spec.codes import SpecCode
from stretto.spec.contract import CONTRACT
from stretto.spec.domain_keys import DOMAIN_RECORD, RULE
from stretto.spec.estimate_keys import ESTIMATE
from stretto.spec.expectation_keys import EXPECTATION
from stretto.spec.fault_keys import FAULT_RECORD, USES
from stretto.spec.fields import LONG_FORM
from stretto.spec.hedge_keys import HEDGE, AfterShape
from stretto.spec.protection_keys import BREAKER, BULKHEAD, QUOTA
from stretto.spec.records import Record
from stretto.spec.resilience_keys import FALLBACK, RESILIENCE, RETRY
from stretto.spec.resources_keys import PROBE, RESOURCES, SERVER
from stretto.spec.shapes import Choice, Duration, Flag, Number, Whole
from stretto.spec.shorthand import BASES
from stretto.spec.sla_keys import ON_BREACH, SLA
from stretto.spec.step_keys import REPEAT, STEP
from stretto.spec.tunable_keys import OF_COMPONENT, OF_STEP
from stretto.spec.tunable_top_keys import OF_DOMAIN, OF_MODEL, OF_PROBE, OF_PROBES, OF_WORKFLOW
from stretto.spec.workflow_keys import BUDGET, WORKFLOW
from stretto.store.reading import Filters
from stretto.types.errors import NOTHING_HAPPENED, RETRYABLE_CODES, Code, StrettoError
from stretto.types.json import JsonObject
from tests.docs.pages import ROOT, Page, read_page, rows, section

REFERENCE = ROOT / "docs" / "reference"

WORKFLOW_FILE = read_page(REFERENCE / "workflow-file.md")
CONTRACT_FILE = read_page(REFERENCE / "contract-file.md")
CHAOS_FILE = read_page(REFERENCE / "chaos-file.md")
EXPRESSIONS = read_page(REFERENCE / "expressions.md")
ERRORS = read_page(REFERENCE / "errors.md")
KINDS_PAGE = read_page(REFERENCE / "kinds.md")
PYTHON = read_page(REFERENCE / "python.md")

COLUMNS = 2
"""Of a key's row beside the key: its meaning and an example."""

TABLES: list[tuple[Page, str, Record[Any]]] = [
    (WORKFLOW_FILE, "workflow", WORKFLOW),
    (WORKFLOW_FILE, "budget", BUDGET),
    (WORKFLOW_FILE, "resources", RESOURCES),
    (WORKFLOW_FILE, "probe", PROBE),
    (WORKFLOW_FILE, "server", SERVER),
    (WORKFLOW_FILE, "step", STEP),
    (WORKFLOW_FILE, "repeat", REPEAT),
    (WORKFLOW_FILE, "resilience", RESILIENCE),
    (WORKFLOW_FILE, "retry", RETRY),
    (WORKFLOW_FILE, "quota", QUOTA),
    (WORKFLOW_FILE, "breaker", BREAKER),
    (WORKFLOW_FILE, "bulkhead", BULKHEAD),
    (WORKFLOW_FILE, "hedge", HEDGE),
    (WORKFLOW_FILE, "fallback", FALLBACK),
    (WORKFLOW_FILE, "business_fallback", BUSINESS),
    (WORKFLOW_FILE, "exercise", EXERCISE),
    (WORKFLOW_FILE, "expectation", EXPECTATION),
    (WORKFLOW_FILE, "estimate", ESTIMATE),
    (CONTRACT_FILE, "contract", CONTRACT),
    (CONTRACT_FILE, "Types", LONG_FORM),
    (CONTRACT_FILE, "sla", SLA),
    (CONTRACT_FILE, "breach", ON_BREACH),
    (CONTRACT_FILE, "domain", DOMAIN_RECORD),
    (CHAOS_FILE, "chaos", CHAOS),
    (CHAOS_FILE, "fault", FAULT_RECORD),
    (CHAOS_FILE, "expect", EXPECT_RECORD),
    (CONTRACT_FILE, "rule", RULE),
    *((KINDS_PAGE, kind.value, record) for kind, record in KINDS.items()),
    *((KINDS_PAGE, key.name, cast("Record[Any]", key.shape)) for key in (SESSION, RESET, PRICES, SEARCH, LORA)),
    *(
        (KINDS_PAGE, key.name, cast("Record[Any]", key.shape))
        for key in (SOAP, RESPONSE, CONFIRM, PAGING, AUTH, BASIC, API_KEY, OAUTH2)
    ),
    *(
        (KINDS_PAGE, record.name, cast("Record[Any]", record))
        for record in (ACTION, ERROR, XPATH_RECORD, MESSAGE, FIELD_RECORD, SOFT_PROMPT)
    ),
]
"""Each mapping with fixed keys, and where its keys are documented."""


@pytest.mark.parametrize(("page", "heading", "record"), TABLES, ids=[f"{page.path.stem}-{h}" for page, h, _ in TABLES])
def test_every_key_of_a_file_is_documented_with_its_own_example(page: Page, heading: str, record: Record[Any]) -> None:
    documented = {key: cells for key, cells in rows(page, heading).items() if len(cells) == COLUMNS}
    assert set(documented) == set(record.keys)
    for name, (meaning, example) in documented.items():
        assert example.strip("`") == record.keys[name].example, f"the example of `{name}`"
        assert meaning.startswith("required") is record.keys[name].required, f"whether `{name}` is required"


def test_every_mapping_with_fixed_keys_is_in_the_list() -> None:
    tops: tuple[Record[Any], ...] = (WORKFLOW, CONTRACT, CHAOS, *KINDS.values())
    below: JsonObject = {}
    for record in tops:
        record.body(below)  # every record inside it puts itself among the definitions
    listed = {record.name for _, _, record in TABLES}
    assert {record.name for record in tops} | set(below) - {"type"} == listed


def test_every_fault_is_documented_with_the_keys_that_it_takes() -> None:
    documented = rows(CHAOS_FILE, "What goes wrong")
    assert list(documented) == [kind.value for kind in FaultKind]
    for kind, (needed, possible) in USES.items():
        needs, may_have = documented[kind.value][:2]
        either = possible if kind is FaultKind.CLOCK_SKEW else ()
        assert all(f"`{key.name}`" in needs for key in (*needed, *either)), kind
        assert all(f"`{key.name}`" in may_have for key in set(possible) - set(either)), kind


def test_keys_and_kinds_of_later_versions_are_told() -> None:
    told = " ".join(section(WORKFLOW_FILE, "Not in this version"))
    for record in (WORKFLOW, STEP, RESILIENCE):
        for key in record.later:
            assert f"`{key}`" in told


@pytest.mark.parametrize(
    ("heading", "codes"),
    [
        ("Problems in a file", SpecCode),
        ("Problems in a component", ComponentCode),
        ("Problems in rules", RuleCode),
        ("Problems in a workflow's data flow", PlanCode),
        ("Problems in an expression", ExprCode),
    ],
)
def test_every_problem_code_is_documented_with_its_remedy(heading: str, codes: type[StrEnum]) -> None:
    documented = rows(ERRORS, heading)
    assert list(documented) == [code.value for code in codes]
    assert all(meaning and remedy for meaning, remedy in documented.values())


def test_every_error_class_is_documented() -> None:
    documented = rows(ERRORS, "Raised errors")
    known: list[type[StrettoError]] = [*_tree(StrettoError), AcpError]
    classes = {each.code: each for each in known if each.__module__.startswith("stretto.")}
    assert set(documented) == set(classes)
    for code, (name, fault, _, remedy) in documented.items():
        assert name.strip("`") == classes[code].__name__
        assert fault == classes[code].fault.value
        assert remedy


def test_every_figure_that_can_be_changed_while_it_runs_is_told() -> None:
    documented = rows(read_page(ROOT / "docs" / "how-to" / "change-while-running.md"), "What can be changed")
    told = {where: set(re.findall(r"`([a-z_]+)`", cells[0])) for where, cells in documented.items()}
    found: dict[str, set[str]] = {}
    top = (*OF_WORKFLOW, *OF_PROBES, *OF_PROBE, *(group.of("NAME") for group in (OF_MODEL, *OF_DOMAIN)))
    for scope, groups in (("steps.NAME", OF_STEP), ("components.NAME", OF_COMPONENT), ("", top)):
        for group in groups:
            where = ".".join(filter(None, (scope, group.name)))
            found.setdefault(where, set()).update(key.name for key in group.defaults)
    assert told == found


def test_of_every_other_figure_of_a_file_it_is_told_why_it_cannot_be_changed() -> None:
    """Those of components are told of together, and a chaos plan is no part of what is run."""
    figures = (AfterShape, Choice, Duration, Flag, Number, Whole)
    top = (*OF_WORKFLOW, *OF_PROBES, *OF_PROBE, OF_MODEL, *OF_DOMAIN)
    tunable = {id(key) for group in (*OF_STEP, *OF_COMPONENT, *top) for key in group.defaults}
    files = [record for page, _, record in TABLES if page in (WORKFLOW_FILE, CONTRACT_FILE) and record is not LONG_FORM]
    keys = [key for record in files for key in record.keys.values() if isinstance(key.shape, figures)]
    assert tunable <= {id(key) for record in files for key in record.keys.values()}
    page = read_page(ROOT / "docs" / "how-to" / "change-while-running.md")
    firsts = [line.split("|")[1] for line in section(page, "What cannot") if line.startswith("|")]
    told = {name for what in firsts for name in re.findall(r"`([a-z0-9_]+)`", what)}
    assert {key.name for key in keys if id(key) not in tunable} <= told


def test_the_google_rpc_codes_say_what_the_engine_does() -> None:
    documented = rows(ERRORS, "google.rpc codes")
    assert list(documented) == [code.value for code in Code]
    for code in Code:
        _, retried, write = documented[code.value]
        assert retried == ("yes" if code in RETRYABLE_CODES else "no")
        assert write == ("did not happen" if code in NOTHING_HAPPENED else "is in doubt")


def test_every_function_of_an_expression_is_documented() -> None:
    told = " ".join(section(EXPRESSIONS, "What is accepted"))
    missing = [name for name in (*FUNCTIONS, *MACROS) if f"`{name}`" not in told and f"{name}(" not in told]
    assert not missing


def test_every_type_of_the_shorthand_is_documented() -> None:
    told = " ".join(section(CONTRACT_FILE, "Types"))
    assert not [base for base in BASES if f"`{base}" not in told]


def test_every_option_of_a_policy_is_documented() -> None:
    documented = {*rows(KINDS_PAGE, "policy"), *rows(KINDS_PAGE, "policy in Python")}
    assert documented == set(PolicyOptions.__struct_fields__)


@pytest.mark.parametrize(
    ("heading", "made"),
    [("mcp", McpServer), ("session", McpSession), ("memory", RecencyMemory), ("openai", OpenAiModel)],
)
def test_what_a_kind_takes_in_python_is_what_it_takes_in_a_file(heading: str, made: Any) -> None:
    taken = set(inspect.signature(made).parameters) - {"name"}
    only_in_python = rows(KINDS_PAGE, "mcp in Python") if made is McpServer else {}
    assert taken == {*rows(KINDS_PAGE, heading), *only_in_python}


def test_every_name_of_the_public_door_is_documented() -> None:
    documented = [name for line in PYTHON.prose for name in _named(line)]
    assert [name for name in stretto.__all__ if name not in documented] == []
    assert [name for name in documented if not hasattr(stretto, name)] == []


def test_every_public_method_of_the_main_classes_is_documented() -> None:
    for owner in (stretto.Workflow, stretto.Store, stretto.Context):
        told = rows(PYTHON, f"stretto.{owner.__name__}")
        public = {name for name, _ in inspect.getmembers(owner) if not name.startswith("_")}
        public -= {"plan", "store"} if owner is stretto.Workflow else set()
        assert {name.partition("(")[0].removeprefix("await ") for name in told} >= public, owner.__name__


SETS = [
    name for name in stretto.__all__ if isinstance(kind := getattr(stretto, name), type) and issubclass(kind, StrEnum)
]


@pytest.mark.parametrize("name", [name for name in SETS if name != "Code"])
def test_every_value_of_a_closed_set_at_the_door_is_documented(name: str) -> None:
    told = " ".join(section(PYTHON, f"stretto.{name}"))
    assert [value for value in getattr(stretto, name) if f"`{value}`" not in told] == []


def test_the_filters_of_a_store_are_documented() -> None:
    told = " ".join(section(PYTHON, "stretto.Store")).partition("Filters are ")[2].partition(".")[0]
    assert {name.strip("` ") for name in told.split(",")} == set(Filters.__annotations__)


def _named(line: str) -> list[str]:
    """The name that a heading is about: ``### stretto.load``."""
    return [line.partition("stretto.")[2].strip("` ")] if line.startswith("#") and "stretto." in line else []


def _tree(root: type[StrettoError]) -> Iterable[type[StrettoError]]:
    yield root
    for below in root.__subclasses__():
        yield from _tree(below)

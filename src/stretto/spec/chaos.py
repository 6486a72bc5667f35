"""Chaos plans: which faults are injected where, and what must come of it.

faults: [{component: shop, fault: reset, rate: 0.1, when: after}]
expect: {min_answered_rate: 0.99}
"""

from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from stretto.spec.chaos_model import ChaosSpec, ExpectSpec, Written
from stretto.spec.codes import SpecCode
from stretto.spec.fault_keys import FAULT_RECORD
from stretto.spec.nested import Items
from stretto.spec.nodes import ListNode, MapNode, Node, to_json_object
from stretto.spec.read import read_mapping, read_source
from stretto.spec.records import Fields, Key, Record
from stretto.spec.report import Report
from stretto.spec.shapes import Duration, Number, Text, Whole, wrong_type
from stretto.spec.source import Source
from stretto.spec.workflow_keys import FormatVersionShape, refuse_newer
from stretto.types.arguments import INT64_MAX
from stretto.types.json import JsonObject

FILE: Final = Text(expected="the path of a file, relative to the folder of this one")


class InputsShape:
    """One input, several, or the path of a JSON Lines file of them."""

    def read(self, node: Node, name: str, report: Report) -> Written | None:
        if isinstance(node, MapNode):
            return Written((to_json_object(node),))
        if isinstance(node, ListNode):
            wrong = [item for item in node.items if not isinstance(item, MapNode)]
            for item in wrong:
                report.add(wrong_type(item, name, "a mapping: the input of a run"))
            if not node.items:
                report.add(wrong_type(node, name, "one input or more, each a mapping"))
            return Written(tuple(to_json_object(item) for item in node.items if isinstance(item, MapNode)))
        path = FILE.read(node, name, report)
        return None if path is None else Written(file=path)

    def schema(self, defs: JsonObject) -> JsonObject:
        one: JsonObject = {"type": "object"}
        return {"anyOf": [one, {"type": "array", "items": one, "minItems": 1}, FILE.schema(defs)]}


ANSWERED: Final = Key(
    "min_answered_rate",
    Number(minimum=0, maximum=1),
    means="share of runs that answer within their deadline, at least",
    example="min_answered_rate: 0.99",
    also=("answered", "min_answered"),
)
AMPLIFICATION: Final = Key(
    "max_amplification",
    Number(minimum=1),
    means="attempts at components for each call that a step makes, at most",
    example="max_amplification: 1.5",
    also=("amplification",),
)
MUTATION: Final = Key(
    "min_mutation_score",
    Number(minimum=0, maximum=1),
    means="share of wrong values that the contract catches, at least",
    example="min_mutation_score: 0.5",
    also=("mutation_score",),
)
DUPLICATED: Final = Key(
    "max_duplicated_effects",
    Whole(minimum=0),
    means="writes that happened more than once, at most; 0 where nothing is said",
    example="max_duplicated_effects: 0",
    also=("duplicated_effects",),
)
LOST: Final = Key(
    "max_lost_runs",
    Whole(minimum=0),
    means="runs that were accepted and never ended, at most; 0 where nothing is said",
    example="max_lost_runs: 0",
    also=("lost_runs", "lost"),
)
PARKED: Final = Key(
    "max_parked_runs",
    Whole(minimum=0),
    means="runs that wait for a person, at most",
    example="max_parked_runs: 0",
    also=("parked",),
)

EXPECT_RECORD: Final = Record(
    "expect",
    means="what must come of it; otherwise the command exits with 1",
    keys=(ANSWERED, AMPLIFICATION, MUTATION, DUPLICATED, LOST, PARKED),
    build=lambda fields: ExpectSpec(
        min_answered_rate=fields.get(ANSWERED),
        max_amplification=fields.get(AMPLIFICATION),
        min_mutation_score=fields.get(MUTATION),
        max_duplicated_effects=fields.get(DUPLICATED) or 0,
        max_lost_runs=fields.get(LOST) or 0,
        max_parked_runs=fields.get(PARKED),
    ),
    may_be_empty=False,
    is_thing=False,
)

STRETTO: Final = Key(
    "stretto", FormatVersionShape(), means="the version of the file format", example="stretto: 1", required=True
)
SEED: Final = Key(
    "seed",
    Whole(minimum=0, maximum=INT64_MAX),
    means="of every choice: the same seed strikes the same calls of the same runs",
    example="seed: 7",
)
FAULTS: Final = Key(
    "faults",
    Items(item=FAULT_RECORD, what="faults"),
    means="what goes wrong, and where; a call is struck by the first whose turn it is",
    example="faults: [{component: shop, fault: reset, rate: 0.1}]",
    required=True,
)
EXPECT: Final = Key(
    "expect",
    EXPECT_RECORD,
    means=EXPECT_RECORD.means,
    example="expect: {min_answered_rate: 0.99}",
    also=("expectations", "assert"),
)
INPUTS: Final = Key(
    "inputs",
    InputsShape(),
    means="what the runs are given, in turn: one input, a list, or a JSON Lines file of them",
    example="inputs: inputs.jsonl",
    also=("input",),
)
TASKS: Final = Key(
    "tasks",
    FILE,
    means="the same with references: a file as `stretto train` takes, or a Python file with `tasks(split)`",
    example="tasks: tasks.jsonl",
)
RUN_LIMIT: Final = Key(
    "run_limit",
    Duration(maximum=timedelta(hours=1)),
    means="after which a run that has not ended is cancelled; 60s where nothing is said",
    example="run_limit: 60s",
)
MUTANTS: Final = Key(
    "mutants",
    Whole(minimum=0, maximum=100_000),
    means="wrong values that the contract is tried with, at most; 50 where nothing is said",
    example="mutants: 50",
)

_KEYS: Final[tuple[Key[Any], ...]] = (STRETTO, SEED, FAULTS, EXPECT, INPUTS, TASKS, RUN_LIMIT, MUTANTS)


def _chaos(fields: Fields) -> ChaosSpec:
    fields.get(STRETTO)
    faults, written = fields.get(FAULTS), fields.get(INPUTS) or Written()
    if faults and not any(fault.rate for fault in faults):
        message = "every fault has the rate 0, so there is nothing to inject"
        fields.problem(FAULTS, SpecCode.CHAOS, message, expected="at least one rate above 0", suggestion="rate: 0.1")
    if INPUTS in fields and TASKS in fields:
        message = "the runs are given either inputs or tasks"
        fields.problem(TASKS, SpecCode.CONFLICT, message, expected="`inputs` or `tasks`, not both")
    mutants = fields.get(MUTANTS)
    expect = fields.get(EXPECT) or ExpectSpec()
    if mutants == 0 and expect.min_mutation_score is not None:
        message = "`min_mutation_score` is expected, and without mutants nothing is measured"
        fields.problem(MUTANTS, SpecCode.CONFLICT, message, expected="1 or more", suggestion=MUTANTS.example)
    return ChaosSpec(
        source=fields.node.span.source,
        span=fields.node.span,
        faults=faults or (),
        expect=expect,
        seed=fields.get(SEED) or 0,
        run_limit=fields.get(RUN_LIMIT) or timedelta(seconds=60),
        mutants=50 if mutants is None else mutants,
        inputs=written.values,
        inputs_file=written.file,
        tasks_file=fields.get(TASKS),
    )


CHAOS: Final = Record(
    "chaos",
    means="which faults are injected where, and what must come of it",
    keys=_KEYS,
    build=_chaos,
    rules={"not": {"required": [INPUTS.name, TASKS.name]}},
    is_thing=False,
)


def load_chaos(path: Path) -> ChaosSpec:
    """Read a chaos plan. Raises SpecError with every problem in it."""
    source = read_source(path)
    return parse_chaos(source.text, name=source.name)


def parse_chaos(text: str, *, name: str = "<text>") -> ChaosSpec:
    """Read a chaos plan from its text; `name` stands for the file in messages. Raises SpecError with every problem."""
    report = Report()
    top = read_mapping(Source(name, text), "chaos plan", report)
    refuse_newer(top, report)
    plan = CHAOS.read(top, "chaos plan", report)
    report.raise_if_any()
    assert plan is not None
    return plan

"""`stretto fallback test`: holds the answers of rules to what is expected of them."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import orjson
import typer
from rich.console import Group, RenderableType
from rich.text import Text

from stretto.cli.exits import Exit
from stretto.cli.fallback.rules_file import RulesFile, need_rules
from stretto.cli.help import VerbCommand
from stretto.cli.json_lines import lines_of
from stretto.cli.json_text import parse_json
from stretto.cli.options import AsJson
from stretto.cli.terminal import print_json, show
from stretto.cli.words import count_text
from stretto.plan.expectations import compile_expectations, judge
from stretto.plan.model import Expectation
from stretto.plan.sample import sample_of
from stretto.plan.valuetype import DYN, from_schema
from stretto.spec.expectation_keys import load_expectations
from stretto.spec.report import Report
from stretto.types.errors import ComponentError, UsageError
from stretto.types.json import Json, JsonObject, Schema

if TYPE_CHECKING:  # zen is an extra
    from stretto.components.rules.decision import Decision
    from stretto.components.rules.files import RuleFiles

app = typer.Typer(add_completion=False)

MAX_SHOWN = 10
"""Answers that break an expectation, told of in words; --json has them all."""


class Broken(msgspec.Struct, frozen=True, kw_only=True):
    """One answer that is not as expected."""

    expectation: str
    """Empty when there was no answer at all."""
    input: JsonObject
    answer: JsonObject | None
    rows: tuple[JsonObject, ...] = ()
    error: str = ""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What came of all inputs."""

    inputs: int
    applied: dict[str, int]
    """Of each expectation: to how many answers it applied."""
    broken: list[Broken]

    @property
    def is_well(self) -> bool:
        return not self.broken and all(self.applied.values()) and self.inputs > 0


@app.command("test", cls=VerbCommand)
def hold(
    file: RulesFile,
    expectations: Annotated[
        Path, typer.Option("--expectations", metavar="FILE", help="What answers must satisfy: a YAML list.")
    ],
    inputs: Annotated[
        Path | None,
        typer.Option("--inputs", metavar="FILE", help="Inputs, one JSON object a line; made up when not given."),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Hold the answers of rules to expectations, as the exercise of a workflow's fallback does.

    Without --inputs one is made for each row that the input comes straight into. Exits with 1 when an answer is not as
    expected, when there is none, and when an expectation applied to nothing.
    """
    need_rules()
    from stretto.components.rules.analysis import check_rules
    from stretto.components.rules.decision import Decision

    files = check_rules(file).files
    expected = _compiled(expectations, files)
    asked = _made_up(files) if inputs is None else _read(inputs)
    outcome = _judged(Decision(files), expected, asked)
    if as_json:
        print_json(_document(outcome))
    else:
        show(_report(outcome))
    return Exit.OK if outcome.is_well else Exit.FAILED


def _compiled(path: Path, files: "RuleFiles") -> tuple[Expectation, ...]:
    report = Report()
    given, answer = files.declared_input(), files.declared_output()
    input_type = DYN if given is None else from_schema(given)
    answer_type = DYN if answer is None else from_schema(answer)
    found = compile_expectations(load_expectations(path), input_type, answer_type, report)
    report.raise_if_any()
    return found


def _made_up(files: "RuleFiles") -> list[JsonObject]:
    from stretto.components.rules.witness import witnesses

    schema: Schema = files.declared_input() or {}
    made = [sample_of(schema, fields) if schema else fields for fields in witnesses(files, schema)]
    return [each for each in made if each is not None]


def _read(path: Path) -> list[JsonObject]:
    return [_object(line, place) for place, line in lines_of(path, "--inputs")]


def _object(line: bytes, place: str) -> JsonObject:
    read = parse_json(line, place, "; expected one object a line")
    if not isinstance(read, dict):
        raise UsageError(f"{place} is no JSON object; expected one object a line")
    return read


def _judged(decision: "Decision", expected: tuple[Expectation, ...], asked: list[JsonObject]) -> Outcome:
    applied = Counter({each.name: 0 for each in expected})
    broken = []
    for given in asked:
        try:
            answer = decision.answer(given, trace=True)
        except ComponentError as error:
            broken.append(Broken(expectation="", input=given, answer=None, error=str(error)))
            continue
        verdicts = judge(expected, given, answer.output)
        applied.update(verdicts.keys())
        broken += [
            Broken(expectation=name, input=given, answer=answer.output, rows=answer.rows)
            for name, holds in verdicts.items()
            if not holds
        ]
    return Outcome(inputs=len(asked), applied=dict(applied), broken=broken)


def _document(outcome: Outcome) -> Any:
    broken: Json = msgspec.to_builtins(outcome.broken)
    expectations = [{"name": name, "applied": number} for name, number in outcome.applied.items()]
    return {"ok": outcome.is_well, "inputs": outcome.inputs, "expectations": expectations, "broken": broken}


def _report(outcome: Outcome) -> RenderableType:
    lines = [_told(each) for each in outcome.broken[:MAX_SHOWN]]
    if len(outcome.broken) > MAX_SHOWN:
        lines.append(Text(f"and {len(outcome.broken) - MAX_SHOWN} more; --json has them all"))
    idle = [name for name, number in outcome.applied.items() if not number]
    lines += [Text(f"{name}: applied to no answer, so nothing was checked", "red") for name in idle]
    counted = f"{count_text(outcome.inputs, 'input')}, {count_text(len(outcome.applied), 'expectation')}"
    if outcome.is_well:
        return Group(*lines, Text(f"ok: {counted}", "bold green"))
    return Group(*lines, Text(f"not as expected: {counted}, {len(outcome.broken)} broken", "bold red"))


def _told(broken: Broken) -> Text:
    asked = orjson.dumps(broken.input).decode()
    if broken.answer is None:
        return Text(f"{asked}: {broken.error}")
    by = ", ".join(f"row {row['row']} of {row['table']}" for row in broken.rows)
    answer = orjson.dumps(broken.answer).decode()
    return Text.assemble((broken.expectation, "red"), f": {asked} was answered {answer} by {by or 'no row'}")

"""What a workflow file may say of a program, and every mistake in it told at its place."""

import re
from pathlib import Path
from textwrap import indent
from typing import Any

import jsonschema_rs
import pytest

import stretto
from stretto.components.declare import KINDS, build_component
from stretto.components.exec import ExecProgram
from stretto.spec.model import ComponentDecl, ComponentKind
from stretto.spec.workflow import load_workflow
from stretto.types.enums import Effect
from stretto.types.errors import Problem, SpecError

FIXED = "command: x\nrequest: { format: json }\nresponse:\n  format: fixed\n  fields:\n    - { name: a, "
BOTH = "request: { format: json }\nresponse: { format: json }"


def declared(folder: Path, declaration: str) -> ExecProgram:
    path = folder / "workflow.yaml"
    path.write_text(
        f"stretto: 1\ncomponents:\n  it:\n    kind: exec\n{indent(declaration, '    ')}\n"
        "steps: [{ name: s, component: it }]\n"
    )
    (component,) = load_workflow(path).components
    assert isinstance(component, ComponentDecl)
    built = build_component(component, folder=folder)
    assert isinstance(built, ExecProgram)
    return built


def test_a_program_is_declared_with_all_its_options(tmp_path: Path) -> None:
    program = declared(
        tmp_path,
        """\
command: [./book, --fast]
process: persistent
processes: 3
exit_codes: { "2": not_found, "3": ok }
effects: { LOOK: read, "*": write }
action_field: do
correlate: tier
idempotent: true
confirm: ./was-booked
cwd: sub
env: { MODE: test }
inherit: [ORACLE_HOME]
max_output_bytes: 1000
version: "1.2.0"
description: books
request:
  format: fixed
  encoding: cp037
  length: 40
  overpunch: ascii
  fields:
    - { name: do, width: 4 }
    - { name: amount, picture: S9(5)V99 COMP-3, means: in euros }
    - { name: tier, picture: 999, values: { "001": gold }, offset: 10 }
    - { name: day, width: 8, date: YYYYMMDD, optional: true }
    - { constant: "X1" }
    - { filler: 2 }
response: { format: xml, root: a:R, namespaces: { a: "urn:a" }, fields: [{ name: tier, path: "a:y/@z" }] }
""",
    )
    settings = program._settings
    assert (settings.command, settings.confirm, settings.at_once) == (("./book", "--fast"), ("./was-booked",), 3)
    assert (settings.place, settings.env, settings.inherit) == (tmp_path / "sub", {"MODE": "test"}, ("ORACLE_HOME",))
    assert (settings.errors[2].value, settings.answers) == ("not_found", frozenset({0, 3}))
    card = program.card
    assert (card.name, card.version, card.kind, card.description) == ("it", "1.2.0", "exec", "books")
    assert (card.idempotent, card.confirms, card.action_field) == (True, True, "do")
    assert [card.effect_of(action) for action in ("LOOK", "BOOK")] == [Effect.READ, Effect.WRITE]
    assert list(card.input["properties"]) == ["do", "amount", "tier", "day"]  # type: ignore[arg-type]
    assert (settings.request.fields[1].means, settings.correlate) == ("in euros", "tier")


@pytest.mark.parametrize(
    ("declaration", "line", "message", "suggestion"),
    [
        (f"comand: x\n{BOTH}", 5, "has no key 'comand'", "command"),
        (f"args: [x]\n{BOTH}", 5, "has no key 'args'", "command: [./rules/credit_rules]"),
        (f"command: ./run.sh now\n{BOTH}", 5, "`command` is the text './run.sh now'", 'command: ["./run.sh", now]'),
        ("command: x\nstdin: { format: json }\nresponse: { format: json }", 6, "no key 'stdin'", "format: json"),
        ("command: x\nresponse: { format: json }", 4, "has no `request`", "request: { format: json }"),
        ("command: x\nrequest: { fields: [] }\nresponse: { format: json }", 6, "has no `format`", "format: fixed"),
        ("command: x\nrequest: { format: fix }\nresponse: { format: json }", 6, "is the text 'fix'", "fixed"),
        (f"command: x\nexit_codes: {{ 2: not_found }}\n{BOTH}", 6, "this key is the number 2", '"2":'),
        (f"command: x\nprocess: persistant\n{BOTH}", 6, "is the text 'persistant'", "persistent"),
        (f"command: x\nidempotent: true\neffects: read\n{BOTH}", 3, "`idempotent`, which has no effect", ""),
        (
            FIXED + "pic: 9(4) }",
            10,
            "has no key 'pic'",
            "picture: 9(4)",
        ),
        (
            FIXED + "picture: ZZ9 }",
            10,
            "`picture` is the text 'ZZ9'",
            "",
        ),
        (
            "command: x\nrequest: { format: json }\nresponse:\n  format: fixed\n  fields:\n    - { name: a }",
            7,
            "field 'a' has neither a `width` nor a `picture`",
            "",
        ),
        (
            "command: x\nrequest: { format: json }\nresponse:\n  format: csv\n  delimiter: 1",
            9,
            "`delimiter` is the number 1",
            'delimiter: "1"',
        ),
        (
            "command: x\nrequest: { format: json }\nresponse: { format: text, fields: [{ name: a, values: {} }] }",
            7,
            "`values` has no entries",
            "",
        ),
        (
            "command: x\nrequest: { format: json }\nresponse: { format: text, fields: [{ name: a, values: a }] }",
            7,
            "`values` is the text 'a'",
            "",
        ),
        (
            "command: x\nrequest: { format: json }\nresponse: { format: text, fields: [{ name: a, values: [[1]] }] }",
            7,
            "is a list of 1",
            "",
        ),
    ],
)
def test_a_mistake_is_told_at_its_place(
    tmp_path: Path, declaration: str, line: int, message: str, suggestion: str
) -> None:
    problem = refusal(tmp_path, declaration)
    assert message in problem.message
    assert suggestion in problem.suggestion
    assert (Path(problem.file).name, problem.line) == ("workflow.yaml", line)


def refusal(folder: Path, declaration: str) -> Problem:
    with pytest.raises(SpecError) as caught:
        declared(folder, declaration)
    return caught.value.problems[0]


WITHOUT = """\
stretto: 1
components:
  rules:
    kind: exec
    command: [{program}]
    confirm: [./booked.sh]
    request: {{ format: json }}
    response: {{ format: json }}
steps: [{{ name: a, component: rules }}]
durability: step
"""


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("./rules", r"there is no file '.*/rules'; build it, or mend the path"),
        (
            "no-such-program",
            r"there is no program 'no-such-program' on the PATH; install it, or give its path: it was looked for in /",
        ),
    ],
)
def test_a_program_that_is_not_there_is_noted_at_load(tmp_path: Path, program: str, said: str) -> None:
    file = tmp_path / "workflow.yaml"
    file.write_text(WITHOUT.format(program=program))
    command, confirm = stretto.load(file, store=tmp_path / "runs.db").plan.notes
    assert command.place == f"{file}:5:5"
    assert re.search(said, command.text)
    assert (confirm.place, "booked.sh" in confirm.text) == (f"{file}:6:5", True)


def test_a_program_that_is_there_is_not_noted(tmp_path: Path) -> None:
    for name in ("rules", "booked.sh"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    file = tmp_path / "workflow.yaml"
    file.write_text(WITHOUT.format(program="./rules"))
    assert stretto.load(file, store=tmp_path / "runs.db").plan.notes == ()


@pytest.mark.parametrize(
    ("options", "fits"),
    [
        ({"command": ["a"], "request": {"format": "json"}, "response": {"format": "json"}}, True),
        ({"command": ["a"], "request": {"format": "jsn"}, "response": {"format": "json"}}, False),
        ({"command": ["a"], "request": {"format": "json"}}, False),
        (
            {
                "command": "a",
                "request": {
                    "format": "fixed",
                    "fields": [
                        {"name": "a", "picture": 999, "values": {"001": True}},
                        {"name": "g", "occurs": 2, "fields": [{"name": "x", "width": 1, "pad": " "}]},
                    ],
                },
                "response": {"format": "csv", "delimiter": "\t", "rows": "r"},
                "exit_codes": {"2": "not_found", "9": "ok"},
            },
            True,
        ),
    ],
)
def test_the_published_schema_says_the_same(options: dict[str, Any], fits: bool) -> None:
    definitions: dict[str, Any] = {}
    schema = {**KINDS[ComponentKind.EXEC].schema(definitions), "$defs": definitions}
    assert jsonschema_rs.is_valid(schema, options) is fits

"""`stretto check`: what it says of a good file and of a bad one."""

from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.conftest import WORKFLOW, Cli


def test_a_good_file_is_told_with_steps_components_and_ok_last(cli: Cli) -> None:
    told = cli("check", "workflow.yaml")
    assert (told.code, told.err) == (0, "")
    lines = told.out.splitlines()
    assert lines[0].startswith("trip 1.2.0")
    assert "durability step" in lines[1]
    assert lines[-1] == "ok: 3 steps, 3 components"
    assert any(line.split()[:4] == ["2", "book", "book", "write"] for line in lines)


def test_lines_end_without_spaces(cli: Cli) -> None:
    assert all(line == line.rstrip() for line in cli("check", "workflow.yaml").out.splitlines())


def test_effects_are_told_whole_where_no_step_has_a_rule(cli: Cli, folder: Path) -> None:
    (folder / "workflow.yaml").write_text("steps: [{name: book, component: book, input_mapping: {plan: input.plan}}]")
    assert "1  book  book  write" in cli("check", "workflow.yaml").out


@pytest.mark.parametrize(
    ("declared", "told_so"),
    [
        ("breaker: {failure_rate: 0.3}", "breaker at 30% failures"),
        ("bulkhead: {limit: 4}", "at most 4 at once"),
        ("bulkhead: {}", "as many as it bears at once"),
        ("retry: {quota: {ratio: 0.1}}", "retries at most 10% of its calls"),
    ],
)
def test_what_protects_a_component_is_told(cli: Cli, folder: Path, declared: str, told_so: str) -> None:
    (folder / "workflow.yaml").write_text(
        "steps: [{name: book, component: book, input_mapping: {plan: input.plan}, resilience: {" + declared + "}}]"
    )
    assert told_so in cli("check", "workflow.yaml").out


def test_problems_go_to_stderr_with_place_and_caret(cli: Cli, folder: Path) -> None:
    (folder / "workflow.yaml").write_text(WORKFLOW.replace("input_mapping: {plan", "inputmapping: {plan"))
    told = cli("check", "workflow.yaml")
    assert (told.code, told.out) == (1, "")
    assert "workflow.yaml:17:5: " in told.err
    assert "\n      |     ^^^^^^^^^^^^\n" in told.err
    assert "try: input_mapping" in told.err
    assert told.err.rstrip().endswith("1 problem in workflow.yaml; nothing was run")


def test_json_holds_every_problem(cli: Cli, folder: Path) -> None:
    (folder / "workflow.yaml").write_text(WORKFLOW.replace("component: book", "component: bok"))
    told = cli("check", "workflow.yaml", "--json")
    assert (told.code, told.err) == (1, "")
    error = told.document["error"]
    assert error["code"] == "spec"
    assert [problem["line"] for problem in error["problems"]] == [16]


def test_json_of_a_good_file_is_the_plan(cli: Cli) -> None:
    document = cli("check", "workflow.yaml", "--json").document
    assert document["ok"] is True
    assert [step["path"] for step in document["steps"]] == ["planner", "book", "margin"]
    assert {component["name"] for component in document["components"]} == {"planner", "book", "margin"}


def test_nothing_is_left_on_disk_and_nothing_else_on_stdout(cli: Cli, folder: Path) -> None:
    with (folder / "components.py").open("a") as file:
        file.write('print("imported")')
    told = cli("check", "workflow.yaml", "--json")
    assert told.document["ok"] is True
    assert told.err == "imported\n"
    assert not (folder / ".stretto").exists()


def test_a_file_that_is_not_there_is_wrong_usage(cli: Cli) -> None:
    told = cli("check", "nope.yaml")
    assert told.code == 2
    assert "there is no such file" in told.err


def test_verbose_says_where_a_type_is_known_only_at_run_time(cli: Cli) -> None:
    assert "is dyn" not in cli("check", "workflow.yaml").out
    assert "workflow.yaml:17:28: `" in cli("check", "-v", "workflow.yaml").out
    assert "` is dyn: " in cli("check", "-v", "workflow.yaml").out


@pytest.mark.parametrize("width", [60, 80, 140])
def test_no_line_is_wider_than_the_terminal(cli: Cli, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    assert max(map(len, cli("check", "-v", "workflow.yaml").out.splitlines())) <= width


PAGING = """
stretto: 1
name: paging
contract:
  input: { urgent: "bool", who: "string?", team: "string?" }
  output: { paged: "OUTPUT" }
steps:
  - { name: first, component: page, condition: "input.urgent", input_mapping: { who: { value: ada } } }
  - NEXT
output: { paged: "SOURCE" }
"""

PAGE = """
from typing import TypedDict
from stretto import component

class Paged(TypedDict):
    paged: str

@component(effects="pure")
def page(who: str) -> Paged:
    return {"paged": who}
"""

NEXT = '{{ name: next, component: page, {}input_mapping: {{ who: "{}" }} }}'
LOOP = (
    '{{ name: next, condition: "{}", repeat: {{ max_rounds: 2, steps: ['
    '{{ name: inner, component: page, input_mapping: {{ who: "steps.first.paged" }} }}] }} }}'
)
FIXED = "{ name: next, component: page, input_mapping: { who: { value: ada } } }"


@pytest.mark.parametrize(
    ("next_step", "source", "output", "is_said"),
    [
        (FIXED, "steps.first.paged", "string", True),
        (FIXED, "steps.first.paged", "string?", None),
        (FIXED, "steps.next.paged", "string", None),
        (FIXED, "steps.first != null ? steps.first.paged : null", "string", False),
        (NEXT.format("", "steps.first.paged"), "steps.next.paged", "string", True),
        (NEXT.format('condition: "input.urgent", ', "steps.first.paged"), "steps.next.paged", "string?", False),
        (NEXT.format('condition: "steps.first != null", ', "steps.first.paged"), "steps.next.paged", "string?", False),
        (NEXT.format("condition: \"input.urgent && input.team == 'a'\", ", "steps.first.paged"), "input.who", "string?",
         False),
        (NEXT.format("", "input.who"), "steps.next.paged", "string", True),
        (NEXT.format('condition: "input.who != null", ', "input.who"), "steps.next.paged", "string?", False),
        (NEXT.format('condition: "input.team != null", ', "input.who"), "steps.next.paged", "string?", True),
        (LOOP.format("input.urgent"), "input.who", "string?", False),
        (LOOP.format("input.team != null"), "input.who", "string?", True),
    ],
)  # fmt: skip
def test_a_null_that_would_fail_is_said_unless_a_condition_asked_about_it(
    cli: Cli, folder: Path, next_step: str, source: str, output: str, is_said: bool | None
) -> None:
    text = PAGING.replace("NEXT", next_step).replace("SOURCE", source).replace("OUTPUT", output)
    (folder / "workflow.yaml").write_text(text)
    (folder / "components.py").write_text(PAGE)
    told, more = cli("check", "workflow.yaml"), cli("check", "workflow.yaml", "-v")
    assert told.code == 0, told.err
    assert ("may be null, and then fails" in told.out) is (is_said is True)
    assert ("may be null, and then fails" in more.out) is (is_said is not None)


SLA = """  sla:
    workflow: {p95_latency: 1s, max_latency: 3s, min_success_rate: 0.9}
    planner: {p95_latency: 200ms, min_success_rate: 0.99}
    book: {max_latency: 700ms, min_success_rate: 0.99}
    margin: {p95_latency: 50ms, min_success_rate: 1}
budget: {deadline: 2s}
"""


def promising(sla: str) -> str:
    return WORKFLOW.replace("components: components.py", f"{sla}components: components.py")


class TestSla:
    def document(self, cli: Cli) -> dict[str, Any]:
        found: dict[str, Any] = cli("check", "workflow.yaml", "--json").document["sla"]
        return found

    def test_what_the_promises_come_to_is_told_with_the_room_of_each_step(self, cli: Cli, folder: Path) -> None:
        (folder / "workflow.yaml").write_text(promising(SLA))
        told = cli("check", "workflow.yaml")
        assert told.code == 0
        assert "    p95       950ms, promised 1s\n" in told.out
        assert "    book     p95 700ms, 750ms would do" in told.out
        book = next(step for step in self.document(cli)["steps"] if step["path"] == "book")
        assert (book["p95_ms"], book["p95_room_ms"], book["p95_slack_ms"]) == (700.0, 750.0, 50.0)
        assert book["success_slack"] == pytest.approx(0.99 - 0.9 / 0.99)

    def test_what_could_be_held_is_named(self, cli: Cli, folder: Path) -> None:
        (folder / "workflow.yaml").write_text(promising(SLA))
        found = self.document(cli)
        assert found["checked"] == ["p95_latency_ms", "max_latency_ms", "min_success_rate", "deadline"]
        assert found["why_not"] == ""
        assert found["workflow"]["p95_latency_ms"] == {"promised": 1000.0, "composed": 950.0, "unknown": []}

    def test_a_check_that_holds_nothing_says_so(self, cli: Cli, folder: Path) -> None:
        assert self.document(cli)["why_not"] == "the contract promises nothing, so nothing was composed"
        assert "promises nothing" in cli("check", "workflow.yaml", "-v").out
        assert "sla" not in cli("check", "workflow.yaml").out
        (folder / "workflow.yaml").write_text(promising("  sla: {workflow: {p95_latency: 1s}}\n"))
        assert "Nothing could be held: too little is promised of its steps." in cli("check", "workflow.yaml").out
        (folder / "workflow.yaml").write_text(promising("  sla: {book: {p95_latency: 1s}}\n"))
        assert "nothing is promised of the workflow, and it has no deadline" in cli("check", "workflow.yaml").out


def test_domains_are_told_with_where_they_hold_and_how_many_mappings_were_compared(cli: Cli, folder: Path) -> None:
    (folder / "workflow.yaml").write_text(
        "stretto: 1\nsteps: [{name: book, component: book, input_mapping: {plan: input.plan}}]\n"
        "contract: {semantics: {trip: {values: [rail, air], at: [book.plan], synonyms: {rail: [train]}, mode: warn}}}\n"
    )
    told = cli("check", "workflow.yaml")
    assert "  trip  warn  2 values  book.plan  1 synonym\n" in told.out
    assert told.out.splitlines()[-1] == "ok: 1 step, 1 component, 1 domain, 1 mapping compared"
    meaning = cli("check", "workflow.yaml", "--json").document["meaning"]
    assert meaning == {
        "mappings_compared": 1,
        "domains": [
            {
                "name": "trip",
                "mode": "warn",
                "values": ["rail", "air"],
                "held": [{"at": "book.plan", "side": "given"}],
                "from": {},
                "aligner": None,
            }
        ],
    }


@pytest.mark.parametrize(
    ("hedge", "told_so"),
    [
        ("{after: 30ms}", "timeout 2s, hedged after 30ms, 2 attempts"),
        ("{}", "hedged once slower than usual, 2 attempts"),
        ("{after: 30ms, copies: 2}", "hedged after 30ms by up to 2 copies, 2 attempts"),
    ],
)
def test_a_hedge_is_told_among_a_steps_rules(cli: Cli, folder: Path, hedge: str, told_so: str) -> None:
    rules = f"resilience: {{timeout: 2s, hedge: {hedge}, retry: {{attempts: 2}}}}"
    text = WORKFLOW.replace("component: planner\n", f"component: planner\n    {rules}\n")
    (folder / "workflow.yaml").write_text(text)
    assert told_so in " ".join(cli("check").out.split())

"""`stretto check`: everything that can be known of a workflow without running it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
import typer
from rich.console import Group, RenderableType
from rich.text import Text

from stretto.cli.compiled import compiled
from stretto.cli.errors import error_document, error_text
from stretto.cli.exits import Exit
from stretto.cli.help import VerbCommand
from stretto.cli.meaning_rows import meaning_document, meaning_rows
from stretto.cli.options import DEFAULT_WORKFLOW, AsJson, WorkflowFile
from stretto.cli.plan_lines import StepLine, effects_of, fallback_of, limits_of, protection_of, step_lines
from stretto.cli.probe_rows import probe_rows
from stretto.cli.rows import labelled, one_piece
from stretto.cli.section import section
from stretto.cli.sla_document import sla_document
from stretto.cli.sla_lines import sla_lines
from stretto.cli.terminal import note, notes, print_json, results, show
from stretto.cli.words import EFFECT_STYLES, count_text
from stretto.plan.dispensable import dispensable
from stretto.plan.model import BusinessFallback, Note, Plan
from stretto.spec.codes import SpecCode
from stretto.types.card import Card
from stretto.types.enums import Scope
from stretto.types.errors import SpecError
from stretto.types.ids import SHORT_DIGEST_HEX
from stretto.types.protocols import Opens

app = typer.Typer(add_completion=False)

_NO_FILE: Final = frozenset({SpecCode.NOT_FOUND, SpecCode.NOT_A_FILE, SpecCode.UNREADABLE})
"""With these the path is wrong, not what it names."""


@app.command(cls=VerbCommand)
def check(
    file: WorkflowFile = DEFAULT_WORKFLOW,
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose",
            "-v",
            help="Also say which expressions have a type known only at run time and why, and what rounds come to.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Check a workflow with its contract and components; run nothing.

    Sub-workflows are checked too. Exits with 1 when there are problems, 2 when there is no such file.
    """
    try:
        plan = compiled(file)
    except SpecError as error:
        if as_json:
            print_json(error_document(error))
        else:
            note(error_text(error, notes().width))
        return Exit.USAGE if {problem.code for problem in error.problems} <= _NO_FILE else Exit.FAILED
    said = sorted((each for each in plan.notes if verbose or not each.verbose), key=_in_reading_order)
    if as_json:
        print_json(_document(plan, file, said))
    else:
        show(_report(plan, file, said, results().width, verbose=verbose))
    return Exit.OK


def _in_reading_order(said: Note) -> tuple[str | int, ...]:
    file, *place = said.place.rsplit(":", 2)
    return file, *(int(part) if part.isdigit() else 0 for part in place)


def _document(plan: Plan, file: Path, said: list[Note]) -> Any:
    return {
        "ok": True,
        "file": str(file),
        "workflow": plan.name,
        "version": plan.version,
        "manifest": plan.manifest_digest,
        "durability": plan.durability.value,
        "steps": [msgspec.to_builtins(line) for line in step_lines(plan)],
        "meaning": meaning_document(plan),
        "components": [msgspec.to_builtins(component.card) for component in plan.components.values()],
        "fallback": None if plan.business is None else _fallback(plan.business),
        "sla": msgspec.to_builtins(sla_document(plan)),
        "probes": [] if plan.resources is None else [name for name, _ in plan.resources.probes()],
        "notes": [{"place": each.place, "text": each.text} for each in said],
    }


def _fallback(business: BusinessFallback) -> Any:
    exercise = business.exercise
    return {
        "component": business.op.component_name,
        "after": business.streak.after,
        "retry_after_s": business.streak.retry_after_s,
        "exercise": None if exercise is None else msgspec.to_builtins(exercise),
        "expectations": [each.name for each in business.expectations],
    }


def _report(plan: Plan, file: Path, said: list[Note], width: int, *, verbose: bool) -> RenderableType:
    lines, width = step_lines(plan), width - 2  # of indent
    parts: list[RenderableType] = [
        Text.assemble((plan.name, "bold"), f" {plan.version}  ", (str(file), "dim")),
        Text("  " + " · ".join(limits_of(plan)), "dim"),
        section("steps", _steps(lines, width, verbose=verbose)),
        section("components", _components(plan, width, verbose=verbose)),
        *([section("meaning", labelled(meaning_rows(plan), width))] if plan.domains else []),
    ]
    if plan.business is not None:
        parts.append(section("fallback", Text(fallback_of(plan))))
    if plan.resources is not None:
        parts.append(section("resources", labelled(probe_rows(plan.resources), width)))
    if any(line.together for line in lines):
        parts.insert(3, Text("  Steps with the same number run at the same time.", "dim"))
    if plan.promises or verbose:
        parts.append(section("sla", sla_lines(plan, width)))
    if said:
        parts.append(section("notes", Group(*(Text.assemble((f"{n.place}: ", "bold"), n.text) for n in said))))
    parts.append(Text(f"\nok: {', '.join(_counts(plan, lines))}", "bold green"))
    return Group(*parts)


def _counts(plan: Plan, lines: list[StepLine]) -> Iterator[str]:
    yield count_text(len(lines), "step")
    yield count_text(len(plan.components), "component")
    if plan.domains:
        yield count_text(len(plan.domains), "domain")
        yield f"{count_text(plan.mappings_compared, 'mapping')} compared"


def _steps(lines: list[StepLine], width: int, *, verbose: bool) -> RenderableType:
    orders = [f"{'  ' * line.depth}{line.order}" for line in lines]
    longest = max(map(len, orders))
    rows = []
    for line, order in zip(lines, orders, strict=True):
        number = Text(order.ljust(longest + 2), "bold" if line.together else "dim")
        rules = [*line.rules, *([f"after {', '.join(line.after)}"] if verbose and line.after else [])]
        effect = Text(str(line.effect or ""), EFFECT_STYLES[line.effect] if line.effect else "")
        rows.append((number.append(line.name, "not dim bold"), (Text(line.calls), effect, Text(", ".join(rules)))))
    return labelled(rows, width)


def _components(plan: Plan, width: int, *, verbose: bool) -> RenderableType:
    rows = []
    without = dispensable(plan) if verbose else frozenset()
    for name, component in plan.components.items():
        card = component.card
        opening = ["need not open"] if name in without and isinstance(component, Opens) else []
        effects = Text(effects_of(card, most=1000 if verbose else 3))
        traits = one_piece(", ".join([*_traits(card), *opening, *protection_of(plan, name)]), "dim")
        told = (Text(card.version), Text(card.kind), effects, traits, Text(card.digest[:SHORT_DIGEST_HEX], "dim"))
        rows.append((Text(name, "bold"), told))
    return labelled(rows, width)


def _traits(card: Card) -> Iterator[str]:
    if card.trainable:
        yield "trainable"
    if card.idempotent:
        yield "idempotent"
    if card.confirms:
        yield "confirms"
    if card.scope is Scope.RUN:
        yield "one for each run"

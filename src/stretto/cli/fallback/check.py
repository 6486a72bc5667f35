"""`stretto fallback check`: all that can be known of rules before they are asked."""

from typing import TYPE_CHECKING, Any

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from stretto.cli.errors import error_document, error_text
from stretto.cli.exits import Exit
from stretto.cli.fallback.rules_file import RulesFile, need_rules
from stretto.cli.help import VerbCommand
from stretto.cli.options import AsJson
from stretto.cli.rows import labelled
from stretto.cli.section import section
from stretto.cli.terminal import note, notes, print_json, results, show
from stretto.cli.words import count_text
from stretto.spec.codes import SpecCode
from stretto.types.errors import SpecError
from stretto.types.ids import SHORT_DIGEST_HEX

if TYPE_CHECKING:  # zen is an extra
    from stretto.components.rules.analysis import Analysis
    from stretto.components.rules.table_check import TableVerdict

app = typer.Typer(add_completion=False)


@app.command(cls=VerbCommand)
def check(file: RulesFile, as_json: AsJson = False) -> int:
    """Analyse rules: inputs that no row answers, rows that never answer, rows that overlap; ask nothing.

    Exits with 1 when there are problems, 2 when there is no such file.
    """
    need_rules()
    from stretto.components.rules.analysis import check_rules

    try:
        analysis = check_rules(file)
    except SpecError as error:
        if as_json:
            print_json(error_document(error))
        else:
            note(error_text(error, notes().width))
        is_missing = {problem.code for problem in error.problems} <= {SpecCode.NOT_FOUND, SpecCode.NOT_A_FILE}
        return Exit.USAGE if is_missing else Exit.FAILED
    if as_json:
        print_json(_document(analysis))
    else:
        show(_report(analysis, results().width - 2))
    return Exit.OK


def _document(analysis: "Analysis") -> Any:
    return {
        "ok": True,
        "file": str(analysis.files.model.path),
        "digest": analysis.files.digest(),
        "tables": [
            {
                "name": each.name,
                "rows": each.rows,
                "columns": each.columns,
                "exact": each.is_exact,
                "always_answers": each.always_answers,
            }
            for each in analysis.tables
        ],
        "notes": [{"place": note.place, "text": note.text} for note in analysis.notes],
    }


def _report(analysis: "Analysis", width: int) -> RenderableType:
    files = analysis.files
    parts: list[RenderableType] = [
        Text.assemble((files.main, "bold"), f"  {files.digest()[:SHORT_DIGEST_HEX]}"),
        section(
            "tables", labelled([(Text(each.name, "bold"), (Text(_words(each)),)) for each in analysis.tables], width)
        ),
    ]
    if analysis.notes:
        told = (Text.assemble((f"{each.place}: ", "bold"), each.text) for each in analysis.notes)
        parts.append(section("notes", Group(*told)))
    counted = f"{count_text(len(analysis.tables), 'table')}, {count_text(len(files.models), 'file')}"
    parts.append(Text(f"\nok: {counted}", "bold green"))
    return Group(*parts)


def _words(table: "TableVerdict") -> str:
    answers = "answers every input" if table.always_answers else "may leave inputs without an answer"
    how = "" if table.is_exact else ", not fully analysed"
    size = f"{count_text(table.rows, 'row')} by {count_text(table.columns, 'column')}"
    return f"{size}, {answers}{how}"

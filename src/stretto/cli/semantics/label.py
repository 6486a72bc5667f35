"""`stretto semantics label`: a person's word on what a text means, kept with who said so and when."""

import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import msgspec
import typer
from rich.text import Text

from stretto.cli.exits import Exit
from stretto.cli.help import VerbCommand
from stretto.cli.opened import opened
from stretto.cli.options import DEFAULT_WORKFLOW, AsJson, StorePath, WorkflowFile
from stretto.cli.rows import labelled as labelled_rows, one_piece
from stretto.cli.semantics.domain import DomainName, folder_of, label_command, named_domain, read_contract, values_of
from stretto.cli.semantics.kept import find_alignment, unclear
from stretto.cli.semantics.labels_file import append_label
from stretto.cli.terminal import note, notes, print_json, results, show
from stretto.cli.who import who
from stretto.cli.words import count_text, escaped
from stretto.learn.semantics.alignments import LABEL, Alignment, Label
from stretto.learn.semantics.samples import Sample, check_values
from stretto.record.model import Annotation
from stretto.runtime.finding import find_run
from stretto.spec.suggest import nearest
from stretto.spec.workflow import load_workflow
from stretto.store.sqlite import Store
from stretto.types.errors import UsageError
from stretto.types.ids import StepPath
from stretto.types.meaning import AlignedBy

app = typer.Typer(add_completion=False)

UNSURE_BELOW: Final = 0.9
"""Confidence below which an answer is shown too: where answers at the default threshold begin to be wrong."""

_NONE: Final = "none"

_DECLARED: Final = frozenset({AlignedBy.SYNONYM, AlignedBy.RULE})


@app.command(cls=VerbCommand)
def label(
    file: WorkflowFile = DEFAULT_WORKFLOW,
    domain: DomainName = None,
    run: Annotated[
        str | None, typer.Option("--run", metavar="RUN", help="The run whose text was aligned wrongly, or not at all.")
    ] = None,
    at: Annotated[
        str | None, typer.Option("--at", metavar="PLACE", help="Where in it, when texts at several places were.")
    ] = None,
    text: Annotated[str | None, typer.Option("--text", metavar="TEXT", help="A text that no run holds.")] = None,
    value: Annotated[
        str | None, typer.Option("--value", metavar="VALUE", help="What it means; `none` for no value of the domain.")
    ] = None,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why.")] = "",
    to: Annotated[
        Path | None,
        typer.Option(
            "--to", metavar="FILE", help="Where --text goes. [default: DOMAIN.labels.jsonl beside the workflow]"
        ),
    ] = None,
    below: Annotated[
        float,
        typer.Option(
            "--below",
            metavar="SHARE",
            min=0.0,
            max=1.0,
            help="Also list what was aligned less surely than this. [default: 0.9]",
        ),
    ] = UNSURE_BELOW,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="List so many at most. [default: 20]")] = 20,
    store: StorePath = None,
    as_json: AsJson = False,
) -> int:
    """Say what a text means: of a recorded run with --run, any other with --text.

    With neither it lists what recorded runs abstained from or were unsure of, and on a terminal asks about each.
    Labels are only ever added; `stretto semantics train` learns from them.
    """
    _refuse_unused(run, text, at, to)
    labels = _Labels(file, domain, reason)
    if run is not None:
        with opened(store) as kept:
            found = find_alignment(kept, find_run(kept, run).id, labels.domain, at)
            sample = labels.meant(found.text, value)
            labels.keep(kept, found, sample)
        _note_declared(found, sample, labels)
        return _told(labels.typed(), [sample], as_json)
    if text is not None:
        sample = labels.meant(text, value)
        path = to or file.parent / f"{labels.domain}.labels.jsonl"
        append_label(path, sample, by=who(), reason=reason)
        return _told(f"{labels.typed()} --samples {shlex.quote(str(path))}", [sample], as_json)
    if value is not None:
        raise UsageError("--value says what a text means, and no text was given: --run RUN, or --text TEXT")
    with opened(store) as kept:
        listed = unclear(kept, labels.workflow, labels.domain, below)[:limit]
        if as_json:
            print_json({"domain": labels.domain, "unclear": [msgspec.to_builtins(each) for each in listed]})
        elif sys.stdin.isatty() and listed:
            labels.ask(kept, listed)
        else:
            _list(listed, labels)
    return Exit.OK


def _refuse_unused(run: str | None, text: str | None, at: str | None, to: Path | None) -> None:
    """Raise UsageError for flags that would change nothing."""
    if run is not None and text is not None:
        raise UsageError("--run is about a text of that run, and --text another; give one of the two")
    if at is not None and run is None:
        raise UsageError("--at says where in a run; give --run RUN too")
    if to is not None and text is None:
        raise UsageError("--to says where --text goes; a run's label is kept with the run")


class _Labels:
    """What is said of one domain's texts."""

    def __init__(self, file: Path, domain: str | None, reason: str) -> None:
        contract = read_contract(file)
        found = named_domain(contract, domain)
        self.parent = None if found.aligner is None else folder_of(contract) / found.aligner.value
        """The aligner that the domain has, which is learnt on from."""
        self.file = file
        self.domain = found.name.value
        self.values = values_of(found)
        self.workflow = load_workflow(file).name
        self._reason = reason

    def meant(self, text: str, value: str | None) -> Sample:
        """The text with its value; raises UsageError for a blank text, no value, or one that the domain has not."""
        if not text.strip():
            raise UsageError("a blank text is refused before any aligner is asked; there is nothing to label")
        if value is None:
            raise UsageError(f"say what {text!r:.60} means: --value VALUE, one of {', '.join(self.values)}, or none")
        none = "''" if _NONE in self.values else _NONE
        sample = Sample(text=text, value="" if value == _NONE == none else value)
        says_none = f"For a text that means none of them: --value {none}"
        check_values([sample], self.values, self.domain, none_is=says_none)
        return sample

    def keep(self, kept: Store, found: Alignment, sample: Sample) -> None:
        """Append it to what is known of the run."""
        label = Label(domain=self.domain, text=sample.text, value=sample.value)
        kept.annotate(
            Annotation(
                run_id=found.run_id, name=LABEL, value=msgspec.to_builtins(label), at_ns=time.time_ns(),
                path=StepPath(found.path), by=who(), reason=self._reason,
            )
        )  # fmt: skip

    def ask(self, kept: Store, listed: Sequence[Alignment]) -> None:
        """Ask about each; an empty answer leaves it, ``q`` leaves all that follow."""
        notes().print(f"{self._choices()}; Enter to leave one, q to stop", soft_wrap=True)
        for found in listed:
            note(_line(found))
            sample = self._answered(found.text)
            if sample is None:
                return
            if sample.text:
                self.keep(kept, found, sample)

    def _answered(self, text: str) -> Sample | None:
        """What was answered of a text, asked until it is a value; no text where it is left, None to stop."""
        while (answer := typer.prompt("means", default="", show_default=False, err=True).strip()) != "q":
            if not answer:
                return Sample(text="", value="")
            value = self._chosen(answer)
            if value is not None:
                return Sample(text=text, value=value)
            guess = nearest(answer, self.values)
            hint = f"did you mean '{guess}'? " if guess else ""
            note(f"'{escaped(answer)}' is no answer: {hint}{self._choices()}; a number, or the value")
        return None

    def typed(self) -> str:
        """The command that learns from the labels."""
        parent = "" if self.parent is None else f" --from {shlex.quote(str(self.parent))}"
        return f"stretto semantics train {shlex.quote(str(self.file))} --domain {shlex.quote(self.domain)}{parent}"

    def _choices(self) -> str:
        return ", ".join(f"{number} {value}" for number, value in enumerate(("none of them", *self.values)))

    def _chosen(self, answer: str) -> str | None:
        """The value that an answer says, by its number or itself, empty for none of them; None where it says none."""
        if answer in self.values:
            return answer
        if answer.isdecimal() and int(answer) <= len(self.values):
            return ("", *self.values)[int(answer)]
        return "" if answer == _NONE else None


def _note_declared(found: Alignment, sample: Sample, labels: _Labels) -> None:
    """Say where no training will change the answer."""
    if found.by in _DECLARED and found.to != sample.value:
        note(
            f"a {found.by.value} of the contract says that it means {found.to}, and is asked before what was learnt: "
            f"change it in the domain '{labels.domain}'"
        )


def _told(typed: str, samples: Sequence[Sample], as_json: bool) -> int:
    if as_json:
        print_json({"labelled": [msgspec.to_builtins(sample) for sample in samples]})
        return Exit.OK
    for sample in samples:
        show(f"{escaped(sample.text)!r} means {sample.value or 'none of the values'}")
    notes().print(f"learn from it: {typed}", soft_wrap=True)
    return Exit.OK


def _list(listed: Sequence[Alignment], labels: _Labels) -> None:
    if not listed:
        show(f"no recorded run was unsure of the domain '{labels.domain}'")
        return
    rows = [
        (one_piece(each.run_id), (Text(escaped(each.at)), Text(escaped(each.text)), _guess(each))) for each in listed
    ]
    show(labelled_rows(rows, results().width))
    typed = label_command(labels.file, labels.domain)
    notes().print(
        f"{count_text(len(listed), 'text')}; say what one means: {typed} --run RUN --value VALUE", soft_wrap=True
    )


def _line(each: Alignment) -> Text:
    return Text.assemble((escaped(each.text), "bold"), f"  at {escaped(each.at)}, ", _guess(each))


def _guess(each: Alignment) -> Text:
    guess = each.to or each.guess
    said = f"{each.by.value}: {guess} {each.confidence:.2f}" if guess else each.by.value
    return Text(escaped(said), "dim" if each.to else "yellow")

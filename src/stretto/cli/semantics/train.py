"""`stretto semantics train`: an aligner from labelled texts, or the next from a parent and what was labelled since."""

import os
import re
import shlex
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from stretto.cli.exits import Exit
from stretto.cli.help import VerbCommand
from stretto.cli.options import DEFAULT_WORKFLOW, AsJson, StorePath, WorkflowFile
from stretto.cli.semantics.domain import DomainName, folder_of, label_command, named_domain, read_contract, values_of
from stretto.cli.semantics.kept import kept_corrections
from stretto.cli.semantics.labelled import SamplesFiles, read_labelled
from stretto.cli.terminal import note, notes, print_json, results, show
from stretto.cli.words import count_text, escaped
from stretto.components.aligner.meta import AlignerMeta, Measured
from stretto.learn.semantics.samples import Sample, contradicted
from stretto.spec.workflow import load_workflow
from stretto.types.errors import LearningError, UsageError
from stretto.types.ids import SHORT_DIGEST_HEX

if TYPE_CHECKING:
    from stretto.components.aligner.model import AlignerModel

app = typer.Typer(add_completion=False)

CORRECTIONS: Final = "corrections"
"""As a lineage names the store's labels among its sources."""

HELD_OUT_EVERY: Final = 5
"""Of further samples, so that what they change can be told on texts that were not learnt from."""


_PLAIN: Final = re.compile(r"[\w./][\w./-]*")

_SHOWN_CONTRADICTED: Final = 5
"""Texts with different labels: more of them are a mistake in how the file was made, which a few show."""


class Trained(msgspec.Struct, frozen=True, kw_only=True):
    """What a training came to."""

    before: Measured | None
    """The parent, on the texts held out; None for a first training."""
    after: Measured
    judged_on: str
    """Which texts these figures are of, in words."""
    path: Path
    meta: AlignerMeta
    digest: str


@app.command(cls=VerbCommand)
def train(
    file: WorkflowFile = DEFAULT_WORKFLOW,
    domain: DomainName = None,
    samples: SamplesFiles = None,
    parent: Annotated[
        Path | None,
        typer.Option("--from", metavar="FILE", help="Learn on from this aligner, from what is new. [default: anew]"),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="FILE", help="Where it goes. [default: DOMAIN-NUMBER.aligner beside the contract]"
        ),
    ] = None,
    max_error: Annotated[
        float,
        typer.Option(
            "--max-error",
            metavar="SHARE",
            min=0.0,
            max=0.5,
            help="Largest share of wrong answers among those given, for a training anew. [default: 0.01]",
        ),
    ] = 0.01,
    no_corrections: Annotated[
        bool, typer.Option("--no-corrections", help="Do not learn from the labels in the store.")
    ] = False,
    store: StorePath = None,
    as_json: AsJson = False,
) -> int:
    """Train the aligner of a domain from labelled texts, and from corrections in the store.

    It is written beside the old one, never over it. Figures are of texts that were not learnt from.
    """
    contract = read_contract(file)
    found = named_domain(contract, domain)
    name, values = found.name.value, values_of(found)
    labelled = [sample for path in samples or () for sample in read_labelled(path)]
    source = [path.name for path in samples or ()]
    workflow = load_workflow(file).name
    corrected = kept_corrections(store, workflow, name) if not no_corrections else []
    source += [CORRECTIONS] if corrected else []
    everything = [*labelled, *corrected]
    if not everything:
        raise LearningError(
            f"there is nothing to learn of the domain '{name}': give labelled texts with --samples, or correct runs: "
            f"{label_command(file, name)}"
        )
    training = _Training(name, values, source, max_error, label_command(file, name))
    if parent is None:
        model = training.first(everything)
        before, after, judged_on = None, model.meta.measured, "texts held out in turn"
    else:
        model, before, after, judged_on = training.further(parent, everything)
    path = _free(out, folder_of(contract), name, model.meta.lineage.version)
    model.save(path)
    trained = Trained(before=before, after=after, judged_on=judged_on, path=path, meta=model.meta, digest=model.digest)
    _note_repeated(everything)
    _tell(trained, file, folder_of(contract), as_json=as_json)
    return Exit.OK


class _Training:
    """One training, its progress shown on stderr."""

    def __init__(
        self, domain: str, values: Sequence[str], source: Sequence[str], max_error: float, label_more: str
    ) -> None:
        self._domain = domain
        self._values = values
        self._source = source
        self._max_error = max_error
        self._label_more = label_more
        self._now = datetime.now(UTC).isoformat(timespec="seconds")

    def first(self, samples: Sequence[Sample]) -> "AlignerModel":
        from stretto.learn.semantics.train import FIRST_TRAINING_PASSES, train_first  # scikit-learn, only to train

        with _Bar(FIRST_TRAINING_PASSES) as on_pass:
            return train_first(
                self._domain,
                self._values,
                samples,
                trained_at=self._now,
                source=self._source,
                most_wrong=self._max_error,
                label_more=self._label_more,
                on_pass=on_pass,
            )

    def further(self, parent: Path, samples: Sequence[Sample]) -> tuple["AlignerModel", Measured, Measured, str]:
        """The next aligner; how the parent, and what was trained without the texts held out, do on these."""
        from stretto.components.aligner.file import check_domain, read_aligner  # numpy, only to train
        from stretto.learn.semantics.train import NEXT_TRAINING_PASSES, measure, new_to, train_next

        old = read_aligner(parent)
        check_domain(parent, old.meta, self._domain, self._values)
        samples = new_to(old, samples)
        held_out = samples[::HELD_OUT_EVERY] if len(samples) >= 2 * HELD_OUT_EVERY else []
        learnt = [sample for sample in samples if sample not in held_out]
        with _Bar((2 if held_out else 1) * NEXT_TRAINING_PASSES) as on_pass:
            new = train_next(old, samples, trained_at=self._now, source=self._source, on_pass=on_pass)
            judged, judge = (
                (held_out, train_next(old, learnt, trained_at=self._now, on_pass=on_pass))
                if held_out
                else (samples, new)
            )
        after = measure(judge, judged)
        if held_out:
            new = new.with_meta(msgspec.structs.replace(new.meta, measured=after))
        return new, measure(old, judged), after, _judged_on(judged, is_held_out=bool(held_out))


def _judged_on(judged: Sequence[Sample], *, is_held_out: bool) -> str:
    """Which texts the figures are of; none of a value leave nothing to be right about."""
    texts = count_text(len(judged), "text")
    of = f"{texts} held out" if is_held_out else f"the {texts} learnt from, too few to hold any out"
    return of if any(sample.value for sample in judged) else f"{of}: none of these means a value of the domain"


class _Bar:
    """A progress bar on stderr, nothing where that is no terminal."""

    def __init__(self, passes: int) -> None:
        console = notes()
        columns = (TextColumn("training"), BarColumn(), TimeRemainingColumn())
        self._bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        self._shown = self._bar.add_task("", total=passes)

    def __enter__(self) -> Callable[[], None]:
        self._bar.start()
        return lambda: self._bar.advance(self._shown)

    def __exit__(self, *_: object) -> None:
        self._bar.stop()


def _free(out: Path | None, folder: Path, domain: str, version: int) -> Path:
    """Where the file goes; raises UsageError where one would be written over."""
    if out is not None:
        if out.exists():
            raise UsageError(f"--out: {out} is there already, and an aligner is never written over; name another file")
        return out
    while (path := folder / f"{domain}-{version}.aligner").exists():
        version += 1
    return path


def _note_repeated(samples: Sequence[Sample]) -> None:
    """Say what became of labels of the same text: only what was said last of it counts."""
    different = contradicted(samples)
    for text, values in list(different.items())[:_SHOWN_CONTRADICTED]:
        said = ", then ".join(escaped(value) or "none of them" for value in values)
        note(f"labelled in different ways, of which the last counts: {escaped(text)!r:.60} ({said})")
    more = len(different) - _SHOWN_CONTRADICTED
    if more > 0:
        note(f"and {count_text(more, 'text')} more")


def _tell(trained: Trained, file: Path, folder: Path, *, as_json: bool) -> None:
    meta = trained.meta
    if as_json:
        print_json(
            {
                "domain": meta.domain,
                "aligner": str(trained.path),
                "digest": trained.digest,
                "threshold": meta.threshold,
                "lineage": msgspec.to_builtins(meta.lineage),
                "before": None if trained.before is None else msgspec.to_builtins(trained.before),
                "after": msgspec.to_builtins(trained.after),
            }
        )
        return
    version, digest = meta.lineage.version, trained.digest[:SHORT_DIGEST_HEX]
    show(
        f"{meta.domain}-aligner {version}@{digest}, {count_text(meta.lineage.samples, 'sample')}, "
        f"threshold {meta.threshold:.4f}"
    )
    if trained.before is not None:
        show(f"before: {_figures(trained.before)}")
    show(f"{'after:  ' if trained.before is not None else ''}{_figures(trained.after)}, on {trained.judged_on}")
    if meta.threshold >= 1:
        note(
            "no threshold keeps errors so rare, so it answers only the very texts that it was told: label more, or "
            "raise --max-error"
        )
    results().print(f"aligner: {trained.path}", soft_wrap=True)  # a path that is cut cannot be copied
    flags = f"--domain {shlex.quote(meta.domain)} --aligner {shlex.quote(str(trained.path))}"
    named = _in_yaml(os.path.relpath(trained.path, folder))
    notes().print(f"try it: stretto semantics test {shlex.quote(str(file))} {flags} --samples FILE", soft_wrap=True)
    notes().print(f"for good: give the domain '{meta.domain}' aligner: {named}", soft_wrap=True)


def _in_yaml(path: str) -> str:
    """A path as a value in the contract: between quotes where it is more than letters, digits and what joins them."""
    return path if _PLAIN.fullmatch(path) else "'" + path.replace("'", "''") + "'"


def _figures(measured: Measured) -> str:
    return (
        f"{measured.accuracy:.1%} right when forced, {measured.coverage:.1%} aligned at the threshold, "
        f"{measured.error:.1%} of them wrong"
    )

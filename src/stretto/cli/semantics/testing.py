"""`stretto semantics test`: labelled texts through a domain as its contract declares it, every stage of it."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import msgspec
import typer
from rich.text import Text

from stretto.cli.exits import Exit
from stretto.cli.help import VerbCommand
from stretto.cli.options import DEFAULT_WORKFLOW, AsJson, WorkflowFile
from stretto.cli.rows import labelled as labelled_rows
from stretto.cli.semantics.domain import DomainName, folder_of, named_domain, read_contract, values_of
from stretto.cli.semantics.labelled import SamplesFiles, read_labelled
from stretto.cli.terminal import note, print_json, results, show
from stretto.cli.words import count_text, escaped
from stretto.learn.semantics.judged import Judged, Verdict, judge
from stretto.learn.semantics.samples import Sample, check_values
from stretto.plan.meaning.domain import Domain, compile_domain
from stretto.spec.contract_model import ContractSpec, DomainSpec
from stretto.types.errors import UsageError
from stretto.types.meaning import AlignedBy

app = typer.Typer(add_completion=False)

_SHOWN_PAIRS: Final = 10


@app.command(cls=VerbCommand)
def try_texts(
    file: WorkflowFile = DEFAULT_WORKFLOW,
    domain: DomainName = None,
    samples: SamplesFiles = None,
    aligner: Annotated[
        Path | None,
        typer.Option("--aligner", metavar="FILE", help="Try this aligner. [default: the one that the contract names]"),
    ] = None,
    min_accuracy: Annotated[
        float | None,
        typer.Option(
            "--min-accuracy",
            metavar="SHARE",
            min=0.0,
            max=1.0,
            help="Least share right when every text must be aligned.",
        ),
    ] = None,
    min_coverage: Annotated[
        float | None,
        typer.Option("--min-coverage", metavar="SHARE", min=0.0, max=1.0, help="Least share that is aligned."),
    ] = None,
    max_error: Annotated[
        float | None,
        typer.Option(
            "--max-error", metavar="SHARE", min=0.0, max=1.0, help="Largest share of wrong answers among those given."
        ),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Send labelled texts through a domain: exact, synonym, rule, learned, abstain.

    Exits with 1 when a figure is worse than asked.
    """
    if not samples:
        raise UsageError("there is nothing to test with; give labelled texts: --samples FILE")
    contract = read_contract(file)
    spec = named_domain(contract, domain)
    told = [sample for path in samples for sample in read_labelled(path)]
    check_values(told, values_of(spec), spec.name.value)
    tried = compiled(contract, spec, aligner)
    judged = judge(tried, told)
    taught = _taught(tried, told)
    missed = _missed(judged, min_accuracy, min_coverage, max_error)
    if as_json:
        figures = msgspec.to_builtins(judged)
        print_json({"domain": spec.name.value, "ok": not missed, "missed": [*missed], "taught": taught, **figures})
    else:
        _show(judged)
        for line in missed:
            note(Text(line, "bold red"))
    if taught:
        note(
            f"{count_text(taught, 'text')} of these the aligner was taught, and answers as it was told; how it does on "
            "what people say only others tell"
        )
    return Exit.FAILED if missed else Exit.OK


def compiled(contract: ContractSpec, spec: DomainSpec, aligner: Path | None) -> Domain:
    """The domain with its aligner, or the one given instead; the workflow itself is not loaded."""
    path = aligner if aligner is not None or spec.aligner is None else folder_of(contract) / spec.aligner.value
    if path is None:
        return compile_domain(spec, contract.semantics_mode, None)
    from stretto.components.aligner.component import load_aligner  # numpy, only where there is an aligner

    loaded = load_aligner(path, domain=spec.name.value, values=values_of(spec))
    return compile_domain(spec, contract.semantics_mode, loaded)


def _taught(domain: Domain, samples: Sequence[Sample]) -> int:
    """How many of the texts its aligner knows by their labels."""
    if domain.aligner is None:
        return 0
    from stretto.components.aligner.component import LearnedAligner

    assert isinstance(domain.aligner, LearnedAligner)
    labels = domain.aligner.model.labels
    return sum(labels.of(sample.text) is not None for sample in samples)


def _missed(
    judged: Judged, min_accuracy: float | None, min_coverage: float | None, max_error: float | None
) -> list[str]:
    missed = []
    if min_accuracy is not None and judged.accuracy < min_accuracy:
        missed.append(f"accuracy {judged.accuracy:.4f} is below --min-accuracy {min_accuracy:g}")
    if min_coverage is not None and judged.coverage < min_coverage:
        missed.append(f"coverage {judged.coverage:.4f} is below --min-coverage {min_coverage:g}")
    if max_error is not None and judged.error > max_error:
        missed.append(f"error {judged.error:.4f} is above --max-error {max_error:g}")
    return missed


def _show(judged: Judged) -> None:
    show(
        f"{count_text(judged.texts, 'text')}: {judged.accuracy:.1%} right when forced, {judged.coverage:.1%} aligned, "
        f"{judged.error:.1%} of them wrong"
    )
    if judged.outside:
        show(f"of no value: {count_text(judged.outside, 'text')}, {judged.outside_refused:.1%} refused")
    by = Counter({stage: judged.by.get(stage.value, 0) for stage in AlignedBy})
    rows = [(Text(stage.value, "bold"), (Text(f"{by[stage]:,}"),)) for stage in AlignedBy if by[stage]]
    show(labelled_rows(rows, results().width))
    if judged.confusions:
        show(Text("worst pairs", "bold"))
    for each in judged.confusions[:_SHOWN_PAIRS]:
        show(_pair(each))


def _pair(each: Verdict) -> Text:
    meant = each.means or "none of them"
    times = "time " if each.count == 1 else "times"
    return Text(
        f"  {each.count:>4} {times} {escaped(meant)} taken for {escaped(each.taken_for)}, as {escaped(each.example)!r}"
    )

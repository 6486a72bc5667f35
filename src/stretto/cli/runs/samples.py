"""`stretto runs samples`: the tokens that a model sampled in recorded runs, as a trainer reads them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from stretto.cli.help import VerbCommand
from stretto.cli.opened import opened
from stretto.cli.options import AsJson, StorePath
from stretto.cli.runs.filters import Purpose, Since, Split, Status, Task, Tenant, Workflow, read_filters
from stretto.cli.runs.target import hold_to_new
from stretto.cli.terminal import note, print_json, show
from stretto.cli.values import read_choice
from stretto.cli.words import count_text
from stretto.learn.advantage import Advantages, Scale
from stretto.learn.sample_lines import sample_lines
from stretto.learn.tokens import TokenSamples, collect_tokens, only_model
from stretto.learn.usable import Downgraded, Recorded
from stretto.store.reading import Filters
from stretto.store.sqlite import Store
from stretto.store.whole_file import whole_file
from stretto.types.arguments import INT64_MAX
from stretto.types.errors import LearningError, StoreError, UsageError

app = typer.Typer(add_completion=False)


@app.command(cls=VerbCommand)
def make_samples(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where the lines go.", show_default=False)],
    component: Annotated[
        str | None, typer.Option("--component", metavar="NAME", help="Which model. [default: the only one]")
    ] = None,
    advantage: Annotated[
        str,
        typer.Option("--advantage", metavar="std|batch|none", help="What an advantage over the group is divided by."),
    ] = "std",
    downgraded: Annotated[
        str,
        typer.Option(
            "--downgraded", metavar="exclude|downweight|keep", help="Runs that a time-out or congestion befell."
        ),
    ] = "exclude",
    workflow: Workflow = None,
    status: Status = None,
    task: Task = None,
    split: Split = None,
    purpose: Purpose = None,
    tenant: Tenant = None,
    since: Since = None,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", min=1, max=INT64_MAX, help="At most so many runs.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
    store: StorePath = None,
    as_json: AsJson = False,
) -> None:
    """Write the tokens that a model sampled, with rewards and advantages, as JSON Lines for a trainer.

    Runs of one task are compared with each other. Calls that go on with each other are one line; whether a workflow or
    an agent behind `stretto gateway` made them makes no difference.
    """
    scale = read_choice(advantage, Scale, "--advantage")
    treated = read_choice(downgraded, Downgraded, "--downgraded")
    filters = read_filters(
        workflow=workflow, status=status, task=task, split=split, purpose=purpose, tenant=tenant, since=since
    )
    hold_to_new(file, force=force)
    with opened(store) as kept:
        recorded = _recorded(kept, limit, filters)
    samples = collect_tokens(recorded, component or only_model(recorded), downgraded=treated)
    if not samples.sequences:
        raise LearningError(_nothing(samples, len(recorded)))
    advantages = samples.advantages(scale)
    _write(file, samples, advantages, recorded)
    if as_json:
        print_json(
            {
                "samples": len(samples.sequences),
                "runs": len(samples.runs),
                "tokens": samples.tokens,
                "groups": advantages.groups,
                "singleton_groups": advantages.singletons,
                "flat_groups": advantages.flat,
                "excluded": {reason.value: count for reason, count in samples.excluded.items()},
                "component": samples.component,
                "file": str(file),
            }
        )
    else:
        _tell(file, samples, advantages)


def _recorded(kept: Store, limit: int | None, filters: Filters) -> list[Recorded]:
    found = [
        Recorded(run=run, annotations=tuple(kept.annotations(run.id))) for run in kept.runs(limit=limit, **filters)
    ]
    if not found:
        raise UsageError(f"no such run has ended in {kept.path}, so nothing was written; widen the filters")
    return found


def _write(file: Path, samples: TokenSamples, advantages: Advantages, recorded: Sequence[Recorded]) -> None:
    runs = {item.run.id: item.run for item in recorded}
    try:
        with whole_file(file) as out:
            out.writelines(sample_lines(samples, advantages, runs))
    except OSError as error:
        raise StoreError(f"{file} cannot be written: {error.strerror or error}; choose another place") from error


def _tell(file: Path, samples: TokenSamples, advantages: Advantages) -> None:
    tokens, runs = count_text(samples.tokens, "token"), count_text(len(samples.runs), "run")
    show(f"{count_text(len(samples.sequences), 'sample')} of {runs} in {file}, {tokens} to learn from")
    if samples.excluded:
        note(f"left out: {_reasons(samples)}")
    untold = sum(each.prompt_ids is None for each in samples.sequences)
    if untold:
        note(f"of {untold} the server did not tell the prompt's ids; `request` holds what was asked")
    alike = advantages.singletons + advantages.flat
    if alike:
        note(
            f"nothing can be learnt yet from {alike} of {count_text(advantages.groups, 'task')}: such a task has "
            "one run, or all of its runs have the same reward; make more runs of it"
        )


def _nothing(samples: TokenSamples, runs: int) -> str:
    refused = "".join(f"\n  {line}" for line in samples.refused)
    return (
        f"none of {count_text(runs, 'run')} has tokens of '{samples.component}' to learn from ({_reasons(samples)}). "
        "Look at one with `stretto runs show`; a run needs the label task, a known reward, and a model server that "
        f"tells token ids and log-probabilities{refused}"
    )


def _reasons(samples: TokenSamples) -> str:
    return ", ".join(f"{reason}: {count}" for reason, count in samples.excluded.items())

"""`stretto demo`: a real workflow serves customers, learns from its own runs, and serves them again."""

import shlex
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Final

import msgspec
import orjson
import typer
from rich.console import Group
from rich.padding import Padding
from rich.text import Text

from stretto.cli.demo.command import stretto_command
from stretto.cli.demo.document import demo_document
from stretto.cli.demo.figures import Figures, fold
from stretto.cli.demo.phases import Phases
from stretto.cli.demo.place import Example, example_folder, load_example
from stretto.cli.demo.study import MOST_SEEDS, QUICK, Course, Size, Study
from stretto.cli.demo.tables import apart, comparison
from stretto.cli.demo.verdict import verdict
from stretto.cli.exits import Exit
from stretto.cli.help import VerbCommand
from stretto.cli.interrupted import tell_interrupted
from stretto.cli.options import AsJson
from stretto.cli.stopping import run_async
from stretto.cli.terminal import note, notes, print_json, results, show, stdout_for_results_only
from stretto.cli.timeline import legend, timeline
from stretto.learn.evaluate import terms_of
from stretto.learn.usable import Recorded
from stretto.record.model import Run
from stretto.runtime.load import load
from stretto.store.sqlite import Store
from stretto.types.json import JsonObject

app = typer.Typer(add_completion=False)

DEFAULT_STORE: Final = Path(".stretto/demo/runs.db")
"""A store of its own: a thousand runs of a shop that nobody has do not belong among one's own."""


@app.command(cls=VerbCommand)
def demo(
    store: Annotated[
        Path | None,
        typer.Option("--store", metavar="PATH", help=f"Where the runs are kept. [default: {DEFAULT_STORE}]"),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option("--seeds", metavar="N", min=1, max=MOST_SEEDS, help="Runs of each new customer. [default: 2]"),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Some seconds: shows that all works, too little to learn anything.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Watch a real workflow learn: it serves 40 customers of a shop, trains on 74 others, and serves the 40 again.

    A few minutes on two cores. Before and after are compared pair by pair, beside four baselines.
    """
    folder = example_folder()
    example = load_example(folder)
    workflow = folder / "workflow.yaml"
    size = QUICK if quick else Size()
    size = size if seeds is None else msgspec.structs.replace(size, seeds=seeds)
    path = store or DEFAULT_STORE
    training = path.parent / "training" / datetime.now().strftime("%Y%m%d-%H%M%S.%f")  # noqa: DTZ005  # a name
    try:
        with Store(path) as kept, stdout_for_results_only():
            course = Course(load(workflow, store=kept), example, size, training, Phases())
            study = run_async(course.go())
    except KeyboardInterrupt:
        return tell_interrupted(f"stopped by Ctrl-C; what was run so far is in {path}", as_json=as_json)
    figures = fold(study.arms, example.METRICS, example.has_writes)
    if as_json:
        print_json(demo_document(study, figures, path))
    else:
        _tell(study, figures, example, workflow, path)
    return Exit.OK


def _tell(study: Study, figures: Figures, example: Example, workflow: Path, path: Path) -> None:
    console = results()
    console.width -= 2
    show("")
    show(Text("Customers never seen in training, with 95 % intervals over customers and seeds", "bold"))
    show(Padding(comparison(figures, console.width), (0, 0, 0, 2)))
    show(Padding(Text(verdict(figures)), (1, 0, 0, 2)))
    show(Text("\nThose for whom nothing is to be changed: their reward is unknown, so they stand apart", "bold"))
    show(Padding(apart(figures, console.width), (0, 0, 0, 2)))
    best = telling_run(study, example.has_writes)
    show(Text(f"\nOne of the runs after training: customer {best.labels['task']}", "bold"))
    show(Padding(Group(timeline(best, console), legend(best, console)), (0, 0, 0, 2)))
    note(f"\nall runs are in {path}; type next:")
    for command in commands(best, f"{example.POLICY}={study.training.checkpoint}", example.TRY, workflow, path):
        notes().print(Text(f"  {command}", "bold"), soft_wrap=True)  # what is cut cannot be copied


def commands(shown: Run, weights: str, asked: JsonObject, workflow: Path, store: Path) -> Sequence[str]:
    """What to type next: look at the run shown, list those like it, and ask the trained workflow something new."""
    stretto = stretto_command()
    asking = ["run", str(workflow), "--input", orjson.dumps(asked).decode(), "--checkpoint", weights]
    return [
        f"{stretto} {shlex.join([*words, '--store', str(store)])}"
        for words in (["runs", "show", shown.id, "--io"], ["runs", "list", "--purpose", "after"], asking)
    ]


def telling_run(study: Study, has_writes: Callable[[str], bool]) -> Run:
    """The run after training that gained most on its pair before, the shortest of them."""
    before = {_pair(item): item for item in study.arms["before"]}
    items: Sequence[Recorded] = [item for item in study.arms["after"] if has_writes(item.run.labels["task"])]

    def gain(item: Recorded) -> tuple[float, int]:
        now, then = terms_of(item)["reward"], terms_of(before[_pair(item)])["reward"]
        return (float("-inf") if now is None or then is None else now - then), -len(item.run.steps)

    return max(items, key=gain).run


def _pair(item: Recorded) -> tuple[str, int]:
    return item.run.labels["task"], item.run.seed

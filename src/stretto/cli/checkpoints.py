"""Components of a workflow served with trained weights."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from stretto.cli.values import read_pairs
from stretto.engine.history import changed_components, hold_to_manifest
from stretto.learn.joint.progress import Best, JointFolder
from stretto.record.model import Run
from stretto.runtime.workflow import Workflow
from stretto.types.errors import ReplayError, UsageError
from stretto.types.protocols import Trainable


def read_checkpoints(texts: Iterable[str]) -> dict[str, str]:
    """Weights by component: ``NAME=PATH`` pairs, and folders of joint trainings, which stand for what did best there.

    Raises UsageError for what is neither, and for a component that is given twice.
    """
    pairs: list[str] = []
    for text in texts:
        folder = JointFolder(Path(text))
        if folder.begun:
            pairs += [f"{name}={path}" for name, path in _best_of(folder).items()]
        elif Path(text).is_dir():
            raise UsageError(
                f"--checkpoint {text}: the folder holds no joint training; expected NAME=PATH, or such a folder"
            )
        elif "=" not in text and not Path(text).exists():
            raise UsageError(
                f"--checkpoint {text!r} is no pair, and there is no such folder; expected NAME=PATH, or the FOLDER of "
                "a joint training"
            )
        else:
            pairs.append(text)
    return read_pairs(pairs, "--checkpoint")


def best_in(texts: Iterable[str]) -> list[tuple[JointFolder, Best]]:
    """Of what was given, each folder of a joint training, with what did best there."""
    folders = [folder for text in texts if (folder := JointFolder(Path(text))).begun]
    return [(folder, best) for folder in folders if (best := folder.progress().best) is not None]


def _best_of(folder: JointFolder) -> dict[str, Path]:
    """The files of the best weights, which a training that holds nothing out keeps at its end alone."""
    best = folder.progress().best
    files = folder.checkpoints(best.weights) if best else {}
    if best is None or (best.reward_mean is None and not all(path.is_file() for path in files.values())):
        raise UsageError(
            f"--checkpoint {folder.folder}: the training there was stopped before it kept weights to serve; go on with "
            "it (stretto train --resume): to its end where nothing is held out, else to the first evaluation"
        )
    return files


def with_checkpoints(workflow: Workflow, checkpoints: Mapping[str, str]) -> Workflow:
    """The workflow with these weights, by the name of their policy; itself when there are none.

    Raises UsageError for a name that is no policy, or weights made for another; StoreError for a damaged file.
    """
    for name, path in checkpoints.items():
        policy = workflow.component(name)
        if not isinstance(policy, Trainable):
            raise UsageError(f"--checkpoint {name}={path}: '{name}' is of kind {policy.card.kind}; it has no weights")
        workflow = workflow.with_component(policy.with_weights(path))
    return workflow


def each_with_checkpoints(workflows: Sequence[Workflow], checkpoints: Mapping[str, str]) -> list[Workflow]:
    """The workflows, each with those of the weights that are for a component of its own.

    Raises as `with_checkpoints`; for a name that it does not have, only where no other has it.
    """
    for name in checkpoints:
        lacking = [told for each in workflows if (told := _lacks(each, name))]
        if len(lacking) == len(workflows):
            raise UsageError("; ".join(lacking))
    return [
        with_checkpoints(each, {name: path for name, path in checkpoints.items() if not _lacks(each, name)})
        for each in workflows
    ]


def _lacks(workflow: Workflow, name: str) -> str:
    """That a workflow has no component of a name, and what it has; nothing where it has one."""
    try:
        workflow.component(name)
    except UsageError as error:
        return str(error)
    return ""


def hold_to_pins(run: Run, workflow: Workflow) -> None:
    """Raise ReplayError unless the workflow is what the run was pinned to; of policies it says how to give weights."""
    now = workflow.plan.manifest
    try:
        hold_to_manifest(run, now)
    except ReplayError as error:
        changed = sorted(changed_components(run.manifest, now))
        policies = [name for name in changed if isinstance(workflow.plan.components.get(name), Trainable)]
        if not policies:
            raise
        flags = " ".join(f"--checkpoint {name}=PATH" for name in policies)
        raise ReplayError(f"{error}. Weights that it was made with must be given again: {flags}") from None

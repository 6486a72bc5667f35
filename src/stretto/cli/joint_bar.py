"""How far a joint training is, shown on stderr."""

from collections.abc import Mapping
from typing import Final

from rich.progress import TaskID

from stretto.cli.train_bar import training_bar
from stretto.learn.joint.options import JointOptions
from stretto.learn.joint.report import ComponentGradient, HeldOutReport, JointReport, Reach

_BESIDE: Final = {
    Reach.CLIPPED: " clipped", Reach.UNREACHED: " not reached", Reach.FROZEN: " frozen", Reach.STEPPED: "",
    Reach.SKIPPED: " skipped",
}  # fmt: skip


class JointBar:
    """A bar over all updates, where stderr is a terminal, and a line for each."""

    def __init__(self, options: JointOptions) -> None:
        self._updates = options.updates
        self._digits = len(str(options.updates))
        self.shown = training_bar("updates")
        self._task: TaskID = self.shown.add_task("", total=options.updates)

    def tell(self, report: JointReport) -> None:
        """Say what came of an update."""
        self.shown.update(self._task, completed=report.update)
        told = f"update {report.update:>{self._digits}} of {self._updates}  {report_text(report)}"
        console = self.shown.console
        console.print(told, soft_wrap=not console.is_terminal, highlight=False, markup=False)


def report_text(report: JointReport) -> str:
    """A report on one line: reward, what was held out, and the norm of each component's gradient."""
    reward = "unknown" if report.reward_mean is None else f"{report.reward_mean:7.4f}"
    told = [f"reward {reward}"] if report.update else []
    told += [f"left out {_left_out(report.unknown, report.left_out)}"] if report.unknown else []
    told += [f"perturbed {report.perturbed}"] if report.perturbed else []
    told += [_held_out(report.held_out)] if report.held_out is not None else []
    if report.skipped:
        told.append(f"skipped: {report.skipped}")
    elif report.gradients:
        told.append(f"gradients {_gradients(report.gradients)}")
        told += [f"biased through {', '.join(report.biased)}"] if report.biased else []
    told += ["with the changed code"] if report.changed_code else []
    return "  ".join(told)


def _held_out(found: HeldOutReport) -> str:
    unknown = f" (left out {_left_out(found.unknown, found.left_out)})" if found.unknown else ""
    return f"held out {found.reward_mean:7.4f}{unknown}{', the best so far' if found.is_best else ''}"


def _left_out(count: int, why: Mapping[str, int]) -> str:
    """How many runs had no part, and why as far as it is known."""
    return f"{count} ({', '.join(f'{each} {reason}' for reason, each in why.items())})" if why else str(count)


def _gradients(found: Mapping[str, ComponentGradient]) -> str:
    return ", ".join(f"{name} {_norm(each)}{_BESIDE[each.reach]}".replace("  ", " ") for name, each in found.items())


def _norm(gradient: ComponentGradient) -> str:
    return f"{gradient.norm:.3g}" if gradient.reach in (Reach.STEPPED, Reach.CLIPPED) else ""

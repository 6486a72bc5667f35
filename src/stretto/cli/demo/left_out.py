"""Why a training's updates count fewer runs than were made."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from stretto.cli.words import count_text
from stretto.learn.options import TrainOptions
from stretto.learn.update import UpdateReport
from stretto.learn.usable import Exclusion

_OF_DECISIONS: Final = frozenset({Exclusion.FORCED, Exclusion.NOT_SAMPLED, Exclusion.DOWNGRADED})
"""Reasons that leave out a decision and not its run."""

_WORDS: Final = {
    Exclusion.REWARD_UNKNOWN: "reward unknown, as for every customer for whom nothing is to be changed",
    Exclusion.NO_DECISION: "no choice to learn from",
}
"""Other reasons are told by their names."""


def left_out(reports: Sequence[UpdateReport], options: TrainOptions) -> str:
    """One line that tells what the updates' numbers of runs lack, and why; empty when they lack nothing."""
    each = options.tasks_per_update * options.group_size
    made = each * len(reports)
    learnt = sum(report.runs for report in reports)
    if learnt == made:
        return ""
    reasons = _reasons(reports, made - learnt)
    told = "; ".join(f"{count:,} {_WORDS.get(reason, reason.replace('_', ' '))}" for reason, count in reasons.items())
    return (
        f"an update makes {count_text(each, 'run')}, and its line counts those that it learns from; left out of "
        f"{made:,}: {told}"
    )


def _reasons(reports: Sequence[UpdateReport], left: int) -> Counter[Exclusion]:
    """Runs left out by reason. One all of whose decisions were left out is counted under those: it is the rest here."""
    reasons: Counter[Exclusion] = Counter()
    for report in reports:
        reasons.update({reason: n for reason, n in report.excluded.items() if reason not in _OF_DECISIONS})
    reasons[Exclusion.NO_DECISION] += left - reasons.total()
    return +reasons

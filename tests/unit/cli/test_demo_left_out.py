"""The demo says why its updates count fewer runs than they make."""

from collections.abc import Mapping

from stretto.cli.demo.left_out import left_out
from stretto.learn.options import TrainOptions
from stretto.learn.update import UpdateReport
from stretto.learn.usable import Exclusion
from stretto.types.ids import Digest

OPTIONS = TrainOptions(updates=2, tasks_per_update=6)
"""24 runs an update."""
NOWHERE = Digest("0" * 64)


def report(runs: int, excluded: Mapping[Exclusion, int]) -> UpdateReport:
    return UpdateReport(
        update=1, runs=runs, decisions=200, groups=6, singleton_groups=0, flat_groups=0, excluded=excluded, refused=(),
        reward_mean=0.0, surrogate=0.0, entropy=0.0, kl_start=0.0, kl_behaviour=0.0, clip_fraction=0.0, grad_norm=0.0,
        acted=NOWHERE, weights=NOWHERE,
    )  # fmt: skip


def test_nothing_is_said_when_every_run_counts() -> None:
    assert left_out([report(24, {Exclusion.FORCED: 5}), report(24, {})], OPTIONS) == ""


def test_customers_for_whom_nothing_is_to_be_changed_are_told() -> None:
    reports = [report(20, {Exclusion.REWARD_UNKNOWN: 4, Exclusion.FORCED: 9}), report(24, {})]
    assert left_out(reports, OPTIONS) == (
        "an update makes 24 runs, and its line counts those that it learns from; left out of 48: 4 reward unknown, as "
        "for every customer for whom nothing is to be changed"
    )


def test_every_other_reason_is_told_with_its_count() -> None:
    reports = [report(17, {Exclusion.NO_DECISION: 1, Exclusion.ACCIDENT: 2}), report(23, {Exclusion.ACCIDENT: 1})]
    told = left_out(reports, OPTIONS)
    assert told.endswith("left out of 48: 5 no choice to learn from; 3 accident")


def test_a_run_all_of_whose_choices_were_forced_is_one_without_a_choice() -> None:
    assert left_out([report(23, {Exclusion.FORCED: 3})], OPTIONS).endswith("left out of 24: 1 no choice to learn from")

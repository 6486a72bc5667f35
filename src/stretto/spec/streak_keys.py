"""After how many failures in a row a fallback answers without trying: of a workflow, and of a component."""

from datetime import timedelta
from typing import Final

from stretto.spec.records import Fields, Key
from stretto.spec.shapes import Duration, Whole
from stretto.types.protection import StreakRule

AFTER: Final = Key(
    "after",
    Whole(minimum=1, maximum=1000),
    means="failures in a row from which it answers at once, without trying",
    example="after: 3",
    also=("failures", "threshold", "max_failures"),
)
RETRY_AFTER: Final = Key(
    "retry_after",
    Duration(minimum=timedelta(milliseconds=100), maximum=timedelta(days=1)),
    means="how long it does, before one is let through to try again; doubled by each that fails, to ten minutes",
    example="retry_after: 60s",
    also=("cooldown", "wait", "open_for"),
)


def streak_of(fields: Fields) -> StreakRule | None:
    """The rule that `after` and `retry_after` give; None when neither is there."""
    after, wait = fields.get(AFTER), fields.get(RETRY_AFTER)
    if after is None and wait is None:
        return None
    default = StreakRule()
    return StreakRule(
        after=default.after if after is None else after,
        retry_after_s=default.retry_after_s if wait is None else wait.total_seconds(),
    )

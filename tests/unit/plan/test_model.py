"""What the records of a plan can do themselves."""

from stretto.plan.model import Retry
from stretto.types.errors import Code, ComponentError


def test_the_wait_before_a_retry_is_full_jitter() -> None:
    unavailable = ComponentError("down", Code.UNAVAILABLE)
    rule = Retry(max_attempts=9, base_s=1.0, cap_s=4.0)
    assert [rule.delay_s(n, unavailable, 0.5) for n in (1, 2, 3, 4)] == [0.5, 1.0, 2.0, 2.0]

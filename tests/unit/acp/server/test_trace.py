"""The trace context that came with a call."""

import pytest

from stretto.acp.server.trace import trace_of

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

LONG = ",".join(f"v{number}={'x' * 95}" for number in range(6))


@pytest.mark.parametrize(
    ("parent", "state", "kept"),
    [
        (PARENT, "", (PARENT, "")),
        (PARENT, "a=1", (PARENT, "a=1")),
        (PARENT, " a=1 ,, b=2,", (PARENT, "a=1,b=2")),
        (PARENT, LONG, (PARENT, ",".join(LONG.split(",")[:5]))),
        (PARENT, "a=\x00", (PARENT, "")),
        (PARENT, "a=\u00e9", (PARENT, "")),
        ("", "a=1", ("", "")),
        ("00-zz", "a=1", ("", "")),
        (f"{PARENT}-\u00e9", "a=1", ("", "")),
    ],
)
def test_a_trace_is_kept_as_far_as_it_is_one(parent: str, state: str, kept: tuple[str, str]) -> None:
    assert trace_of(parent, state) == kept

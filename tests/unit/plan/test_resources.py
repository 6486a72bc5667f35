"""What of `resources` is read, which components it tells of, and whose probes count."""

from datetime import timedelta
from typing import Any

import pytest

from stretto.plan.resources import resources_in, with_probes_of
from stretto.spec.resources_model import ProbeSpec, ResourcesSpec, ServerSpec
from stretto.spec.source import Located, Source, Span

SPAN = Span(Source("f", ""), 0, 0)


def spec(**probes: Any) -> ResourcesSpec:
    return ResourcesSpec(span=SPAN, **probes)


def assumed(**values: float) -> tuple[tuple[Located[str], float], ...]:
    return tuple((Located(name, SPAN), value) for name, value in values.items())


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (("resources", "load"), {("load",)}),
        (("resources", "models", "planner", "queue_length"), {("models", "planner", "queue_length")}),
        (("resources", "gpus", 0, "free_bytes"), {("gpus",)}),
        (("resources",), {()}),
        (("input", "resources"), set()),
    ],
)
def test_what_is_read_is_told_up_to_the_first_index(path: tuple[str | int, ...], expected: set[Any]) -> None:
    assert resources_in([path]) == expected


def test_of_two_workflows_the_outer_one_s_probes_count_and_the_inner_one_s_are_added() -> None:
    slow, quick = ProbeSpec(every=timedelta(seconds=9)), ProbeSpec()
    outer = spec(host=slow, models=(("a", ServerSpec(url="http://a")),))
    inner = spec(
        host=quick, threads=quick, models=(("a", ServerSpec(url="http://b")), ("c", ServerSpec(url="http://c")))
    )
    both = with_probes_of(outer, [inner])
    assert both is not None
    assert (both.host, both.threads, both.gpu) == (slow, quick, None)
    assert [(name, server.url) for name, server in both.models] == [("a", "http://a"), ("c", "http://c")]
    assert with_probes_of(None, [inner]) is inner


def test_what_the_inner_one_assumes_holds_where_the_outer_one_says_nothing() -> None:
    outer, inner = spec(assume=assumed(load_average=1.0)), spec(assume=assumed(load_average=2.0, gpu_running=3.0))
    both = with_probes_of(outer, [inner])
    assert both is not None
    assert {name.value: value for name, value in both.assume} == {"load_average": 1.0, "gpu_running": 3.0}


def test_without_any_there_are_none() -> None:
    assert with_probes_of(None, []) is None

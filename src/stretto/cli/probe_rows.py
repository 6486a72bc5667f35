"""The probes that a workflow declares, as rows."""

from collections.abc import Iterator

from rich.text import Text

from stretto.cli.rows import Row
from stretto.spec.durations import render
from stretto.spec.resources_model import ProbeSpec, ResourcesSpec, ServerSpec


def probe_rows(spec: ResourcesSpec) -> list[Row]:
    """Each probe with its pace, and what callers give."""
    rows: list[Row] = [(Text(name, "bold"), (Text(", ".join(_facts(probe))),)) for name, probe in spec.probes()]
    if any(spec.probes()):
        rows.append((Text("all", "dim"), (Text(f"stale after {render(spec.stale_after)}", "dim"),)))
    if spec.given:
        rows.append((Text("given", "bold"), (Text(", ".join(name.value for name in spec.given)),)))
    if spec.assume:
        assumed = ", ".join(f"{name.value} {value:g}" for name, value in spec.assume)
        rows.append((Text("assumed", "bold"), (Text(f"{assumed}, while no probe has told"),)))
    return rows


def _facts(probe: ProbeSpec) -> Iterator[str]:
    yield f"every {render(probe.every)}"
    yield f"within {render(probe.timeout)}"
    if isinstance(probe, ServerSpec):
        yield probe.url
        if probe.engine is not None:
            yield probe.engine.value

"""The probes of a workflow, made from what its file declares."""

from collections.abc import Iterator, Mapping

from stretto.components.threads import THREADS
from stretto.engine.protection_stats import ProtectionStats
from stretto.engine.protections import Protections
from stretto.plan.model import Plan
from stretto.probes.counted import ComponentsProbe, ThreadsProbe
from stretto.probes.gpu import GpuProbe
from stretto.probes.host import HostProbe
from stretto.probes.live import LiveResources
from stretto.probes.server import ServerProbe
from stretto.probes.source import Source
from stretto.spec.resources_model import ResourcesSpec


def live_of(plan: Plan, protections: Protections) -> LiveResources | None:
    """The probes that a plan declares; None without any. Raises MissingExtraError when one needs a package."""
    spec = plan.resources
    if spec is None:
        return None
    sources = tuple(_sources(spec, plan, protections))
    assume = {name.value: int(value) if value == int(value) else value for name, value in spec.assume}
    return LiveResources(sources, spec.stale_after, assume)


def _sources(spec: ResourcesSpec, plan: Plan, protections: Protections) -> Iterator[Source]:
    def loads() -> Mapping[str, ProtectionStats]:
        found: Mapping[str, ProtectionStats] = protections.stats
        return found

    if spec.host is not None:
        yield Source("host", HostProbe(), spec.host)
    if spec.gpu is not None:
        yield Source("gpu", GpuProbe(), spec.gpu)
    if spec.components is not None:
        yield Source("components", ComponentsProbe(plan.components, loads), spec.components)
    if spec.threads is not None:
        yield Source("threads", ThreadsProbe(lambda: (THREADS.busy, THREADS.queued)), spec.threads)
    for name, server in spec.models:
        yield Source(f"models.{name}", ServerProbe(name, server), server)

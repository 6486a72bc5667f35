"""A model server's own queue, read out of its Prometheus metrics.

Names are those of vLLM 0.6 to 0.11 (docs.vllm.ai, "Production Metrics": `gpu_cache_usage_perc` became
`kv_cache_usage_perc` with the V1 engine) and SGLang 0.4 and 0.5 (docs.sglang.io, "Production Metrics", served with
``--enable-metrics``). Cache usage is a part of one in both, whatever the name says.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from stretto.probes.probe import ProbeError
from stretto.spec.resources_model import ServerKind
from stretto.types.json import Json

_NAMES: Final[Mapping[ServerKind, Mapping[str, tuple[str, ...]]]] = {
    ServerKind.VLLM: {
        "queue_length": ("vllm:num_requests_waiting",),
        "running": ("vllm:num_requests_running",),
        "cache_used_percent": ("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"),
    },
    ServerKind.SGLANG: {
        "queue_length": ("sglang:num_queue_reqs",),
        "running": ("sglang:num_running_reqs",),
        "cache_used_percent": ("sglang:token_usage",),
    },
}
"""By measure the metrics that give it, of which the first that is there counts."""

_RANKS: Final = frozenset({"tp_rank", "pp_rank", "moe_ep_rank", "pid"})
"""Labels of processes that work on the same requests, and each tell of all of them."""


def server_values(text: str, engine: ServerKind | None) -> dict[str, Json]:
    """Queue, running requests and cache usage of a server, from the text of its metrics.

    Engines beside each other (data parallel) are added up, for the cache the fullest counts; the processes of one
    engine (tensor parallel) tell the same and count once. Raises ProbeError when it tells nothing of a queue.
    """
    kinds = tuple(ServerKind) if engine is None else (engine,)
    for kind in kinds:
        samples = _samples(text, {name for names in _NAMES[kind].values() for name in names})
        if samples:
            return {measure: _value(measure, names, samples) for measure, names in _NAMES[kind].items()}
    asked = " or ".join(_NAMES[kind]["queue_length"][0] for kind in kinds)
    remedy = "; SGLang shows its metrics when started with --enable-metrics" if ServerKind.SGLANG in kinds else ""
    raise ProbeError(f"its metrics have no {asked}{remedy}")


def _samples(text: str, wanted: set[str]) -> dict[str, dict[tuple[tuple[str, str], ...], float]]:
    """By metric, the value of each engine: of its processes the highest.

    Only the lines that are wanted are parsed: a server tells of a thousand things, and to parse all would hold the
    event loop for 20 ms.
    """
    from prometheus_client.parser import text_string_to_metric_families

    names = tuple(wanted)
    lines = [line for line in text.splitlines() if line.startswith(names)]
    found: dict[str, dict[tuple[tuple[str, str], ...], float]] = {}
    for family in text_string_to_metric_families("\n".join(lines) + "\n"):
        for sample in family.samples:
            if sample.name not in wanted:
                continue
            engine = tuple(sorted(label for label in sample.labels.items() if label[0] not in _RANKS))
            engines = found.setdefault(sample.name, {})
            engines[engine] = max(engines.get(engine, sample.value), sample.value)
    return found


def _value(
    measure: str, names: Iterable[str], samples: Mapping[str, Mapping[tuple[tuple[str, str], ...], float]]
) -> Json:
    engines = next((samples[name].values() for name in names if name in samples), None)
    if engines is None:
        return None
    if measure == "cache_used_percent":
        return max(engines) * 100.0
    total = sum(engines)
    return int(total) if total == total // 1 else total

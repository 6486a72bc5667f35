"""What may stand under `resources` at the top of a workflow file: the tables, and how they become the model."""

from datetime import timedelta
from typing import Any, Final

from stretto.spec.codes import SpecCode
from stretto.spec.durations import render
from stretto.spec.nested import Entries, Items
from stretto.spec.records import Fields, Key, Record
from stretto.spec.resources_model import ProbeSpec, ResourcesSpec, ServerKind, ServerSpec
from stretto.spec.shapes import Choice, Duration, Number, Rule, Text
from stretto.spec.texts import VARIABLE

_OFTEN: Final = Duration(minimum=timedelta(milliseconds=100), maximum=timedelta(hours=1))
"""Ten readings a second are more than any decision takes; what is read once an hour says nothing of now."""

_URL: Final = Text(
    expected="an address such as http://127.0.0.1:8000/metrics",
    rules=(
        Rule(
            pattern=r"^https?://([^\s/?#@:\[\]]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?(/\S*)?$",
            message="is no address of a page",
            expected="an address such as http://127.0.0.1:8000/metrics, without a login, which would end up in logs",
        ),
    ),
)

EVERY: Final = Key(
    "every",
    _OFTEN,
    means="time between two readings",
    example="every: 1s",
    also=("interval", "period", "refresh"),
)
TIMEOUT: Final = Key(
    "timeout",
    Duration(maximum=timedelta(minutes=1)),
    means="how long one reading may take",
    example="timeout: 500ms",
    also=("time_limit", "deadline"),
)
URL: Final = Key(
    "url",
    _URL,
    means="address of the server's Prometheus metrics",
    example="url: http://127.0.0.1:8000/metrics",
    required=True,
    also=("address", "endpoint", "metrics"),
    akin=("base_url", "host"),
)
ENGINE: Final = Key(
    "engine",
    Choice(ServerKind),
    means="whose metrics they are",
    example="engine: vllm",
    also=("kind", "server", "type"),
)


def _times(fields: Fields) -> dict[str, timedelta]:
    return {key.name: value for key in (EVERY, TIMEOUT) if (value := fields.get(key)) is not None}


PROBE: Final = Record(
    "probe",
    means="how often a probe reads, and how long that may take",
    keys=(EVERY, TIMEOUT),
    build=lambda fields: ProbeSpec(**_times(fields)),
)


def _server(fields: Fields) -> ServerSpec | None:
    url, engine = fields.get(URL), fields.get(ENGINE)
    return None if url is None else ServerSpec(url=url.value, engine=engine, **_times(fields))


SERVER: Final = Record(
    "server",
    means="the Prometheus endpoint of a model server",
    keys=(URL, ENGINE, EVERY, TIMEOUT),
    build=_server,
)

HOST: Final = Key("host", PROBE, means="load and memory of the machine", example="host: {}", also=("machine", "cpu"))
GPU: Final = Key(
    "gpu", PROBE, means="memory, load and temperature of its NVIDIA devices", example="gpu: {}", also=("gpus", "nvml")
)
COMPONENTS: Final = Key(
    "components", PROBE, means="queue, calls in flight and latency of each component", example="components: {}"
)
THREADS: Final = Key(
    "threads", PROBE, means="the threads that plain functions run in", example="threads: {}", also=("pool",)
)
MODELS: Final = Key(
    "models",
    Entries(key=VARIABLE, value=SERVER, build=lambda name, spec: (name.value, spec), what="a name, and its server"),
    means="model servers by name, and where each tells of its queue",
    example="models: {planner: {url: http://127.0.0.1:8000/metrics}}",
    also=("servers", "model_servers"),
)
GIVEN: Final = Key(
    "given",
    Items(item=VARIABLE, what="names"),
    means="names that whoever runs the workflow gives",
    example="given: [region]",
    akin=("inputs", "caller"),
)
ASSUME: Final = Key(
    "assume",
    Entries(key=VARIABLE, value=Number(), build=lambda name, value: (name, value), what="a name, and a number"),
    means="what a name reads while no probe has told it; null when absent",
    example="assume: {gpu_queue_length: 0}",
    also=("default", "defaults", "otherwise"),
)
STALE_AFTER: Final = Key(
    "stale_after",
    Duration(),
    means="age at which a value is marked stale",
    example="stale_after: 5s",
    also=("max_age", "ttl"),
)


def _resources(fields: Fields) -> ResourcesSpec:
    stale_after = fields.get(STALE_AFTER)
    given: dict[str, Any] = {} if stale_after is None else {"stale_after": stale_after}
    spec = ResourcesSpec(
        span=fields.node.span,
        host=fields.get(HOST),
        gpu=fields.get(GPU),
        components=fields.get(COMPONENTS),
        threads=fields.get(THREADS),
        models=fields.get(MODELS) or (),
        given=fields.get(GIVEN) or (),
        assume=fields.get(ASSUME) or (),
        **given,
    )
    _hold_to_each_other(spec, fields)
    return spec


def _hold_to_each_other(spec: ResourcesSpec, fields: Fields) -> None:
    """Report times that contradict each other, and an age that nothing has."""
    slow = [(name, probe) for name, probe in spec.probes() if probe.every > spec.stale_after]
    if slow:
        name, probe = slow[0]
        at = STALE_AFTER if STALE_AFTER in fields else MODELS if name.startswith("models.") else PROBES[name]
        fields.problem(
            at,
            SpecCode.CONFLICT,
            f"'{name}' is read every {render(probe.every)}, and its values are stale after {render(spec.stale_after)}: "
            "they would be so most of the time",
            expected="`stale_after` no shorter than any `every`",
            suggestion=f"stale_after: {render(probe.every * 3)}",
        )
    if STALE_AFTER in fields and not any(spec.probes()):
        fields.problem(
            STALE_AFTER,
            SpecCode.NO_EFFECT,
            "`stale_after` has no effect where no probe is declared",
            expected=f"one of {', '.join((*PROBES, MODELS.name))} beside it",
            suggestion=HOST.example,
        )


PROBES: Final[dict[str, Key[ProbeSpec]]] = {key.name: key for key in (HOST, GPU, COMPONENTS, THREADS)}

RESOURCES: Final = Record(
    "resources",
    means="which probes fill `resources.*`",
    keys=(HOST, GPU, COMPONENTS, THREADS, MODELS, GIVEN, ASSUME, STALE_AFTER),
    build=_resources,
    may_be_empty=False,
    is_thing=False,
)

"""What `resources.*` holds in one workflow: the names that its probes give, and those that its callers do."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import Final

from msgspec.structs import replace

from stretto.plan.codes import PlanCode
from stretto.plan.model import Resources
from stretto.plan.valuetype import DYN, FLOAT, INT, STRING, ValueType, array_of, object_of
from stretto.spec.codes import SpecCode
from stretto.spec.model import StepSpec, steps_in
from stretto.spec.report import Report
from stretto.spec.resources_model import ResourcesSpec
from stretto.spec.source import Located
from stretto.spec.suggest import nearest
from stretto.types.errors import Problem
from stretto.types.json import PathPart
from stretto.types.resources import (
    AGE,
    COMPONENT,
    DEVICES,
    GPU,
    GPU_DEVICE,
    HOST,
    MODELS,
    SERVER,
    SERVERS,
    STALE,
    THREADS,
    Measure,
    component_value,
)

ROOT: Final = "resources"

AGE_TYPE: Final = FLOAT.or_null()


def resources_in(paths: Iterable[tuple[PathPart, ...]]) -> Resources:
    """What paths read below `resources`, up to the first index: a list is seen as a whole."""
    return frozenset(
        tuple(str(part) for part in takewhile(lambda part: isinstance(part, str), path[1:]))
        for path in paths
        if path[0] == ROOT
    )


def components_of(steps: Iterable[StepSpec]) -> list[str]:
    """Names of the components that steps call, and of those that answer for them; each once, in order."""
    return list(dict.fromkeys(name.partition("@")[0] for name in _called(steps)))


def resources_type(spec: ResourcesSpec, components: Sequence[str], report: Report) -> ValueType:
    """The type of `resources`; reports names that are given twice, and assumptions that cannot be."""
    homes: dict[str, str] = {}
    fields: dict[str, ValueType] = {STALE: array_of(STRING), AGE: _ages(spec)}
    for home, measure in _measures(spec, components):
        if measure.name in homes:
            report.add(_given_twice(spec, measure.name, homes[measure.name], home))
        homes[measure.name], fields[measure.name] = home, _type(measure)
        for name, value in spec.assume:
            if name.value == measure.name:
                fields[measure.name] = INT if measure.is_whole else FLOAT
                _check_assumed(name, measure, value, report)
    fields |= _nested(spec)
    for name, _ in spec.assume:
        if name.value not in homes:
            report.add(_assumed_for_nothing(name, homes))
    for given in spec.given:
        if given.value in fields:
            report.add(_given_all_the_same(given, homes.get(given.value, "the probes")))
    names = [given.value for given in spec.given]
    for at, given in enumerate(spec.given):
        if given.value in names[:at]:
            message = f"'{given.value}' is named twice"
            report.add(given.span.problem(SpecCode.NO_EFFECT, message, expected="each name once"))
    fields |= dict.fromkeys(names, DYN)
    return object_of(fields)


def _measures(spec: ResourcesSpec, components: Sequence[str]) -> Iterator[tuple[str, Measure]]:
    """Each single figure, and who gives it."""
    models = spec.models or None
    tables = (
        ("host", spec.host, HOST),
        ("gpu", spec.gpu, GPU),
        ("threads", spec.threads, THREADS),
        ("models", models, SERVERS),
    )
    for probe, asked, measures in tables:
        if asked is not None:
            yield from ((f"the probe '{probe}'", each) for each in measures)
    if spec.components is not None:
        for component in components:
            for each in COMPONENT:
                yield f"component '{component}'", replace(each, name=component_value(component, each.name))


def _nested(spec: ResourcesSpec) -> dict[str, ValueType]:
    """What is no single figure: each device, and each server."""
    fields = {}
    if spec.gpu is not None:
        fields[DEVICES] = array_of(object_of({"index": INT, "name": STRING, **_types(GPU_DEVICE)})).or_null()
    if spec.models:
        fields[MODELS] = object_of({name: object_of(_types(SERVER)) for name, _ in spec.models})
    return fields


def _given_twice(spec: ResourcesSpec, name: str, first: str, second: str) -> Problem:
    return spec.span.problem(
        PlanCode.RESOURCE,
        f"`resources.{name}` would be given by {first} and by {second}",
        expected="one probe for each name",
        suggestion="rename the component, or leave one of the two probes out",
    )


def _given_all_the_same(name: Located[str], home: str) -> Problem:
    return name.span.problem(
        PlanCode.RESOURCE,
        f"'{name.value}' comes from {home}, and a caller may give it in its place all the same",
        expected="names that no probe gives",
        suggestion="remove it",
    )


def _assumed_for_nothing(name: Located[str], known: Iterable[str]) -> Problem:
    return name.span.problem(
        PlanCode.RESOURCE,
        f"no probe of this workflow gives '{name.value}', so nothing reads what is assumed for it",
        expected=f"one of {', '.join(sorted(known)) or 'the names of a probe, of which none is declared'}",
        suggestion=nearest(name.value, known) or "",
    )


def _check_assumed(name: Located[str], measure: Measure, value: float, report: Report) -> None:
    reason = measure.nonsense(value)
    if reason:
        report.add(
            name.span.problem(
                PlanCode.RESOURCE,
                f"'{name.value}' can never be what is assumed: {reason}",
                expected=measure.range,
            )
        )


def _ages(spec: ResourcesSpec) -> ValueType:
    """Milliseconds by probe, those of model servers one below."""
    alone = {name: AGE_TYPE for name, _ in spec.probes() if not name.startswith(f"{MODELS}.")}
    servers = {MODELS: object_of({name: AGE_TYPE for name, _ in spec.models})} if spec.models else {}
    return object_of({**alone, **servers})


def _types(measures: Iterable[Measure]) -> dict[str, ValueType]:
    return {each.name: _type(each) for each in measures}


def _type(measure: Measure) -> ValueType:
    return (INT if measure.is_whole else FLOAT).or_null()


def _called(steps: Iterable[StepSpec]) -> Iterator[str]:
    for step in steps_in(steps):
        if step.component is not None:
            yield step.component.value
        if step.resilience.fallback is not None and step.resilience.fallback.component is not None:
            yield step.resilience.fallback.component.value


def with_probes_of(outer: ResourcesSpec | None, inner: Iterable[ResourcesSpec]) -> ResourcesSpec | None:
    """The probes of a workflow and of those inside it, and what is assumed while they have not told; where both have
    one, the outer's counts."""
    for spec in inner:
        if outer is None:
            outer = spec
            continue
        known = {name for name, _ in outer.models}
        assumed = {name.value for name, _ in outer.assume}
        outer = replace(
            outer,
            host=outer.host or spec.host,
            gpu=outer.gpu or spec.gpu,
            components=outer.components or spec.components,
            threads=outer.threads or spec.threads,
            models=(*outer.models, *(each for each in spec.models if each[0] not in known)),
            assume=(*outer.assume, *(each for each in spec.assume if each[0].value not in assumed)),
        )
    return outer

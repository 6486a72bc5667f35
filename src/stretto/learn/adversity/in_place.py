"""What answers in place of a step's component while a workflow is measured."""

import random
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from statistics import pstdev
from typing import Any, TypeAlias

import msgspec
import orjson

from stretto.learn.adversity.marks import PERTURBED
from stretto.learn.adversity.perturbation import bits, uniform
from stretto.learn.evaluate import Key
from stretto.plan.places import step_of
from stretto.record.canonical import snapshot
from stretto.record.model import Run
from stretto.runtime.between import Ask, between
from stretto.types.card import Card
from stretto.types.enums import StepStatus
from stretto.types.errors import UsageError
from stretto.types.json import Json
from stretto.types.messages import Request, Response
from stretto.types.protocols import Component, Confirms

Answer: TypeAlias = Callable[[Ask, Request], Awaitable[Response]]
"""Asks the component itself, or does not."""


class InPlace:
    """Answers for one step, whose component answers all others."""

    def __init__(self, step: str, answer: Answer) -> None:
        """`step` is its path without indices."""
        self._step = step
        self._answer = answer
        self._wrapped: dict[int, tuple[Component, Component]] = {}

    def wrap(self, component: Component) -> Component:
        """The component with this before it; the same each time."""
        if id(component) not in self._wrapped:
            self._wrapped[id(component)] = (component, between(self, component))
        return self._wrapped[id(component)][1]

    async def deliver(self, _card: Card, ask: Ask, request: Request) -> Response:
        """The answer to one call."""
        return await (self._answer(ask, request) if step_of(request.call.path) == self._step else ask(request))

    async def confirm(self, component: Confirms, _card: Card, request: Request) -> Response | None:
        """What the component says of a write in doubt."""
        return await component.confirm(request)

    def working(self) -> AbstractContextManager[None]:
        """Nobody counts it."""
        return nullcontext()


def answered_by(other: Component, told: str) -> Answer:
    """Another version answers."""

    async def answer(_ask: Ask, request: Request) -> Response:
        return marked(await other(request), {"kind": "worse", "version": told})

    return answer


def exchanged(runs: Sequence[Run], step: str) -> dict[Key, Sequence[Json]]:
    """For each run, by its task and seed, what the step answered in the run of another task.

    Each run's answers are used once, in an order that the seeds decide and the order of the tasks does not. Runs in
    which the step did not answer have no part. Raises UsageError where fewer than two tasks are left.
    """
    rounds: list[list[tuple[Key, Sequence[Json]]]] = []
    seen: Counter[str] = Counter()
    for run in runs:
        told = [each.output_value for each in run.steps if step_of(each.path) == step and each.status is StepStatus.OK]
        if told:
            task = run.labels["task"]
            if seen[task] == len(rounds):
                rounds.append([])
            rounds[seen[task]].append(((task, run.seed), told))
            seen[task] += 1
    if len(seen) < 2:
        raise UsageError(
            f"step '{step}' answered in runs of {'one task' if seen else 'no task'}; what it answers to other tasks is "
            "put in its place, so two or more are needed"
        )
    found: dict[Key, Sequence[Json]] = {}
    for each in rounds:
        each.sort(key=lambda told: bits(told[0][1], told[0][0]))
        found |= {key: each[place - 1][1] for place, (key, _) in enumerate(each) if len(each) > 1}
    return found


def recited(answers: Mapping[Key, Sequence[Json]]) -> Answer:
    """It says what it said to another task: a valid answer, to another question.

    Exchanged between cases as in Breiman 2001, "Random Forests", section 10: what it says keeps its distribution, and
    tells nothing of the case. In a run that has nothing to be exchanged it is asked.
    """

    async def answer(ask: Ask, request: Request) -> Response:
        key = request.call.run.labels["task"], request.call.run.seed
        if key not in answers:
            return await ask(request)
        told = answers[key]
        output = told[int(uniform(key[1], request.call.path) * len(told))]  # of several rounds or items any
        return marked(Response(output=output), {"kind": "random"})

    return answer


def blurred(answers: Mapping[Key, Sequence[Json]], noise: float) -> Answer:
    """Its numbers with noise, in units of what each varies by over the answers. Raises UsageError where none varies."""
    spreads = _spreads([each for told in answers.values() for each in told])
    if not spreads:
        raise UsageError(
            "what the planner says has no number that varies, so noise does nothing to it; give other versions of the "
            "executor to compare with"
        )

    async def answer(ask: Ask, request: Request) -> Response:
        response = await ask(request)
        chance = random.Random(bits(request.call.run.seed, request.call.path, "noise"))  # noqa: S311  # keeps no secrets
        output: Any = orjson.loads(snapshot(response.output))  # Any: JSON
        made = _blur(output, (), spreads, noise, chance)
        return marked(msgspec.structs.replace(response, output=made), {"kind": "noise", "noise": noise})

    return answer


_Place: TypeAlias = tuple[str | int, ...]


def _spreads(values: Sequence[Json]) -> dict[_Place, float]:
    """The standard deviation of each number that varies, by its place."""
    found: dict[_Place, list[float]] = {}
    for value in values:
        _gather(value, (), found)
    spreads = {place: pstdev(numbers) for place, numbers in found.items()}
    return {place: spread for place, spread in spreads.items() if spread > 0.0}


def _gather(value: Json, place: _Place, found: dict[_Place, list[float]]) -> None:
    for part, inner in _parts(value):
        _gather(inner, (*place, part), found)
    if type(value) is float:
        found.setdefault(place, []).append(value)


def _blur(value: Json, place: _Place, spreads: Mapping[_Place, float], noise: float, chance: random.Random) -> Json:
    if isinstance(value, dict):
        return {name: _blur(inner, (*place, name), spreads, noise, chance) for name, inner in value.items()}
    if isinstance(value, list):
        return [_blur(inner, (*place, at), spreads, noise, chance) for at, inner in enumerate(value)]
    if type(value) is float and place in spreads:
        return value + chance.gauss(0.0, noise * spreads[place])
    return value


def _parts(value: Json) -> list[tuple[str | int, Json]]:
    if isinstance(value, dict):
        return [*value.items()]
    return [*enumerate(value)] if isinstance(value, list) else []


def marked(response: Response, how: dict[str, Json]) -> Response:
    """The answer, saying how it came about."""
    return msgspec.structs.replace(response, evidence={**response.evidence, PERTURBED: how})

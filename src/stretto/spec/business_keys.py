"""What may stand under a workflow's `fallback`: what answers in the place of the whole workflow."""

from datetime import timedelta
from typing import Final

from stretto.spec.expectation_keys import ExpectationsShape
from stretto.spec.field_sources import field_mappings
from stretto.spec.model import BusinessSpec
from stretto.spec.records import Fields, Key, Record
from stretto.spec.shapes import Duration, Number
from stretto.spec.source import Located
from stretto.spec.streak_keys import AFTER, RETRY_AFTER, streak_of
from stretto.spec.texts import FIELD, REFERENCE
from stretto.types.protection import ExerciseRule, StreakRule

EVERY: Final = Key(
    "every",
    Duration(minimum=timedelta(minutes=1)),
    means="how long after one exercise the next is due",
    example="every: 30d",
    also=("period", "interval"),
)
SHARE: Final = Key(
    "share",
    Number(above=0, maximum=1),
    means="part of the runs that ask the fallback too, while an exercise is due",
    example="share: 0.01",
    also=("rate", "part", "sample"),
)


def _exercise(fields: Fields) -> ExerciseRule:
    every, share, default = fields.get(EVERY), fields.get(SHARE), ExerciseRule()
    return ExerciseRule(
        every_s=default.every_s if every is None else every.total_seconds(),
        share=default.share if share is None else share,
    )


EXERCISE: Final = Record(
    "exercise",
    means="how often, and by how much of the real traffic, the fallback is tried beside the real answer",
    keys=(EVERY, SHARE),
    build=_exercise,
    is_thing=False,
)

COMPONENT: Final = Key(
    "component",
    REFERENCE,
    means="the component that answers; it writes nothing",
    example="component: bank-rules",
    required=True,
    also=("rules", "use"),
)
INPUT_MAPPING: Final = Key(
    "input_mapping",
    field_mappings(FIELD, "a field of its request, and where its value comes from"),
    means="what it is asked; without it, the fields of the workflow's input that it takes",
    example='input_mapping: {risk: "input.risk", reason: "run.failure.reason"}',
    also=("input", "inputs", "with"),
)
OUTPUT: Final = Key(
    "output",
    field_mappings(FIELD, "a field of the workflow's answer, and where its value comes from"),
    means="the workflow's answer, made of its answer; without it, its answer as it is",
    example='output: {response: "answer.text"}',
    also=("outputs", "output_mapping", "result"),
)
EXERCISE_KEY: Final = Key(
    "exercise", EXERCISE, means=EXERCISE.means, example="exercise: {every: 30d, share: 0.01}", also=("drill",)
)
EXPECTATIONS_KEY: Final = Key(
    "expectations",
    ExpectationsShape(),
    means="what every answer of it must satisfy: a file, or the list itself",
    example="expectations: expectations.yaml",
    also=("expect", "checks", "assertions"),
)


def _business(fields: Fields) -> BusinessSpec:
    given = fields.get(EXPECTATIONS_KEY)
    return BusinessSpec(
        span=fields.node.span,
        component=fields.get(COMPONENT) or Located("", fields.node.span),  # a missing one was reported
        input_mapping=fields.get(INPUT_MAPPING),
        output=fields.get(OUTPUT) or (),
        streak=streak_of(fields) or StreakRule(),
        exercise=fields.get(EXERCISE_KEY),
        expectations=given if isinstance(given, tuple) else (),
        expectations_path=given if isinstance(given, Located) else None,
    )


BUSINESS: Final = Record(
    "business_fallback",
    means="what answers in the workflow's place when it fails",
    keys=(COMPONENT, INPUT_MAPPING, OUTPUT, AFTER, RETRY_AFTER, EXERCISE_KEY, EXPECTATIONS_KEY),
    build=_business,
    is_thing=False,
)

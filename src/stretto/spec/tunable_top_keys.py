"""Which keys at the top of a workflow file, and of its contract, may be given another value while it runs."""

from collections.abc import Mapping
from typing import Any, Final

from stretto.spec.business_keys import EVERY, EXERCISE_KEY, SHARE as EXERCISED_SHARE
from stretto.spec.contract import SEMANTICS
from stretto.spec.domain_keys import ALIGNER, MODE, THRESHOLD
from stretto.spec.durations import render
from stretto.spec.records import Key
from stretto.spec.resources_keys import EVERY as READ_EVERY, MODELS, PROBES, STALE_AFTER, TIMEOUT as READ_WITHIN
from stretto.spec.resources_model import DEFAULT_STALE_AFTER, ProbeSpec
from stretto.spec.tunable_group import Group
from stretto.spec.tunable_keys import STREAK, span_text
from stretto.spec.workflow_keys import (
    BUDGET_KEY,
    COST,
    DEADLINE,
    FALLBACK as BUSINESS_KEY,
    RESERVE,
    RESOURCES_KEY,
    RETRIES,
    TOKENS,
)
from stretto.types.budget import MOST_RESERVED, RESERVED_PART
from stretto.types.meaning import MeaningMode
from stretto.types.protection import ExerciseRule
from stretto.types.setting import SettingValue

_READING: Final[Mapping[Key[Any], SettingValue]] = {
    READ_EVERY: render(ProbeSpec().every),
    READ_WITHIN: render(ProbeSpec().timeout),
}

OF_WORKFLOW: Final = (
    Group(
        name=BUDGET_KEY.name,
        under=(BUDGET_KEY.name,),
        defaults={DEADLINE: None, RESERVE: None, RETRIES: None, TOKENS: None, COST: None},
        needs=(BUDGET_KEY.name,),
        example=BUDGET_KEY.example,
    ),
    Group(
        name=BUSINESS_KEY.name,
        under=(BUSINESS_KEY.name,),
        defaults=STREAK,
        needs=(BUSINESS_KEY.name,),
        example=BUSINESS_KEY.example,
    ),
    Group(
        name=f"{BUSINESS_KEY.name}.{EXERCISE_KEY.name}",
        under=(BUSINESS_KEY.name, EXERCISE_KEY.name),
        defaults={EVERY: span_text(ExerciseRule().every_s), EXERCISED_SHARE: ExerciseRule().share},
        needs=(BUSINESS_KEY.name, EXERCISE_KEY.name),
        example=f"{BUSINESS_KEY.name}: {{{EXERCISE_KEY.example}}}",
    ),
)
"""On their own, of the workflow that is run. Below ``steps.NAME`` of one inside it, but for its fallback, which
answers for runs of its own alone."""

KEPT: Final[Mapping[Key[Any], str]] = {
    RESERVE: f"{RESERVED_PART:g} of the deadline, at most {render(MOST_RESERVED)}",
}
"""What is kept of a deadline for a workflow's fallback where nobody says how much."""

OF_PROBES: Final = (
    Group(
        name=RESOURCES_KEY.name,
        under=(RESOURCES_KEY.name,),
        defaults={STALE_AFTER: render(DEFAULT_STALE_AFTER)},
        needs=(RESOURCES_KEY.name,),
        example=RESOURCES_KEY.example,
    ),
)
"""Of all probes together. Those of a workflow inside another have the same names: the outermost's count, as when it
reads."""

OF_PROBE: Final = tuple(
    Group(
        name=f"{RESOURCES_KEY.name}.{key.name}",
        under=(RESOURCES_KEY.name, key.name),
        defaults=_READING,
        needs=(RESOURCES_KEY.name, key.name),
        example=f"{RESOURCES_KEY.name}: {{{key.example}}}",
    )
    for key in PROBES.values()
)
"""Of each kind of probe."""

OF_MODEL: Final = Group(
    name=f"{RESOURCES_KEY.name}.{MODELS.name}", under=(RESOURCES_KEY.name, MODELS.name), defaults=_READING
)
"""Of the probe of each model server, by its name: ``resources.models.planner.every``."""

OF_DOMAIN: Final = (
    Group(
        name=SEMANTICS.name,
        defaults={THRESHOLD: None},
        needs=(ALIGNER.name,),
        example=ALIGNER.example,
        unsaid={THRESHOLD: "the aligner's own"},
    ),
    Group(name=SEMANTICS.name, defaults={MODE: MeaningMode.ENFORCE.value}),
)
"""Of each semantic domain of the contract, by its name: ``semantics.intent.threshold``."""

NOT_INSIDE: Final = (f"{BUSINESS_KEY.name}.",)
"""What keys begin with that mean nothing of a workflow inside another."""

"""What a declaration of kind ``reward`` may hold in a workflow file: where each term's function is."""

from functools import partial
from pathlib import Path
from typing import Any, Final

from stretto.components.option_shapes import DESCRIPTION_KEY, VERSION_KEY, FunctionName, FunctionShape, Make
from stretto.components.python.declaration import imported
from stretto.components.reward import CompositeReward
from stretto.components.reward_term import RewardTerm
from stretto.spec.nested import Entries
from stretto.spec.records import Fields, Key, Record
from stretto.spec.source import Located
from stretto.spec.texts import STEP_NAME
from stretto.types.protocols import Component


def _entry(term: Located[str], function: FunctionName) -> tuple[str, FunctionName]:
    return term.value, function


TERMS: Final = Key(
    "terms",
    Entries(key=STEP_NAME, value=FunctionShape(), build=_entry, what="terms and their functions"),
    means="each term and the function that computes it: module:name",
    example="terms: { api_success: shop.rewards:api_success }",
    required=True,
)


def _build(fields: Fields) -> Make | None:
    terms = fields.get(TERMS)
    texts = (VERSION_KEY, DESCRIPTION_KEY)
    options: dict[str, Any] = {key.name: text.value for key in texts if (text := fields.get(key)) is not None}
    return None if terms is None else partial(_make, dict(terms), options)


def _make(terms: dict[str, FunctionName], options: dict[str, Any], name: str, folder: Path) -> Component:
    parts = [RewardTerm(imported(function, folder), [term], inline=False) for term, function in terms.items()]
    return CompositeReward(name, parts, **options)


REWARD: Final[Record[Make]] = Record(
    "reward-component",
    means="Judges a run, term by term.",
    keys=(TERMS, VERSION_KEY, DESCRIPTION_KEY),
    build=_build,
)

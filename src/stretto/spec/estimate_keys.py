"""What may stand under a step's `estimate`: the table, and how it becomes its model."""

from typing import Final

from stretto.spec.model import EstimateSpec
from stretto.spec.records import Key, Record
from stretto.spec.shapes import Number, Whole

TOKENS: Final = Key(
    "tokens",
    Whole(minimum=1, maximum=10**9),
    means="how many tokens one call is expected to use",
    example="tokens: 1500",
    also=("max_tokens",),
)
COST: Final = Key(
    "cost",
    Number(above=0, maximum=1e9),
    means="how much one call is expected to cost, in the currency of the budget",
    example="cost: 0.02",
    also=("money", "max_cost"),
)

ESTIMATE: Final = Record(
    "estimate",
    means="what one call is expected to use, set aside from the budget until it has answered",
    keys=(TOKENS, COST),
    build=lambda fields: EstimateSpec(tokens=fields.get(TOKENS) or 0, cost=fields.get(COST) or 0.0),
    may_be_empty=False,
)

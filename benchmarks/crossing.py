"""What it costs that a value crosses into a domain, by what says which value is meant."""

import time
from statistics import median
from typing import Final

from stretto.engine.meaning import crossed
from stretto.plan.meaning import Crossing
from stretto.plan.meaning.crossing import exact_of
from stretto.plan.meaning.domain import compile_domain
from stretto.spec.contract import parse_contract
from stretto.types.json import JsonObject

ROUNDS: Final = 20
CALLS: Final = 2_000

CONTRACT: Final = """
semantics:
  intent: {values: [track], at: [planner.intent]}
  api:
    values: [ORDER_STATUS_QUERY, ORDER_CANCEL, %s]
    at: [executor.intent]
    from: {intent: {track: ORDER_STATUS_QUERY}}
    synonyms: {ORDER_STATUS_QUERY: [where is my parcel, 查快递]}
    rules: [%s]
"""

VALUES: Final = 75
RULES: Final = 20


def crossing_figures() -> dict[str, float]:
    """Median microseconds of one field of a request: a value of the domain, a translation, synonyms, no rule of 20."""
    crossings = (_crossing(),)
    texts = {
        "align_value_us": "ORDER_STATUS_QUERY",
        "align_exact_us": "track",
        "align_synonym_us": "查快递",
        "align_refused_us": "nothing of all that is said here",
    }
    return {key: round(_median_us(text, crossings), 2) for key, text in texts.items()}


def _crossing() -> Crossing:
    values = ", ".join(f"VALUE_{number}" for number in range(VALUES))
    rules = ", ".join(f'{{match: "(where|track).*thing{number}", value: VALUE_{number}}}' for number in range(RULES))
    contract = parse_contract(CONTRACT % (values, rules))
    domain = compile_domain(contract.semantics[1], contract.semantics_mode, None)
    return Crossing(
        at="executor.intent", path=("intent",), domain=domain, exact=exact_of(domain, frozenset({"intent"}))
    )


def _median_us(text: str, crossings: tuple[Crossing, ...]) -> float:
    data: JsonObject = {"intent": text, "order": "#7"}
    rounds = []
    for _ in range(ROUNDS):
        began = time.perf_counter_ns()
        for _ in range(CALLS):
            crossed(data, crossings)
        rounds.append((time.perf_counter_ns() - began) / CALLS / 1e3)
    return median(rounds)

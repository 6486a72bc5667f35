"""Domains compiled: which value of a closed set a text means, and where values cross into one."""

from stretto.plan.meaning.crossing import Crossing, Held, Side, rewritten
from stretto.plan.meaning.domain import Domain

__all__ = ["Crossing", "Domain", "Held", "Side", "rewritten"]

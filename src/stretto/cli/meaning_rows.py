"""The semantic domains of a plan, as `stretto check` tells of them: where each holds, and what aligns to it."""

from typing import Any

from rich.text import Text

from stretto.cli.words import count_text
from stretto.plan.meaning import Domain
from stretto.plan.model import Plan
from stretto.types.meaning import folded


def meaning_rows(plan: Plan) -> list[tuple[Text, tuple[Text, ...]]]:
    """For each domain its name, its mode, how many values it has, where they hold and what else may say one."""
    return [
        (
            Text(name, "bold"),
            (
                Text(domain.mode.value),
                Text(count_text(len(domain.values), "value")),
                Text(", ".join(_places(plan, domain)) or "nowhere"),
                Text(", ".join(_ways(domain)), "dim"),
            ),
        )
        for name, domain in plan.domains.items()
    ]


def meaning_document(plan: Plan) -> Any:
    """The same for programs."""
    return {
        "mappings_compared": plan.mappings_compared,
        "domains": [
            {
                "name": name,
                "mode": domain.mode.value,
                "values": list(domain.values),
                "held": [{"at": held.at, "side": held.side.value} for held in plan.held if held.domain.name == name],
                "from": {other: dict(values) for other, values in domain.translations.items()},
                "aligner": domain.aligner_name or None,
            }
            for name, domain in plan.domains.items()
        ],
    }


def _places(plan: Plan, domain: Domain) -> list[str]:
    """Of this contract, and those of sub-workflows where a mapping of this one feeds them."""
    return list(dict.fromkeys(held.at for held in plan.held if held.domain.name == domain.name))


def _ways(domain: Domain) -> list[str]:
    synonyms = len(domain.spellings.keys() - {folded(value) for value in domain.values})
    ways = [f"from {other} ({len(values)})" for other, values in domain.translations.items()]
    if synonyms:
        ways.append(count_text(synonyms, "synonym"))
    if domain.rules:
        ways.append(count_text(len(domain.rules), "rule"))
    if domain.aligner_name:
        ways.append(f"learned: {domain.aligner_name}")
    return ways

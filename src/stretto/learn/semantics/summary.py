"""What recorded alignments come to, by domain: who answered how often, and whether the learned part grows unsure."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from stretto.learn.semantics.alignments import Alignment
from stretto.types.meaning import AlignedBy

_MOST_ABSTAINED: Final = 10

_ASKED: Final = frozenset({AlignedBy.LEARNED, AlignedBy.ABSTAINED})
"""Stages that come to the learned aligner, where a domain has one."""


class Drift(msgspec.Struct, frozen=True, kw_only=True):
    """Confidence of the learned aligner, in the older and the newer half of the texts that came to it."""

    texts: int
    before: float
    """Mean confidence in the older half; a text with no guess counts 0."""
    after: float
    abstained_before: float
    """Share of abstentions in the older half."""
    abstained_after: float


class Abstained(msgspec.Struct, frozen=True, kw_only=True):
    """A text that nothing said surely enough."""

    text: str
    count: int
    untranslated: bool = False
    """It is a value of another domain: the contract lacks a translation."""


class DomainSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The alignments of one domain."""

    domain: str
    texts: int
    """That were no values already: those leave no trace."""
    by: dict[str, int]
    """Stage → texts that it answered, in the order in which stages are asked."""
    drift: Drift | None
    """None with fewer than two texts, and where no learned aligner was asked: nothing was more than declared."""
    abstained: tuple[Abstained, ...]
    """The most frequent ones."""


def summarise(alignments: Iterable[Alignment]) -> list[DomainSummary]:
    """One summary a domain, by name; the order in which alignments come makes no difference."""
    domains: dict[str, list[Alignment]] = {}
    for each in alignments:
        domains.setdefault(each.domain, []).append(each)
    return [_summary(name, domains[name]) for name in sorted(domains)]


def _summary(domain: str, found: Sequence[Alignment]) -> DomainSummary:
    counts = Counter(each.by for each in found)
    abstained = Counter((each.text, each.untranslated) for each in found if each.by is AlignedBy.ABSTAINED)
    most = sorted(abstained.items(), key=lambda pair: (-pair[1], pair[0]))[:_MOST_ABSTAINED]
    return DomainSummary(
        domain=domain,
        texts=len(found),
        by={stage.value: counts[stage] for stage in AlignedBy if counts[stage]},
        drift=_drift([each for each in found if each.by in _ASKED and not each.untranslated]),
        abstained=tuple(Abstained(text=text, count=count, untranslated=is_value) for (text, is_value), count in most),
    )


def _drift(asked: Sequence[Alignment]) -> Drift | None:
    if len(asked) < 2 or not any(each.by is AlignedBy.LEARNED or each.guess for each in asked):
        return None
    ordered = sorted(asked, key=lambda each: (each.at_ns, each.run_id, each.path, each.text))
    older, newer = ordered[: len(ordered) // 2], ordered[len(ordered) // 2 :]
    return Drift(
        texts=len(asked),
        before=_mean(older),
        after=_mean(newer),
        abstained_before=_abstained(older),
        abstained_after=_abstained(newer),
    )


def _mean(part: Sequence[Alignment]) -> float:
    return sum(each.confidence for each in part) / len(part)


def _abstained(part: Sequence[Alignment]) -> float:
    return sum(each.by is AlignedBy.ABSTAINED for each in part) / len(part)

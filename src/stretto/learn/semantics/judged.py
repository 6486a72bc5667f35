"""How a domain, with all its stages, does on labelled texts."""

from collections import Counter
from collections.abc import Sequence
from typing import Protocol

import msgspec

from stretto.learn.semantics.samples import Sample
from stretto.types.meaning import Aligned, AlignedBy


class Aligns(Protocol):
    """A domain: it says of any text what it means, or abstains with its best guess."""

    def align(self, text: str) -> Aligned: ...


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """Texts that mean one value and were aligned to another."""

    means: str
    """Empty for none of the values."""
    taken_for: str
    count: int
    example: str


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of labelled texts; shares are 0 where there is nothing to share."""

    texts: int
    """That mean a value."""
    accuracy: float
    """Share of them that was right, a guess below the threshold counting as the answer."""
    coverage: float
    """Share of them that was aligned."""
    error: float
    """Share of wrong answers among all that were given, to texts that mean no value too."""
    outside: int
    """Texts that mean no value."""
    outside_refused: float
    by: dict[str, int]
    """Stage → texts that it answered."""
    confusions: tuple[Verdict, ...]
    """Wrong answers by pair, the most frequent first."""


def judge(domain: Aligns, samples: Sequence[Sample]) -> Judged:
    """Align every text, and count."""
    found = [(sample, domain.align(sample.text)) for sample in samples]
    inside = [(sample, aligned) for sample, aligned in found if sample.value]
    given = [(sample, aligned) for sample, aligned in found if aligned.by is not AlignedBy.ABSTAINED]
    wrong = [(sample, aligned) for sample, aligned in given if aligned.value != sample.value]
    outside = len(found) - len(inside)
    return Judged(
        texts=len(inside),
        accuracy=_share(sum(aligned.value == sample.value for sample, aligned in inside), len(inside)),
        coverage=_share(sum(aligned.by is not AlignedBy.ABSTAINED for _, aligned in inside), len(inside)),
        error=_share(len(wrong), len(given)),
        outside=outside,
        outside_refused=_share(outside - sum(not sample.value for sample, _ in given), outside),
        by=dict(Counter(aligned.by.value for _, aligned in found)),
        confusions=_confusions(wrong),
    )


def _confusions(wrong: Sequence[tuple[Sample, Aligned]]) -> tuple[Verdict, ...]:
    counts = Counter((sample.value, aligned.value) for sample, aligned in wrong)
    examples = {(sample.value, aligned.value): sample.text for sample, aligned in reversed(wrong)}
    return tuple(
        Verdict(means=means, taken_for=taken, count=count, example=examples[means, taken])
        for (means, taken), count in counts.most_common()
    )


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0

"""Labelled texts: what a text means, of the values of one domain."""

from collections.abc import Collection, Iterable, Sequence

import msgspec

from stretto.components.aligner.grams import Grams, counted
from stretto.components.aligner.meta import NONE_OF_THEM
from stretto.spec.suggest import nearest
from stretto.types.errors import LearningError, UsageError


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """A text and the value that it means."""

    text: str
    value: str
    """Empty for a text that means none of the values."""


def settled(samples: Iterable[Sample]) -> list[Sample]:
    """Each text once, with what was said of it last: a correction comes after what it corrects. A blank one is left
    out, which is never asked about."""
    said: dict[str, Sample] = {}
    for sample in samples:
        said.pop(sample.text, None)
        said[sample.text] = sample
    return [sample for sample in said.values() if sample.text.strip()]


def telling(samples: Iterable[Sample], grams: Grams) -> list[Sample]:
    """Those that teach something of other texts: without a letter or digit a text is known again, and no more."""
    return [sample for sample in samples if counted(grams, sample.text)]


def check_values(samples: Iterable[Sample], values: Collection[str], domain: str) -> None:
    """Raise UsageError for the first sample whose value is none of the domain's."""
    for sample in samples:
        if sample.value not in values and sample.value != NONE_OF_THEM:
            guess = nearest(sample.value, values)
            hint = f"; did you mean '{guess}'?" if guess else f"; it has {', '.join(sorted(values))}."
            raise UsageError(
                f"the text {sample.text!r:.60} is labelled '{sample.value}', which is no value of the domain "
                f"'{domain}'{hint} For a text that means none of them leave the value empty"
            )


def check_enough(samples: Sequence[Sample], values: Collection[str], domain: str) -> None:
    """Raise LearningError when there is nothing to tell apart."""
    if len(values) < 2:
        raise LearningError(f"the domain '{domain}' has {len(values)} value; an aligner tells two or more apart")
    seen = {sample.value for sample in samples}
    if len(seen) < 2:
        only = next(iter(seen), "")
        what = f"all that are given mean '{only}'" if only else "no text is given that means one"
        raise LearningError(
            f"an aligner is trained on texts of two values at least, or of one and texts that mean none; of the domain "
            f"'{domain}' {what}. Label more: stretto semantics label"
        )

"""Labelled texts: what a text means, of the values of one domain."""

from collections.abc import Collection, Iterable, Sequence
from typing import Final

import msgspec

from stretto.components.aligner.grams import Grams, counted
from stretto.components.aligner.meta import NONE_OF_THEM
from stretto.spec.suggest import nearest
from stretto.types.errors import LearningError, UsageError

EMPTY_IS_NONE: Final = "For a text that means none of them leave the value empty"
"""How files of labelled texts say so."""

LABEL_MORE: Final = "stretto semantics label"


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


def contradicted(samples: Iterable[Sample]) -> dict[str, list[str]]:
    """Texts of which different things were said, each with all of them, in the order in which they were said."""
    said: dict[str, list[str]] = {}
    for sample in samples:
        said.setdefault(sample.text, []).append(sample.value)
    return {text: list(dict.fromkeys(values)) for text, values in said.items() if len(set(values)) > 1}


def telling(samples: Iterable[Sample], grams: Grams) -> list[Sample]:
    """Those that teach something of other texts: without a letter or digit a text is known again, and no more."""
    return [sample for sample in samples if counted(grams, sample.text)]


def check_values(
    samples: Iterable[Sample], values: Collection[str], domain: str, *, none_is: str = EMPTY_IS_NONE
) -> None:
    """Raise UsageError for the first sample whose value is none of the domain's; `none_is` tells how to say none."""
    for sample in samples:
        if sample.value not in values and sample.value != NONE_OF_THEM:
            guess = nearest(sample.value, values)
            hint = f"; did you mean '{guess}'?" if guess else f"; it has {', '.join(sorted(values))}."
            raise UsageError(
                f"the text {sample.text!r:.60} is labelled '{sample.value}', which is no value of the domain "
                f"'{domain}'{hint} {none_is}"
            )


def check_enough(
    samples: Sequence[Sample], values: Collection[str], domain: str, *, label_more: str = LABEL_MORE
) -> None:
    """Raise LearningError when there is nothing to tell apart; `label_more` is the command that mends it."""
    if len(values) < 2:
        raise LearningError(f"the domain '{domain}' has {len(values)} value; an aligner tells two or more apart")
    seen = {sample.value for sample in samples}
    if len(seen) < 2:
        raise LearningError(
            f"too few labels to train an aligner of the domain '{domain}': {_all_that(samples)}; expected texts of two "
            f"of its values, or of one and texts that mean none. Label more: {label_more}"
        )


def _all_that(samples: Sequence[Sample]) -> str:
    """What is given, where it is all of one value."""
    if not samples:
        return "no text is given"
    meant = f"'{samples[0].value}'" if samples[0].value else "none of its values"
    return f"the only text given means {meant}" if len(samples) == 1 else f"all {len(samples)} texts mean {meant}"

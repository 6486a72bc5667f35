"""What the terminal, the page and the summary say alike of attention heads."""

from typing import Final

from stretto.learn.explain.explained import Against, ChoiceExplained, Head
from stretto.types.words import count_text, number_text

_WHOM: Final = {Against.LAYER: "the other heads of its layer", Against.RUNS: "its own in other runs"}


def head_text(head: Head, *, at: str = "") -> str:
    """``head 3 of reader's encoder.self_attn``; without the step where it is the one that is spoken of."""
    whose = "" if head.step == at else f"{head.step}'s " if head.layer else head.step
    named = f"{whose}{head.layer}"
    return f"head {head.head} of {named}" if named else f"head {head.head}"


def odd_choice_heads(choice: ChoiceExplained, at: str) -> list[str]:
    """Of the choice of a step, heads that are out of the ordinary, a sentence each; or that none is."""
    found = [_odd_text(head, at) for head in choice.heads if head.unusual]
    if choice.heads and not found:
        found.append(
            f"None of {count_text(len(choice.heads), 'attention head')} is out of the ordinary by the logit's "
            "gradient, by a rule that names one in at most 1 of 20 ordinary runs."
        )
    return found


def _odd_text(head: Head, at: str) -> str:
    gradient = f"the logit's gradient by it ({number_text(head.norm)}) lies"
    far = " and ".join(f"{z:+.1f} robust standard deviations from {whom}" for z, whom in distances(head))
    return f"Attention {head_text(head, at=at)} is out of the ordinary: {gradient} {far}."


def distances(head: Head) -> list[tuple[float, str]]:
    """Robust standard deviations by which it is out of the ordinary, and from whom."""
    both = ((Against.LAYER, head.z_layer), (Against.RUNS, head.z_runs))
    return [(z, _WHOM[against]) for against, z in both if against in head.unusual]

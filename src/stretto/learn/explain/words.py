"""What the terminal, the page and the summary say alike."""

import math
import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Final

import orjson

from stretto.learn.explain.explained import ChoiceExplained, FieldEffect, Part, RunExplained, StepExplained
from stretto.learn.explain.head_words import odd_choice_heads
from stretto.types.json import Json
from stretto.types.words import count_text, number_text

BELIEVED: Final = 0.01
"""The largest residual at which parts may be read as they stand."""

STRONG: Final = 0.95
"""Share of random orders that an order must beat to be believed: chance alone does it once in 20 or less."""

FAIR: Final = 0.75

_NUMBER: Final = re.compile(r"\[\d+\]")

VALUE_CHARS: Final = 40
"""Of a recorded value: enough to recognise it."""

TELLING: Final = 0.01
"""Part of a run's largest effect from which on another is shown."""

QUIET: Final = "Without an effect to speak of, a hundredth of the largest or more"
"""Of `quiet_steps`."""

UNTRIED: Final = "No other answer of these was tried, or none came to a reward"
"""Of `untried_steps`."""


LIMITS: Final = (
    "An effect is of one answer changed by itself: two that only matter together each have the whole of it, two of "
    "which either is enough have none, and a value that no other run had is never tried. A part of a logit is what the "
    "network made of an input, not why the world is so."
)


class Trust(StrEnum):
    """How far parts may be believed, in words that always mean the same figures."""

    STRONG = "to be relied on"
    """They are exact, or they add up and 95 % or more of random orders do worse."""
    FAIR = "fairly reliable"
    """They add up, and three quarters of random orders do worse."""
    HINT = "a hint only"


def trust_of(choice: ChoiceExplained) -> Trust:
    """How far its parts may be believed."""
    if choice.is_exact:
        return Trust.STRONG
    if choice.residual > BELIEVED or choice.faith.beaten < FAIR:
        return Trust.HINT
    return Trust.STRONG if choice.faith.beaten >= STRONG else Trust.FAIR


def trust_text(choice: ChoiceExplained) -> str:
    """The figures behind it."""
    if choice.is_exact:
        return f"{trust_of(choice)}: the policy is linear, so that its parts are exact"
    faith = choice.faith
    return (
        f"{trust_of(choice)}: all but {choice.residual:.2%} of it adds up. If what is usual is 0 and the score 1, it "
        f"is {faith.deletion:.2f} on average while the largest parts are taken away first, {faith.random:.2f} in a "
        f"random order, and {faith.insertion:.2f} while they are put in first: that beats {faith.beaten:.0%} of random "
        f"orders{f'; {better}' if (better := better_text(choice)) else ''}"
    )


def better_text(choice: ChoiceExplained) -> str:
    """Where parts are a hint only, and those ranked by what each loses alone are not: that these are to be read."""
    alone = choice.faith_alone
    if alone is None or trust_of(choice) is not Trust.HINT or alone.beaten < STRONG:
        return ""
    return f"read what each loses alone instead, which beats {alone.beaten:.0%} of random orders"


def likelier_text(choice: ChoiceExplained) -> str:
    """That chance had a part in it, where another alternative was likelier: choices are drawn."""
    values = {each.alternative: each.value for each in choice.logits}
    likeliest = max(values, key=lambda each: values[each], default=choice.chosen)
    own = values.get(choice.chosen, choice.score)
    return f", drawn though {likeliest} was likelier" if values.get(likeliest, own) > own else ""


def chose_text(choice: ChoiceExplained) -> str:
    """The choice, its probability, and how far its logit stands out."""
    over = f", {choice.score - choice.baseline:+.3f} over what is usual in {count_text(choice.compared, 'other run')}"
    probability = f"probability {math.exp(choice.logprob):.3g}{likelier_text(choice)}"
    return (
        f"chose {choice.chosen} as {choice.choice}, {probability}: its logit is "
        f"{choice.score:+.3f} over the mean of all{over if choice.compared else ''}"
    )


def part_text(part: Part) -> str:
    """A number, a token or a fact by its name."""
    return f"{part.name} = {part.text!r}" if part.value is None else f"{part.name} = {part.value:.3g}"


def words_of(choice: ChoiceExplained) -> dict[str, list[Part]]:
    """The tokens of each layer that embeds some, in their order."""
    found: dict[str, list[Part]] = {}
    for part in sorted((each for each in choice.parts if each.place is not None), key=lambda each: each.place or 0):
        found.setdefault(part.name.rpartition("[")[0], []).append(part)
    return found


def unusual_texts(choice: ChoiceExplained, at: str) -> list[str]:
    """Heads and logits of a step's choice that are out of the ordinary, a sentence each; or that no head is."""
    return odd_choice_heads(choice, at) + [
        f"The logit of {each.alternative} ({each.value:+.3f}) is out of the ordinary: {each.z:+.1f} robust standard "
        f"deviations from {0.0 if each.usual is None else each.usual:+.3f}, which is usual in other runs."
        for each in choice.logits
        if each.is_unusual
    ]


def rewards_text(effect: FieldEffect) -> str:
    """The rewards with other values, or why there are none."""
    if not effect.rewards:
        return f"no reward with {count_text(effect.failed, 'other')}" if effect.failed else "never answered otherwise"
    low, high = number_text(min(effect.rewards)), number_text(max(effect.rewards))
    failed = f", no reward with {effect.failed}" if effect.failed else ""
    return f"{low if low == high else f'{low} to {high}'} with {count_text(len(effect.rewards), 'other')}{failed}"


def value_text(value: Json) -> str:
    """A recorded value, cut."""
    text = orjson.dumps(value).decode()
    return text if len(text) <= VALUE_CHARS else f"{text[: VALUE_CHARS - 3]}..."


def largest_effect(told: RunExplained) -> float:
    """Of all answers and fields of a run: what bars are measured by, so that steps can be compared."""
    found = (abs(each.effect or 0.0) for step in told.steps for each in step.effects)
    return max(found, default=0.0)


def noise(told: RunExplained) -> float:
    """What rewards may differ by and be the same."""
    return 1e-9 * max(1.0, abs(told.reward or 0.0), abs(told.again or 0.0))


def telling(step: StepExplained, told: RunExplained) -> list[FieldEffect]:
    """Effects of which a value moved the reward by a hundredth of the furthest that any did, the whole first."""
    furthest = max((_moved(each, told) for one in told.steps for each in one.effects), default=0.0)
    least = max(noise(told), TELLING * furthest)
    return [each for each in step.effects if _moved(each, told) >= least]


def _moved(effect: FieldEffect, told: RunExplained) -> float:
    """The furthest that a reward with another value lies from the run's: those of several may cancel."""
    return max((abs(each - (told.again or 0.0)) for each in effect.rewards), default=0.0)


def quiet_steps(told: RunExplained) -> list[str]:
    """Steps of which other answers were tried that moved the reward by next to nothing, and that made no choice by what
    they read."""
    return [step.path for step in _silent(told) if any(each.rewards for each in step.effects)]


def untried_steps(told: RunExplained) -> list[str]:
    """Steps of which no other answer came to a reward, and that made no choice by what they read."""
    return [step.path for step in _silent(told) if not any(each.rewards for each in step.effects)]


def _silent(told: RunExplained) -> list[StepExplained]:
    return [step for step in told.steps if not any(each.parts for each in step.choices) and not telling(step, told)]


def together(paths: Sequence[str]) -> list[str]:
    """Paths for people: those that differ in their rounds and items only are one, ``talk[*]/planner (14)``."""
    found: dict[str, list[str]] = {}
    for path in paths:
        found.setdefault(_NUMBER.sub("[*]", path), []).append(path)
    return [alike[0] if len(alike) == 1 else f"{name} ({len(alike)})" for name, alike in found.items()]

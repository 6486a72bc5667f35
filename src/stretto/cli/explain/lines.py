"""An explanation for people at a terminal."""

import math
from typing import Final

import orjson
from rich.text import Text

from stretto.cli.explain.words import BELIEVED, part_text, rewards_text, words_of
from stretto.cli.rows import labelled, one_piece
from stretto.cli.terminal import is_unicode, results, show
from stretto.cli.words import count_text, escaped
from stretto.learn.explain.explained import ChoiceExplained, FieldEffect, Part, RunExplained, StepExplained

SHOWN: Final = 8
"""Parts of a choice that are listed; the rest is in the JSON."""

STRONG: Final = 0.5
WEAK: Final = 0.1
"""Of the largest part: what is told apart by colour in a text."""

BAR: Final = 16
"""Columns of the longest bar."""

VALUE_CHARS: Final = 40
"""Of a recorded value: enough to recognise it."""

UNTOLD: Final = (
    "what its answers were worth is not told: its reward is missing, or not known yet; a step of kind reward gives a "
    "run one, and a replay too"
)
"""A reward that somebody annotated is no remedy: a replay with another answer would have none to hold against it."""


def show_explained(told: RunExplained) -> None:
    """Print it step by step."""
    reward = "without a reward" if told.reward is None else f"reward {told.reward:.4g}"
    show(
        Text.assemble(
            ("run ", ""), (told.run, "bold"), f"  {reward}, held against {count_text(told.compared, 'other run')}"
        )
    )
    for step in told.steps:
        if step.choices or step.effects:
            _show_step(step)
    if told.reward is None:
        show(UNTOLD)


def _show_step(step: StepExplained) -> None:
    show(Text.assemble("\n", (escaped(step.path), "bold"), f"  {escaped(step.component)}"))
    for choice in step.choices:
        _show_choice(choice)
    if step.effects:
        _show_effects(step.effects)


def _show_choice(choice: ChoiceExplained) -> None:
    probability = math.exp(choice.logprob)
    show(
        f"  chose {escaped(choice.chosen)} as {escaped(choice.choice)}, probability {probability:.3g}: its logit is "
        f"{choice.score:+.3f} over the mean of all, {choice.score - choice.baseline:+.3f} over what is usual"
    )
    largest = max((abs(value) for value in choice.fields.values()), default=0.0)
    show(
        labelled(
            [(Text(f"    {escaped(name)}"), _signed(value, largest)) for name, value in choice.fields.items()],
            results().width,
        )
    )
    for name, words in words_of(choice).items():
        show(Text.assemble(f"    {escaped(name)}: ", *(_coloured(word, choice) for word in words)))
    named = ", ".join(f"{part_text(part)} ({part.adds:+.3f})" for part in choice.parts[:SHOWN])
    show(Text(f"    most of it: {escaped(named)}"))
    faith = choice.faith
    trust = "adds up" if choice.residual <= BELIEVED else "does NOT add up: read it as a hint"
    show(
        f"    {trust} (residual {choice.residual:.2%}); beats {faith.beaten:.0%} of random orders at taking away and "
        "putting in"
    )


def _coloured(part: Part, choice: ChoiceExplained) -> Text:
    """A token in green where it speaks for the choice, in red where it speaks against it; bold where it counts most."""
    share = abs(part.adds) / (abs(choice.parts[0].adds) or 1.0)
    colour = "green" if part.adds >= 0 else "red"
    style = f"bold reverse {colour}" if share > STRONG else colour if share > WEAK else ""
    return Text(escaped(part.text) + " ", style)


def _signed(value: float, largest: float) -> tuple[Text, Text]:
    share = abs(value) / largest if largest else 0.0
    style = "green" if value >= 0 else "red"
    block = "█" if is_unicode(results()) else "#"
    return one_piece(f"{value:+.3f}"), one_piece(block * max(round(share * BAR), int(share > 0)), style)


def _show_effects(effects: tuple[FieldEffect, ...]) -> None:
    show("  what its answer was worth, the run's reward less that with other answers in its place")
    largest = max((abs(each.effect or 0.0) for each in effects), default=0.0)
    rows = []
    for each in effects:
        name = f"{each.field} = {_shortened(each.value)}" if each.field else "all of it"
        label = Text(f"    {escaped(name)}")
        if each.effect is None:
            rows.append((label, (Text(""), Text(""), Text(rewards_text(each)))))
        else:
            rows.append((label, (*_signed(each.effect, largest), Text(rewards_text(each)))))
    show(labelled(rows, results().width))


def _shortened(value: object) -> str:
    text = orjson.dumps(value).decode()
    return text if len(text) <= VALUE_CHARS else f"{text[: VALUE_CHARS - 3]}..."

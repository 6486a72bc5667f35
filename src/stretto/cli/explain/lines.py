"""An explanation for people at a terminal."""

from typing import Final

from rich.text import Text

from stretto.cli.rows import labelled, one_piece
from stretto.cli.terminal import is_unicode, results, show
from stretto.cli.words import escaped
from stretto.learn.explain.explained import (
    ChoiceExplained,
    FieldEffect,
    Head,
    Part,
    RewardHeads,
    RunExplained,
    StepExplained,
)
from stretto.learn.explain.head_words import head_text
from stretto.learn.explain.reward_words import NAMED, estimated_text, most_moving, same_as
from stretto.learn.explain.words import (
    LIMITS,
    QUIET,
    UNTRIED,
    Trust,
    chose_text,
    largest_effect,
    part_text,
    quiet_steps,
    rewards_text,
    telling,
    together,
    trust_of,
    trust_text,
    untried_steps,
    unusual_texts,
    value_text,
    words_of,
)
from stretto.types.words import number_text

SHOWN: Final = 8
"""Parts of a choice that are listed; the rest is in the JSON."""

STRONG: Final = 0.5
WEAK: Final = 0.1
"""Of the largest part: what is told apart by colour in a text."""

BAR: Final = 16
"""Columns of the longest bar."""


def show_explained(told: RunExplained) -> None:
    """Print what there is to say, and behind it the figures, step by step."""
    for number, sentence in enumerate(told.summary):
        show(Text(escaped(sentence) if number == 0 else f"- {escaped(sentence)}", "bold" if number == 0 else ""))
    largest = largest_effect(told)
    quiet, untried = quiet_steps(told), untried_steps(told)
    for step in told.steps:
        if step.path not in (*quiet, *untried):
            _show_step(step, told, largest)
    if told.reward_heads is not None and told.reward_heads.heads and same_as(told) is None:
        _show_reward_heads(told.reward_heads)
    for paths, what in ((quiet, QUIET), (untried, UNTRIED)):
        if paths:
            show(Text(f"\n{what}: {escaped(', '.join(together(paths)))}", "dim"))
    show(Text(f"\n{LIMITS}", "dim"))


def _show_step(step: StepExplained, told: RunExplained, largest: float) -> None:
    show(Text.assemble("\n", (escaped(step.path), "bold"), f"  {escaped(step.component)}"))
    for choice in step.choices:
        _show_choice(choice, step.path)
    effects = telling(step, told)
    if effects:
        _show_effects(effects, largest, left=len(step.effects) - len(effects))


def _show_choice(choice: ChoiceExplained, at: str) -> None:
    show(Text(f"  {escaped(chose_text(choice))}"))
    if choice.through:
        show(Text(f"  attributed through {escaped(', '.join(choice.through))} to what came in before", "dim"))
    largest = max((abs(value) for value in choice.fields.values()), default=0.0)
    fields = [(Text(f"    {escaped(name)}"), _signed(value, largest)) for name, value in choice.fields.items()]
    show(labelled(fields, results().width))
    for name, words in words_of(choice).items():
        show(Text.assemble(f"    {escaped(name)}: ", *(_coloured(word, choice) for word in words)))
    if choice.parts:
        _show_parts(choice.parts[:SHOWN])
    show(Text(f"    {trust_text(choice)}", "bold red" if trust_of(choice) is Trust.HINT else ""))
    for text in unusual_texts(choice, at):
        show(Text(f"    {escaped(text)}"))


def _show_reward_heads(of: RewardHeads) -> None:
    """The strongest; all are in the JSON and on the page."""
    show(Text("\nattention heads, by its reward and not by a logit", "bold"))
    show(Text(f"  {escaped(estimated_text(of))}", "dim"))
    names = ("gradient", "z in layer", "z over runs")
    head = (Text("    strongest", "dim"), tuple(one_piece(name, "dim") for name in names))
    rows = [
        (Text(f"    {escaped(head_text(each))}"), tuple(one_piece(figure) for figure in _of_head(each)))
        for each in most_moving(of)[:NAMED]
    ]
    show(labelled([head, *rows], results().width))


def _of_head(head: Head) -> tuple[str, str, str]:
    return number_text(head.norm), f"{head.z_layer:+.1f}", f"{head.z_runs:+.1f}"


def _show_parts(parts: tuple[Part, ...]) -> None:
    """Beside what each adds, what the two other methods say of it."""
    head = (Text("    most of it", "dim"), tuple(one_piece(name, "dim") for name in ("adds", "grad*in", "alone")))
    rows = [
        (Text(f"    {escaped(part_text(part))}"), tuple(one_piece(f"{each:+.3f}") for each in _figures(part)))
        for part in parts
    ]
    show(labelled([head, *rows], results().width))


def _figures(part: Part) -> tuple[float, float, float]:
    return part.adds, part.slope, part.loses


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


def _show_effects(effects: list[FieldEffect], largest: float, *, left: int) -> None:
    show("  what its answer was worth, the run's reward less that with other answers in its place")
    rows = []
    for each in effects:
        name = f"{each.field} = {value_text(each.value)}" if each.field else "all of it"
        label = Text(f"    {escaped(name)}")
        rows.append((label, (*_signed(each.effect or 0.0, largest), Text(rewards_text(each)))))
    show(labelled(rows, results().width))
    if left:
        show(Text(f"    {left} more {'field' if left == 1 else 'fields'} without an effect to speak of", "dim"))

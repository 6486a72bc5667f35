"""An explanation as a page that needs nothing but itself."""

import math
from html import escape
from typing import Final

import orjson

from stretto.cli.explain.words import BELIEVED, part_text, rewards_text, words_of
from stretto.cli.words import count_text
from stretto.learn.explain.explained import ChoiceExplained, FieldEffect, Part, RunExplained, StepExplained

STYLE: Final = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #1a1a1a; }
h2 { margin-top: 2rem; border-bottom: 1px solid #ccc; } code { font-size: 0.9em; }
table { border-collapse: collapse; width: 100%; } td, th { text-align: left; padding: 0.15rem 0.75rem 0.15rem 0; }
td.figure { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; width: 6rem; }
td.bar { width: 14rem; } .bar i { display: block; height: 0.8em; border-radius: 2px; }
.for { background: #1b7f4d; } .against { background: #c0392b; } .doubt { color: #c0392b; font-weight: 600; }
"""


def page(told: RunExplained) -> str:
    """The whole page."""
    reward = "without a reward" if told.reward is None else f"reward {told.reward:.4g}"
    steps = "".join(map(_step, told.steps))
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Run {escape(told.run)} explained</title>'
        f"<style>{STYLE}</style><h1>Why run <code>{escape(told.run)}</code> went as it did</h1>"
        f"<p>{reward}, held against {count_text(told.compared, 'other run')}.</p>{steps}</html>\n"
    )


def _step(step: StepExplained) -> str:
    effects = _effects(step.effects) if step.effects else ""
    return (
        f"<h2>{escape(step.path)} <small>{escape(step.component)}</small></h2>"
        f"{''.join(map(_choice, step.choices))}{effects}"
    )


def _choice(choice: ChoiceExplained) -> str:
    largest = max((abs(part.adds) for part in choice.parts), default=0.0)
    rows = "".join(
        f"<tr><td><code>{escape(part_text(part))}</code></td><td class=figure>{part.adds:+.4f}</td>"
        f"{_bar(part.adds, largest)}<td class=figure>{part.loses:+.4f}</td></tr>"
        for part in choice.parts
    )
    texts = "".join(
        f"<p><code>{escape(name)}</code>: {' '.join(_word(part, largest) for part in words)}</p>"
        for name, words in words_of(choice).items()
    )
    doubt = "" if choice.residual <= BELIEVED else " class=doubt"
    return (
        f"<p>Chose <b>{escape(choice.chosen)}</b> as {escape(choice.choice)}, with probability "
        f"{math.exp(choice.logprob):.3g}. Its logit is {choice.score:+.3f} over the mean of all alternatives, and "
        f"{choice.baseline:+.3f} for what is usual.</p><p{doubt}>What does not add up: {choice.residual:.2%}. It beats "
        f"{choice.faith.beaten:.0%} of random orders at taking away and putting in.</p>{texts}"
        f"<table><tr><th>input</th><th>adds</th><th></th><th>loses alone</th></tr>{rows}</table>"
    )


def _word(part: Part, largest: float) -> str:
    share = abs(part.adds) / largest if largest else 0.0
    colour = "27, 127, 77" if part.adds >= 0 else "192, 57, 43"
    return f'<span title="{part.adds:+.4f}" style="background: rgba({colour}, {share:.2f})">{escape(part.text)}</span>'


def _effects(effects: tuple[FieldEffect, ...]) -> str:
    largest = max((abs(each.effect or 0.0) for each in effects), default=0.0)
    return (
        "<p>What its answer was worth: the run's reward less that with other answers in its place.</p>"
        f"<table>{''.join(_effect(each, largest) for each in effects)}</table>"
    )


def _effect(effect: FieldEffect, largest: float) -> str:
    value = f" = {escape(orjson.dumps(effect.value).decode())}" if effect.field else ""
    name = f"<code>{escape(effect.field)}</code>{value}" if effect.field else "all of it"
    figure = "" if effect.effect is None else f"{effect.effect:+.4f}"
    return (
        f"<tr><td>{name}</td><td class=figure>{figure}</td>{_bar(effect.effect or 0.0, largest)}"
        f"<td>{escape(rewards_text(effect))}</td></tr>"
    )


def _bar(value: float, largest: float) -> str:
    share = abs(value) / largest if largest else 0.0
    return f'<td class=bar><i class={"for" if value >= 0 else "against"} style="width:{share:.0%}"></i></td>'

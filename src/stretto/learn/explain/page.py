"""An explanation as a page that needs nothing but itself, and runs nothing."""

from typing import Final

import orjson

from stretto.learn.explain.document import document, html_text
from stretto.learn.explain.explained import ChoiceExplained, FieldEffect, Part, RunExplained, StepExplained
from stretto.learn.explain.page_heads import heads_table
from stretto.learn.explain.reward_words import estimated_text
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
    together,
    trust_of,
    trust_text,
    untried_steps,
    unusual_texts,
    value_text,
    words_of,
)
from stretto.types.json import Json

LISTED: Final = 12
"""Parts of a choice that are shown at once; the rest is folded away."""


def page(told: RunExplained, *, links: str = "") -> str:
    """The whole page; `links` is HTML that stands at its head."""
    largest = largest_effect(told)
    quiet, untried = quiet_steps(told), untried_steps(told)
    steps = "".join(_step(step, largest) for step in told.steps if step.path not in (*quiet, *untried))
    rest = f"{_listed(quiet, QUIET)}{_listed(untried, UNTRIED)}"
    rest = f"<h2>Nothing of note</h2>{rest}" if rest else ""
    said = "".join(f"<li>{html_text(sentence)}</li>" for sentence in told.summary)
    return document(
        f"Run {told.run} explained",
        f"{links}<h1>Why run <code>{html_text(told.run)}</code> went as it did</h1><ul class=said>{said}</ul>"
        f"{steps}{_reward_heads(told)}{rest}<p class=note>{html_text(LIMITS)}</p>",
    )


def _json(value: Json) -> str:
    return html_text(orjson.dumps(value).decode())


def _step(step: StepExplained, largest: float) -> str:
    effects = _effects(step.effects, largest) if step.effects else ""
    return (
        f"<h2>{html_text(step.path)} <small>{html_text(step.component)}</small></h2>"
        f"{''.join(_choice(each, step.path) for each in step.choices)}{effects}"
    )


def _reward_heads(told: RunExplained) -> str:
    of = told.reward_heads
    if of is None or not of.heads:
        return ""
    said = estimated_text(of)
    table = heads_table(of.heads, "Norms of the gradient of the reward, and not of a logit")
    return f"<h2>Attention heads, by its reward</h2><p>{html_text(said[:1].upper() + said[1:])}.</p>{table}"


def _listed(paths: list[str], what: str) -> str:
    names = ", ".join(f"<code>{html_text(path)}</code>" for path in together(paths))
    return f"<p>{html_text(what)}: {names}.</p>" if paths else ""


# a choice


def _choice(choice: ChoiceExplained, at: str) -> str:
    largest = max((abs(part.adds) for part in choice.parts), default=0.0)
    doubt = " class=doubt" if trust_of(choice) is Trust.HINT else ""
    through = ", ".join(f"<code>{html_text(each)}</code>" for each in choice.through)
    seen = f"<p class=note>Attributed through {through} to what came in before.</p>" if through else ""
    texts = "".join(
        f"<p class=text><code>{html_text(name)}</code>: {' '.join(_word(part, largest) for part in words)}</p>"
        for name, words in words_of(choice).items()
    )
    odd = "".join(f"<p>{html_text(each)}</p>" for each in unusual_texts(choice, at))
    said = html_text(chose_text(choice))
    return (
        f"<p>{said[:1].upper()}{said[1:]}.</p><p{doubt}>This is {html_text(trust_text(choice))}.</p>"
        f"{seen}{texts}{_parts(choice, largest)}{_logits(choice)}{odd}{_choice_heads(choice, at)}"
    )


def _word(part: Part, largest: float) -> str:
    share = abs(part.adds) / largest if largest else 0.0
    colour = "27, 127, 77" if part.adds >= 0 else "192, 57, 43"
    style = f"background: rgba({colour}, {share * 0.7:.2f})"
    return f'<span title="{part.adds:+.4f}" style="{style}">{html_text(part.text)}</span>'


def _parts(choice: ChoiceExplained, largest: float) -> str:
    head = (
        "<tr><th>input</th><th class=figure>adds</th><th class=bar></th><th class=figure>gradient &times; input</th>"
        "<th class=figure>loses alone</th></tr>"
    )
    rows = [
        f"<tr><td><code>{html_text(part_text(part))}</code></td><td class=figure>{part.adds:+.4f}</td>"
        f"{_bar(part.adds, largest)}<td class=figure>{part.slope:+.4f}</td><td class=figure>{part.loses:+.4f}</td></tr>"
        for part in choice.parts
    ]
    first, rest = "".join(rows[:LISTED]), "".join(rows[LISTED:])
    more = f"<details><summary>{len(rows) - LISTED} more</summary><table>{head}{rest}</table></details>" if rest else ""
    return f"<table>{head}{first}</table>{more}" if rows else ""


def _logits(choice: ChoiceExplained) -> str:
    rows = "".join(
        f"<tr><td><code>{html_text(each.alternative)}</code></td><td class=figure>{each.value:+.3f}</td>"
        f"<td class=figure>{'' if each.usual is None else f'{each.usual:+.3f}'}</td>"
        f"<td class=figure>{each.z:+.1f}</td></tr>"
        for each in sorted(choice.logits, key=lambda each: -each.value)[:LISTED]
    )
    return (
        "<table><tr><th>alternative</th><th class=figure>logit</th><th class=figure>usual</th>"
        f"<th class=figure>robust z</th></tr>{rows}</table>"
        if rows
        else ""
    )


def _choice_heads(choice: ChoiceExplained, at: str) -> str:
    title = f"Attention heads: norms of the gradient of the logit of {choice.chosen}, and not of the reward"
    return heads_table(choice.heads, title, at=at, is_open=True)


# answers


def _effects(effects: tuple[FieldEffect, ...], largest: float) -> str:
    return (
        "<p>What its answer was worth: the run's reward less that with other answers in its place.</p>"
        f"<table>{''.join(_effect(each, largest) for each in effects)}</table>"
    )


def _effect(effect: FieldEffect, largest: float) -> str:
    figure = "" if effect.effect is None else f"{effect.effect:+.4f}"
    return (
        f"<tr><td>{_named(effect)}</td><td class=figure>{figure}</td>{_bar(effect.effect or 0.0, largest)}"
        f"<td class=told>{html_text(rewards_text(effect))}</td></tr>"
    )


def _named(effect: FieldEffect) -> str:
    """Field and value, a long one folded away."""
    if not effect.field:
        return "all of it"
    short, whole = html_text(value_text(effect.value)), _json(effect.value)
    name = f"<code>{html_text(effect.field)}</code> = "
    if short == whole:
        return f"{name}<code>{whole}</code>"
    return f"<details><summary>{name}<code>{short}</code></summary><code>{whole}</code></details>"


def _bar(value: float, largest: float) -> str:
    share = abs(value) / largest if largest else 0.0
    return f'<td class=bar><i class={"for" if value >= 0 else "against"} style="width:{share:.0%}"></i></td>'

"""An explanation as a page that needs nothing but itself, and runs nothing."""

from html import escape
from typing import Final

import orjson

from stretto.learn.explain.explained import ChoiceExplained, FieldEffect, Head, Part, RunExplained, StepExplained
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
from stretto.types.words import escaped, number_text

POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""Content-Security-Policy: nothing is loaded, and no script runs, whatever a run's input was."""

LISTED: Final = 12
"""Parts of a choice that are shown at once; the rest is folded away."""

STYLE: Final = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 64rem; margin: 2rem auto; padding: 0 1rem; color: #1a1a1a;
  background: #fff; }
h1 { font-size: 1.5rem; } h2 { margin-top: 2.5rem; border-bottom: 1px solid #ccc; font-size: 1.15rem; }
h2 small { color: #666; font-weight: normal; } code { font-size: 0.9em; overflow-wrap: anywhere;
  unicode-bidi: isolate; }
.said { background: #f4f6f8; border-left: 4px solid #2b5c8a; padding: 0.6rem 1rem 0.6rem 2.2rem; }
.said li { margin: 0.25rem 0; overflow-wrap: anywhere; } .note { color: #555; font-size: 0.9em; }
table { border-collapse: collapse; width: 100%; table-layout: fixed; margin: 0.5rem 0; }
td, th { text-align: left; vertical-align: top; padding: 0.15rem 0.75rem 0.15rem 0; overflow-wrap: anywhere; }
th { font-weight: 600; color: #555; font-size: 0.85em; } td.figure, th.figure { text-align: right; width: 6.5rem; }
td.figure {
  font-variant-numeric: tabular-nums; white-space: nowrap; } .bar { width: 9rem; } .told { width: 15rem; color: #555; }
.bar i { display: block; height: 0.8em; margin-top: 0.35em; border-radius: 2px; }
.for { background: #1b7f4d; } .against { background: #c0392b; } .doubt { color: #b03a2e; font-weight: 600; }
.text { line-height: 1.9; } .text span { padding: 0.1rem 0.15rem; border-radius: 3px; white-space: pre-wrap; }
.heads td { width: auto; font-variant-numeric: tabular-nums; font-size: 0.85em; padding: 0.1rem 0.3rem; }
.heads td.odd { outline: 2px solid #c0392b; font-weight: 600; } .heads th { width: 14rem; } summary { cursor: pointer; }
"""


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
        f"{steps}{rest}<p class=note>{html_text(LIMITS)}</p>",
    )


def document(title: str, body: str) -> str:
    """A page of this look; the body is HTML."""
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}"><title>{html_text(title)}</title>'
        f"<style>{STYLE}</style>{body}</html>\n"
    )


def html_text(text: str) -> str:
    """A text that came from anywhere: no markup, no characters that turn the reading order."""
    return escape(escaped(text))


def _json(value: Json) -> str:
    return html_text(orjson.dumps(value).decode())


def _step(step: StepExplained, largest: float) -> str:
    effects = _effects(step.effects, largest) if step.effects else ""
    return (
        f"<h2>{html_text(step.path)} <small>{html_text(step.component)}</small></h2>"
        f"{''.join(map(_choice, step.choices))}{effects}"
    )


def _listed(paths: list[str], what: str) -> str:
    names = ", ".join(f"<code>{html_text(path)}</code>" for path in together(paths))
    return f"<p>{html_text(what)}: {names}.</p>" if paths else ""


# a choice


def _choice(choice: ChoiceExplained) -> str:
    largest = max((abs(part.adds) for part in choice.parts), default=0.0)
    doubt = " class=doubt" if trust_of(choice) is Trust.HINT else ""
    through = ", ".join(f"<code>{html_text(each)}</code>" for each in choice.through)
    seen = f"<p class=note>Attributed through {through} to what came in before.</p>" if through else ""
    texts = "".join(
        f"<p class=text><code>{html_text(name)}</code>: {' '.join(_word(part, largest) for part in words)}</p>"
        for name, words in words_of(choice).items()
    )
    odd = "".join(f"<p>{html_text(each)}</p>" for each in unusual_texts(choice))
    said = html_text(chose_text(choice))
    return (
        f"<p>{said[:1].upper()}{said[1:]}.</p><p{doubt}>This is {html_text(trust_text(choice))}.</p>"
        f"{seen}{texts}{_parts(choice, largest)}{_logits(choice)}{odd}{_heads(choice)}"
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


def _heads(choice: ChoiceExplained) -> str:
    """A row for each layer, the darker the larger the gradient."""
    largest = max((head.norm for head in choice.heads), default=0.0)
    layers: dict[str, list[Head]] = {}
    for head in choice.heads:
        layers.setdefault(head.layer, []).append(head)
    rows = "".join(
        f"<tr><th><code>{html_text(layer)}</code></th>{''.join(_head(head, largest) for head in heads)}</tr>"
        for layer, heads in layers.items()
    )
    shown = (
        f"<details open><summary>Gradient norms of attention heads</summary><table class=heads>{rows}</table></details>"
    )
    return shown if rows else ""


def _head(head: Head, largest: float) -> str:
    share = head.norm / largest if largest else 0.0
    odd = " class=odd" if head.unusual else ""
    told = f"head {head.head}: {head.z_layer:+.1f} in its layer, {head.z_runs:+.1f} over runs"
    style = f"background: rgba(43, 92, 138, {share * 0.6:.2f})"
    return f'<td{odd} title="{told}" style="{style}">{number_text(head.norm)}</td>'


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

"""A page that needs nothing but itself, and runs nothing: its look, and texts in it."""

from html import escape
from typing import Final

from stretto.types.words import escaped

POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""Content-Security-Policy: nothing is loaded, and no script runs, whatever a run's input was."""

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

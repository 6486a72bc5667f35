"""Attention heads as a table of a page."""

from collections.abc import Sequence

from stretto.learn.explain.document import html_text
from stretto.learn.explain.explained import Head
from stretto.types.words import number_text


def heads_table(heads: Sequence[Head], title: str, *, at: str = "", is_open: bool = False) -> str:
    """A row for each layer, the darker the larger the gradient; a layer of another step than `at` has its step's name.

    Empty without any.
    """
    largest = max((head.norm for head in heads), default=0.0)
    layers: dict[str, list[Head]] = {}
    for head in heads:
        named = head.layer if head.step == at else f"{head.step}: {head.layer}"
        layers.setdefault(named, []).append(head)
    rows = "".join(
        f"<tr><th><code>{html_text(layer)}</code></th>{''.join(_head(head, largest) for head in heads)}</tr>"
        for layer, heads in layers.items()
    )
    shown = "<details open>" if is_open else "<details>"
    return f"{shown}<summary>{html_text(title)}</summary><table class=heads>{rows}</table></details>" if rows else ""


def _head(head: Head, largest: float) -> str:
    share = head.norm / largest if largest else 0.0
    odd = " class=odd" if head.unusual else ""
    told = f"head {head.head}: {head.z_layer:+.1f} in its layer, {head.z_runs:+.1f} over runs"
    style = f"background: rgba(43, 92, 138, {share * 0.6:.2f})"
    return f'<td{odd} title="{told}" style="{style}">{number_text(head.norm)}</td>'

"""`stretto acp describe`: the cards of a server, for people and to be kept in a file."""

import asyncio
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Group, RenderableType
from rich.text import Text

from stretto.acp import json_form
from stretto.acp.messages import DescribeResponse, Tensor, WireCard
from stretto.cli.acp.server import server_at
from stretto.cli.help import VerbCommand
from stretto.cli.options import AsJson
from stretto.cli.rows import labelled
from stretto.cli.terminal import print_json_bytes, results, show
from stretto.components.acp.describing import ask_for_cards

app = typer.Typer(add_completion=False)


@app.command(cls=VerbCommand)
def describe(
    url: Annotated[
        str,
        typer.Argument(
            metavar="URL",
            help="http://HOST:PORT, grpc://HOST:PORT, or https and grpcs; after # one component of several.",
        ),
    ],
    token_env: Annotated[
        str, typer.Option("--token-env", metavar="NAME", help="Environment variable that holds its bearer token.")
    ] = "",
    ca: Annotated[
        Path | None, typer.Option("--ca", metavar="FILE", help="Certificates to trust in place of the system's, PEM.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Ask a server what it is: its components, what they take and give, and what they do to the world.

    With --json its answer is the document, as `card: FILE` of a component of kind acp reads it.
    """
    told = asyncio.run(ask_for_cards(*server_at(url, token_env, ca)))
    if as_json:
        print_json_bytes(json_form.encode(told))
    else:
        show(_shown(told))


def _shown(told: DescribeResponse) -> RenderableType:
    spoken = Text(f"speaks the protocol in {', '.join(told.protocols) or 'a version that it does not tell'}")
    return Group(spoken, *(part for card in told.cards for part in (Text(), _card(card))))


def _card(card: WireCard) -> RenderableType:
    facts = {
        "kind": card.kind,
        "digest": card.digest,
        "verbs": ", ".join(card.verbs),
        "effects": ", ".join(f"{action}: {effect}" for action, effect in card.effects.items()),
        "action field": card.action_field,
        "claims": ", ".join(name for name, said in _claims(card) if said),
        "input": _schema(card.input),
        "output": _schema(card.output),
        "gradients": _gradients(card),
        "about": card.description,
    }
    rows = [(Text(f"  {name}", "dim"), (Text(fact),)) for name, fact in facts.items() if fact]
    return Group(Text(f"{card.name} {card.version}", "bold"), labelled(rows, results().width))


def _claims(card: WireCard) -> tuple[tuple[str, bool], ...]:
    return (("idempotent", card.idempotent), ("confirms", card.confirms))


def _gradients(card: WireCard) -> str:
    """With respect to what it pulls back gradients of what."""
    inputs, outputs = (", ".join(map(_tensor, each)) for each in (card.tensors.inputs, card.tensors.outputs))
    return f"of {outputs} by {inputs}" if inputs and outputs else ""


def _tensor(told: Tensor) -> str:
    sizes = "".join(f"[{size}]" for size in told.shape)
    return f"{told.name}{sizes}"


def _schema(schema: object) -> str:
    """In words between which a line can be broken."""
    return msgspec.json.format(msgspec.json.encode(schema), indent=0).decode() if schema else ""

"""`stretto acp verify`: holds a component, in any language, to the protocol."""

import asyncio
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import msgspec
import typer
from rich.console import Group as Parts, RenderableType
from rich.padding import Padding
from rich.text import Text

from stretto.acp.kit.case import Group, load_cases
from stretto.acp.kit.good import subjects_of
from stretto.acp.kit.judge import NO_ANSWER
from stretto.acp.kit.kit import Verdict, claimed_by, judged
from stretto.acp.kit.report import as_document, as_junit
from stretto.acp.kit.seen import Wire, shown
from stretto.acp.messages import WireCard
from stretto.cli.acp.server import server_at
from stretto.cli.exits import Exit
from stretto.cli.help import VerbCommand
from stretto.cli.json_text import parse_json
from stretto.cli.options import AsJson
from stretto.cli.terminal import print_json, show, working
from stretto.cli.words import count_text
from stretto.components.acp.card import card_of, chosen_card, verb_of
from stretto.components.acp.describing import ask_for_cards
from stretto.components.acp.link import peer_of, token_of
from stretto.components.acp.settings import AcpSettings
from stretto.components.acp.target import Target
from stretto.components.acp.trust import trusting
from stretto.types.errors import UsageError
from stretto.types.json import JsonObject

app = typer.Typer(add_completion=False)

MAX_SHOWN: Final = 20
"""Cases that failed, told of in words; --report has them all."""


class Report(StrEnum):
    """How verdicts are written for programs."""

    JUNIT = "junit"
    JSON = "json"


@app.command(cls=VerbCommand)
def verify(
    url: Annotated[
        str,
        typer.Argument(
            metavar="URL",
            help="http://HOST:PORT, grpc://HOST:PORT, or https and grpcs; after # one component of several.",
        ),
    ],
    given: Annotated[
        str | None,
        typer.Option("--input", metavar="JSON", help="What it is asked; a sample of its schema when not given."),
    ] = None,
    writes: Annotated[
        bool, typer.Option("--writes", help="Let it write: its actions are really called, several times.")
    ] = False,
    groups: Annotated[
        list[Group] | None,
        typer.Option(
            "--group",
            metavar="GROUP",
            help="Hold it to this group, claimed or not. May be repeated. [default: its claims]",
        ),
    ] = None,
    token_env: Annotated[
        str, typer.Option("--token-env", metavar="NAME", help="Environment variable that holds its bearer token.")
    ] = "",
    ca: Annotated[
        Path | None, typer.Option("--ca", metavar="FILE", help="Certificates to trust in place of the system's, PEM.")
    ] = None,
    report: Annotated[
        Report | None,
        typer.Option(
            "--report", metavar="junit|json", help="Print the verdicts for programs on stdout, and nothing else there."
        ),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Send a component everything that the protocol speaks of, good and bad, and say where it does not keep to it.

    Its own card decides by which cases: every component by `core`; by the other groups whoever claims it. Exits with 1
    when a case fails, or none is asked.
    """
    settings, target = server_at(url, token_env, ca)
    asked = _parsed(given)
    held = asyncio.run(_held(settings, target, asked, frozenset(groups or ()), may_write=writes))
    _tell(url, held, Report.JSON if as_json else report)
    return Exit.OK if any(each.passed for each in held.verdicts) and not held.failed else Exit.FAILED


class Held:
    """One component, and what became of the cases so far."""

    def __init__(self, card: WireCard, sample: JsonObject | None) -> None:
        self.card = card
        self.sample = sample
        """What it was asked, where that was made from its schema."""
        self.verdicts: list[Verdict] = []
        self.total = 0

    @property
    def failed(self) -> list[Verdict]:
        """Those in which something is wrong."""
        return [each for each in self.verdicts if each.complaints]

    def __rich__(self) -> Text:
        beside = f", {len(self.failed)} failed" if self.failed else ""
        return Text(f"{len(self.verdicts)} of {self.total} cases{beside}")


async def _held(
    settings: AcpSettings, target: Target, given: JsonObject | None, groups: frozenset[Group], *, may_write: bool
) -> Held:
    told = await ask_for_cards(settings, target)
    who = peer_of(settings, target).who
    card = chosen_card(told, target.component, who)
    card_of(card.name, card, verb_of(card, None, who), who)  # a card that is none says nothing to hold it to
    subjects, cases = subjects_of(card, given), load_cases()
    held = Held(card, subjects[0].input if given is None else None)
    held.total = len(cases)
    wire = await _wire(settings, target)
    try:
        with working(held):
            async for verdict in judged(cases, subjects, wire, groups or claimed_by(card), may_write=may_write):
                held.verdicts.append(verdict)
    finally:
        await wire.close()
    return held


async def _wire(settings: AcpSettings, target: Target) -> Wire:
    token = token_of(settings)
    if not target.is_grpc:
        from stretto.acp.kit.http_wire import HttpWire

        return HttpWire(target.base, {"Authorization": f"Bearer {token}"} if token else {}, trusting(settings.ca))
    from stretto.acp.kit.grpc_wire import GrpcWire
    from stretto.components.acp.grpc_link import channel_to

    return GrpcWire(channel_to(settings, target), (("authorization", f"Bearer {token}"),) if token else ())


def _parsed(given: str | None) -> JsonObject | None:
    if given is None:
        return None
    read = parse_json(given.encode(), "--input", "; expected a JSON object")
    if not isinstance(read, dict):
        raise UsageError("--input is no JSON object")
    return read


def _tell(url: str, held: Held, report: Report | None) -> None:
    if report is Report.JSON:
        print_json(as_document(url, held.card.name, held.verdicts))
    elif report is Report.JUNIT:
        typer.echo(as_junit(held.card.name, held.verdicts))
    else:
        show(_table(held))


def _table(held: Held) -> RenderableType:
    failed = held.failed
    parts: list[RenderableType] = [_group(group, held.verdicts) for group in Group]
    parts += [part for each in failed[:MAX_SHOWN] for part in _failed(each)]
    if len(failed) > MAX_SHOWN:
        parts.append(Text(f"\nand {len(failed) - MAX_SHOWN} more; --report json has them all"))
    parts.append(_sum(held.card.name, held.verdicts, len(failed)))
    if held.sample is not None and any(NO_ANSWER in said for each in failed for said in each.complaints):
        parts.append(_of_sample(held.sample))
    return Parts(*parts)


def _group(group: Group, verdicts: list[Verdict]) -> Text:
    of_group = [each for each in verdicts if each.case.group is group]
    asked = [each for each in of_group if not each.skipped]
    passed = sum(each.passed for each in asked)
    line = Text(f"{group.value:<12}")
    if not asked:
        return line.append(f"not asked: {of_group[0].skipped}" if of_group else "no cases", "dim")
    line.append(f"{passed} of {len(asked)}", "green" if passed == len(asked) else "red")
    reasons = sorted({each.skipped for each in of_group if each.skipped})
    left = len(of_group) - len(asked)
    return line.append(f"   {left} not asked: {'; '.join(reasons)}" if left else "", "dim")


def _failed(verdict: Verdict) -> list[RenderableType]:
    told = [Text(f"\n{verdict.case.group.value}: {verdict.case.name}", "bold red"), Text(verdict.case.why, "dim")]
    lines = [*verdict.complaints, f"sent  {verdict.sent}", f"got   {verdict.got}"]
    return [told[0], Padding(Parts(told[1], *map(Text, lines)), (0, 0, 0, 2))]


def _sum(component: str, verdicts: list[Verdict], failed: int) -> Text:
    asked = sum(not each.skipped for each in verdicts)
    if failed:
        return Text(f"\n'{component}' does not keep to the protocol: {failed} of {count_text(asked, 'case')} failed")
    if not asked:
        return Text(f"\nno case was asked, so that nothing is known of '{component}'")
    return Text(f"\n'{component}' keeps to the protocol, by {count_text(asked, 'case')}")


def _of_sample(sample: JsonObject) -> Text:
    """Why a component that is sound may have failed: it was asked for what is not there."""
    asked = shown(msgspec.json.encode(sample))
    return Text(f"it was asked {asked}, made from its schema; give what it can answer: --input JSON")

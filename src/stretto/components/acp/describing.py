"""Asks a server at load what it is, or reads the card that was kept in a file."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import msgspec

from stretto.acp import json_form, messages as m
from stretto.acp.failure import AcpError
from stretto.acp.names import Verb
from stretto.acp.version import CURRENT
from stretto.components.acp.card import chosen_card
from stretto.components.acp.link import link_to, peer_of
from stretto.components.acp.settings import AcpSettings
from stretto.components.acp.target import Target
from stretto.components.web.failures import NO_HTTP
from stretto.types.errors import Code, ComponentError, UsageError
from stretto.types.os_error import reason_of

_HTTP_1: Final = "Trying to connect an http1.x server"
"""What gRPC says of a server that answered it in HTTP/1; a test holds it to that."""


def described(settings: AcpSettings, target: Target, folder: Path) -> m.WireCard:
    """The card of the component that is meant. Raises UsageError where nobody can tell, and says what to do."""
    if settings.card is not None:
        return chosen_card(_kept(folder / settings.card), target.component, f"the card in {settings.card}")
    with ThreadPoolExecutor(1) as thread:  # a workflow may be loaded inside an event loop, which must not run another
        told = thread.submit(asyncio.run, ask_for_cards(settings, target, _remedy(target))).result()
    return chosen_card(told, target.component, peer_of(settings, target).who)


async def ask_for_cards(
    settings: AcpSettings, target: Target, remedy: str = "start it, or correct the address"
) -> m.DescribeResponse:
    """What the server says of itself. Raises UsageError, with what can be done, when it does not say it in time."""
    settings.check_secrecy(target)
    who = peer_of(settings, target).who
    link = link_to(settings, target)
    request = m.DescribeRequest(protocol=CURRENT, component=target.component)
    link.open()
    try:
        async with asyncio.timeout(settings.describe_timeout.total_seconds()):
            told, _ = await link.ask(Verb.DESCRIBE, request)
    except TimeoutError as error:
        limit = f"{settings.describe_timeout.total_seconds():g} s"
        raise UsageError(f"{who} did not say within {limit} what it is; {remedy}") from error
    except AcpError as error:
        raise UsageError(f"{who} does not say what it is: {error}{_of_token(error, settings)}") from error
    except ComponentError as error:
        known = error.rpc_code is Code.UNAUTHENTICATED  # and says itself what to do
        raise UsageError(str(error) if known else f"{error}; {_hint(error, target, remedy)}") from error
    finally:
        await link.close()
    if not isinstance(told, m.DescribeResponse):
        raise TypeError(f"a link answered describe with {type(told).__name__}")
    return told


def _of_token(error: AcpError, settings: AcpSettings) -> str:
    """What to do where a server asks for a token."""
    if error.failure.code is not Code.UNAUTHENTICATED:
        return ""
    if settings.token_env:
        return f"; correct what ${settings.token_env} holds"
    return "; name the environment variable that holds its token: `token_env`, or --token-env"


def _hint(error: ComponentError, target: Target, remedy: str) -> str:
    """What to do where a server was not reached, or ended the connection."""
    if _is_of_other_form(error, target):
        form, scheme = ("HTTP", "http") if target.is_grpc else ("gRPC", "grpc")
        return f"correct the address; that of one that speaks {form} begins with {scheme}"
    if not error.retryable:
        return "correct the address, or name the file with whose certificates to trust: `ca`, or --ca"
    if target.is_secure or not (error.sent or "Socket closed" in str(error)):
        return remedy
    return f"{remedy}; the address of one that speaks TLS begins with {target.scheme}s"


def _is_of_other_form(error: ComponentError, target: Target) -> bool:
    """Whether something answered in other bytes than those of the form that was spoken."""
    return not target.is_secure and (_HTTP_1 if target.is_grpc else NO_HTTP) in str(error)


def _kept(file: Path) -> m.DescribeResponse:
    try:
        kept = json_form.decode(file.read_bytes(), m.DescribeResponse)
    except OSError as error:
        raise UsageError(f"the card {file.name} cannot be read: {reason_of(error)}; {_MADE_BY}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{file.name} holds no card: {error}; {_MADE_BY}") from error
    if not kept.cards:  # as in what is said of a server that was not there
        raise UsageError(f"{file.name} holds no card; {_MADE_BY}, while the server runs")
    return kept


_MADE_BY = "stretto acp describe URL --json > FILE makes one"


def _remedy(target: Target) -> str:
    kept = f"stretto acp describe {target.address} --json > card.json, while it runs, and `card: card.json`"
    return f"start it, or keep its card: {kept}"

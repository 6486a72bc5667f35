"""What a component answered, held to what it promised."""

import orjson

from stretto.engine.called import Called
from stretto.engine.meaning import cross_output
from stretto.plan.meaning import Crossing
from stretto.record.canonical import snapshot
from stretto.record.report import check_report, is_bare
from stretto.types.errors import ContractError, NotJsonError
from stretto.types.json import JsonObject
from stretto.types.messages import Response


def taken(called: Called, response: Response) -> tuple[bytes, JsonObject]:
    """The encoded and decoded output that a response stands for; raises ContractError when it may not stand."""
    encoded = kept(called, response)
    if not called.is_bare:
        hold_to_report(called, response)
    return held(called, encoded)


def kept(called: Called, response: Response) -> bytes:
    """Keep a response, its output encoded."""
    if not isinstance(response, Response):
        raise ContractError(f"component '{called.name}' returned {type(response).__name__}, not a Response")
    try:
        encoded = snapshot(response.output)
    except NotJsonError as error:
        raise ContractError(f"the output of '{called.name}' is not JSON: {error}") from error
    called.response = response
    called.is_bare = is_bare(response)
    return encoded


def hold_to_report(called: Called, response: Response) -> None:
    """Hold a response that is not bare to what can be recorded; nothing of one that is refused is kept."""
    try:
        check_report(called.name, response)
    except ContractError:
        called.response = None
        raise


def held(called: Called, encoded: bytes, crossings: tuple[Crossing, ...] | None = None) -> tuple[bytes, JsonObject]:
    """An output, encoded and decoded, that keeps to its component's schema; its values those of their domains.

    `crossings` are those of what stands in its place, which may come of other domains.
    """
    output: JsonObject = orjson.loads(encoded)
    if type(output) is not dict:
        raise ContractError(f"component '{called.name}' returned {type(output).__name__}, not an object")
    check = called.op.output_check
    if check is not None and not check.is_valid(output):
        raise ContractError(f"the output of '{called.name}' breaks its schema:", check.violations(output))
    crossings = called.op.crossings_out if crossings is None else crossings
    return cross_output(called, encoded, output, crossings) if crossings else (encoded, output)

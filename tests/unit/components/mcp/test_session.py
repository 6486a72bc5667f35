"""Which session value a run is given, and which it is not."""

from typing import Any

import msgspec
import pytest

from stretto.components.mcp.session import Lease, Leases, McpSession
from stretto.components.waiting import Wait
from stretto.types.errors import Code, ComponentError
from stretto.types.messages import RunInfo


async def no_reset(_lease: Lease) -> None:
    return None


def resumed(run: RunInfo) -> RunInfo:
    return msgspec.structs.replace(run, resumed=True)


async def test_a_resumed_run_finds_its_own_id_as_its_value(make_request: Any) -> None:
    run = resumed(make_request(_run="r1").call.run)
    leases = Leases(McpSession("key"))
    standing = leases.standing(run)
    assert standing is not None
    assert (await leases.take(run, no_reset, Wait())).value == standing.value == "r1"


async def test_a_resumed_run_is_given_no_value_of_a_pool_which_never_saw_what_it_did(make_request: Any) -> None:
    run = make_request(_run="r1").call.run
    leases = Leases(McpSession("key", ["only"]))
    with pytest.raises(ComponentError, match="r1 was resumed, and its 'key' came from a pool") as caught:
        await leases.take(resumed(run), no_reset, Wait())
    assert (caught.value.rpc_code, caught.value.sent) == (Code.FAILED_PRECONDITION, False)
    assert leases.standing(resumed(run)) is None, "nobody can be asked about its writes"
    assert (await leases.take(run, no_reset, Wait())).value == "only"

"""Loops: rounds of a body that see each other only through what is carried."""

from stretto.engine.lanes import RunBlock
from stretto.engine.place import Place
from stretto.engine.seen import look_again
from stretto.engine.taint import Taint, marks
from stretto.plan.model import Carry, Frame, LoopOp
from stretto.types.enums import StepStatus
from stretto.types.json import Json, JsonObject
from stretto.types.resources import SEEN_BY_ROUND


async def run_loop(place: Place, op: LoopOp, run_block: RunBlock) -> None:
    """Run rounds until the condition holds, at most `max_rounds`, as those are set before each."""
    state, path = place.state, place.path
    started = state.now()
    taint = None if place.taint is None else place.taint.of_body(op.guard_reads)
    carried = [_start(place, carry, taint) for carry in op.carries]
    done = False
    rounds = 0
    seen: list[Json] = []
    own = place.frame
    while rounds < state.as_set(op).max_rounds and not done:
        own = place.frame.copy()
        _set_carries(op, own, carried)
        rounds += 1
        own[op.round_slot] = rounds
        await run_block(state, op.body, own, f"{path}[{rounds}]/", place.lane, taint)
        carried = _carry_on(place, op, own, carried, taint)
        _set_carries(op, own, carried)  # `until` asks about what the round came to
        if taint is not None:
            taint.decide(op.until_reads)
        if op.until_resources and state.live is not None:
            seen.append(look_again(state, op.until_resources, own, path, rounds))
            if seen[-1] is None:
                continue
        done = op.until is not None and place.read_in(own, op.until, simulated=marks(taint, ())) is True
    output: JsonObject = {
        "last": {name: own[slot] for name, slot in op.results},
        "rounds": rounds,
        "done": done,
        "carry": {carry.name: value for carry, value in zip(op.carries, carried, strict=True)},
    }
    place.frame[op.slot] = output
    written = (*(slot for _, slot in op.results), *(carry.slot for carry in op.carries))
    record = place.record(StepStatus.OK, started, output)
    if seen:
        record.evidence = {SEEN_BY_ROUND: seen}
    place.end(op, record, is_marked=marks(taint, written))


def _start(place: Place, carry: Carry, taint: Taint | None) -> Json:
    """What a carry is before round 1."""
    simulated = marks(taint, carry.start_reads)
    if taint is not None:
        taint.put(carry.slot, simulated)
    return place.read(carry.start, simulated=simulated)


def _set_carries(op: LoopOp, own: Frame, carried: list[Json]) -> None:
    for carry, value in zip(op.carries, carried, strict=True):
        own[carry.slot] = value


def _carry_on(place: Place, op: LoopOp, own: Frame, carried: list[Json], taint: Taint | None) -> list[Json]:
    """Values for the next round; what no step of this round wrote stays as it was."""
    following = []
    for carry, value in zip(op.carries, carried, strict=True):
        simulated = marks(taint, carry.next_reads)
        written = None if carry.next is None else place.read_in(own, carry.next, simulated=simulated)
        following.append(value if written is None else written)
        if taint is not None and (written is not None or simulated):
            taint.put(carry.slot, simulated)
    return following

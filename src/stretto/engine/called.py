"""What is known of one step's call while it is made: `call` makes it, in chapters that all work on this."""

import msgspec
import orjson

from stretto.engine.protection import Entry
from stretto.engine.state import Lane, RunState
from stretto.plan.model import CallOp
from stretto.record.model import Attempt
from stretto.types.enums import Effect
from stretto.types.ids import StepPath
from stretto.types.json import Json, JsonObject
from stretto.types.messages import Response, Usage


class Called(msgspec.Struct, eq=False):
    """A call of one component at one step path, and what became of it so far.

    A struct, though it is no value: one with so many fields is made in C in a third of the time. The garbage collector
    looks at it, which is 2 % of a run among a thousand: the task that it holds may keep what was raised, and by that
    the call, as a lane does that was stopped.
    """

    state: RunState
    op: CallOp
    data: JsonObject
    path: StepPath
    lane: Lane
    started: float
    action: str
    """Of the operation, until the request names another."""
    effect: Effect
    simulated: bool = False
    """And what becomes so while it is made."""
    attempts: list[Attempt] | None = None
    """Those that failed; None while none has."""
    before: int = 0
    """Attempts of the calls around this one that failed before it was made: they travel with it."""
    waited_s: float = 0.0
    """Of the attempt at hand, until its component might be asked."""
    entry: Entry | None = None
    """Of the attempt at hand, where something protects the component."""
    held: frozenset[str] = frozenset()
    """Components in whose bulkheads the calls around this one hold a place."""
    response: Response | None = None
    is_bare: bool = True
    """The response reports nothing beside its output."""
    used: Usage | None = None
    """What all answers used so far, those too that were refused; None while none told."""
    evidence: dict[str, Json] | None = None
    """What the engine itself notes on the step's record; None while it has nothing to say."""
    stand_in: Json = None
    """What its fallback read from the run, where it is such a one."""
    encoded: bytes = b"null"
    """The request."""

    @property
    def name(self) -> str:
        """Of the component, as the record has it."""
        return self.op.component_name

    def name_action(self) -> None:
        """Take the action from the request, where it names one, and what it does to the world."""
        card = self.op.component.card
        self.action = card.action_of(self.data)
        self.effect = card.effect_of(self.action)

    def begin_anew(self) -> None:
        """Forget of the attempt that failed what only the next may tell."""
        self.response, self.is_bare, self.waited_s = None, True, 0.0

    def own_copy(self, number: int) -> JsonObject:
        """The request as the component may keep and change it; nothing else holds the containers in it."""
        if number == 1:
            for value in self.data.values():
                if type(value) is dict or type(value) is list:
                    break
            else:
                return self.data
        return self.decoded_request()

    def decoded_request(self) -> JsonObject:
        """The request, read back."""
        copy: JsonObject = orjson.loads(self.encoded)
        return copy

    def note(self, what: str, value: Json) -> None:
        """Add to what the engine notes on the step's record."""
        if self.evidence is None:
            self.evidence = {}
        self.evidence[what] = value

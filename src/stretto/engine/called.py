"""What is known of one step's call while it is made: `call` makes it, in chapters that all work on this."""

import orjson

from stretto.engine.protection import Entry
from stretto.engine.state import Lane, RunState
from stretto.plan.model import CallOp
from stretto.record.model import Attempt
from stretto.types.ids import StepPath
from stretto.types.json import Json, JsonObject
from stretto.types.messages import Response, Usage


class Called:
    """A call of one component at one step path, and what became of it so far."""

    __slots__ = (
        "action",
        "attempts",
        "before",
        "data",
        "effect",
        "encoded",
        "entry",
        "evidence",
        "held",
        "is_bare",
        "lane",
        "op",
        "path",
        "response",
        "simulated",
        "stand_in",
        "started",
        "state",
        "used",
        "waited_s",
    )

    def __init__(
        self, state: RunState, op: CallOp, data: JsonObject, path: StepPath, lane: Lane, simulated: bool = False
    ) -> None:
        self.state = state
        self.op = op
        self.data = data
        self.path = path
        self.lane = lane
        self.simulated = simulated  # and what becomes so while it is made
        self.started = state.now()
        self.attempts: list[Attempt] | None = None
        """Those that failed; None while none has."""
        self.before = 0
        """Attempts of the calls around this one that failed before it was made: they travel with it."""
        self.waited_s = 0.0
        """Of the attempt at hand, until its component might be asked."""
        self.entry: Entry | None = None
        """Of the attempt at hand, where something protects the component."""
        self.held: frozenset[str] = frozenset()
        """Components in whose bulkheads the calls around this one hold a place."""
        self.response: Response | None = None
        self.is_bare = True
        """The response reports nothing beside its output."""
        self.used: Usage | None = None
        """What all answers used so far, those too that were refused; None while none told."""
        self.evidence: dict[str, Json] | None = None
        """What the engine itself notes on the step's record; None while it has nothing to say."""
        self.stand_in: Json = None
        """What its fallback read from the run, where it is such a one."""
        self.encoded = b"null"
        """The request."""
        self.action = op.action
        self.effect = op.effect
        if op.action_field:
            self.name_action()

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

"""What comes back to a component that learns on its own side: how a call of it was judged."""

import msgspec

from stretto.types.ids import StepPath
from stretto.types.json import Json, JsonObject
from stretto.types.learning import Reward
from stretto.types.messages import RunInfo


class Corrected(msgspec.Struct, frozen=True, kw_only=True):
    """What a field of the judged answer ought to have been."""

    pointer: str
    """JSON Pointer (RFC 6901) into the output; empty for the whole."""
    value: Json
    by: str = ""
    """Who says so."""
    reason: str = ""


class Signal(msgspec.Struct, frozen=True, kw_only=True):
    """The judgement of one call."""

    run: RunInfo
    path: StepPath
    """The step that is judged."""
    reward: float | None
    """Of the whole run; None is unknown, which is not 0."""
    credit: float | None = None
    """What of it this step earned; None where it was not attributed."""
    terms: tuple[Reward, ...] = ()
    corrections: tuple[Corrected, ...] = ()
    gradient_handle: str = ""
    """As the answer to the judged call gave it."""


class Cotangents(msgspec.Struct, frozen=True, kw_only=True):
    """Asks for the gradient of <cotangents, f(inputs)> with respect to the inputs."""

    run: RunInfo
    path: StepPath
    inputs: bytes
    """Named tensors, safetensors bytes; empty where the gradient handle says where to differentiate."""
    cotangents: bytes
    """Named tensors, safetensors bytes."""
    gradient_handle: str = ""
    """Of the forward call, if the component kept what it needs."""
    input: JsonObject = msgspec.field(default_factory=dict)
    """The forward call's other fields: what is read and takes no gradient."""
    answered_by: str = ""
    """Digest of who answered the forward call, where that is not who the card says: another's gradient is of another
    function."""
    deadline: float | None = None
    """Event-loop time by which an answer is useful."""

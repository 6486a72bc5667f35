"""What one server takes."""

import msgspec

from stretto.acp.names import Report


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds of a server: every table and every wait has one."""

    max_request_bytes: int = 4 * 1024 * 1024
    """gRPC's own default; larger values travel as blobs, or behind a reference."""
    body_s: float = 5.0
    """In which a request must have come: a client that stops half-way would hold its connection, and the end."""
    max_concurrent: int = 64
    """Calls that are worked on at once."""
    max_queued: int = 256
    """Calls that wait for a place; what comes beyond is shed."""
    max_call_s: float = 300.0
    """The longest that a component may take, where the caller gives it more or names no deadline."""
    give_up_s: float = 1.0
    """What a component may take to end after its time was up, before it is answered for and left behind."""
    max_keys: int = 10_000
    """Effect keys that are remembered, the oldest forgotten first."""
    max_key_bytes: int = 64 * 1024 * 1024
    """Of the answers remembered under them."""
    key_age_s: float = 24 * 3600.0
    """How long a key is remembered: a run that is resumed the next day still finds its writes."""
    max_blob_bytes: int = 64 * 1024 * 1024
    """Of large values that were sent once and may be named by their digest."""
    max_sessions: int = 1_000
    """Runs that components of scope ``run`` hold a session for."""
    session_idle_s: float = 900.0
    """A run that asked nothing for so long has ended: no caller says when one does."""
    withheld: frozenset[Report] = frozenset()
    """What is told to no caller: model calls hold whole prompts, which may be nobody's business."""

"""What answers the protocol, whatever the transport: components behind a desk that checks, bounds and remembers."""

from stretto.acp.server.answer import Answer
from stretto.acp.server.desk import Desk
from stretto.acp.server.limits import Limits

__all__ = ["Answer", "Desk", "Limits"]

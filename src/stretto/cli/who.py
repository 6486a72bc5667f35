"""Who types the command."""

import getpass
import os


def who() -> str:
    """Whoever types the command, as the system knows them."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container without a user database
        return f"uid {os.getuid()}"

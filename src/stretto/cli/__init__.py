"""The command line, one file a verb: results on stdout, everything else on stderr."""

import sys
from typing import NoReturn

__all__ = ["main"]


def main() -> NoReturn:
    """Run the command of this process and exit with its code."""
    try:
        from stretto.cli.boundary import run_process  # typer and rich take a moment, and Ctrl-C may come in it
    except KeyboardInterrupt:
        sys.exit(130)
    run_process()

"""The command line, one file a verb: results on stdout, everything else on stderr."""

from stretto.cli.boundary import main

__all__ = ["main"]

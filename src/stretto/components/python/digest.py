"""What a Python component's behaviour is pinned by: its own source and what was declared about it."""

import inspect
from pathlib import Path

from stretto.components.declared import declared
from stretto.components.python.options import Options
from stretto.components.python.place import code_of, place_of
from stretto.types.ids import Digest, digest_of


def python_digest(target: object, options: Options) -> Digest:
    """SHA-256 over the source of the function or class and the options that were given.

    Functions that it calls are not covered: whoever changes a helper that decides something raises the version.
    """
    return digest_of(b"\0".join((source_of(target), declared(options))))


def source_of(target: object) -> bytes:
    """The target's own source; of code without any, its file, and of code without a file, what it compiled to."""
    try:
        return inspect.getsource(target).encode()  # type: ignore[arg-type]  # raises TypeError for what has none
    except (OSError, TypeError):
        pass
    file, _ = place_of(target)
    if file and Path(file).is_file():
        return Path(file).read_bytes()
    code = code_of(target)
    return repr((code.co_code, code.co_consts, code.co_names)).encode() if code else repr(target).encode()

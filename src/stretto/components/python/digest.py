"""What a Python component's behaviour is pinned by: its own source and what was declared about it."""

import inspect
from functools import partial
from pathlib import Path

from stretto.components.declared import declared
from stretto.components.python.options import Options
from stretto.components.python.place import code_of, place_of
from stretto.record.canonical import canonical
from stretto.types.errors import NotJsonError
from stretto.types.ids import Digest, digest_of


def python_digest(target: object, options: Options) -> Digest:
    """SHA-256 over the source of the function or class and the options that were given.

    Functions that it calls are not covered: whoever changes a helper that decides something raises the version.
    """
    return digest_of(b"\0".join((source_of(target), declared(options))))


def source_of(target: object) -> bytes:
    """The target's own source; of code without any, its file, of code without a file, what it compiled to, and of a
    built-in its name. A partial adds what it holds."""
    if isinstance(target, partial):
        held = (*target.args, *sorted(target.keywords.items()))
        return b"\0".join((source_of(target.func), *map(_held, held)))
    try:
        return inspect.getsource(target).encode()  # type: ignore[arg-type]  # raises TypeError for what has none
    except (OSError, TypeError):
        pass
    file, _ = place_of(target)
    if file and Path(file).is_file():
        return Path(file).read_bytes()
    code = code_of(target)
    if code:
        return repr((code.co_code, code.co_consts, code.co_names)).encode()
    name = getattr(target, "__qualname__", None)  # the repr of a bound one has an address, another in each process
    return f"{getattr(target, '__module__', '')}.{name}".encode() if name else repr(target).encode()


def _held(value: object) -> bytes:
    try:
        return canonical(value)
    except NotJsonError:
        return source_of(value) if callable(value) else type(value).__qualname__.encode()

"""Files of JSON values, one a line."""

from codecs import BOM_UTF8
from pathlib import Path

from stretto.types.errors import UsageError


def lines_of(path: Path, flag: str) -> list[tuple[str, bytes]]:
    """The lines that are not blank, each after its place; raises UsageError where the file cannot be read."""
    try:
        lines = path.read_bytes().removeprefix(BOM_UTF8).splitlines()
    except OSError as error:
        raise UsageError(f"{flag}: {path} cannot be read: {error.strerror}") from error
    return [(f"{path}:{number}", line) for number, line in enumerate(lines, 1) if line.strip()]

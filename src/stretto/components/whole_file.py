"""Files that are there whole or as they were before, whatever happens meanwhile."""

import os
from pathlib import Path

from stretto.types.errors import StoreError


def write_whole(path: Path, content: bytes) -> None:
    """Put a file at the path, which survives a power cut; a reader, or a crash, sees all of it or the file before it.

    Raises StoreError when the disk refuses.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with temporary.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error}") from error

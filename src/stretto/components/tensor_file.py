"""Arrays in one safetensors file with one JSON header, written whole or not at all."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy.typing as npt
import safetensors
from safetensors.numpy import load, save

from stretto.components.whole_file import write_whole
from stretto.types.errors import StoreError, UsageError

_HEADER_KEY: Final = "stretto"
"""One key only: the file format keeps no order among several, and equal content must give equal files."""

Arrays = Mapping[str, npt.NDArray[Any]]


def write_tensors(path: Path, arrays: Arrays, header: bytes) -> None:
    """Put arrays and their JSON header at the path; a reader, or a crash, sees all of it or the file before it.

    Raises StoreError when the disk refuses.
    """
    write_whole(path, save(dict(arrays), {_HEADER_KEY: header.decode()}))


def read_tensors(path: Path) -> tuple[dict[str, npt.NDArray[Any]], bytes]:
    """A file's arrays and JSON header, empty when it has none.

    Raises UsageError when there is no such file, StoreError when it is not a whole safetensors file.
    """
    with _told_of(path):
        content = path.read_bytes()
        return load(content), _header(path)


def read_header(path: Path) -> bytes:
    """A file's JSON header alone, whatever the size of its arrays; raises as `read_tensors`."""
    with _told_of(path):
        return _header(path)


def _header(path: Path) -> bytes:
    with safetensors.safe_open(path, framework="numpy") as file:
        header: str = (file.metadata() or {}).get(_HEADER_KEY, "")
    return header.encode()


@contextmanager
def _told_of(path: Path) -> Iterator[None]:
    """Say of a file that cannot be read what is wrong with it."""
    try:
        yield
    except FileNotFoundError as error:
        raise UsageError(f"no file at {path}; give the path of a file that training wrote") from error
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error}") from error
    except safetensors.SafetensorError as error:
        raise StoreError(
            f"{path} is not a whole safetensors file ({error}): it was cut short or is something else. "
            "Copy it again, or train again"
        ) from error

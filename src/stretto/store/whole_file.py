"""A file that is there whole or as it was before."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def whole_file(out: Path) -> Iterator[BinaryIO]:
    """A file that takes the place of `out` once it is whole; a pipe or a device is written as it stands."""
    place = out.resolve()
    if place.exists() and not place.is_file():
        with place.open("wb") as file:
            yield file
        return
    partial = place.with_name(f"{place.name}.partial")
    try:
        with partial.open("wb") as file:
            yield file
        partial.replace(place)
    finally:
        partial.unlink(missing_ok=True)

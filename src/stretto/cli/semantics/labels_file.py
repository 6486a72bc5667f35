"""A file of labels that is only ever added to."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path

from stretto.learn.semantics.samples import Sample
from stretto.types.errors import StoreError


def append_label(path: Path, sample: Sample, *, by: str, reason: str) -> None:
    """Add one line of JSON: text, value, by whom, when, why. Lines of two people at once do not mix.

    Raises StoreError when the file cannot be written.
    """
    line = {"text": sample.text, "value": sample.value, "by": by, "at": datetime.now(UTC).isoformat(timespec="seconds")}
    line |= {"reason": reason} if reason else {}
    try:
        with path.open("ab") as file:  # one write of a file opened to append is not torn apart
            file.write(f"{json.dumps(line)}\n".encode())
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror}; name another file with --to") from error

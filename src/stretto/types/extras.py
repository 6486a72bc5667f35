"""The command that installs an extra, where this installation came from: an index, or a folder that was cloned."""

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

EXTRA_OF: Final[Mapping[str, str]] = {"torch": "torch", "transformers": "transformers", "peft": "transformers"}
"""Extra by the package that people's own components import for it."""


def install_command(extra: str) -> str:
    """What to run so that an extra's packages are there; in a clone it is the clone that gets them."""
    folder, flag = _folder()
    if folder is None:
        return f"pip install 'stretto[{extra}]'"
    place = "." if folder == Path.cwd() else folder
    return f"pip install {flag}{shlex.quote(f'{place}[{extra}]')}"


def _folder() -> tuple[Path | None, str]:
    """The folder that was installed, None when it was none; and pip's flag when it is used in place.

    As pip records it: PyPA, "Recording the Direct URL Origin of installed distributions", `dir_info`.
    """
    kept = _direct_url()
    origin = json.loads(kept) if kept else {}
    url = urlsplit(origin.get("url", ""))
    if url.scheme != "file" or "dir_info" not in origin:
        return None, ""
    return Path(unquote(url.path)), "-e " if origin["dir_info"].get("editable") else ""


def _direct_url() -> str | None:
    from importlib.metadata import PackageNotFoundError, distribution  # 10 ms, which only who lacks an extra waits for

    try:
        return distribution("stretto").read_text("direct_url.json")
    except PackageNotFoundError:  # a source tree on the path
        return None

"""The public door: sorted, whole, and light to open."""

import subprocess
import sys
from typing import Final

import pytest

import stretto

HEAVY: Final = {
    "aiohttp",
    "cel",
    "fastapi",
    "mcp",
    "numpy",
    "prometheus_client",
    "psutil",
    "pydantic",
    "pynvml",
    "rich",
    "ruamel",
    "safetensors",
    "scipy",
    "sklearn",
    "torch",
    "typer",
    "uvicorn",
    "zen",
}
"""Packages that cost tens of milliseconds or more, imported where they are used."""


def test_the_names_are_sorted_and_each_stands_once() -> None:
    assert stretto.__all__ == sorted(set(stretto.__all__))


@pytest.mark.parametrize("name", stretto.__all__)
def test_every_name_opens(name: str) -> None:
    assert getattr(stretto, name) is not None


def test_dir_shows_the_door_and_nothing_behind_it() -> None:
    assert set(dir(stretto)) == {*stretto.__all__, "__version__"}


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'Wokflow'"):
        getattr(stretto, "Wokflow")  # noqa: B009  # as a misspelt import would ask


def test_opening_the_door_imports_nothing_heavy() -> None:
    program = "import sys, stretto; print(*{name.partition('.')[0] for name in sys.modules})"
    opened = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    modules = set(opened.stdout.split())
    assert "stretto" in modules
    assert modules & HEAVY == set()

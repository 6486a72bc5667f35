"""Files that are there whole or as they were before."""

import os
from pathlib import Path

import pytest

from stretto.components.whole_file import write_whole
from stretto.learn.joint.curve import Curve
from stretto.types.errors import StoreError


class PowerCut(BaseException):
    """Nothing after it is done."""


def cut(_: int) -> None:
    raise PowerCut


def test_what_never_reached_the_disk_takes_no_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "deep" / "state"
    write_whole(path, b"before")
    monkeypatch.setattr(os, "fsync", cut)
    with pytest.raises(PowerCut):
        write_whole(path, b"after")
    assert path.read_bytes() == b"before"
    assert [each.name for each in path.parent.iterdir()] == ["state"]


def test_a_curve_that_is_cut_is_on_the_disk_before_it_takes_the_place_of_the_longer_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    curve = Curve(tmp_path)
    curve.path.write_bytes(b"half a line")
    monkeypatch.setattr(os, "fsync", cut)
    with pytest.raises(PowerCut):
        curve.cut(0)
    assert curve.path.read_bytes() == b"half a line"


def test_a_disk_that_refuses_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StoreError, match="cannot write"):
        write_whole(tmp_path / "file" / "state", b"")

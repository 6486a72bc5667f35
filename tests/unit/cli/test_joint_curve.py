"""A learning curve, in the terminal and as a picture."""

import math
from pathlib import Path

import pytest

from stretto.cli import joint_curve
from stretto.cli.joint_bar import report_text
from stretto.cli.joint_curve import draw, shown_in_terminal
from stretto.learn.joint.report import ComponentGradient, HeldOutReport, JointReport, Reach
from stretto.types.extras import install_command


def report(update: int, reward: float | None = None, held_out: float | None = None, skipped: str = "") -> JointReport:
    found = HeldOutReport(reward_mean=held_out, runs=9, unknown=0, left_out={}, is_best=True) if held_out else None
    reach = Reach.SKIPPED if skipped else Reach.STEPPED
    gradients = {"router": ComponentGradient(norm=0.0 if skipped else 0.5, reach=reach)} if update else {}
    return JointReport(
        update=update, runs=8 * update, reward_mean=reward, unknown=0, gradients=gradients, skipped=skipped,
        held_out=found,
    )  # fmt: skip


CURVES = {
    "usual": [report(0, held_out=0.1), report(1, 0.2), report(2, 0.3, 0.4)],
    "nothing held out": [report(1, 0.2), report(2, 0.3)],
    "skipped and unknown": [report(1, None, skipped="unknown"), report(2, 0.3), report(3, 0.1, skipped="nan")],
    "the start alone": [report(0, held_out=0.1)],
    "nothing known": [report(1, None, skipped="unknown")],
    "no numbers": [report(0, held_out=math.nan), report(1, math.inf, 0.2), report(2, math.nan), report(3, 0.3)],
}


@pytest.mark.parametrize("name", CURVES)
def test_a_curve_is_drawn_of_whatever_there_is(name: str, tmp_path: Path) -> None:
    told = shown_in_terminal(CURVES[name]).plain
    assert "reward of each update (•)" in told
    assert ("and held out (line)" in told) is any(each.held_out for each in CURVES[name])
    picture = draw(CURVES[name], tmp_path)
    assert picture is not None
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_updates_are_told_in_whole_numbers_the_first_and_the_last_among_them() -> None:
    told = shown_in_terminal([report(update, update / 100) for update in range(1, 98)]).plain
    assert told.splitlines()[-2].split() == ["0", "16", "32", "48", "64", "80", "97"]


def test_without_the_extra_it_is_said_how_to_see_a_curve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joint_curve, "find_spec", lambda _: None)
    assert install_command("curves") in shown_in_terminal(CURVES["usual"]).plain
    assert draw(CURVES["usual"], tmp_path) is None


def test_a_report_is_told_on_one_line_with_all_that_is_unusual_about_it() -> None:
    gradients = {
        "a": ComponentGradient(norm=0.12345, reach=Reach.STEPPED),
        "b": ComponentGradient(norm=12.5, reach=Reach.CLIPPED),
        "c": ComponentGradient(norm=0.0, reach=Reach.UNREACHED),
        "d": ComponentGradient(norm=0.0, reach=Reach.FROZEN),
    }
    held_out = HeldOutReport(reward_mean=0.5, runs=9, unknown=2, left_out={"unknown paid": 2}, is_best=False)
    full = JointReport(
        update=3, runs=24, reward_mean=-0.25, unknown=3, gradients=gradients, left_out={"failed": 1, "unknown paid": 2},
        biased=("rules",), perturbed=4, held_out=held_out,
    )  # fmt: skip
    assert report_text(full) == (
        "reward -0.2500  left out 3 (1 failed, 2 unknown paid)  perturbed 4  held out  0.5000 (left out 2 (2 unknown "
        "paid))  gradients a 0.123, b 12.5 clipped, c not reached, d frozen  biased through rules"
    )
    assert report_text(report(1, None, skipped="why")) == "reward unknown  skipped: why"


def test_a_picture_that_is_not_drawn_is_told_where_the_terminal_has_a_curve(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joint_curve, "find_spec", lambda name: None if name == "matplotlib" else name)
    assert joint_curve.undrawn_text() == f"a picture is drawn with: {install_command('curves')}"
    monkeypatch.setattr(joint_curve, "find_spec", lambda name: name)
    assert not joint_curve.undrawn_text()


def test_a_picture_that_the_disk_refuses_leaves_the_rest_to_be_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / joint_curve.PICTURE).mkdir()
    assert draw(CURVES["usual"], tmp_path) is None
    assert "there is no picture: cannot write" in capsys.readouterr().err

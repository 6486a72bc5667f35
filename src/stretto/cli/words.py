"""How statuses, times and figures are written everywhere."""

from datetime import UTC, datetime
from typing import Final

from rich.text import Text

from stretto.record.model import Run
from stretto.types.enums import Effect, Reason, RunStatus, StepStatus
from stretto.types.ids import SHORT_DIGEST_HEX
from stretto.types.words import count_text as count_text, escaped as escaped, number_text as number_text

STATUS_STYLES: Final[dict[str, str]] = {
    RunStatus.OK: "green",
    RunStatus.DEGRADED: "yellow",
    RunStatus.BUSINESS_FALLBACK: "yellow",
    RunStatus.FAILED: "red",
    RunStatus.PARKED: "bold red",
    RunStatus.CANCELLED: "magenta",
    RunStatus.EXPIRED: "red",
    StepStatus.SKIPPED: "dim",
    StepStatus.FALLBACK: "yellow",
}

EFFECT_STYLES: Final = {Effect.PURE: "dim", Effect.READ: "cyan", Effect.WRITE: "yellow"}

_SECOND_MS: Final = 1000.0
_MINUTE_S: Final = 60


def status_text(status: RunStatus | StepStatus | None, reason: Reason | None = None) -> Text:
    """A status in its colour, with why; a run without one has not ended."""
    if status is None:
        return Text.assemble(("not ended", "bold yellow"))
    text = Text.assemble(
        (status.value, STATUS_STYLES.get(status, ""))
    )  # its own base style stays free for what follows
    if reason is not None and reason.value != status.value:
        text.append(f" ({reason.value.replace('_', ' ')})", "dim")
    return text


def ms_text(ms: float) -> str:
    """A time with three digits that matter: 0.42 ms, 118 ms, 2.31 s, 4 min 07 s."""
    if ms < _SECOND_MS:
        return f"{ms:.3g} ms" if ms < _SECOND_MS - 1 else "1 s"
    if ms < _MINUTE_S * _SECOND_MS:
        return f"{ms / _SECOND_MS:.2f} s"
    minutes, seconds = divmod(round(ms / _SECOND_MS), _MINUTE_S)
    return f"{minutes} min {seconds:02} s"


def took_text(run: Run) -> str:
    """How long a run took, apart from the time that it lay interrupted or parked."""
    worked = ms_text(max(0.0, run.duration_ms - run.lay_ms))
    return f"{worked}, not counting {ms_text(run.lay_ms)} that it lay" if run.lay_ms else worked


def time_text(at_ns: int) -> str:
    """When something was, in local time, to the second."""
    return datetime.fromtimestamp(at_ns / 1e9, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def bytes_text(size: int) -> str:
    """A size with its unit, 1 KiB being 1024 bytes."""
    value, unit = float(size), "B"
    for bigger in ("KiB", "MiB", "GiB"):
        if value < 1024:  # what a KiB is
            break
        value, unit = value / 1024, bigger
    return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"


def pinned_text(version_at_digest: str) -> str:
    """A component's pin in a manifest, its digest cut to what people compare: ``1.2.0@1a2b3c4d``."""
    version, _, digest = version_at_digest.partition("@")
    return f"{version}@{digest[:SHORT_DIGEST_HEX]}"


def total_text(run: Run) -> Text:
    """A run's reward: the total, *unknown* when a weighted term is, nothing when it has none."""
    if run.reward is not None:
        return Text(number_text(run.reward), "bold")
    return Text("unknown", "yellow") if run.rewards else Text("")

"""What components hold while they are open: opened, or told why not; closed in time, or left behind."""

import asyncio
from collections.abc import Iterable
from typing import Protocol

from stretto.engine.alarm import Alarm, Watch
from stretto.engine.driven import driven
from stretto.engine.failure import as_component_error, is_components_own
from stretto.record.texts import text_of
from stretto.types.errors import StrettoError
from stretto.types.protocols import Opens


async def open_one(name: str, component: Opens) -> None:
    """Open a component; raises ComponentError for whatever its code raised."""
    alarm = Watch(asyncio.get_running_loop()).alarm()
    try:
        await component.open()
    except StrettoError:
        raise
    except BaseException as error:
        if not is_components_own(error, alarm.task, is_cancelled=alarm.is_task_cancelled):
            raise
        raise as_component_error(name, error, "did not open: it raised") from error


class Closes(Protocol):
    """What holds something until it is closed."""

    async def close(self) -> None: ...


async def close_each(holders: Iterable[tuple[str, Closes]], grace_s: float) -> list[str]:
    """Close each in turn, by its name in words; returns what did not close, in words.

    One that is not done after `grace_s` is cancelled, and left behind when it ignores that. When the caller is
    cancelled those that were not reached are not taken from `holders`.
    """
    watch = Watch(asyncio.get_running_loop())
    alarm = watch.alarm()
    troubles = []
    try:
        for name, holder in holders:
            trouble = await _trouble_in_closing(holder, alarm, grace_s)
            if trouble:
                troubles.append(f"{name} did not close: {trouble}")
    finally:
        watch.close()
    return troubles


async def _trouble_in_closing(holder: Closes, alarm: Alarm, grace_s: float) -> str:
    """Close one; why it did not, or nothing when it did."""
    alarm.deadline = asyncio.get_running_loop().time() + grace_s
    try:
        await driven(_close(holder), alarm)
    except BaseException as error:
        if isinstance(error, asyncio.CancelledError) and alarm.took():
            return f"it took longer than {grace_s:g} s"
        if not is_components_own(error, alarm.task, is_cancelled=alarm.is_task_cancelled):
            raise
        return text_of(error) if isinstance(error, StrettoError) else f"{type(error).__name__}: {text_of(error)}"
    finally:
        alarm.disarm()
    alarm.took()  # it may have rung and been ignored
    return ""


async def _close(holder: Closes) -> None:
    await holder.close()

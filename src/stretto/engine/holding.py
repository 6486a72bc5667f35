"""What components hold while they are open: opened, or told why not; closed in time, or left behind."""

import asyncio
from collections.abc import Iterable
from datetime import timedelta
from typing import Final, Protocol, runtime_checkable

from stretto.engine.alarm import Alarm, Watch
from stretto.engine.driven import driven
from stretto.engine.failure import Whose, as_component_error, whose
from stretto.record.texts import text_of
from stretto.types.arguments import wrong
from stretto.types.errors import Code, ComponentError, StrettoError
from stretto.types.protocols import Opens

OPEN_LIMIT_S: Final = 60.0
"""How long a component may take to open when it does not say: twice what a tool server has for its start. Nobody
waits for ever for a run that has not begun."""


@runtime_checkable
class LimitsOpening(Protocol):
    """A component that says itself how long it may take to open."""

    @property
    def open_limit(self) -> timedelta | None:
        """None leaves it at `OPEN_LIMIT_S`."""
        ...


async def open_one(name: str, component: Opens) -> None:
    """Open a component; raises ComponentError for whatever its code raised, and when it takes too long.

    Raises UsageError when it says how long it may take and that is no time.

    One that is not open after its `open_limit`, or `OPEN_LIMIT_S`, is cancelled, and left behind when it ignores that.
    """
    limit_s = _limit_s(name, component)
    loop = asyncio.get_running_loop()
    watch = Watch(loop)
    alarm = watch.alarm()
    alarm.deadline = loop.time() + limit_s
    try:
        await driven(_open(component), alarm)
    except BaseException as error:
        match whose(error, alarm):
            case Whose.COMPONENT if not isinstance(error, StrettoError):
                raise as_component_error(name, error, "did not open: it raised") from error
            case Whose.DEADLINE:
                raise _too_slow(name, limit_s) from error
            case _:
                raise
    finally:
        alarm.disarm()
        watch.close()
    alarm.took()  # it may have rung and been ignored


def _limit_s(name: str, component: Opens) -> float:
    limit: object = component.open_limit if isinstance(component, LimitsOpening) else None
    if limit is None:
        return OPEN_LIMIT_S
    if not isinstance(limit, timedelta) or limit <= timedelta():
        raise wrong(f"open_limit of component '{name}'", limit, "a timedelta above 0, such as timedelta(minutes=5)")
    return limit.total_seconds()


def _too_slow(name: str, limit_s: float) -> ComponentError:
    return ComponentError(
        f"component '{name}' did not open within {limit_s:g} s; see whether what its `open` waits for is there and "
        "answers, or, when it needs longer, let the component say so: open_limit = timedelta(minutes=5)",
        Code.DEADLINE_EXCEEDED,
        sent=False,
    )


async def _open(component: Opens) -> None:
    await component.open()


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
        match whose(error, alarm):
            case Whose.COMPONENT if isinstance(error, StrettoError):
                return text_of(error)
            case Whose.COMPONENT:
                return f"{type(error).__name__}: {text_of(error)}"
            case Whose.DEADLINE:
                return f"it took longer than {grace_s:g} s"
            case Whose.OUTSIDE:
                raise
    finally:
        alarm.disarm()
    alarm.took()  # it may have rung and been ignored
    return ""


async def _close(holder: Closes) -> None:
    await holder.close()

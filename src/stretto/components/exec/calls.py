"""One call of a program, in the process of its own or in one that answers many."""

from collections.abc import Sequence
from typing import Final

import msgspec

from stretto.components.exec.codecs import UnreadableError
from stretto.components.exec.exits import failure, last_words
from stretto.components.exec.framing import Framing
from stretto.components.exec.process import ProgramProcess, start
from stretto.components.exec.program import environment, located, not_started
from stretto.components.exec.settings import ExecSettings
from stretto.types.enums import Effect
from stretto.types.errors import Code, ComponentError
from stretto.types.messages import Call

EFFECT_KEY: Final = "STRETTO_EFFECT_KEY"
"""Variable of a program that is started for a write: the same for every attempt, so that it may do it once."""


class Output(msgspec.Struct, frozen=True):
    """What a program that was started for one call did."""

    exit_code: int
    data: bytes
    stderr: bytes


async def launched(settings: ExecSettings, command: Sequence[str], call: Call | None) -> ProgramProcess:
    """Start a process; raises ComponentError, with `sent` false, when it cannot be."""
    env = environment(settings.inherit, {**settings.env, **_of_call(call)})
    found = located(settings.name, command, settings.place, env)
    try:
        return await start(found, cwd=settings.place, env=env, max_output_bytes=settings.max_output_bytes)
    except OSError as error:
        raise not_started(settings.name, error) from error


async def run_once(settings: ExecSettings, command: Sequence[str], call: Call, data: bytes) -> Output:
    """Start the program, hand it the bytes, and wait for its end. Cancelled, its whole group is ended.

    Raises UnreadableError when it wrote more than may be.
    """
    process = await launched(settings, command, call)
    try:
        process.send(data)
        process.send_end()
        exit_code = await process.finished()
        if process.is_too_long:
            raise too_long(settings)
        return Output(exit_code, bytes(process.output), process.stderr)
    finally:
        await process.end()


async def ask_process(settings: ExecSettings, process: ProgramProcess, framing: Framing, data: bytes) -> bytes:
    """Send one message to a living process, and wait for the one that it answers.

    Raises UnreadableError for more than one, or for one that is too long, ComponentError when it ends before.
    """
    process.stderr = b""
    process.send(data)
    while not (end := framing.end_of(process.output)):
        if process.is_too_long:
            raise too_long(settings)
        if process.is_silent or process.exit_code is not None:
            raise await _lost(settings, process)
        await process.changed()
    answer, more = bytes(process.output[:end]), len(process.output) - end
    process.output.clear()
    if more:
        raise UnreadableError(f"{more:,} bytes more than one answer, after {end:,}; expected one for each request")
    return answer


async def _lost(settings: ExecSettings, process: ProgramProcess) -> Exception:
    """The error of a process that ended, or closed its output, before it answered."""
    said = bytes(process.output)
    code = await process.ending()
    if code is None or code == 0:
        what, words = "closed its output" if code is None else "ended", last_words(process.stderr)
        if said:
            return UnreadableError(f"{len(said):,} bytes before it {what}; expected an answer{words}")
        return ComponentError(f"program of '{settings.name}' {what} before it answered{words}", Code.UNAVAILABLE)
    return failure(settings.name, code, process.stderr, settings.errors)


def too_long(settings: ExecSettings) -> UnreadableError:
    """The error of a program that writes without end."""
    return UnreadableError(f"more than {settings.max_output_bytes:,} bytes, `max_output_bytes` of the program")


def _of_call(call: Call | None) -> dict[str, str]:
    """Variables that tell of it; trace context as OpenTelemetry's specification of environment variables has it."""
    if call is None:
        return {}
    variables = {EFFECT_KEY: call.effect_key} if call.effect is Effect.WRITE else {}
    return variables | {name.upper(): text for name, text in call.run.trace.items()}

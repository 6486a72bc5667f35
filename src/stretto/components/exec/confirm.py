"""Asking a program whether a write in doubt happened."""

from stretto.components.exec.calls import run_once
from stretto.components.exec.codecs import UnreadableError
from stretto.components.exec.exits import failure
from stretto.components.exec.reading import Reading
from stretto.components.exec.settings import ExecSettings
from stretto.types.errors import Code, InDoubtError
from stretto.types.json import JsonObject
from stretto.types.messages import Call


async def confirmed(settings: ExecSettings, reading: Reading, call: Call, data: bytes) -> JsonObject | None:
    """The answer that was lost, from the program of `confirm`, asked as the write was.

    None when that ends with an exit code for ``not_found``. Raises InDoubtError for whatever else it does.
    """
    if not settings.confirm:
        raise InDoubtError(f"program '{settings.name}' declares no `confirm`, so it cannot tell")
    try:
        output = await run_once(settings, settings.confirm, call, data)
        if output.exit_code in settings.answers:
            return reading.of(output.data, output.stderr)
    except UnreadableError as error:
        raise InDoubtError(f"`confirm` of '{settings.name}' answered what cannot be read: {error}") from error
    if settings.errors.get(output.exit_code) is Code.NOT_FOUND:
        return None
    raise InDoubtError(str(failure(settings.name, output.exit_code, output.stderr, settings.errors)))

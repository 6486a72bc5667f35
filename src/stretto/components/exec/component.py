"""A command-line program as a component: its declaration is all the code there is."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from stretto.components.exec.calls import run_once
from stretto.components.exec.card_of import card_of
from stretto.components.exec.codecs import UnreadableError
from stretto.components.exec.confirm import confirmed
from stretto.components.exec.crew import Crew
from stretto.components.exec.exits import failure
from stretto.components.exec.forms import decoder_of, encoder_of
from stretto.components.exec.framing import Framings, framing_of, hold_to_one
from stretto.components.exec.message import Message
from stretto.components.exec.places import Places
from stretto.components.exec.program import environment, located
from stretto.components.exec.reading import Reading
from stretto.components.exec.settings import DEFAULT_MAX_OUTPUT_BYTES, ExecSettings, Lifetime
from stretto.components.loop_lock import open_elsewhere
from stretto.components.waiting import Wait
from stretto.types.arguments import as_path, as_tuple, wrong
from stretto.types.card import ANY_ACTION, Card
from stretto.types.enums import Effect
from stretto.types.errors import Code, ComponentError, ContractError, MissingExtraError, UsageError
from stretto.types.json import JsonObject
from stretto.types.messages import Request, Response

E = TypeVar("E", bound=StrEnum)


class ExecProgram:
    """Runs a command: the request goes to its standard input, and what it writes to standard output is the answer.

    `request` and `response` say how both are laid out; the card's schemas are made of them, and a request that does not
    fit is refused before anything is sent. `command` is a program and its arguments; no shell reads it. It is started
    for each call, or with `process` ``persistent`` once, and answers call after call. `processes` bounds those at once;
    waiting for one is the call's `queue_ms`. Exit codes mean what `exit_codes` says; 0 is an answer, and any other
    failure ``unknown``. `correlate` names the field of both messages by which an answer is known to be the request's.
    `effects` is ``write`` unless it is declared. `confirm` is another command that is asked, as
    this was, whether a write in doubt happened.

    `places` says where `command` and `confirm` stand in a file, as ``file:line:column``, for what is told at load.

    A call that is cancelled, or runs into its deadline, ends the process and all that it started in its group. Raises
    UsageError for what cannot work.
    """

    def __init__(
        self,
        name: str,
        *,
        command: Sequence[str],
        request: Message,
        response: Message,
        folder: str | Path = ".",
        cwd: str | Path | None = None,
        env: Mapping[str, str] | None = None,
        inherit: Sequence[str] = (),
        process: Lifetime | str = Lifetime.PER_CALL,
        processes: int | None = None,
        exit_codes: Mapping[int, str] | None = None,
        effects: Effect | str | Mapping[str, Effect] | None = None,
        idempotent: bool = False,
        action_field: str = "",
        correlate: str = "",
        confirm: Sequence[str] = (),
        max_output_bytes: int = DEFAULT_MAX_OUTPUT_BYTES,
        version: str = "0.0.0",
        description: str = "",
        places: Mapping[str, str] | None = None,
    ) -> None:
        settings = ExecSettings(
            name=name,
            command=as_tuple("`command`", command),
            request=request,
            response=response,
            folder=as_path("`folder`", folder).absolute(),
            cwd=None if cwd is None else as_path("`cwd`", cwd),
            env={} if env is None else env,
            inherit=as_tuple("`inherit`", inherit),
            process=_member(Lifetime, process, "`process`"),
            processes=processes,
            exit_codes={} if exit_codes is None else exit_codes,
            effects=_by_action(effects),
            idempotent=idempotent,
            action_field=action_field,
            correlate=correlate,
            confirm=as_tuple("`confirm`", confirm),
            max_output_bytes=max_output_bytes,
            version=version,
            description=description,
        )
        settings.check()
        self._settings = settings
        try:
            self._encoder, self._decoder = encoder_of(request), decoder_of(response)
            self._framing = _framing(settings)
            self._card = card_of(settings, self._encoder.schema, self._decoder.schema)
        except MissingExtraError:
            raise
        except UsageError as error:
            raise UsageError(f"program '{name}': {error}") from error
        self._places = {} if places is None else dict(places)
        self._at_work: _AtWork | None = None
        self._users = 0

    @property
    def card(self) -> Card:
        """Schemas of the messages; the digest covers the declaration and the files of the command."""
        return self._card

    @property
    def told_at_load(self) -> Iterator[tuple[str, str]]:
        """That a program is not there, at its place in the file: it may yet be, once the workflow is opened."""
        for key, command in (("command", self._settings.command), ("confirm", self._settings.confirm)):
            if command and key in self._places:
                try:
                    self._locate(command)
                except ComponentError as error:
                    yield self._places[key], str(error)

    def _locate(self, command: Sequence[str]) -> None:
        """Raise ComponentError for a program that cannot be started."""
        settings = self._settings
        located(settings.name, command, settings.place, environment(settings.inherit, settings.env))

    async def open(self) -> None:
        """See that the program is there, and start those that answer many calls. Every `open` needs its `close`.

        Raises ComponentError when it cannot be started, UsageError while another event loop that has not ended has it.
        """
        for command in filter(None, (self._settings.command, self._settings.confirm)):
            self._locate(command)
        at_work = self._here()
        self._users += 1
        try:
            if at_work.crew is not None:
                await at_work.crew.begin()
        except BaseException:  # what did not open is not closed
            await self.close()
            raise

    async def close(self) -> None:
        """End the processes with the last user; the next call starts them again. Raises UsageError as `open` does."""
        self._hold_to_loop()
        self._users = max(0, self._users - 1)
        at_work = self._at_work
        if self._users == 0 and at_work is not None:
            self._at_work = None
            if at_work.crew is not None:
                await at_work.crew.close()

    async def __call__(self, request: Request) -> Response:
        """Ask once.

        Raises ContractError, with nothing sent, for a request that does not fit, and for an answer that cannot be read
        (``data_loss``: a write may have happened); ComponentError as `exit_codes` says.
        """
        data = self._encoder.encode(request.input)
        if self._framing is not None:
            hold_to_one(data, self._framing.request)
        at_work = self._here()
        with Wait() as wait:
            async with at_work.places.taken(wait):
                output = await self._asked(at_work, request, data)
        return Response(output=output, queue_ms=wait.ms)

    async def confirm(self, request: Request) -> Response | None:
        """Ask the command of `confirm` whether a write in doubt happened."""
        data = self._encoder.encode(request.input)
        answer = await confirmed(self._settings, self._reading(request), request.call, data)
        return None if answer is None else Response(output=answer)

    async def _asked(self, at_work: "_AtWork", request: Request, data: bytes) -> JsonObject:
        settings = self._settings
        try:
            if at_work.crew is not None:
                return await at_work.crew.ask(data, self._reading(request))
            output = await run_once(settings, settings.command, request.call, data)
            if output.exit_code not in settings.answers:
                raise failure(settings.name, output.exit_code, output.stderr, settings.errors)
            return self._reading(request).of(output.data, output.stderr)
        except UnreadableError as error:
            raise _unreadable(settings.name, error) from error

    def _reading(self, request: Request) -> Reading:
        return Reading(decoder=self._decoder, correlate=self._settings.correlate, request=request.input)

    def _here(self) -> "_AtWork":
        """What this event loop has; that of one that has ended went with it."""
        at_work = self._at_work
        if at_work is not None and at_work.loop is asyncio.get_running_loop():
            return at_work
        self._hold_to_loop()
        if at_work is not None:
            self._users = 0
            if at_work.crew is not None:
                at_work.crew.drop()
        self._at_work = made = _AtWork(self._settings, self._framing)
        return made

    def _hold_to_loop(self) -> None:
        """Raise UsageError while another event loop that has not ended has processes."""
        loop = None if self._at_work is None else self._at_work.loop
        if loop is not None and loop is not asyncio.get_running_loop() and not loop.is_closed():
            raise open_elsewhere(f"program '{self._settings.name}'", loop)


class _AtWork:
    """The program in one event loop."""

    def __init__(self, settings: ExecSettings, framing: Framings | None) -> None:
        self.loop = asyncio.get_running_loop()
        self.places = Places(settings.at_once)
        self.crew = None if framing is None else Crew(settings, framing.response)
        """None for a program that is started for each call."""


def _unreadable(name: str, error: UnreadableError) -> ContractError:
    """Of an answer that cannot be read. A write has then happened, or may have: the code leaves it in doubt."""
    refused = ContractError(f"program of '{name}' answered what its declaration does not say: {error}")
    refused.rpc_code = Code.DATA_LOSS
    return refused


def _framing(settings: ExecSettings) -> Framings | None:
    """How a persistent program's messages are told apart; None for one that is started for each call."""
    if settings.process is Lifetime.PER_CALL:
        return None
    request, response = framing_of(settings.request, "request"), framing_of(settings.response, "response")
    return Framings(request=request, response=response)


def _member(kind: type[E], value: str, what: str) -> E:
    """One of a closed set; raises UsageError for another word."""
    try:
        return kind(value)
    except ValueError:
        raise wrong(what, value, f"one of {', '.join(kind)}") from None


def _by_action(effects: Effect | str | Mapping[str, Effect] | None) -> dict[str, Effect]:
    if isinstance(effects, Mapping):
        return dict(effects)
    return {} if effects is None else {ANY_ACTION: _member(Effect, effects, "`effects`")}

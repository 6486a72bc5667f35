"""Which program is run and how it is treated, as declared and checked."""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec

from stretto.components.declared import declared
from stretto.components.exec.exits import OK
from stretto.components.exec.message import Message
from stretto.components.exec.program import files_of
from stretto.components.names import NAME_RULE, is_component_name
from stretto.types.arguments import check_fields
from stretto.types.card import ANY_ACTION
from stretto.types.enums import Effect
from stretto.types.errors import Code, UsageError
from stretto.types.ids import Digest, digest_of

DEFAULT_MAX_OUTPUT_BYTES: Final = 8 * 1024 * 1024
"""As much as one step's output may have."""

DEFAULT_PROCESSES: Final = 16
"""At once, of a program that is started for each call: a map over a thousand items must not start a thousand."""

MAX_EXIT_CODE: Final = 255

MEANINGS: Final = (OK, *(code.value for code in Code))
"""What an exit code may mean."""

_INDIFFERENT: Final = frozenset(
    {"env", "inherit", "cwd", "folder", "processes", "max_output_bytes", "description", "exit_codes"}
)


class Lifetime(StrEnum):
    """How long one process lives."""

    PER_CALL = "per_call"
    """Started for a call, and gone with it."""
    PERSISTENT = "persistent"
    """Answers one call after another."""


class ExecSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything declared about a program."""

    name: str
    command: tuple[str, ...]
    request: Message
    response: Message
    folder: Path
    """Where its paths begin: the folder of the workflow file."""
    cwd: Path | None = None
    """None is the folder."""
    env: Mapping[str, str] = msgspec.field(default_factory=dict)
    inherit: tuple[str, ...] = ()
    process: Lifetime = Lifetime.PER_CALL
    processes: int | None = None
    exit_codes: Mapping[int, str] = msgspec.field(default_factory=dict)
    """One of `MEANINGS` each."""
    effects: Mapping[str, Effect] = msgspec.field(default_factory=dict)
    idempotent: bool = False
    action_field: str = ""
    correlate: str = ""
    """Field of both messages that an answer has from its request."""
    confirm: tuple[str, ...] = ()
    max_output_bytes: int = DEFAULT_MAX_OUTPUT_BYTES
    version: str = "0.0.0"
    description: str = ""

    @property
    def place(self) -> Path:
        """The folder in which it runs."""
        return self.folder if self.cwd is None else self.folder / self.cwd

    @property
    def at_once(self) -> int:
        """Processes at once."""
        if self.processes is not None:
            return self.processes
        return 1 if self.process is Lifetime.PERSISTENT else DEFAULT_PROCESSES

    @property
    def effects_by_action(self) -> dict[str, Effect]:
        """What nobody describes is taken to write: the others can then only be safer."""
        return {**self.effects, ANY_ACTION: self.effects.get(ANY_ACTION, Effect.WRITE)}

    @property
    def errors(self) -> dict[int, Code]:
        """Exit codes that mean a failure."""
        return {exit_: Code(meaning) for exit_, meaning in self.exit_codes.items() if meaning != OK}

    @property
    def answers(self) -> frozenset[int]:
        """Exit codes of a program that answered."""
        return frozenset({0, *(exit_ for exit_, meaning in self.exit_codes.items() if meaning == OK)})

    def check(self) -> None:
        """Raise UsageError for what cannot work, whatever its messages are."""
        if not is_component_name(self.name):
            raise UsageError(f"'{self.name}' cannot be the name of a component; expected {NAME_RULE}")
        check_fields(f"program '{self.name}'", self)
        self._check_command()
        self._check_numbers()
        self._check_effects()

    def _check_command(self) -> None:
        for key, command in (("command", self.command), ("confirm", self.confirm)):
            if any("\0" in word for word in command) or (command and not command[0]):
                raise self._wrong(f"has a `{key}` that no system can start: {list(command)}")
        if not self.command:
            raise self._wrong("has an empty `command`; give the program and its arguments")
        for variable, value in self.env.items():
            if "=" in variable or "\0" in variable + value:
                raise self._wrong(f"has the variable {variable!r} in its `env`, which no environment can hold")

    def _check_numbers(self) -> None:
        for option in ("processes", "max_output_bytes"):
            value = getattr(self, option)
            if value is not None and value < 1:
                raise self._wrong(f"has {option} {value}; expected 1 or more")
        for code, meaning in self.exit_codes.items():
            if not 1 <= code <= MAX_EXIT_CODE:
                raise self._wrong(f"has the exit code {code}; expected 1 to {MAX_EXIT_CODE}: 0 always answers")
            if meaning not in MEANINGS:
                raise self._wrong(f"has '{meaning}' for exit code {code}; expected one of {', '.join(MEANINGS)}")

    def _check_effects(self) -> None:
        effects = self.effects_by_action
        named = [action for action in self.effects if action != ANY_ACTION]
        if named and not self.action_field:
            raise self._wrong(f"has an effect for '{named[0]}' and no `action_field`, the field that names the action")
        if Effect.WRITE not in effects.values():
            for option in ("idempotent", "confirm"):
                if getattr(self, option):
                    raise self._wrong(f"has `{option}`, which has no effect where nothing is a write; remove it")

    def _wrong(self, what: str) -> UsageError:
        return UsageError(f"program '{self.name}' {what}")

    def digest(self) -> Digest:
        """Of what decides how it answers: its declaration, and the content of those words of its command that are files
        in the folder of the workflow. Not of folders and variables, which differ from machine to machine."""
        files = {**files_of(self.command, self.place, self.folder), **files_of(self.confirm, self.place, self.folder)}
        exits = {str(code): meaning for code, meaning in self.exit_codes.items()}
        return digest_of(declared(self, but=_INDIFFERENT) + msgspec.json.encode([exits, files], order="deterministic"))

"""What a gateway is told: the server behind it, where runs end, and how much it takes on."""

import os
from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum
from typing import Final

import msgspec

from stretto.acp.server.tokens import Tokens, read_tokens
from stretto.components.names import NAME_RULE, is_component_name
from stretto.components.openai.address import Address, as_base_url
from stretto.components.openai.settings import OpenAiSettings
from stretto.record.canonical import canonical
from stretto.spec.durations import render
from stretto.types.errors import UsageError
from stretto.types.ids import Digest, digest_of
from stretto.types.json import Json

MIB: Final = 1024 * 1024


FIELDS_OF_CALLS: Final = frozenset({"model", "messages", "prompt", "stream", "n"})
"""Of a request: nobody else may say what is asked, and in which form."""


class OnStop(StrEnum):
    """What becomes of runs that are open when the gateway stops."""

    LEAVE = "leave"
    """They stay open in the store, and the next gateway over it goes on with them: an agent outlives a deployment."""
    END = "end"
    """They are sealed as what they are."""


class GatewaySettings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything declared about a gateway."""

    upstream: str
    """The model server's base URL, which ends in ``/v1`` as a rule."""
    key_env: str = ""
    """Environment variable that holds the server's key; empty when it asks for none."""
    name: str = "gateway"
    """The workflow of its runs."""
    token_env: str = ""
    """Environment variable that holds the bearer tokens which ``/runs`` asks for, so that no agent rewards itself;
    empty when it asks for none."""
    extra_body: Mapping[str, Json] = msgspec.field(default_factory=dict)
    """Further fields of every request that does not bring them itself."""
    idle: timedelta = timedelta(minutes=10)
    """A run without a call for so long is sealed."""
    timeout: timedelta = timedelta(minutes=10)
    """For one call; the default of OpenAI's own client."""
    max_calls: int = 256
    """Under way at once."""
    max_runs: int = 1000
    """Open at once."""
    max_body_bytes: int = 16 * MIB
    max_answer_bytes: int = 64 * MIB
    """A token takes 200 bytes with its log-probability, and ten times as much with its twenty likeliest."""
    whole: bool = False
    """Ask for whole answers even where an agent wants a stream: some servers tell tokens of those only."""
    on_stop: OnStop = OnStop.LEAVE

    def check(self) -> None:
        """Raise UsageError for what cannot work."""
        as_base_url(self.upstream, "--upstream")
        if not is_component_name(self.name):
            raise UsageError(f"--name is '{self.name}'; expected {NAME_RULE}")
        for field in self.extra_body:
            if field in FIELDS_OF_CALLS:
                raise UsageError(f"--extra-body holds `{field}`, which every call says for itself; leave it out")
        for option in ("idle", "timeout"):
            if getattr(self, option) <= timedelta(0):
                raise UsageError(f"--{option} is 0; expected a duration such as 10m")
        for option in ("max_calls", "max_runs", "max_body_bytes", "max_answer_bytes"):
            if getattr(self, option) < 1:
                raise UsageError(f"--{option.replace('_', '-')} is {getattr(self, option)}; expected 1 or more")

    def address(self) -> Address:
        """The server with its key. Raises UsageError when the variable is not set, or holds what no header may."""
        key = os.environ.get(self.key_env, "").strip() if self.key_env else ""
        if self.key_env and not key:
            raise UsageError(f"--key-env names ${self.key_env}, which is not set; set it, or leave the option out")
        if not key.isprintable() or not key.isascii():
            raise UsageError(
                f"${self.key_env} holds a character that no header may hold; was it copied with a line break?"
            )
        return Address(base_url=as_base_url(self.upstream, "--upstream"), key=key)

    def tokens(self) -> Tokens | None:
        """Who may open, reward and end runs; None for everybody. Raises UsageError when the variable holds none."""
        return read_tokens(self.token_env or None, None)

    @property
    def record_bytes(self) -> int:
        """The longest value that a call may leave on the record."""
        return max(self.max_body_bytes, self.max_answer_bytes)

    @property
    def plan(self) -> Digest:
        """Stands where a workflow's plan does in a manifest: of the server and the name."""
        return digest_of(canonical({"gateway": self.name, "upstream": self.upstream.rstrip("/")}))

    @property
    def idle_text(self) -> str:
        """As people write it: ``10m``."""
        return render(self.idle)

    def model(self, name: str, model: str) -> OpenAiSettings:
        """A model behind this gateway, as a component of that name."""
        return OpenAiSettings(
            name=name,
            model=model or "model",
            base_url=self.upstream,
            token_ids=True,
            max_connections=self.max_calls,
            max_response_bytes=self.max_answer_bytes,
        )

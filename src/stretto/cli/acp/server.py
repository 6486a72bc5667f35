"""The server that a command names, as people write its address."""

from pathlib import Path

from stretto.components.acp.settings import AcpSettings
from stretto.components.acp.target import PREFIX, Target, read_target


def server_at(url: str, token_env: str, ca: Path | None) -> tuple[AcpSettings, Target]:
    """How it is asked, and where. A workflow's ``acp+http://...`` is taken too. Raises UsageError for no address."""
    target = read_target(url.removeprefix(PREFIX), "URL", mark="")
    return AcpSettings(name=target.component, url=target.address, token_env=token_env, ca=ca), target

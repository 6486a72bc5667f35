"""The models behind a gateway as components: a name that a record can hold, and a digest of what was asked for."""

import re
from typing import Final

from stretto.components.names import is_component_name
from stretto.components.openai.settings import OpenAiSettings
from stretto.serve.gateway.settings import GatewaySettings
from stretto.types.ids import SHORT_DIGEST_HEX, digest_of

NAMELESS: Final = "model"
"""Component of calls that name no model, as servers of one model allow."""

_OTHER: Final = re.compile(r"[^A-Za-z0-9_.-]+")
_MOST_CHARS: Final = 64
_MOST_MODELS: Final = 4096
"""Kept; names come from outside."""


class Models:
    """Model by the name that a call gives."""

    def __init__(self, settings: GatewaySettings) -> None:
        self._settings = settings
        self._known: dict[str, tuple[OpenAiSettings, str]] = {}
        self._taken: dict[str, str] = {}
        """Model by the name of its component."""

    def of(self, model: str) -> OpenAiSettings:
        """The component that a model's name means: the same for the same name, in every run."""
        return self._of(model)[0]

    def pin(self, model: str) -> tuple[str, str]:
        """Its entry in a manifest."""
        component, pin = self._of(model)
        return component.name, pin

    def _of(self, model: str) -> tuple[OpenAiSettings, str]:
        found = self._known.get(model)
        if found is None:
            if len(self._known) >= _MOST_MODELS:
                self._known.clear()
                self._taken.clear()
            component = self._settings.model(self._name(model), model)
            found = self._known[model] = component, f"{component.version}@{component.digest()}"
        return found

    def _name(self, model: str) -> str:
        """A name of its own: where another model would be called the same, with a part of its digest."""
        name = component_name(model)
        if self._taken.setdefault(name, model) == model:
            return name
        digest = digest_of(model.encode())[:SHORT_DIGEST_HEX]
        return f"{name[: _MOST_CHARS - SHORT_DIGEST_HEX - 1]}-{digest}"


def component_name(model: str) -> str:
    """The name of a model without what a component's may not hold: ``Qwen/Qwen3-8B`` is ``Qwen-Qwen3-8B``."""
    name = _OTHER.sub("-", model).lstrip(".-")[:_MOST_CHARS]
    return name if is_component_name(name) else NAMELESS

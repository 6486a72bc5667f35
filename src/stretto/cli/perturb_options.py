"""What is done to a component while others learn beside it, as it is typed after ``--set``."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from stretto.cli.train_options import declared, pairs_of
from stretto.learn.adversity.options import PREFIX, PerturbOptions
from stretto.learn.adversity.perturbation import Perturbation
from stretto.types.json import Json

_WORSE: Final = f"{PREFIX}worse"

_FIELDS: Final = {f"{PREFIX}{field.name}": field for field in msgspec.structs.fields(PerturbOptions)}

PERTURB_OPTIONS: Final = {
    name: msgspec.structs.replace(declared(field), name=name, default=None if name == _WORSE else field.default)
    for name, field in _FIELDS.items()
}
"""What may be set as ``component.option``; of checkpoints there are none by default."""


def read_perturbations(pairs: Sequence[str]) -> dict[str, Perturbation]:
    """What is to be done to components, by their names. UsageError for what no option takes, or does nothing."""
    given: dict[str, dict[str, Any]] = {}
    for name, text in pairs_of(pairs).items():
        component, _, option = name.rpartition(".")
        if component and option in PERTURB_OPTIONS:
            own = given.setdefault(component, {})
            own[option.removeprefix(PREFIX)] = _value(component, option, text)
    return {name: PerturbOptions(**own).perturbation for name, own in given.items()}


def _value(component: str, option: str, text: str) -> Json | tuple[str, ...]:
    if option == _WORSE:
        return tuple(each for each in text.split(",") if each)
    return PERTURB_OPTIONS[option].read(text, f"{component}.")

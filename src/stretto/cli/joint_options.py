"""The options of a joint training as they are typed after ``--set``, also those of one component."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from stretto.cli.perturb_options import PERTURB_OPTIONS
from stretto.cli.train_mode import TrainMode
from stretto.cli.train_options import (
    TRAIN_OPTIONS,
    TrainOption,
    declared,
    names_set,
    pairs_of,
    read_options,
    unknown_option,
)
from stretto.learn.joint.options import ComponentOptions, JointOptions
from stretto.learn.options import TrainOptions
from stretto.types.errors import UsageError

_FIELDS: Final = {field.name: field for field in msgspec.structs.fields(JointOptions) if field.name != "components"}

JOINT_OPTIONS: Final = {name: declared(field) for name, field in _FIELDS.items()}

FROZEN: Final = TrainOption(
    name="frozen", means="whether the component stays as it is", default=False, kind=bool, is_nullable=False
)

COMPONENT_OPTIONS: Final = {
    name: FROZEN if name == FROZEN.name else JOINT_OPTIONS[name] for name in ComponentOptions.__struct_fields__
}
"""What may be set as ``component.option``."""


def options_help() -> str:
    """What may follow ``--set`` in either mode, a line each."""
    sections = [
        "An option of the training; may be repeated. [defaults and choices below]",
        f"With --mode {TrainMode.POLICY}:",
        *(option.told for option in TRAIN_OPTIONS.values()),
        f"With --mode {TrainMode.END_TO_END}:",
        *(option.told for option in JOINT_OPTIONS.values()),
        f"COMPONENT.{FROZEN.told}",
        f"COMPONENT.OPTION  the same for one component: {', '.join(COMPONENT_OPTIONS)}",
        *(f"COMPONENT.{option.told}" for option in PERTURB_OPTIONS.values()),
    ]
    return "\n".join(sections)


def read_policy_options(pairs: Sequence[str]) -> TrainOptions:
    """The options of mode ``policy`` that were set, with the defaults of the others."""
    for name in names_set(pairs):
        if name not in TRAIN_OPTIONS and (name in JOINT_OPTIONS or "." in name):
            raise _of_other_mode(name, TrainMode.POLICY, TrainMode.END_TO_END, [*TRAIN_OPTIONS])
    return read_options(pairs)


def read_joint_options(pairs: Sequence[str]) -> JointOptions:
    """The options of mode ``end-to-end`` that were set, with the defaults of the others."""
    given: dict[str, Any] = {}
    of_components: dict[str, dict[str, Any]] = {}
    for name, text in pairs_of(pairs).items():
        component, dot, option = name.rpartition(".")
        if dot and option in PERTURB_OPTIONS:
            continue  # `read_perturbations`
        if dot:
            of_components.setdefault(component, {})[option] = _of_component(component, option, text)
        elif name in JOINT_OPTIONS:
            given[name] = JOINT_OPTIONS[name].read(text)
        elif name in TRAIN_OPTIONS:
            raise _of_other_mode(name, TrainMode.END_TO_END, TrainMode.POLICY, [*JOINT_OPTIONS])
        else:
            raise unknown_option(name, JOINT_OPTIONS)
    components = {name: ComponentOptions(**own) for name, own in of_components.items()}
    return JointOptions(**given, components=components)


def _of_component(component: str, option: str, text: str) -> object:
    if option in COMPONENT_OPTIONS:
        return COMPONENT_OPTIONS[option].read(text, f"{component}.")
    known = ", ".join([*COMPONENT_OPTIONS, *PERTURB_OPTIONS])
    if option in JOINT_OPTIONS:
        raise UsageError(
            f"--set {component}.{option}: {option} is of the whole training and of no component; give it without "
            f"'{component}.'. A component's options are {known}"
        )
    raise UsageError(f"--set {component}.{option}: a component has no such option; its options are {known}")


def _of_other_mode(name: str, mode: TrainMode, other: TrainMode, options: Sequence[str]) -> UsageError:
    return UsageError(
        f"--set {name} is an option of --mode {other} and has no effect with --mode {mode}, whose options are "
        f"{', '.join(options)}"
    )

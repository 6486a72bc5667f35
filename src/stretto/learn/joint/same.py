"""What a joint training is pinned to, and whether another beginning is the same: options, tasks, workflow, code, forms
of what learns."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
from torch import Tensor

from stretto.components.policy import SoftmaxPolicy
from stretto.components.python.component import PythonComponent
from stretto.components.reward import CompositeReward
from stretto.components.torch.component import TorchComponent
from stretto.components.torch.learnt_with import header_of, hold_to as hold_to_header
from stretto.components.torch.weights import weights_digest
from stretto.engine.history import changed_components
from stretto.learn.differentiable.module import DifferentiableWorkflow
from stretto.learn.joint.learners import Arrays, learning_in, module_of
from stretto.learn.joint.options import JointOptions
from stretto.learn.joint.progress import STATE, WEIGHTS, JointProgress
from stretto.learn.resuming import changed_options, hold_to_same, other_code
from stretto.runtime.workflow import Workflow
from stretto.types.errors import UsageError
from stretto.types.protocols import Component

_MAY_DIFFER: Final = ("updates", "patience", "checkpoint_every", "keep")
"""Options that decide when a training ends and what is kept of it, and nothing that it comes to."""


def changing(module: DifferentiableWorkflow) -> dict[str, Tensor]:
    """The weights that a training changes, and what modules count beside them; what is frozen, its pin tells."""
    found: dict[str, Tensor] = {}
    for name in learning_in(module):
        frozen = _frozen(module, name)
        state = module_of(module, name).state_dict()
        found |= {f"{name}/{key}": tensor for key, tensor in state.items() if key not in frozen}
    return found


def _frozen(module: DifferentiableWorkflow, name: str) -> dict[str, Tensor]:
    """The weights of a component that no training changes."""
    own = module_of(module, name)
    if name not in learning_in(module):
        return dict(own.state_dict())
    return {key: parameter for key, parameter in own.named_parameters() if not parameter.requires_grad}


def beside_code(workflow: Workflow, module: DifferentiableWorkflow) -> dict[str, str]:
    """Of each component, what pins it beside Python code, and a training does not change."""
    told = {name: _beside(name, component, module) for name, component in workflow.plan.components.items()}
    return {name: each for name, each in told.items() if each}


def _beside(name: str, component: Component, module: DifferentiableWorkflow) -> str:
    if isinstance(component, TorchComponent):
        frozen = _frozen(module, name) if name in module.components else component.module.state_dict()
        return f"frozen weights@{weights_digest(frozen)}" if frozen else ""
    if isinstance(component, SoftmaxPolicy):
        return f"frozen weights@{component.weights_digest}"
    if isinstance(component, PythonComponent | CompositeReward):
        return ""
    return f"kind {component.card.kind}@{component.card.digest}"


def learnt_with(module: DifferentiableWorkflow) -> dict[str, str]:
    """What the weights that learn mean beside their numbers, of those whose modules tell."""
    told = {name: header_of(module_of(module, name)).decode() for name in learning_in(module)}
    return {name: header for name, header in told.items() if msgspec.json.decode(header)}


def hold_to(progress: JointProgress, fresh: JointProgress, folder: Path, *, changed_code: bool) -> tuple[str, ...]:
    """Raise UsageError, with all that differs, unless a training may go on as `fresh` would begin now; returns what is
    other of the code, where that is taken."""
    was, is_now = _flat(progress.options), _flat(fresh.options)
    workflow, components = _changed_workflow(progress, fresh)
    changed = [
        *changed_options(was, is_now, {**was, **is_now}),
        *(["the tasks are others"] if progress.tasks != fresh.tasks else []),
        *workflow,
        *_changed_perturbations(progress.perturbed, fresh.perturbed),
    ]
    code = [*components, *other_code(progress.code, fresh.code)]
    hold_to_same(folder, changed, code, changed_code=changed_code)
    return tuple(code)


def hold_to_form(progress: JointProgress, module: DifferentiableWorkflow, arrays: Arrays, folder: Path) -> None:
    """Raise UsageError where what a training kept does not fit the modules that are there: of other code they may be
    of other forms, or mean something else by the same numbers."""
    start = f"{WEIGHTS}/"
    kept = {key.removeprefix(start): [*each.shape] for key, each in arrays.items() if key.startswith(start)}
    wanted = {key: [*each.shape] for key, each in changing(module).items()}
    if apart := sorted(key for key in kept.keys() | wanted.keys() if kept.get(key) != wanted.get(key)):
        component, _, name = apart[0].partition("/")
        was, is_now = (str(each.get(apart[0], "not among those that learn")) for each in (kept, wanted))
        raise _misfit(folder, f"the weights '{name}' of component '{component}' were {was} and are now {is_now}")
    for step, surrogate in module.surrogates.items():
        before, now = progress.surrogates.get(step), surrogate.manifest()
        if before is None or (before.shown, before.told) != (now.shown, now.told):
            raise _misfit(folder, f"the surrogate of step '{step}' is shown or tells something else")
    for name, header in progress.learnt_with.items():
        hold_to_header(header.encode(), module_of(module, name), folder / STATE, name)


def _misfit(folder: Path, why: str) -> UsageError:
    return UsageError(
        f"the training in {folder} cannot go on with the changed code, which its weights do not fit: {why}. Give these "
        "their form back, or train in another folder"
    )


def _flat(options: JointOptions) -> dict[str, Any]:
    """Every option that is set, those of a component as ``component.option``."""
    found: dict[str, Any] = msgspec.to_builtins(options)  # without those that are unset
    components = found.pop("components")
    own = {f"{name}.{key}": value for name, given in components.items() for key, value in given.items()}
    return {name: value for name, value in {**found, **own}.items() if name not in _MAY_DIFFER}


def _changed_workflow(before: JointProgress, now: JointProgress) -> tuple[Sequence[str], Sequence[str]]:
    """What differs of the workflow, and of the code of its components."""
    was, is_now = before.manifest, now.manifest
    if was.workflow != is_now.workflow:
        return [f"the workflow was '{was.workflow}' and is now '{is_now.workflow}'"], []
    apart = was.plan != is_now.plan if before.files is None else before.files != now.files
    file = ["the workflow's file or contract is another"] if apart else []
    names = sorted(changed_components(was, is_now))
    others = {name: _other_beside(name, before.beside_code, now.beside_code or {}) for name in names}
    return (
        [*file, *(f"component '{name}' is another ({what})" for name, what in others.items() if what)],
        [f"component '{name}' is another" for name, what in others.items() if not what],
    )


def _other_beside(name: str, before: Mapping[str, str] | None, now: Mapping[str, str]) -> str:
    """By what a component is another beside its code; empty for nothing, or where nobody looked."""
    if before is None or before.get(name) == now.get(name):
        return ""
    return (now.get(name) or before.get(name, "")).partition("@")[0]


def _changed_perturbations(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    names = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    nothing = "nothing"
    return [
        f"what perturbs '{name}' was {before.get(name, nothing)} and is now {now.get(name, nothing)}" for name in names
    ]

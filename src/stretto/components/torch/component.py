"""PyTorch modules and functions as components: the engine asks them for one row at a time."""

import copy
import inspect
import math
from collections.abc import Callable, Collection, Mapping
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary

import msgspec
import torch
from torch import Tensor, nn

from stretto.components.codes import ComponentCode
from stretto.components.python.digest import source_of
from stretto.components.python.place import home_of, refuse
from stretto.components.python.raised import component_error
from stretto.components.threads import threads_for
from stretto.components.torch import choices, pulling
from stretto.components.torch.options import TorchOptions, changed
from stretto.components.torch.signature import (
    PROBABILITIES,
    REFERENCE,
    TorchSignature,
    forward_of,
    read_torch_signature,
)
from stretto.components.torch.values import hold_shape, tensor_of, told
from stretto.components.torch.weights import load_weights, save_weights, weights_digest
from stretto.record.canonical import canonical
from stretto.types.card import ANY_ACTION, CHOOSES, Card
from stretto.types.enums import Effect
from stretto.types.errors import ContractError, StrettoError
from stretto.types.ids import Digest, digest_of
from stretto.types.json import Json, JsonObject
from stretto.types.learning import Action, Reward
from stretto.types.messages import Call, Request, Response
from stretto.types.signals import Cotangents

T = TypeVar("T")

KIND: Final = "torch"

REWARD_KIND: Final = "reward"
"""Of those with `rewards`: only this kind is shown a run's gold answers."""

_FIRST: Final[WeakKeyDictionary[nn.Module, nn.Parameter | None]] = WeakKeyDictionary()


class TorchComponent:
    """A module behind the component protocol.

    A class is made once, from a seed, so that its first weights are the same in every process. The engine calls the
    module in eval mode, without gradients; `with_module` gives the component of one that was trained.
    """

    def __init__(self, target: Any, options: TorchOptions, *, module: nn.Module | None = None) -> None:
        self.target = target
        """What the decorator stood on: a class, a module or a function."""
        self.options = options
        self._given = module

    @cached_property
    def signature(self) -> TorchSignature:
        """What it takes and returns. Raises SpecError when that cannot be told."""
        return read_torch_signature(self.target, self.options)

    @cached_property
    def module(self) -> nn.Module:
        """What computes, in eval mode. It belongs to the component: whoever trains it, trains a copy."""
        if self._given is not None:
            return self._given.eval()
        made = _made(self.target, self.options)
        if self.options.checkpoint is not None:
            load_weights(made, Path(self.options.checkpoint), self.options.name)
        return made.eval()

    @cached_property
    def weights_digest(self) -> Digest:
        """Of the weights alone: what actions carry as `policy`."""
        return weights_digest(self.module.state_dict())

    @cached_property
    def card(self) -> Card:
        """Its digest covers code, options and weights. Raises SpecError when it cannot be a component."""
        signature, options = self.signature, self.options
        return Card(
            name=options.name,
            version=options.version,
            kind=REWARD_KIND if signature.rewards else KIND,
            digest=self.digest_with(self.weights_digest),
            input=signature.input,
            output=signature.output,
            effects={ANY_ACTION: Effect.PURE},
            trainable=self.is_trainable,
            capabilities=(CHOOSES,) if signature.chooses else (),
            description=options.description or _first_line(self.target),
            tensors=pulling.tensors_of(signature),
        )

    @property
    def is_trainable(self) -> bool:
        """Whether any of its weights takes a gradient."""
        return any(parameter.requires_grad for parameter in self.module.parameters())

    @property
    def home(self) -> str:
        """The file that it is written in."""
        return home_of(forward_of(self.target)[0])

    def digest_with(self, weights: Digest) -> Digest:
        """The component's digest with weights of that digest."""
        structure = repr(self.target) if isinstance(self.target, nn.Module) else ""
        code = source_of(type(self.target) if isinstance(self.target, nn.Module) else self.target)
        decisive = (code, structure.encode(), canonical(self.options.described), weights.encode())
        return digest_of(b"\0".join(decisive))

    # others of it

    def declared_as(self, name: str, options: Mapping[str, Any]) -> "TorchComponent":
        """The same target under another name, as a workflow file declares it."""
        return TorchComponent(self.target, changed(self.options, name=name, **options))

    def with_weights(self, checkpoint: str) -> "TorchComponent":
        """The same component with the weights of a checkpoint file; its card has another digest.

        Raises UsageError when they are of another module, StoreError for a damaged file.
        """
        module = copy.deepcopy(self.module)
        load_weights(module, Path(checkpoint), self.options.name)
        return self.with_module(module)

    def with_module(self, module: nn.Module) -> "TorchComponent":
        """The same component computing with this module, a trained copy of its own; it is set to eval mode."""
        return TorchComponent(self.target, self.options, module=module)

    def shadow(self, module: nn.Module) -> "TorchComponent":
        """The same component with modules of its own around these weights: modes and hooks of the two stay apart."""
        weights = chain(module.parameters(), module.buffers())
        return self.with_module(copy.deepcopy(module, {id(weight): weight for weight in weights}))

    def with_sampling(self, sample: bool) -> "TorchComponent":
        """The same component drawing its choices, or taking the likeliest."""
        return TorchComponent(self.target, changed(self.options, sample=sample), module=self.module)

    def save(self, folder: str | Path) -> Path:
        """Write its weights as ``<digest>.safetensors``; returns the path."""
        return save_weights(self.module, Path(folder))

    # calls

    def compute(self, module: nn.Module, fields: Mapping[str, Any], rows: int) -> dict[str, Tensor]:
        """What a module returns for tensors and lists of that many rows, by name, held to the declared shapes.

        `module` is the component's own or a copy of it. Raises ContractError for what does not fit.
        """
        return self.held(module(**beside(module, fields)), rows)

    def held(self, returned: Any, rows: int) -> dict[str, Tensor]:
        """What a module returned for that many rows, by name. Raises ContractError, as above."""
        shapes, name = self.signature.shapes, self.options.name
        if type(returned) is not dict:
            if isinstance(returned, Tensor) and len(shapes) == 1:
                returned = dict.fromkeys(shapes, returned)
            elif not isinstance(returned, Mapping):
                raise ContractError(
                    f"component '{name}' returned {type(returned).__name__}; expected tensors named {[*shapes]}"
                )
        if returned.keys() != shapes.keys():
            raise ContractError(f"component '{name}' returned {sorted(returned)}; expected tensors named {[*shapes]}")
        return {key: hold_shape(name, key, returned[key], shape, rows) for key, shape in shapes.items()}

    @staticmethod
    def unfit(module: nn.Module, fields: Mapping[str, Any]) -> Collection[int]:
        """Rows that the module says it cannot take, by its own ``unfit(**fields)`` where it has one.

        In a batch they fail apart from the others, by what the module raises for each alone.
        """
        unfit = getattr(type(module), "unfit", None)  # of the class: an instance is asked in microseconds, each pass
        found: Collection[int] = () if unfit is None else unfit(module, **fields)
        return found

    async def __call__(self, request: Request) -> Response:
        """One row. Raises ComponentError for what the module raises."""
        answer = partial(self._told, partial(self._answer, request))
        if self.options.inline:
            return answer()
        done = await threads_for(request.call.path).run(self.options.name, answer)
        response: Response = done.result()
        return msgspec.structs.replace(response, queue_ms=done.queue_ms) if done.queue_ms else response

    async def vjp(self, asked: Cotangents) -> bytes:
        """The gradients of one row, for whoever asks from elsewhere.

        Raises ComponentError for what cannot be asked, and for what the module raises.
        """
        pull = partial(self._told, partial(self._pull, asked))
        if self.options.inline:
            return pull()
        gradients: bytes = (await threads_for(asked.path).run(self.options.name, pull)).result()
        return gradients

    def _told(self, do: Callable[[], T]) -> T:
        try:
            return do()
        except StrettoError:
            raise
        except Exception as error:
            raise component_error(self.options.name, error, self.home) from error

    def _answer(self, request: Request) -> Response:
        signature = self.signature
        fields: dict[str, Any] = {}
        for tensor in signature.tensors:
            fields[tensor.name] = tensor_of([request.input.get(tensor.name)], tensor.what)
        for plain in signature.plain:
            value = request.input[plain.name]
            fields[plain.name] = [value if plain.convert is None else plain.convert(value)]
        if signature.takes_reference:
            fields[REFERENCE] = [request.call.run.reference]
        with torch.no_grad():
            found = self.compute(self.module, fields, rows=1)
        output: JsonObject = {name: told(found[name], shape)[0] for name, shape in signature.outputs.items()}
        rewards = tuple(reward_of(name, found[name].item()) for name in signature.rewards)
        output |= {reward.name: reward.value for reward in rewards}
        actions = tuple(self._choose(name, found[name], request.call, output) for name in signature.chooses)
        return Response(output=output, actions=actions, rewards=rewards)

    def _pull(self, asked: Cotangents) -> bytes:
        signature, name = self.signature, self.options.name
        given = pulling.Asked(name, pulling.tensors_of(signature), asked)
        fields = pulling.fields_of(name, signature, given, asked.input, asked.run.reference)
        return pulling.pulled(pulling.outputs_of(signature, self.compute(self.module, fields, rows=1)), given)

    def _choose(self, choice: str, logits_BA: Tensor, call: Call, output: JsonObject) -> Action:
        """Make a choice and add it to the output."""
        signature, sample = self.signature, self.options.sample
        log_p_BA = choices.log_probabilities(logits_BA)
        draws_B = choices.draws_of([call.run.seed], [call.path], choice, len(signature.chooses)) if sample else None
        (chosen,) = choices.chosen_of(self.options.name, choice, choices.probabilities(logits_BA), draws_B)
        support = signature.chooses[choice]
        output[choice] = support[chosen]
        probabilities: list[Json] = log_p_BA[0].exp().tolist()
        output[choice + PROBABILITIES] = probabilities
        return choices.action_of(
            choice, support, log_p_BA[0].tolist(), chosen, policy=self.weights_digest, sample=sample
        )


class FunctionModule(nn.Module):
    """A function as a module without weights."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self._function = function

    def forward(self, **fields: Any) -> Any:  # the function's own types
        """What the function returns."""
        return self._function(**fields)


def reward_of(name: str, value: float) -> Reward:
    """A term of the run's reward; NaN says that it is not known."""
    return Reward(name=name, value=None if math.isnan(value) else value)


def _first_of(module: nn.Module) -> nn.Parameter | None:
    """A parameter of a module, looked up once: `nn.Module.to` keeps it, and torch looks through all modules for it."""
    try:
        return _FIRST[module]
    except KeyError:
        _FIRST[module] = found = next(module.parameters(), None)
        return found


def beside(module: nn.Module, fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields with tensors on the module's device."""
    first = _first_of(module)
    if first is None or first.is_cpu:
        return fields
    return {key: value.to(first.device) if isinstance(value, Tensor) else value for key, value in fields.items()}


def _made(target: Any, options: TorchOptions) -> nn.Module:
    """The module of a target; a class with first weights that the seed decides."""
    if isinstance(target, nn.Module):
        return target
    if not isinstance(target, type):
        return FunctionModule(target)
    needed = [p.name for p in inspect.signature(target).parameters.values() if _is_needed(p)]
    if needed:
        raise refuse(
            target,
            ComponentCode.SIGNATURE,
            f"the constructor of '{target.__name__}' needs {', '.join(map(repr, needed))}, which nobody gives it",
            expected="a class that can be made without arguments, or an instance",
            suggestion=f'differentiable("{options.name}", ...)({target.__name__}(...))',
        )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(options.seed)
        made: nn.Module = target()
    return made


def _is_needed(parameter: inspect.Parameter) -> bool:
    collecting = (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    return parameter.default is parameter.empty and parameter.kind not in collecting


def _first_line(target: object) -> str:
    """Of the docstring written for it; not that of torch's own classes."""
    text = (vars(target).get("__doc__") or "") if isinstance(target, type) else getattr(target, "__doc__", "") or ""
    if isinstance(target, nn.Module):
        text = ""
    return text.strip().splitlines()[0].strip() if text.strip() else ""

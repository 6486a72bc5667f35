"""Classes that learn on their own side, or can be differentiated: their `reflect` and `vjp`."""

from typing import Any, Final

from stretto.components.codes import ComponentCode
from stretto.components.python.component import ClassComponent
from stretto.components.python.place import refuse
from stretto.components.python.tensors import VJP
from stretto.types.abilities import with_abilities
from stretto.types.errors import ContractError
from stretto.types.signals import Cotangents, Signal

REFLECT: Final = "reflect"


class _Reflecting:
    """A component that is told how its answers were judged."""

    async def reflect(self: Any, signal: Signal) -> bool | str:  # Any: whatever it is mixed into
        """What its class says: whether it will learn from the signal, or in words why not."""
        said = await self.ask_instance(REFLECT, signal)
        if not isinstance(said, bool | str):
            raise _wrong(self, REFLECT, said, "True, False or a text that says why not")
        return said


class _Differentiating:
    """A component that pulls gradients back."""

    async def vjp(self: Any, asked: Cotangents) -> bytes:  # Any: as above
        """What its class says: the gradients, safetensors bytes."""
        said = await self.ask_instance(VJP, asked)
        if not isinstance(said, bytes):
            raise _wrong(self, VJP, said, "safetensors bytes")
        return said


def learning(target: type) -> type[ClassComponent]:
    """A component class that can what a user's class can, and is not taken for more."""
    abilities = ((REFLECT, _Reflecting), (VJP, _Differentiating))
    return with_abilities(ClassComponent, ((each, callable(getattr(target, name, None))) for name, each in abilities))


def check_no_learning(target: type) -> None:
    """Raises SpecError where a class of scope run would be told of runs that have ended, as have its instances."""
    for name in (REFLECT, VJP):
        if callable(getattr(target, name, None)):
            raise refuse(
                target,
                ComponentCode.OPTION,
                f"'{target.__name__}' has `{name}` and scope 'run': it is asked after the run, whose instance has gone",
                expected="scope 'process', one instance for all runs",
                suggestion='scope="process"',
            )


def _wrong(component: Any, which: str, said: object, expected: str) -> ContractError:
    name = component.card.name
    return ContractError(f"`{which}` of component '{name}' returned {type(said).__name__}; expected {expected}")

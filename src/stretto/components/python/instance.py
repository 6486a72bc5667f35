"""One living instance of a component: its call, its hooks, its answer about writes in doubt."""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

from stretto.components.python.invoke import Confirm, Invoke, confirmer, invoker
from stretto.components.python.options import Options
from stretto.components.python.place import home_of
from stretto.components.python.raised import component_error
from stretto.components.python.signature import Function, Signature
from stretto.components.threads import THREADS, hangs
from stretto.types.errors import InDoubtError, StrettoError
from stretto.types.messages import Request, Response


class Instance:
    """A function, or an object made from a class. Implements `Session`."""

    def __init__(self, name: str, invoke: Invoke, confirm: Confirm | None, made: object | None) -> None:
        self._name = name
        self._confirm = confirm
        self._made = made
        self.invoke = invoke
        self.forget: Callable[[], object] | None = None
        """Told when it closes, so that whoever looks it up stops finding it."""

    async def __call__(self, request: Request) -> Response:
        return await self.invoke(request)

    async def confirm(self, request: Request) -> Response | None:
        """The write's response, or None if it surely did not happen."""
        if self._confirm is None:
            raise InDoubtError(f"component '{self._name}' has no `confirm` method, so it cannot tell")
        if hangs(self._name):  # it may be at that very write, and do it after `confirm` has said no
            raise InDoubtError(
                f"a call of '{self._name}' that was given up still runs in its thread; ask when it ended"
            )
        return await self._confirm(request)

    async def open(self) -> None:
        """Run the object's own `open`, if it has one."""
        await self._hook("open")

    async def close(self) -> None:
        """Run the object's own `close`, if it has one."""
        if self.forget is not None:
            self.forget()
        await self._hook("close")

    async def ask(self, which: str, about: object) -> object:
        """What the object's own method of that name says."""
        return await self._called(getattr(self._made, which), about)

    async def _hook(self, which: str) -> None:
        hook = getattr(self._made, which, None)
        if hook is not None:
            await self._called(hook)

    async def _called(self, hook: Callable[..., Any], *about: object) -> object:
        try:
            if inspect.iscoroutinefunction(hook):
                return await hook(*about)
            return (await THREADS.run(self._name, partial(hook, *about))).result()  # it may block: loading a model does
        except StrettoError:
            raise
        except Exception as error:
            raise component_error(self._name, error, home_of(hook)) from error


def instance_of_function(options: Options, function: Function, signature: Signature) -> Instance:
    """A function serves as its own instance."""
    return Instance(options.name, invoker(options, function, signature), None, None)


def instance_of_class(
    options: Options, target: type, signature: Signature, confirm_signature: Signature | None
) -> Instance:
    """Make an object; its `open` is not run yet. Raises ComponentError when the constructor raises."""
    try:
        made: Any = target()
    except StrettoError:
        raise
    except Exception as error:
        raise component_error(options.name, error, home_of(vars(target).get("__init__"))) from error
    confirm = None
    if confirm_signature is not None:
        confirm = confirmer(options, made.confirm, confirm_signature, signature)
    return Instance(options.name, invoker(options, made.__call__, signature), confirm, made)

"""Functions and classes as components."""

import inspect
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any, Final

from stretto.components.codes import ComponentCode
from stretto.components.loop_lock import LoopLock
from stretto.components.python.digest import python_digest
from stretto.components.python.instance import Instance, instance_of_class, instance_of_function
from stretto.components.python.invoke import Invoke
from stretto.components.python.options import Options, check_action_field, check_calls, check_inline
from stretto.components.python.place import refuse
from stretto.components.python.signature import Function, Signature, read_signature
from stretto.components.python.tensors import tensors_of
from stretto.types.card import CHOOSES, Card
from stretto.types.ids import RunId
from stretto.types.messages import Request, Response, RunInfo

CALLS: Final = "call"
"""Capability of a component that calls others."""

OPEN_LIMIT: Final = "open_limit"
"""Attribute by which a class says how long its `open` may take."""


class PythonComponent:
    """A function behind the component protocol. It holds nothing, so any event loop may call it.

    Hints are read when the card is first asked for, not where the decorator stands: by then the whole module is
    there.
    """

    def __init__(self, target: Function | type, options: Options) -> None:
        self.target = target
        """What the decorator stood on."""
        self.options = options
        self._card: Card | None = None
        self._signature: Signature | None = None
        self._confirm_signature: Signature | None = None
        self._invoke: Invoke = self._begin

    @property
    def card(self) -> Card:
        """Raises SpecError when the function or class cannot be a component."""
        if self._card is None:
            self._card = self._read_card()
        return self._card

    @property
    def signature(self) -> Signature:
        """What it takes and returns. Raises SpecError as `card` does."""
        if self._signature is None:
            self._signature = read_signature(_called(self.target), self.target, is_method=isinstance(self.target, type))
        return self._signature

    def __call__(self, request: Request) -> Coroutine[Any, Any, Response]:
        return self._invoke(request)

    async def confirm(self, request: Request) -> Response | None:
        """Ask whether a write in doubt happened: the class's `confirm`, if it has one."""
        fresh = await self.instantiate()
        try:
            return await fresh.confirm(request)
        finally:
            await fresh.close()

    async def instantiate(self) -> Instance:
        """A fresh instance, opened; of a function, the function itself."""
        self.card  # noqa: B018  # so that what is wrong is told as there
        return instance_of_function(self.options, self.target, self.signature)

    async def _begin(self, request: Request) -> Response:
        """The first call."""
        self._invoke = (await self.instantiate()).invoke
        return await self._invoke(request)

    def _read_card(self) -> Card:
        options, signature, target = self.options, self.signature, self.target
        check_action_field(target, options, signature.names, takes_any=signature.takes_any)
        if isinstance(target, type):
            _check_constructor(target)
            _check_open_limit(target)
            self._confirm_signature = _confirm_signature(target, signature)
        is_async = inspect.iscoroutinefunction(_called(target))
        can_call = is_async and bool(signature.context)
        check_inline(target, options, is_async=is_async)
        check_calls(target, options, can_call=can_call)
        return Card(
            name=options.name,
            version=options.version,
            kind=options.kind,
            digest=python_digest(target, options),
            input=signature.input,
            output=signature.output,
            effects=options.effects,
            action_field=options.action_field,
            idempotent=options.idempotent,
            confirms=self._confirm_signature is not None,
            scope=options.scope,
            trainable=options.trainable,
            capabilities=(
                *((CALLS,) if can_call and options.calls else ()),
                *((CHOOSES,) if options.trainable else ()),
            ),
            description=options.description or _first_line(target),
            tensors=tensors_of(target),
        )


class ClassComponent(PythonComponent):
    """An instance of a class behind the component protocol: made at `open`, once for the process."""

    target: type

    def __init__(self, target: type, options: Options) -> None:
        super().__init__(target, options)
        self._instance: Instance | None = None
        self._making = LoopLock()

    @property
    def open_limit(self) -> timedelta | None:
        """How long `open` may take: what the class says of itself, None when it says nothing."""
        limit: timedelta | None = getattr(self.target, OPEN_LIMIT, None)
        return limit

    async def open(self) -> None:
        """Make the instance and run its `open`; a second time does nothing."""
        await self._make_instance()

    async def close(self) -> None:
        """Run the instance's `close`. The next call makes another, also in another event loop."""
        async with self._making.held(self._words):  # else what is being made now would stay
            instance, self._instance = self._instance, None
            self._invoke = self._begin
        if instance is not None:
            await instance.close()

    async def instantiate(self) -> Instance:
        """A fresh instance, opened."""
        self.card  # noqa: B018  # so that what is wrong is told as there, and `confirm` is read
        instance = instance_of_class(self.options, self.target, self.signature, self._confirm_signature)
        await instance.open()
        return instance

    async def ask_instance(self, which: str, about: object) -> object:
        """What the instance's own method of that name says; it is made when nobody opened it."""
        return await (await self._make_instance()).ask(which, about)

    async def _begin(self, request: Request) -> Response:
        """The first call, when nobody opened it."""
        await self._make_instance()
        return await self._invoke(request)

    async def _make_instance(self) -> Instance:
        async with self._making.held(self._words):
            if self._instance is None:
                self._instance = await self.instantiate()
                self._invoke = self._instance.invoke
            return self._instance

    @property
    def _words(self) -> str:
        return f"component '{self.options.name}'"


class PerRunPythonComponent(ClassComponent):
    """A class of scope ``run``: a fresh instance for each run, closed when the run ends."""

    def __init__(self, target: type, options: Options) -> None:
        super().__init__(target, options)
        self._by_run: dict[RunId, Instance] = {}

    async def open(self) -> None:
        """Nothing: an instance lives as long as its run, and one that serves no run would hold what a run needs."""

    async def open_run(self, run: RunInfo) -> Instance:
        """The instance that serves this run until it is closed."""
        instance = await self.instantiate()
        self._by_run[run.id] = instance
        instance.forget = lambda: self._by_run.pop(run.id, None)
        return instance

    async def confirm(self, request: Request) -> Response | None:
        """Ask the run's own instance, or a fresh one when the run was interrupted and is resumed."""
        instance = self._by_run.get(request.call.run.id)
        return await super().confirm(request) if instance is None else await instance.confirm(request)


def _called(target: Function | type) -> Function:
    """What a request calls: the function itself, or the class's ``__call__``."""
    return target if not isinstance(target, type) else _method(target)


def _method(target: type) -> Function:
    method: Callable[..., Any] | None = next(
        (vars(c)["__call__"] for c in target.__mro__ if "__call__" in vars(c)), None
    )
    if method is None:
        raise refuse(
            target,
            ComponentCode.SIGNATURE,
            f"the class '{target.__name__}' has no __call__",
            expected="a method that takes the fields of a request and returns the output",
            suggestion="async def __call__(self, ...): ...",
        )
    return method


def _check_constructor(target: type) -> None:
    parameters = inspect.signature(target).parameters.values()
    collecting = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    needed = [p.name for p in parameters if p.default is p.empty and p.kind not in collecting]
    if needed:
        raise refuse(
            target,
            ComponentCode.SIGNATURE,
            f"the constructor of '{target.__name__}' needs {', '.join(map(repr, needed))}, which nobody gives it",
            expected="a class that can be made without arguments",
            suggestion=f"give '{needed[0]}' a default, or build what it needs in `open`",
        )


def _check_open_limit(target: type) -> None:
    limit = getattr(target, OPEN_LIMIT, None)
    if limit is not None and not (isinstance(limit, timedelta) and limit > timedelta()):
        raise refuse(
            target,
            ComponentCode.OPTION,
            f"{OPEN_LIMIT} of '{target.__name__}' is {limit!r}",
            expected="how long its `open` may take, a timedelta above 0",
            suggestion=f"{OPEN_LIMIT} = timedelta(minutes=5)",
        )


def _confirm_signature(target: type, call: Signature) -> Signature | None:
    """What the class's `confirm` takes; it may name no field that the call does not have."""
    if getattr(target, "confirm", None) is None:
        return None
    signature = read_signature(target.confirm, target, is_method=True)  # type: ignore[attr-defined]  # just asked
    unknown = sorted(signature.names - call.names)
    if unknown and not call.takes_any:
        raise refuse(
            target,
            ComponentCode.SIGNATURE,
            f"`confirm` takes {', '.join(map(repr, unknown))}, which __call__ does not",
            expected=f"some of {', '.join(sorted(call.names))}: it is asked about the request that was sent",
            suggestion=f"remove '{unknown[0]}'",
        )
    return signature


def _first_line(target: object) -> str:
    """Of the docstring that was written for it, not of one that it inherits."""
    text = (getattr(target, "__doc__", None) or "").strip()
    return text.splitlines()[0].strip() if text else ""

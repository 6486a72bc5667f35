"""The call that every request costs, built once for a function's shape: what is known at load is not asked again.

Nothing is validated here: the engine has held the request to the input schema, and holds the output to its own.
Only parameters whose hints are more than JSON are converted.
"""

import asyncio
import inspect
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, TypeAlias

from stretto.components.python.context import Context
from stretto.components.python.place import home_of
from stretto.components.python.raised import component_error
from stretto.components.python.signature import Function, Signature
from stretto.components.python.threads import THREADS
from stretto.types.errors import StrettoError
from stretto.types.messages import Request, Response

Invoke: TypeAlias = Callable[[Request], Coroutine[Any, Any, Response]]

Confirm: TypeAlias = Callable[[Request], Coroutine[Any, Any, Response | None]]


def invoker(name: str, function: Function, signature: Signature, *, inline: bool) -> Invoke:
    """The call of a function as a component's call.

    ``async def`` is awaited in the caller's task. A plain function runs in a thread, so that it may block; `inline`
    runs it in the event loop instead, which only a quick one may ask for.
    """
    home = home_of(function)
    if inspect.iscoroutinefunction(function):
        if not signature.converts and not signature.context:
            return _bare(name, function, signature, home)
        return _full(name, function, signature, home)
    if inline:
        return _full(name, _as_coroutine_function(function), signature, home)
    return _threaded(name, function, signature, home)


def _bare(name: str, function: Function, signature: Signature, home: str) -> Invoke:
    """For a coroutine function that takes JSON and nothing else: 0.6 µs over calling it, most of it the Response."""
    plain_dict = signature.wraps is not True
    shape = signature.as_output

    async def invoke(request: Request) -> Response:
        try:
            value = await function(**request.input)
        except StrettoError:
            raise
        except (Exception, SystemExit) as error:
            raise component_error(name, error, home) from error
        if plain_dict and type(value) is dict:
            return Response(output=value)
        return value if isinstance(value, Response) else Response(output=shape(value))

    return invoke


def _full(name: str, function: Function, signature: Signature, home: str) -> Invoke:
    """For a coroutine function that takes instances or the Context."""
    takes_context = bool(signature.context)

    async def invoke(request: Request) -> Response:
        context = Context(request.call, name, asyncio.get_running_loop().time) if takes_context else None
        try:
            value = await function(**signature.bind(request.input, context))
        except StrettoError:
            raise
        except (Exception, SystemExit) as error:
            raise component_error(name, error, home) from error
        return _respond(signature, value, context, 0.0)

    return invoke


def _threaded(name: str, function: Function, signature: Signature, home: str) -> Invoke:
    """For a plain function: it may block, so it runs in a thread, and the wait for one is told as queueing."""
    takes_context = bool(signature.context)

    async def invoke(request: Request) -> Response:
        context = Context(request.call, name, asyncio.get_running_loop().time) if takes_context else None
        try:
            work = partial(function, **signature.bind(request.input, context))
            value, queue_ms = await THREADS.run(name, work)
            if inspect.isawaitable(value):  # a wrapper hid that the function is async
                value = await value
        except StrettoError:
            raise
        except (Exception, SystemExit) as error:
            raise component_error(name, error, home) from error
        return _respond(signature, value, context, queue_ms)

    return invoke


def confirmer(name: str, function: Function, signature: Signature, answers: Signature) -> Confirm:
    """The call of a `confirm`: it takes those fields of the request that it names, and returns what the component
    would have returned (`answers` says how that is read), or None when the write surely did not happen."""
    home = home_of(function)

    async def confirm(request: Request) -> Response | None:
        context = Context(request.call, name, asyncio.get_running_loop().time) if signature.context else None
        fields = {key: value for key, value in request.input.items() if signature.takes_any or key in signature.names}
        try:
            arguments = signature.bind(fields, context)
            if inspect.iscoroutinefunction(function):
                value = await function(**arguments)
            else:
                value, _ = await THREADS.run(name, partial(function, **arguments))
        except StrettoError:
            raise
        except Exception as error:
            raise component_error(name, error, home) from error
        return None if value is None else _respond(answers, value, context, 0.0)

    return confirm


def _respond(signature: Signature, value: object, context: Context | None, queue_ms: float) -> Response:
    if not isinstance(value, Response):
        value = Response(output=signature.as_output(value), queue_ms=queue_ms)
    return value if context is None else context.added_to(value)


def _as_coroutine_function(function: Function) -> Function:
    async def call(**arguments: object) -> object:
        value = function(**arguments)
        return await value if inspect.isawaitable(value) else value

    return call

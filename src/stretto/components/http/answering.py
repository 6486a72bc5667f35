"""Makes an output of what a service answered, or the error that it stands for."""

import time

import msgspec

from stretto.components.http.action import Action
from stretto.components.http.error_rules import first_that_fits
from stretto.components.http.failures import fault_error, refusal, unreadable
from stretto.components.http.reading import Answer, read_answer
from stretto.components.http.scope import ITEMS, PAGE, RESPONSE, Frame, answered
from stretto.components.http.secrets import Secrets
from stretto.components.waiting import Wait
from stretto.components.web.failures import Peer
from stretto.components.web.reply import Reply
from stretto.components.web.retry_after import retry_after_s
from stretto.types.errors import ComponentError, ExpressionError
from stretto.types.json import Json, JsonObject
from stretto.types.messages import Response


class Asking(msgspec.Struct, frozen=True, kw_only=True):
    """One call on its way."""

    action: Action
    frame: Frame
    """What its request is made of."""
    secrets: Secrets
    waited: Wait


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """One reply, and whom and what it answers."""

    asking: Asking
    peer: Peer
    reply: Reply

    def unreadable(self, why: str) -> ComponentError:
        """The error of an answer that is not what was declared."""
        return unreadable(self.peer, self.reply, why, self.asking.secrets)


def checked(exchange: Exchange) -> Answer:
    """The answer, read. Raises ComponentError for one that is an error, or is not what was declared.

    In this order: what `errors` say, a SOAP fault, the status, the form of the body.
    """
    action, secrets, reply = exchange.asking.action, exchange.asking.secrets, exchange.reply
    answer = read_answer(reply, action.form, action.fields, secrets)
    frame = answered(exchange.asking.frame, answer.value)
    rule = first_that_fits(action.errors, reply.status, frame)
    if rule is not None:
        raise rule.error(exchange.peer, frame, retry_after_s(reply.headers, time.time()), secrets)
    fault = answer.value["fault"]
    if isinstance(fault, dict):
        raise fault_error(exchange.peer, reply, fault, secrets)
    if not action.is_answer(reply.status):
        raise refusal(exchange.peer, reply, answer.value["body"], secrets)
    if answer.trouble:
        raise exchange.unreadable(answer.trouble)
    return answer


def response_of(exchange: Exchange, frame: Frame) -> Response:
    """The component's response: the output of an answer, or of the pages that were gathered.

    Raises ComponentError where it cannot be made.
    """
    pages = {} if frame[ITEMS] is None else {"pages": frame[PAGE]}
    return Response(
        output=_output(exchange, frame),
        queue_ms=exchange.asking.waited.ms,
        evidence={"status": exchange.reply.status, **pages},
    )


def _output(exchange: Exchange, frame: Frame) -> JsonObject:
    action = exchange.asking.action
    response, items = frame[RESPONSE], frame[ITEMS]
    try:
        made = _given(action, response, items) if action.map is None else action.map(frame, exchange.asking.secrets)
    except ExpressionError as error:
        raise exchange.unreadable(str(error)) from error
    if not isinstance(made, dict):
        raise exchange.unreadable("it is no object, and `output` names its fields")
    return made


def _given(action: Action, response: JsonObject, items: list[Json] | None) -> Json:
    """The fields that the output's schema names, out of the body; or all there is."""
    named = action.output.get("properties")
    names = named.keys() if isinstance(named, dict) else {}
    if items is not None:
        return {"items": items}
    body = response["body"]
    if not action.takes_fields:
        return {"status": response["status"], "body": body}
    if not isinstance(body, dict):
        return body
    return {name: body[name] for name in names if name in body} if names else body

"""Gathers an answer that comes in pages; only the whole of it counts."""

from stretto.components.http.answering import Asking, Exchange, checked, response_of
from stretto.components.http.asker import Asker
from stretto.components.http.exchange import Outgoing
from stretto.components.http.paging import Paging, PagingError
from stretto.components.http.scope import Frame, answered
from stretto.components.web.failures import too_large
from stretto.types.errors import Code, ComponentError, ExpressionError
from stretto.types.json import Json
from stretto.types.messages import Response


async def gathered(asker: Asker, asking: Asking, paging: Paging, first: Outgoing, max_bytes: int) -> Response:
    """Ask page by page. Raises ComponentError, also for pages that do not end within the limits."""
    items: list[Json] = []
    left, current = max_bytes, first
    seen = {first.url}
    for page in range(1, paging.max_pages + 1):
        asked = await asker.ask(asking, current)
        left -= len(asked.reply.body)
        if left < 0:
            raise too_large(asked.peer, max_bytes)
        answer = checked(asked)
        frame = answered(asking.frame, answer.value, items, page)
        items += _items(paging, asked, frame)
        onward = _onward(paging, asked, first, current, answered(asking.frame, answer.sent, items, page))
        if onward is None:
            return response_of(asked, frame)
        if onward.url in seen:
            raise _endless(asked, f"page {page} leads back to one that was read")
        seen.add(onward.url)
        current = onward
    raise _endless(asked, f"there are more than {paging.max_pages} pages; raise `max_pages`, or ask for less")


def _items(paging: Paging, asked: Exchange, frame: Frame) -> list[Json]:
    """What a page holds."""
    try:
        return paging.items_of(frame)
    except (PagingError, ExpressionError) as error:
        raise _astray(asked, error) from error


def _onward(paging: Paging, asked: Exchange, first: Outgoing, current: Outgoing, frame: Frame) -> Outgoing | None:
    """The request for the next page; None after the last."""
    try:
        return paging.onward(first, current, frame)
    except (PagingError, ExpressionError) as error:
        raise _astray(asked, error) from error


def _astray(asked: Exchange, error: Exception) -> ComponentError:
    return ComponentError(asked.asking.secrets.out_of(f"{asked.peer.who}: {error}"), Code.INTERNAL)


def _endless(asked: Exchange, why: str) -> ComponentError:
    return ComponentError(f"{asked.peer.who}: {why}", Code.OUT_OF_RANGE)

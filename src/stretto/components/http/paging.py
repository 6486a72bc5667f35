"""Answers that come in pages: what leads from one to the next, and where it must end."""

from typing import Final

import msgspec

from stretto.components.http.exchange import Outgoing, led_to, origin_of
from stretto.components.http.pairs import as_query
from stretto.components.http.scope import Frame
from stretto.components.http.values import UnfitError, as_text
from stretto.plan.expr import Expression
from stretto.types.json import Json

DEFAULT_MAX_PAGES: Final = 100
"""A list that a step takes whole is rarely longer; whoever means more says so."""


class PagingError(Exception):
    """Pages that do not end, or lead elsewhere; the message says why."""


class Paging(msgspec.Struct, frozen=True, kw_only=True):
    """How pages are gathered."""

    items: Expression
    """The items of one page."""
    next: Expression
    """What leads on; null, false and empty text end it."""
    query: str
    """Parameter of the query that carries it; empty when it is an address."""
    max_pages: int

    def items_of(self, frame: Frame) -> list[Json]:
        """What a page holds. Raises PagingError for what is no list, ExpressionError.

        Null is none either: an answer in which the list is missing may be an error that calls itself a success, and
        the list would end there.
        """
        found, source = self.items.evaluate(frame), self.items.source
        if found is None:
            hint = f"where a page without items leaves it out, say `{source} == null ? [] : {source}`"
            raise PagingError(f"`items` of `paging` is missing in the answer: `{source}`; {hint}")
        if not isinstance(found, list):
            raise PagingError(f"`items` of `paging` is no list: `{source}`")
        return found

    def onward(self, first: Outgoing, current: Outgoing, frame: Frame) -> Outgoing | None:
        """The request for the next page, None after the last. Raises PagingError for one that leads to another host."""
        lead = self.next.evaluate(frame)
        if lead is None or lead is False or lead == "":
            return None
        try:
            text = as_text(lead, "`next` of `paging`")
        except UnfitError as error:
            raise PagingError(str(error)) from error
        if self.query:
            return msgspec.structs.replace(first, url=with_parameter(first.url, self.query, text))
        url = led_to(current.url, text)
        if not url:
            raise PagingError(f"the next page is at {text!r}, which is no address that is asked")
        if origin_of(url) != origin_of(first.url):
            raise PagingError(
                f"the next page is at {origin_of(url) or repr(text)}, and only {origin_of(first.url)} is asked"
            )
        return msgspec.structs.replace(first, url=url)


def with_parameter(url: str, name: str, value: str) -> str:
    """The address with a parameter in its query, in the place of one of that name."""
    head, _, query = url.partition("?")
    kept = [part for part in query.split("&") if part and part.partition("=")[0] != as_query([(name, "")])[:-1]]
    return f"{head}?{'&'.join([*kept, as_query([(name, value)])])}"

"""What the examples of some pages need around them, and the variables by which they find it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from tests.docs.pages import Page


@contextmanager
def setting_of(page: Page) -> Iterator[Mapping[str, str]]:
    """The variables of a page's commands, valid inside the context."""
    del page
    yield {}

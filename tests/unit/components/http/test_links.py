"""The Link header."""

import pytest

from stretto.components.http.links import links_in


@pytest.mark.parametrize(
    ("header", "links"),
    [
        ("", {}),
        ("</a>; rel=next", {"next": "/a"}),
        ('<https://h/a?x=1,2;3>; rel="next"', {"next": "https://h/a?x=1,2;3"}),
        ('</a>; rel="prev", </b>; title="x, </c>; rel=next"; rel="next"', {"prev": "/a", "next": "/b"}),
        ('</a>; rel="Next last"', {"next": "/a", "last": "/a"}),
        ('</a>; rel="next", </b>; rel="next"', {"next": "/a"}),
        ("</a>; title=x", {}),
        ("next: /a", {}),
        ("<", {}),
        ("</a>; rel", {}),
    ],
)
def test_addresses_are_told_by_their_relation(header: str, links: dict[str, str]) -> None:
    assert links_in(header) == links

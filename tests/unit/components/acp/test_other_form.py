"""A server is asked in the form that it does not speak: the error names the scheme of the other."""

from pathlib import Path

import pytest

from stretto.components.acp.declaration import make_acp
from stretto.types.errors import UsageError
from tests.unit.components.acp.raw_server import RawServer, reply

SETTINGS_FRAME = b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"
"""With which a server of HTTP/2, and so of gRPC, begins: RFC 9113, 3.4."""


@pytest.mark.parametrize(
    ("scheme", "answer", "said"),
    [
        ("http", SETTINGS_FRAME, "correct the address; that of one that speaks gRPC begins with grpc"),
        ("grpc", reply("400 Bad Request"), "correct the address; that of one that speaks HTTP begins with http"),
    ],
)
def test_the_scheme_of_the_other_form_is_named(scheme: str, answer: bytes, said: str, tmp_path: Path) -> None:
    with RawServer(answer, closes=True) as server, pytest.raises(UsageError) as caught:
        make_acp({"url": f"acp+{scheme}://127.0.0.1:{server.port}"}, "shop", tmp_path)
    assert said in str(caught.value)
    assert "certificates" not in str(caught.value)

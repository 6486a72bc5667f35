"""Certificates: whom a service is believed to be, and what is shown to it."""

import ssl
from pathlib import Path
from typing import Any

import pytest

from stretto.components.http.service import HttpService
from stretto.testing.request import request_for
from stretto.types.errors import Code, ComponentError, SpecError
from tests.unit.components.http.certificates import Authority
from tests.unit.components.http.declaring import problems_of, service
from tests.unit.components.http.standin import StandIn


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


async def serving(authority: Authority, *, wants_certificate: bool = False) -> StandIn:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*authority.give("server"))
    if wants_certificate:
        context.load_verify_locations(authority.path)
        context.verify_mode = ssl.CERT_REQUIRED
    server = StandIn()
    server.reply({"a": 1})
    await server.start(ssl=context)
    return server


async def asked(asking: HttpService) -> Any:
    try:
        return (await asking(request_for())).output
    finally:
        await asking.close()


async def test_a_service_is_believed_by_the_authority_that_is_named(authority: Authority, tmp_path: Path) -> None:
    server = await serving(authority)
    try:
        declared = f"url: {server.origin}/x\nca: ca.pem"
        assert await asked(service(declared, folder=tmp_path)) == {"status": 200, "body": {"a": 1}}
    finally:
        await server.stop()


async def test_a_service_that_nobody_vouches_for_is_sent_nothing(authority: Authority) -> None:
    server = await serving(authority)
    try:
        with pytest.raises(ComponentError, match=r"cannot be reached: its certificate is not trusted: ") as caught:
            await asked(service(f"url: {server.origin}/x\njson: {{ a: 1 }}"))
        assert (caught.value.sent, caught.value.retryable) == (False, False)
        assert server.asked == []
    finally:
        await server.stop()


async def test_a_certificate_is_shown_to_a_service_that_asks_for_one(authority: Authority, tmp_path: Path) -> None:
    authority.give("client")
    server = await serving(authority, wants_certificate=True)
    try:
        declared = f"url: {server.origin}/x\nca: ca.pem"
        shown = f"{declared}\nclient_cert: client.pem\nclient_key: client.key"
        assert await asked(service(shown, folder=tmp_path)) == {"status": 200, "body": {"a": 1}}
        with pytest.raises(ComponentError) as caught:
            await asked(service(declared, folder=tmp_path))
        assert caught.value.rpc_code is Code.UNAVAILABLE
        assert len(server.asked) == 1
    finally:
        await server.stop()


def test_a_key_may_stand_in_the_certificates_file(authority: Authority, tmp_path: Path) -> None:
    certificate, key = authority.give("client")
    (tmp_path / "both.pem").write_bytes(certificate.read_bytes() + key.read_bytes())
    assert service("url: https://h/x\nclient_cert: both.pem", folder=tmp_path).card.kind == "http"


def refused(folder: Path, declaration: str) -> str:
    with pytest.raises(SpecError) as caught:
        service(declaration, folder=folder)
    (problem,) = caught.value.problems
    assert problem.line
    return str(problem)


def test_files_that_will_not_do_are_told_at_their_place(authority: Authority, tmp_path: Path) -> None:
    authority.give("client")
    authority.give("locked", password=b"secret")
    (tmp_path / "empty.pem").write_text("not a certificate")
    here = "url: https://h/x\n"
    assert "the file of certificates 'ca.pm' is not there" in refused(tmp_path, f"{here}ca: ca.pm")
    assert "holds no certificates in PEM" in refused(tmp_path, f"{here}ca: empty.pem")
    assert "the certificate 'clint.pem' is not there" in refused(tmp_path, f"{here}client_cert: clint.pem")
    assert "does not go with its key" in refused(tmp_path, f"{here}client_cert: client.pem")
    other = f"{here}client_cert: client.pem\nclient_key: locked.key"
    assert "'locked.key' holds a key that is encrypted" in refused(tmp_path, other)
    swapped = f"{here}client_cert: locked.pem\nclient_key: client.key"
    assert "'locked.pem' does not go with its key" in refused(tmp_path, swapped)


@pytest.mark.parametrize(
    "declaration",
    [
        "url: http://h/x\nca: ca.pem",
        "url: http://h/x\nclient_cert: client.pem",
        "url: https://h/x\nclient_key: client.key",
    ],
)
def test_what_would_have_no_effect_is_refused(declaration: str) -> None:
    assert [problem.code for problem in problems_of(declaration)] == ["spec.no_effect"]

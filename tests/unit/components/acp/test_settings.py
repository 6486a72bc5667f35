"""What is declared wrongly, or may not be called, is refused before anything is sent."""

from pathlib import Path
from typing import Any

import pytest

from stretto.components.acp.allowed import VARIABLE, check_allowed
from stretto.components.acp.declaration import make_acp
from stretto.components.acp.settings import AcpSettings
from stretto.components.acp.target import read_target
from stretto.types.errors import UsageError


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"url": "http://127.0.0.1:1"}, "expected an address such as acp+http://"),
        ({"url": "acp+ftp://127.0.0.1:1"}, "expected an address such as acp+http://"),
        ({"url": "acp+http://"}, "expected an address such as acp+http://"),
        ({"url": "acp+http://127.0.0.1:99999"}, "which is no address"),
        ({"url": "acp+grpc://127.0.0.1"}, "has no port"),
        ({"url": "acp+grpc://127.0.0.1:1/prefix"}, "an address of gRPC has no path"),
        ({"url": "acp+http://me:pw@127.0.0.1:1"}, "holds a user or password"),
        ({"url": "acp+http://127.0.0.1:1?x=1"}, "acp+http://127.0.0.1:1?...'; expected an address without ?"),
        ({"url": "acp+http://127.0.0.1:0"}, "expected an address such as acp+http://"),
        ({"url": "acp+http://127.0.0.1\\@x:1"}, "holds a user or password"),
        ({"url": "acp+http://127.0.0.1\\x:1"}, "expected an address such as acp+http://"),
        ({"url": "acp+http://127.0.0.1%2f.example:1"}, "expected an address such as acp+http://"),
        ({"url": "acp+https://127.0.0.1:1", "ca": "none.pem"}, "none.pem cannot be read: No such file or directory"),
        ({"url": "acp+grpcs://127.0.0.1:1", "ca": "none.pem"}, "none.pem cannot be read: No such file or directory"),
        ({"url": "acp+http://127.0.0.1:1", "verb": "reflect"}, "a step asks by one of plan, execute, observe"),
        ({"url": "acp+http://127.0.0.1:1", "token_env": "a b"}, "expected the name of an environment variable"),
        ({"url": "acp+http://127.0.0.1:1", "ca": "ca.pem"}, "no effect without TLS: https"),
        ({"url": "acp+http://127.0.0.1:1", "max_connections": 0}, "expected 1 or more"),
        (
            {"url": "acp+http://10.0.0.1:1"},
            "which may not be called: without STRETTO_ACP_ALLOW only this machine may be",
        ),
        ({"url": "acp+http://169.254.169.254"}, f"set {VARIABLE}=169.254.169.254:80"),
        ({"url": "acp+http://127.0.0.1:1", "token_env": "NOT_SET_HERE"}, "$NOT_SET_HERE, which is not set; set it"),
        ({"url": "acp+http://127.0.0.1:1", "card": "none.json"}, "cannot be read: No such file or directory"),
        (
            {"url": "acp+http://127.0.0.1:9"},
            "start it, or keep its card: stretto acp describe acp+http://127.0.0.1:9 --json",
        ),
        ({"url": "acp+grpc://127.0.0.1:9"}, "cannot be reached"),
    ],
)
def test_it_is_refused(options: dict[str, Any], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    ca = {"ca": Path(str(options["ca"]))} if "ca" in options else {}
    card = {"card": Path(str(options["card"]))} if "card" in options else {}
    with pytest.raises(UsageError) as caught:
        make_acp({**options, **ca, **card}, "shop", tmp_path)
    assert said in str(caught.value)


@pytest.mark.parametrize("scheme", ["acp+ftp", "acp+http", "http", "acp+grpc"])
def test_a_password_is_not_told(scheme: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_target(f"{scheme}://me:secret@127.0.0.1:1?token=secret", "`url`")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("scheme", ["https", "grpcs"])
def test_a_file_that_holds_no_certificates_is_told(scheme: str, tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("hello")
    with pytest.raises(UsageError, match=r"the file of certificates ca.pem holds none in PEM"):
        make_acp({"url": f"acp+{scheme}://127.0.0.1:1", "ca": Path("ca.pem")}, "shop", tmp_path)


def test_a_token_does_not_leave_the_machine_unencrypted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "*")
    with pytest.raises(UsageError, match=r"would send its token unencrypted to shop\.example:1"):
        make_acp({"url": "acp+http://shop.example:1", "token_env": "T"}, "shop", tmp_path)


def test_a_token_may_leave_unencrypted_where_that_is_asked_for_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "*")
    asked = AcpSettings(name="shop", url="acp+http://shop.example:1", token_env="T", unencrypted=True)
    assert asked.check().host == "shop.example"


@pytest.mark.parametrize(
    ("url", "token_env"),
    [
        ("acp+http://shop.example:1", ""),
        ("acp+https://shop.example:1", "T"),
        ("acp+http://127.0.0.2:1", "T"),
    ],
)
def test_what_no_other_can_read_needs_no_leave(url: str, token_env: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "*")
    with pytest.raises(UsageError, match="has `unencrypted`, and sends no token without TLS to another machine"):
        AcpSettings(name="shop", url=url, token_env=token_env, unencrypted=True).check()


@pytest.mark.parametrize(
    ("listed", "address"),
    [
        (None, "acp+http://127.0.0.1:1"),
        (None, "acp+http://localhost:1"),
        (None, "acp+grpc://[::1]:1"),
        ("*", "acp+http://169.254.169.254"),
        ("shop.example", "acp+https://shop.example"),
        ("a, Shop.Example:443 ", "acp+https://SHOP.example"),
        ("*.example:80*", "acp+http://shop.example:8081"),
        ("[fd00::1]:5", "acp+grpc://[fd00::1]:5"),
        ("fd00::1", "acp+grpc://[fd00::1]:5"),
        ("10.0.0.*:80", "acp+http://10.0.0.7"),
    ],
)
def test_a_server_that_is_listed_may_be_called(
    listed: str | None, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _set(listed, monkeypatch)
    check_allowed(read_target(address, "x"), "x")


@pytest.mark.parametrize(
    ("listed", "address"),
    [
        (None, "acp+http://127.0.0.1.example"),
        (None, "acp+http://localhost.example"),
        (None, "acp+http://2130706433"),
        (None, "acp+http://0x7f000001"),
        (None, "acp+http://0177.0.0.1"),
        (None, "acp+http://127.1"),
        (None, "acp+http://0.0.0.0"),
        (None, "acp+grpc://[::]:1"),
        (None, "acp+grpc://[::ffff:169.254.169.254]:1"),
        (None, "acp+http://localhost."),
        (None, "acp+http://localtest.me"),
        (None, "acp+grpc://unix:1"),
        ("shop.example", "acp+http://shop.example."),
        ("10.0.0.*", "acp+http://10.0.0.7.evil.example"),
        ("10.*", "acp+http://10.evil.example"),
        ("", "acp+http://127.0.0.1:1"),
        ("shop.example:80", "acp+http://shop.example:81"),
        ("shop.example", "acp+http://evil-shop.example"),
        ("*.example", "acp+http://example"),
        ("[fd00::1]:5", "acp+grpc://[fd00::1]:6"),
    ],
)
def test_a_server_that_is_not_listed_may_not(listed: str | None, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _set(listed, monkeypatch)
    with pytest.raises(UsageError, match="which may not be called"):
        check_allowed(read_target(address, "x"), "x")


def _set(listed: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if listed is None:
        monkeypatch.delenv(VARIABLE, raising=False)
    else:
        monkeypatch.setenv(VARIABLE, listed)

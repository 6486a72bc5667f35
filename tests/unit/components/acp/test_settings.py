"""What is declared wrongly, or may not be called, is refused before anything is sent."""

from pathlib import Path
from typing import Any

import pytest

from stretto.components.acp.allowed import VARIABLE, check_allowed
from stretto.components.acp.declaration import make_acp
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
        ({"url": "acp+http://127.0.0.1:1?x=1"}, "expected an address without ?"),
        ({"url": "acp+http://127.0.0.1:1", "verb": "reflect"}, "a step asks by one of plan, execute, observe"),
        ({"url": "acp+http://127.0.0.1:1", "token_env": "a b"}, "expected the name of an environment variable"),
        ({"url": "acp+http://127.0.0.1:1", "ca": "ca.pem"}, "no effect without TLS: https"),
        ({"url": "acp+http://127.0.0.1:1", "max_connections": 0}, "expected 1 or more"),
        ({"url": "acp+http://10.0.0.1:1"}, "which may not be called; without it only this machine may be"),
        ({"url": "acp+http://169.254.169.254"}, f"set {VARIABLE}=169.254.169.254:80"),
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


def test_a_token_does_not_leave_the_machine_unencrypted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "*")
    with pytest.raises(UsageError, match=r"would send its token unencrypted to shop\.example:1"):
        make_acp({"url": "acp+http://shop.example:1", "token_env": "T"}, "shop", tmp_path)


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

"""What a stranger's XML may and may not do."""

import socket
import time
from pathlib import Path

import pytest

from stretto.components.xml.parse import XmlError, check_installed, parse_xml
from stretto.types.errors import MissingExtraError

LAUGHS = "".join(f'<!ENTITY l{depth} "{f"&l{depth - 1};" * 10 if depth else "ha"}">' for depth in range(12))


def bomb(body: str, declared: str = LAUGHS) -> bytes:
    return f"<!DOCTYPE r [{declared}]>{body}".encode()


@pytest.mark.parametrize(
    "document",
    [
        bomb("<r>&l11;</r>"),
        bomb('<r a="&l11;"/>'),
        bomb("<r/>"),
        bomb("<r>&big;</r>", f'<!ENTITY big "{"x" * 100_000}">') + b" " * 10,
        bomb("<r>" + "&big;" * 5_000 + "</r>", f'<!ENTITY big "{"x" * 50_000}">'),
        bomb("<r/>", "<!ENTITY % a '<!ENTITY &#37; b \"c\">'>%a;%b;"),
        bomb('<r a="&l11;"/>').decode().encode("utf-16"),
    ],
    ids=["text", "attribute", "unused", "one", "quadratic", "parameter", "utf-16"],
)
def test_entities_that_grow_are_refused_at_once(document: bytes) -> None:
    began = time.process_time()
    with pytest.raises(XmlError):
        parse_xml(document)
    assert time.process_time() - began < 2.0


def test_entities_that_lead_to_files_are_refused(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("do not read me")
    with pytest.raises(XmlError, match="DTD") as caught:
        parse_xml(bomb("<r>&file;</r>", f'<!ENTITY file SYSTEM "{secret.as_uri()}">'))
    assert "do not read me" not in str(caught.value)


@pytest.mark.parametrize(
    "declared",
    ['<!ENTITY far SYSTEM "{url}">', '<!ENTITY % far SYSTEM "{url}">%far;', '<!ENTITY far PUBLIC "p" "{url}">'],
)
def test_nothing_is_fetched(declared: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0.05)
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/x.dtd"
        for document in (
            bomb("<r>&far;</r>", declared.format(url=url)),
            f'<!DOCTYPE r SYSTEM "{url}"><r/>'.encode(),
        ):
            with pytest.raises(XmlError):
                parse_xml(document)
        with pytest.raises(TimeoutError):
            listening.accept()


def test_a_dtd_that_declares_nothing_is_refused_too() -> None:
    with pytest.raises(XmlError, match="DTD"):
        parse_xml(b"<!DOCTYPE html><html/>")


def test_xinclude_is_text_like_any_other(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("do not read me")
    href = (tmp_path / "secret").as_uri()
    root = parse_xml(
        f'<r xmlns:x="http://www.w3.org/2001/XInclude"><x:include href="{href}" parse="text"/></r>'.encode()
    )
    assert "".join(root.itertext()) == ""


def test_what_is_nested_too_deeply_is_refused() -> None:
    with pytest.raises(XmlError):
        parse_xml(b"<a>" * 5_000 + b"</a>" * 5_000)


@pytest.mark.parametrize(
    "document", [b"", b"   ", b"{}", b"<a>", b"<a></b>", b"<a/><b/>", b"\xff\xfe\x00", b"<a>\x00</a>"]
)
def test_what_is_no_xml_says_so(document: bytes) -> None:
    with pytest.raises(XmlError):
        parse_xml(document)


def test_the_protocols_charset_outweighs_the_documents() -> None:
    document = "<?xml version='1.0' encoding='utf-8'?><a>Müller</a>".encode("latin-1")
    assert parse_xml(document, charset="iso-8859-1").text == "Müller"
    assert parse_xml("<?xml version='1.0' encoding='iso-8859-1'?><a>Müller</a>".encode("latin-1")).text == "Müller"
    assert parse_xml("<a>Müller</a>".encode("utf-16")).text == "Müller"
    with pytest.raises(XmlError, match="not known"):
        parse_xml(document, charset="klingon")


def test_comments_and_instructions_are_left_out() -> None:
    root = parse_xml(b"<a><!-- no --><?php echo ?>x<![CDATA[<y>]]></a>")
    assert "".join(root.itertext()) == "x<y>"


def test_a_missing_package_is_told_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stretto.components.xml.parse.find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match="xml"):
        check_installed("XML of component 'bank'")

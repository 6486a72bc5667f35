"""A component by docs/reference/protocol.md and Python's standard library alone, without anything of Stretto.

A `Lie` changes what comes in, or goes out.
"""

import base64
import hashlib
import json
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol

CARD = {
    "name": "tiny", "version": "1.0.0", "kind": "python", "digest": "tiny-1", "verbs": ["execute", "observe"],
    "effects": {"book": "write", "look": "pure"}, "actionField": "do", "idempotent": True, "confirms": True,
    "capabilities": ["blobs"],
    "input": {
        "type": "object", "required": ["do", "order"], "additionalProperties": False,
        "properties": {"order": {"type": "string"}, "do": {"enum": ["book", "look"]}},
    },
    "output": {"type": "object", "properties": {"status": {"type": "string"}}, "required": ["status"]},
}  # fmt: skip

STATUSES = {
    "invalid_argument": 400, "failed_precondition": 400, "not_found": 404, "aborted": 409, "already_exists": 409,
    "unimplemented": 501, "deadline_exceeded": 504,
}  # fmt: skip

Said = tuple[int, dict[str, str], dict[str, Any]]
"""Status, headers and body."""


@dataclass(frozen=True)
class Lie:
    """How a server departs from the page."""

    hears: Callable[[str, dict[str, Any]], dict[str, Any]] = lambda _path, message: message
    """What it takes a request for."""
    says: Callable[[str, dict[str, Any], Said], Said] = lambda _path, _message, said: said
    """What becomes of its reply."""


class RefusalError(Exception):
    """Why there is no answer."""

    def __init__(self, code: str, reason: str, detail: str, **more: Any) -> None:
        super().__init__(detail)
        self.problem = {
            "type": f"urn:acp:{code}", "title": code, "status": STATUSES[code], "detail": detail, "code": code,
            "reason": reason, "domain": "acp", **more,
        }  # fmt: skip


class Tiny:
    """Looks orders up, and books them once for each key."""

    def __init__(self) -> None:
        self.contents: dict[str, bytes] = {}
        self.done: dict[str, tuple[Any, dict[str, Any]]] = {}

    def answer(self, path: str, message: dict[str, Any]) -> dict[str, Any]:
        """The answer to one message. Raises Refusal."""
        if path == "/acp/v1/describe":
            _check_version(message.get("protocol", "1.0"))
            if message.get("component", "tiny") != "tiny":
                raise RefusalError("not_found", "COMPONENT_UNKNOWN", "there is only tiny")
            return {"protocols": ["1.0"], "cards": [CARD]}
        verb = path.removeprefix("/acp/v1/")
        _check_envelope(message.get("envelope") or {}, verb)
        return self._called(verb, message)

    def _called(self, verb: str, message: dict[str, Any]) -> dict[str, Any]:
        as_text = bool(message.get("inputJson"))
        asked = _parsed(message["inputJson"]) if as_text else message.get("input") or {}
        if not isinstance(asked, dict):
            raise RefusalError("invalid_argument", "MALFORMED", "input is no object")
        envelope = message["envelope"]
        key = envelope.get("effectKey", "")
        if asked.get("do") != "book" and envelope.get("effect") != "write":
            return _written(_looked(self._filled(asked, message)), as_text=as_text)
        if not key:
            raise RefusalError("invalid_argument", "ENVELOPE", "effectKey is missing")
        if envelope.get("variant", {}).get("mirror"):
            raise RefusalError("failed_precondition", "MIRROR_WRITE", "a mirror must not write")
        told = self._booked(key, [verb, asked], message)
        return _written(told, as_text=as_text)

    def _booked(self, key: str, asked: Any, message: dict[str, Any]) -> dict[str, Any]:
        if key in self.done:
            before, answer = self.done[key]
            if before != asked:
                raise RefusalError("already_exists", "KEY_CONFLICT", "the key stands for another request")
            return {**answer, "result": {**answer["result"], "replayed": True}}
        if message.get("confirmOnly"):
            raise RefusalError("not_found", "NOT_DONE", "it was not done")
        answer = _looked(self._filled(asked[1], message))
        self.done[key] = (asked, answer)
        return answer

    def _filled(self, asked: dict[str, Any], message: dict[str, Any]) -> dict[str, Any]:
        for blob in message.get("blobs") or ():
            content = base64.b64decode(blob.get("content", ""))
            if content and blob["digest"] != f"sha256:{hashlib.sha256(content).hexdigest()}":
                raise RefusalError("invalid_argument", "MALFORMED", "a blob has another digest")
            if content:
                self.contents[blob["digest"]] = content
        filled = {name: self._content(value) for name, value in asked.items()}
        wrong = [f"/{name}" for name in ("do", "order") if not isinstance(filled.get(name), str)]
        wrong += [f"/{name}" for name in filled if name not in ("do", "order")]
        if wrong:
            places = [{"pointer": each, "message": "is wrong"} for each in wrong]
            raise RefusalError("invalid_argument", "CONTRACT", f"wrong: {wrong}", violations=places)
        return filled

    def _content(self, value: Any) -> Any:
        if not (isinstance(value, dict) and [*value] == ["$blob"]):
            return value
        if value["$blob"] not in self.contents:
            digests = {"digests": value["$blob"]}
            raise RefusalError("failed_precondition", "BLOB_MISSING", "send the content", metadata=digests)
        return json.loads(self.contents[value["$blob"]])


def _looked(asked: dict[str, Any]) -> dict[str, Any]:
    who = {"name": "tiny", "version": "1.0.0", "digest": "tiny-1"}
    result = {"outcome": "partial", "component": who, "usage": {"inputTokens": 3, "cost": 0.5}}
    return {"result": result, "output": {"status": f"{asked['do']} {asked['order']}"}, "gradientHandle": "g1"}


def _written(answer: dict[str, Any], *, as_text: bool) -> dict[str, Any]:
    if not as_text:
        return answer
    rest = {name: value for name, value in answer.items() if name != "output"}
    return {**rest, "outputJson": json.dumps(answer["output"])}


def _check_version(protocol: Any) -> None:
    found = re.fullmatch(r"(\d+)\.\d+", protocol) if isinstance(protocol, str) else None
    if found is None:
        raise RefusalError("invalid_argument", "ENVELOPE", f"protocol is {protocol!r}")
    if found[1] != "1":
        spoken = {"supported_versions": "1.0"}
        raise RefusalError("failed_precondition", "VERSION_UNSUPPORTED", "1.0 is spoken here", metadata=spoken)


def _check_envelope(envelope: dict[str, Any], verb: str) -> None:
    names = {"run_id": "runId", "step_path": "stepPath"}
    envelope = {names.get(name, name): value for name, value in envelope.items()}
    _check_version(envelope.get("protocol"))
    attempt = envelope.get("attempt")
    if not (envelope.get("runId") and envelope.get("stepPath") and isinstance(attempt, int) and attempt > 0):
        raise RefusalError("invalid_argument", "ENVELOPE", "run, step or attempt is missing")
    component = envelope.get("component") or {}
    if component.get("name", "tiny") != "tiny":
        raise RefusalError("not_found", "COMPONENT_UNKNOWN", "there is only tiny")
    if component.get("digest", "tiny-1") != "tiny-1":
        raise RefusalError("failed_precondition", "COMPONENT_CHANGED", "it is tiny-1 here")
    if verb not in ("execute", "observe"):
        raise RefusalError("unimplemented", "VERB_NOT_OFFERED", "offered are execute and observe")
    if envelope.get("remainingMs") == 0:
        late = {"sent": "no"}
        raise RefusalError("deadline_exceeded", "DEADLINE_PASSED", "no time is left", metadata=late)


def _parsed(text: str | bytes) -> Any:
    try:
        return json.loads(text if isinstance(text, str) else text.decode())
    except (ValueError, RecursionError) as error:
        raise RefusalError("invalid_argument", "MALFORMED", "it is no JSON") from error


class Answers(Protocol):
    """What stands behind the server."""

    def answer(self, path: str, message: dict[str, Any]) -> dict[str, Any]: ...


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    tiny: Answers
    lie: Lie

    def do_GET(self) -> None:  # as http.server has it
        if self.path in ("/livez", "/readyz"):
            self._send((200, {}, {"is": "well"}))
        else:
            self._reply({}, None if self.path == "/acp/v1/describe" else "POST")

    def do_POST(self) -> None:  # as http.server has it
        try:
            message = self._message()
        except RefusalError as refusal:
            self._send(_refused(refusal))
        else:
            self._reply(message, None)

    def _message(self) -> dict[str, Any]:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Type", "").partition(";")[0] != "application/json":
            raise RefusalError("invalid_argument", "MEDIA_TYPE", "it is no application/json")
        message = _parsed(body)
        if not isinstance(message, dict):
            raise RefusalError("invalid_argument", "MALFORMED", "it is no object")
        return message

    def _reply(self, message: dict[str, Any], allowed: str | None) -> None:
        known = re.fullmatch(r"/acp/v1/(plan|execute|observe|reflect|vjp|describe)", self.path)
        heard = self.lie.hears(self.path, message)
        try:
            if known is None:
                raise RefusalError("not_found", "", f"{self.path} is not served")
            if allowed:
                raise RefusalError("invalid_argument", "", f"ask by {allowed}")
            said: Said = 200, {"Content-Type": "application/json"}, self.tiny.answer(self.path, heard)
        except RefusalError as refusal:
            said = _refused(refusal)
        self._send(self.lie.says(self.path, message, said))

    def _send(self, said: Said) -> None:
        status, headers, body = said
        text = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(text))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: Any) -> None:
        pass


def _refused(refusal: RefusalError) -> Said:
    return refusal.problem["status"], {"Content-Type": "application/problem+json"}, refusal.problem


class Serving:
    """The server at a free port, while it is entered."""

    def __init__(self, lie: Lie | None = None, answers: Answers | None = None) -> None:
        handler = type("Handler", (_Handler,), {"tiny": answers or Tiny(), "lie": lie or Lie()})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    def __enter__(self) -> str:
        self._thread.start()
        return f"http://127.0.0.1:{self._server.server_port}"

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

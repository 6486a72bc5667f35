"""Every status and every form of error, in the server's own words."""

from typing import Any

import orjson
import pytest
from multidict import CIMultiDict

from stretto.components.openai.address import Address
from stretto.components.openai.failures import error_inside, refusal, unreadable
from stretto.components.web.reply import Reply
from stretto.types.errors import Code
from tests.unit.components.openai.standin import recorded

HERE = Address(base_url="http://x:1/sessions/9/v1", key="sk-secret")


def reply(status: int, body: object = b"", **headers: str) -> Reply:
    content = body if isinstance(body, bytes) else orjson.dumps(body)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status=status, headers=CIMultiDict(named), body=content)


@pytest.mark.parametrize(
    ("status", "code", "retryable"),
    [
        (400, Code.INVALID_ARGUMENT, False),
        (401, Code.UNAUTHENTICATED, False),
        (402, Code.INVALID_ARGUMENT, False),
        (403, Code.PERMISSION_DENIED, False),
        (404, Code.NOT_FOUND, False),
        (408, Code.DEADLINE_EXCEEDED, True),
        (409, Code.ABORTED, True),
        (413, Code.INVALID_ARGUMENT, False),
        (422, Code.INVALID_ARGUMENT, False),
        (429, Code.RESOURCE_EXHAUSTED, True),
        (500, Code.INTERNAL, True),
        (501, Code.UNIMPLEMENTED, False),
        (502, Code.UNAVAILABLE, True),
        (503, Code.UNAVAILABLE, True),
        (504, Code.DEADLINE_EXCEEDED, True),
        (529, Code.UNAVAILABLE, True),
    ],
)
def test_a_status_says_what_it_means_and_whether_it_may_pass(status: int, code: Code, retryable: bool) -> None:
    error = refusal("llm", HERE, reply(status))
    assert (error.rpc_code, error.retryable, error.sent) == (code, retryable, True)
    assert str(error).startswith(f"the server of model 'llm' at http://x:1 answered {status}: nothing")


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        (
            "vllm/unknown_model",
            Code.NOT_FOUND,
            "The model `nope` does not exist. Valid aliases: smollm2. (NotFoundError)",
        ),
        ("vllm/bad_type", Code.INVALID_ARGUMENT, "Input should be a valid number"),
        ("vllm/too_long", Code.INVALID_ARGUMENT, "maximum context length is 1024 tokens"),
        ("vllm/wrong_path", Code.NOT_FOUND, "Not Found; is base_url right? It ends in /v1 as a rule"),
        ("vllm/wrong_key", Code.UNAUTHENTICATED, "answered 401: Unauthorized"),
        ("transformers/no_token_ids", Code.INVALID_ARGUMENT, "Unexpected fields in the request: {'return_token_ids'}"),
        ("llama_cpp/bad_type", Code.INVALID_ARGUMENT, "type must be number, but is string (invalid_request_error)"),
        ("llama_cpp/too_long", Code.INVALID_ARGUMENT, "exceeds the available context size (1024 tokens)"),
        ("llama_cpp/wrong_path", Code.NOT_FOUND, "File Not Found (not_found_error); is base_url right?"),
        ("llama_cpp/wrong_key", Code.UNAUTHENTICATED, "Invalid API Key (authentication_error)"),
    ],
)
def test_what_real_servers_say_is_quoted(name: str, code: Code, words: str) -> None:
    case = recorded(name)
    error = refusal("llm", HERE, reply(case["status"], case["body"]))
    assert error.rpc_code is code
    assert words in str(error)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"error": {"message": "too hot", "type": "invalid", "code": None}}, "too hot (invalid)"),
        ({"error": "too hot"}, "too hot"),
        ({"error": {"detail": "too hot"}}, "too hot"),
        ({"object": "error", "message": "too hot", "type": "BadRequest", "code": 400}, "too hot (BadRequest)"),
        ({"detail": [{"loc": ["body"], "msg": "too hot"}]}, '[{"loc":["body"],"msg":"too hot"}]'),
        ({"reason": "too hot"}, '{"reason":"too hot"}'),
        (["too hot"], '["too hot"]'),
        ({"error": None}, '{"error":null}'),
        (b"too\n hot", "too hot"),
        (b"<html><head><title>502 Bad\nGateway</title></head><body></body></html>", "502 Bad Gateway"),
        (b"\xff\xfe", "\ufffd\ufffd"),
    ],
)
def test_the_server_s_words_are_found_wherever_it_puts_them(body: Any, words: str) -> None:
    assert str(refusal("llm", HERE, reply(400, body))).endswith(f"answered 400: {words}")


def test_a_long_complaint_is_cut() -> None:
    assert len(str(refusal("llm", HERE, reply(400, {"error": "x" * 100_000})))) < 700


def test_the_key_is_never_quoted() -> None:
    error = refusal("llm", HERE, reply(401, {"error": {"message": "Incorrect API key provided: sk-secret."}}))
    assert "Incorrect API key provided: ***." in str(error)


def test_a_missing_key_is_told_with_its_remedy() -> None:
    error = refusal("llm", Address(base_url="http://x/v1"), reply(401, {"error": "Unauthorized"}))
    assert "no key was sent: name the environment variable that holds it in api_key_env" in str(error)


def test_a_redirect_is_not_followed_and_told() -> None:
    error = refusal("llm", HERE, reply(307, Location="https://y/v1/chat/completions"))
    assert "it leads to https://y/v1/chat/completions: set base_url to where that is" in str(error)
    assert error.retryable is False


def test_when_to_come_again_is_kept() -> None:
    assert refusal("llm", HERE, reply(429, Retry_After="7")).retry_after_s == 7.0
    assert refusal("llm", HERE, reply(503, Retry_After_Ms="250")).retry_after_s == 0.25
    assert refusal("llm", HERE, reply(429)).retry_after_s is None


def test_waiting_does_not_help_an_account_without_money() -> None:
    body = {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}
    error = refusal("llm", HERE, reply(429, body))
    assert (error.rpc_code, error.retryable) == (Code.RESOURCE_EXHAUSTED, False)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"error": {"message": "no provider", "code": 502}}, Code.UNAVAILABLE),
        ({"error": {"message": "slow down", "code": 429}}, Code.RESOURCE_EXHAUSTED),
        ({"error": {"message": "odd", "code": "odd"}}, Code.INTERNAL),
        ({"error": "odd"}, Code.INTERNAL),
        ({"error": {"message": "odd", "code": 7}}, Code.INTERNAL),
        ({"choices": [], "error": None}, None),
        ({"choices": "x", "error": {"message": "odd"}}, None),
        ([], None),
        (b"", None),
    ],
)
def test_an_error_inside_a_success_is_an_error(body: Any, code: Code | None) -> None:
    error = error_inside("llm", HERE, reply(200, body))
    assert (None if error is None else error.rpc_code) == code


def test_a_page_in_place_of_a_completion_is_told_with_its_beginning() -> None:
    page = b"<!doctype html><html><body>\n Welcome, sk-secret</body></html>"
    error = unreadable("llm", HERE, reply(200, page, Content_Type="text/html; charset=utf-8"), "no JSON")
    assert "(no JSON): 61 bytes of text/html that begin with 'Welcome, ***'; is base_url right?" in str(error)
    assert (error.rpc_code, error.retryable) == (Code.INTERNAL, False)

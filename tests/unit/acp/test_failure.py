"""A failure is the same in both of its forms, and the error that it was comes back."""

from base64 import b64encode
from urllib.parse import quote

import pytest
from hypothesis import given, settings

from stretto.acp.failure import Failure, component_error, failure_of
from stretto.acp.names import Reason
from stretto.acp.problem import failure_of_reply, problem_of
from stretto.acp.status import carried, failure_of_status, status_of
from stretto.types.errors import (
    BreakerOpenError,
    BudgetError,
    Code,
    ComponentError,
    ContractError,
    InDoubtError,
    MeaningError,
    RejectedError,
    ShedError,
    StrettoError,
    Violation,
)
from tests.unit.acp.strategies import failures

_BROKEN = (Violation(pointer="/a", message="is 3; expected text"),)

_ERRORS: list[ComponentError] = [
    *(ComponentError("no", code) for code in Code),
    ComponentError("later", Code.UNAVAILABLE, retry_after_s=1.5),
    ComponentError("never sent", Code.UNAVAILABLE, sent=False),
    ComponentError("once more", Code.INTERNAL, retryable=True),
    ComponentError("not again", Code.UNAVAILABLE, retryable=False),
    ContractError("its input", _BROKEN),
    MeaningError("its intent", _BROKEN),
    BreakerOpenError("open", retry_after_s=2.0),
    ShedError("full", retry_after_s=0.25),
    RejectedError("empty"),
    InDoubtError("who knows"),
]


@settings(max_examples=30)
@given(failures)
def test_a_failure_crosses_http(failure: Failure) -> None:
    status, headers, body = problem_of(failure)
    assert failure_of_reply(status, headers, body) == failure


@settings(max_examples=30)
@given(failures)
def test_a_failure_crosses_grpc(failure: Failure) -> None:
    status = status_of(failure)
    assert failure_of_status(status.code, status.message, status.SerializeToString()) == failure


@pytest.mark.parametrize("error", _ERRORS, ids=lambda error: f"{type(error).__name__}-{error}-{error.rpc_code}")
def test_an_error_comes_back_as_it_was(error: ComponentError) -> None:
    back = component_error(failure_of(error))
    assert type(back) is type(error)
    assert str(back) == str(error)
    facts = ("rpc_code", "retry_after_s", "retryable", "sent")
    assert [getattr(back, fact) for fact in facts] == [getattr(error, fact) for fact in facts]
    if isinstance(error, ContractError):
        assert isinstance(back, ContractError)
        assert back.violations == error.violations


@pytest.mark.parametrize(
    ("error", "code", "reason"),
    [
        (BudgetError("spent"), Code.RESOURCE_EXHAUSTED, Reason.BUDGET),
        (StrettoError("broken"), Code.INTERNAL, ""),
    ],
)
def test_what_no_component_says_has_a_code_too(error: StrettoError, code: Code, reason: str) -> None:
    failure = failure_of(error)
    assert (failure.code, failure.reason) == (code, reason)
    assert not component_error(failure).retryable


@pytest.mark.parametrize("reason", [Reason.IN_DOUBT, Reason.BREAKER_OPEN, Reason.BUDGET])
def test_no_peer_makes_a_retry_of_what_is_final(reason: Reason) -> None:
    told = Failure(code=Code.ABORTED, message="", reason=reason, metadata={"retryable": "yes"})
    assert not component_error(told).retryable


@pytest.mark.parametrize("sign", ["a", "é", "鎖", "😀", "%", "\n"])
def test_words_and_facts_fit_into_trailers_in_any_script(sign: str) -> None:
    places = tuple(Violation(pointer=f"/{number}", message=sign * 50) for number in range(50))
    metadata = {"sent": "no", "digests": "d" * 3000}
    failure = Failure(code=Code.ABORTED, message=sign * 5000, reason="R", violations=places, metadata=metadata)
    words, status = carried(failure)
    assert len(quote(words)) + len(b64encode(status)) < 7_500
    assert words == sign * (1000 // len(sign.encode()))
    back = failure_of_status(10, words, status)
    assert (back.message, back.reason, back.metadata) == (words, "R", {"sent": "no"})


def test_a_proxys_page_is_known_by_its_status() -> None:
    failure = failure_of_reply(503, {"Retry-After": "7"}, b"<html>\n  Service   Unavailable</html>")
    assert failure.code is Code.UNAVAILABLE
    assert failure.retry_after_ms == 7000.0
    assert failure.message == "answered 503: <html> Service Unavailable</html>"


def test_a_peer_without_details_is_known_by_its_code() -> None:
    assert failure_of_status(14, "gone", None) == Failure(code=Code.UNAVAILABLE, message="gone")
    assert failure_of_status(77, "odd", None).code is Code.UNKNOWN


def test_details_that_are_none_or_of_another_code_do_not_count() -> None:
    own = Failure(code=Code.UNAVAILABLE, message="gone")
    refused = status_of(Failure(code=Code.INVALID_ARGUMENT, message="no")).SerializeToString()
    broken = status_of(Failure(code=Code.UNAVAILABLE, message="gone", reason="SHED"))
    broken.details[0].value = b"\xff"
    assert failure_of_status(14, "gone", b"\xff\xff") == own
    assert failure_of_status(14, "gone", refused) == own
    assert failure_of_status(14, "gone", broken.SerializeToString()) == own


def test_a_wait_is_told_in_whole_seconds_that_are_not_too_few() -> None:
    _, headers, _ = problem_of(Failure(code=Code.UNAVAILABLE, message="", retry_after_ms=1001.0))
    assert headers["Retry-After"] == "2"

"""Answers and silences become one tree of errors."""

import ssl

import msgspec
import pytest

from fairlead.kube import errors


def status(code: int, reason: str, **extra: object) -> bytes:
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "said"}
    return msgspec.json.encode({**body, "reason": reason, "code": code, **extra})


@pytest.mark.parametrize(
    ("code", "reason", "kind"),
    [
        (400, "BadRequest", errors.BadRequest),
        (401, "Unauthorized", errors.Unauthorized),
        (403, "Forbidden", errors.Forbidden),
        (404, "NotFound", errors.NotFound),
        (409, "AlreadyExists", errors.AlreadyExists),
        (409, "Conflict", errors.Conflict),
        (410, "Expired", errors.Gone),
        (410, "Gone", errors.Gone),
        (422, "Invalid", errors.Invalid),
        (429, "TooManyRequests", errors.TooManyRequests),
        (500, "InternalError", errors.ServerError),
        (503, "ServiceUnavailable", errors.ServerError),
        (415, "UnsupportedMediaType", errors.ApiError),
    ],
)
def test_each_refusal_has_its_class(code: int, reason: str, kind: type[errors.ApiError]) -> None:
    error = errors.error_from_response(code, status(code, reason, details={"name": "x"}))
    assert type(error) is kind
    assert (error.status, error.reason, error.message) == (code, reason, "said")
    assert error.details == {"name": "x"}
    assert str(error) == "said"


def test_retry_after_comes_from_the_header_or_the_details() -> None:
    body = status(429, "TooManyRequests", details={"retryAfterSeconds": 3})
    assert errors.error_from_response(429, body, "5").retry_after == 5
    assert errors.error_from_response(429, body).retry_after == 3
    assert errors.error_from_response(429, b"").retry_after is None
    assert errors.error_from_response(429, b"", "Wed, 21 Oct 2026").retry_after is None
    assert errors.error_from_response(429, b"", "-1").retry_after == 0


@pytest.mark.parametrize(
    "body",
    [b"<html>\n<p>bad gateway", b"[1]", b"null", b"\xff\xfe", b'{"a":"\xff"}', b"[" * 9999, b""],
)
def test_a_proxy_s_answer_is_an_error_too(body: bytes) -> None:
    error = errors.error_from_response(502, body)
    assert isinstance(error, errors.ServerError)
    assert error.status == 502
    assert str(error)
    assert "\n" not in str(error)


def test_a_strange_status_is_still_an_error() -> None:
    error = errors.error_from_status({"kind": "Status", "code": "many", "details": [], "reason": 7})
    assert isinstance(error, errors.ServerError)
    assert error.message == "7"


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        (ConnectionRefusedError(111, "x"), "connection refused; is it running"),
        (ConnectionResetError(104, "x"), "the connection was reset"),
        (TimeoutError(), "no answer in time"),
        (ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER] wrong version number"), "TLS failed"),
        (OSError(113, "No route to host"), "No route to host"),
        (ValueError(), "ValueError"),
    ],
)
def test_silence_says_what_where_and_what_to_do(cause: Exception, words: str) -> None:
    error = errors.unreachable("https://h:1", cause, written=True)
    assert str(error).startswith("cannot reach the API server at https://h:1: ")
    assert words in str(error)
    assert "\n" not in str(error)
    assert error.written


def test_all_are_of_one_tree_and_the_drawing_shows_it() -> None:
    for name in errors.__all__:
        kind = getattr(errors, name)
        if isinstance(kind, type):
            assert issubclass(kind, errors.KubeError)
            assert name in (errors.__doc__ or "")

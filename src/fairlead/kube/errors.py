"""Everything that can go wrong between us and the API server is one tree.

    KubeError
    ├── KubeconfigError          the kubeconfig does not say how to reach a cluster
    ├── Undecodable              one object or line was not what was promised
    ├── Unreachable              no answer: refused, reset, timed out, TLS
    │   └── Dropped              never sent: a bounded queue let it go
    └── ApiError                 an answer that is a refusal, as its `Status` says
        ├── BadRequest           400
        ├── Unauthorized         401
        ├── Forbidden            403
        ├── NotFound             404
        ├── AlreadyExists        409, reason AlreadyExists
        ├── Conflict             409
        ├── Gone                 410, reasons Expired and Gone
        ├── Invalid              422
        ├── TooManyRequests      429
        └── ServerError          5xx

A caller must be able to tell "the server said no" from "nobody answered" without knowing which HTTP
library was used: after a refusal nothing happened, after silence anything may have. The trap is
`Unreachable.written`: when it is true, the request may have been carried out.
"""

# ruff: noqa: N818 - the classes carry the names of the API's own `reason` field

import contextlib
import socket
import ssl
from collections.abc import Mapping
from typing import Any

import msgspec

__all__ = [
    "UNREADABLE",
    "AlreadyExists",
    "ApiError",
    "BadRequest",
    "Conflict",
    "Dropped",
    "Forbidden",
    "Gone",
    "Invalid",
    "KubeError",
    "KubeconfigError",
    "NotFound",
    "ServerError",
    "TooManyRequests",
    "Unauthorized",
    "Undecodable",
    "Unreachable",
    "error_from_response",
    "error_from_status",
    "unreachable",
]

UNREADABLE = (ValueError, RecursionError)
"""What msgspec raises at hostile bytes: DecodeError, UnicodeDecodeError, or at deep nesting."""


class KubeError(Exception):
    """What this layer raises: catch it to catch all of it."""


class KubeconfigError(KubeError):
    """One line that says what the kubeconfig lacks, in the words of client-go."""


class Undecodable(KubeError):
    """Bytes that should have been an object, with the reason why they are not."""

    def __init__(self, message: str, data: bytes = b"") -> None:
        super().__init__(message)
        self.data = data


class Unreachable(KubeError):
    """No answer came; `written` says whether the request may have been carried out."""

    def __init__(self, message: str, *, written: bool = False) -> None:
        super().__init__(message)
        self.written = written


class Dropped(Unreachable):
    """The request was never sent, because newer ones needed its place in a bounded queue."""


class ApiError(KubeError):
    """The API server refused: HTTP status, and the `Status` body's reason, message and details."""

    def __init__(
        self,
        status: int,
        reason: str,
        message: str,
        details: Mapping[str, Any] | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.message = message
        self.details: Mapping[str, Any] = details or {}
        self.retry_after = retry_after


class BadRequest(ApiError):
    """400: the server could not make sense of the request."""


class Unauthorized(ApiError):
    """401: the server does not know who we are."""


class Forbidden(ApiError):
    """403: the server knows who we are, and we may not."""


class NotFound(ApiError):
    """404: no such object, or no such resource."""


class AlreadyExists(ApiError):
    """409 for a create whose name is taken."""


class Conflict(ApiError):
    """409 for everything else: another resourceVersion or uid, a pod that is already bound."""


class Gone(ApiError):
    """410: the resourceVersion or continue token is older than what the server keeps."""


class Invalid(ApiError):
    """422: the object breaks a rule; `details.causes` names the fields."""


class TooManyRequests(ApiError):
    """429: overload when `retry_after` is set, else a PodDisruptionBudget blocks an eviction."""


class ServerError(ApiError):
    """5xx: the server failed, and what it did before that is not known."""


def error_from_response(status: int, body: bytes, retry_after: str | None = None) -> ApiError:
    """Turns an HTTP answer of 400 and above into the error that it stands for.

    A proxy in between answers with HTML or plain text: its first line becomes the message.
    """
    seconds = _seconds(retry_after)
    document: Any = None
    with contextlib.suppress(*UNREADABLE):
        document = msgspec.json.decode(body)
    if isinstance(document, dict) and document.get("kind") == "Status":
        return error_from_status(document, status, seconds)
    text = body[:400].decode(errors="replace").strip().split("\n", 1)[0]
    return _class_for(status, "")(
        status, "", text or f"HTTP status {status} without a message", None, seconds
    )


def error_from_status(
    document: Mapping[str, Any], status: int | None = None, retry_after: float | None = None
) -> ApiError:
    """Turns a `Status` object (a body, or the object of an ERROR event) into its error.

    The HTTP status wins over `code`: aggregated servers have been seen to disagree with themselves.
    """
    code = status if status is not None else document.get("code")
    code = code if isinstance(code, int) else 500
    reason = str(document.get("reason") or "")
    details = document.get("details")
    details = details if isinstance(details, dict) else None
    if retry_after is None and details and isinstance(details.get("retryAfterSeconds"), int):
        retry_after = float(details["retryAfterSeconds"])
    message = str(document.get("message") or reason or f"HTTP status {code}")
    return _class_for(code, reason)(code, reason, message, details, retry_after)


def unreachable(url: str, error: BaseException, *, written: bool = False) -> Unreachable:
    """Says which URL did not answer, why, and what to look at, in one line."""
    failure = Unreachable(f"cannot reach the API server at {url}: {_why(error)}", written=written)
    failure.__cause__ = error
    return failure


def _why(error: BaseException) -> str:
    chain = _causes(error)[::-1]  # the innermost knows most: aiohttp's wrappers borrow its classes
    for cause in chain:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return (
                f"its certificate is not trusted ({cause.verify_message}); "
                "check certificate-authority in the kubeconfig"
            )
    for cause in chain:
        if isinstance(cause, ssl.SSLError):
            why = getattr(cause, "reason", None) or cause
            return f"TLS failed ({why}); check that the server speaks TLS"
        if isinstance(cause, socket.gaierror):
            return "no such host; check the server in the kubeconfig"
        if isinstance(cause, ConnectionRefusedError):
            return "connection refused; is it running, and is the server in the kubeconfig right?"
        if isinstance(cause, ConnectionResetError | BrokenPipeError):
            return "the connection was reset; it may be restarting"
    for cause in chain:
        if isinstance(cause, TimeoutError):
            return "no answer in time; check the network, or whether it is overloaded"
    return " ".join(str(chain[0]).split()) or type(chain[0]).__name__


def _causes(error: BaseException) -> list[BaseException]:
    """Walks from the library's error to the one of the operating system."""
    chain: list[BaseException] = []
    cursor: BaseException | None = error
    while cursor is not None and cursor not in chain:
        chain.append(cursor)
        inner = getattr(cursor, "os_error", None) or getattr(cursor, "certificate_error", None)
        cursor = inner if isinstance(inner, BaseException) else cursor.__cause__
    return chain


_BY_CODE: Mapping[int, type[ApiError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    422: Invalid,
    429: TooManyRequests,
}


def _class_for(code: int, reason: str) -> type[ApiError]:
    if reason == "AlreadyExists":
        return AlreadyExists
    if reason in ("Expired", "Gone"):
        return Gone
    return _BY_CODE.get(code) or (ServerError if code >= 500 else ApiError)


def _seconds(header: str | None) -> float | None:
    """Reads `Retry-After` in seconds; an HTTP date is not something that an API server sends."""
    if header is None:
        return None
    try:
        return max(0.0, min(float(header), 3600.0))
    except ValueError:
        return None

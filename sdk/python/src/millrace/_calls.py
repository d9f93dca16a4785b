"""Calls as data: what to send, whether to retry, and how to read the answer.

Both clients perform them; each adds only its own way to send and to sleep.
"""

from __future__ import annotations

import datetime
import enum
import random
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Callable, Generic, TypeVar
from urllib.parse import quote, urlencode, urlsplit

from . import _json, errors
from ._constants import COMMIT_PATIENCE_S, FIRST_PAUSE_S, LONGEST_PAUSE_S, LONGEST_WAIT_S
from ._time import Duration, to_rfc3339, to_seconds
from .models import Page

T = TypeVar("T")

_TEMPORARY = frozenset({429, 502, 503, 504})
_CERTAINLY_NOT_BEGUN = frozenset({429, 503})
_FULL = frozenset({"queue_full", "key_full"})


class Repeat(enum.Enum):
    """When a call may be sent again."""

    ALWAYS = "the server answers a repetition like the first call"
    IF_NOT_BEGUN = "only if the server cannot have begun"


@dataclass(frozen=True)
class Response:
    """An HTTP answer; the names of its headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def retry_after(self) -> float | None:
        text = self.headers.get("retry-after", "")
        return float(text) if text.isascii() and text.isdigit() else None


@dataclass(frozen=True)
class Call(Generic[T]):
    method: str
    path: str
    read: Callable[[Response], T]
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    repeat: Repeat = Repeat.ALWAYS


def path(*parts: str, **query: Any) -> str:
    """Return a path with a query. Parts are percent-encoded; members that are None are left out."""
    return "/v1/" + "/".join(quote(part, safe="") for part in parts) + query_text(query)


def query_text(query: Mapping[str, Any]) -> str:
    """Return a query with its question mark; nothing if every member is None."""
    given = {name: _text(value) for name, value in query.items() if value is not None}
    return f"?{urlencode(given)}" if given else ""


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(map(str, value))
    return to_rfc3339(value) if isinstance(value, datetime.datetime) else str(value)


def body(value: Any) -> bytes:
    return _json.dumps(value).encode()


def read_json(response: Response) -> Any:
    try:
        return _json.loads(response.body)
    except ValueError:
        raise errors.bad_answer(response.status, "its body is not JSON") from None


def read_object(response: Response) -> dict[str, Any]:
    value = read_json(response)
    if not isinstance(value, dict):
        raise errors.bad_answer(response.status, "its body is not a JSON object")
    return value


def read_nothing(response: Response) -> None:
    return None


def error_of(response: Response) -> errors.MillraceError:
    """Return the error of an answer whose status is not 2xx."""
    try:
        problem = _json.loads(response.body)
    except ValueError:
        problem = None
    if not isinstance(problem, dict) or problem.get("status") != response.status:
        what = f"status {response.status} without a problem document"
        return errors.bad_answer(response.status, what, response.retry_after)
    return errors.from_problem(problem, response.retry_after)


def jittered(tries: int) -> float:
    """Return a random pause after this many tries, in seconds ("full jitter")."""
    return random.uniform(0, min(FIRST_PAUSE_S * 2 ** min(tries, 16), LONGEST_PAUSE_S))


class Lost(Exception):
    """A try that got no answer.

    `refused` says that no connection was established, so the server cannot have begun.
    """

    def __init__(self, message: str, *, refused: bool = False, is_final: bool = False) -> None:
        super().__init__(message)
        self.refused = refused
        self.is_final = is_final  # no other try can help


def no_tls(url: str, error: ssl.SSLError) -> Lost:
    """Return the failure of a handshake. A certificate that is not trusted stays so."""
    if not isinstance(error, ssl.SSLCertVerificationError):
        return Lost(f"no TLS with {url}: {error}", refused=True)
    why = f"the certificate of {url} is not trusted: {error.verify_message}"
    return Lost(f"{why}; ca_file takes the authority's", refused=True, is_final=True)


class Tries:
    """The tries of one call. Decides after each try whether and when to retry.

    Args:
        timeout: bounds all tries and pauses together, in seconds.
        queue_full_timeout: the same, while a queue is full.
    """

    def __init__(self, call: Call[Any], timeout: float, queue_full_timeout: float) -> None:
        self._call = call
        self._began = time.monotonic()
        self._ends = self._began + timeout
        self._queue_full_timeout = queue_full_timeout
        self._failures = 0

    def left(self) -> float:
        """Return the seconds until the deadline; never 0, which sockets take as "no bound"."""
        return max(self._ends - time.monotonic(), 0.001)

    def lost(self, lost: Lost) -> float:
        """Return the pause before the next try. Raises Unreachable if there is no next try."""
        error = errors.Unreachable(str(lost), code="unreachable")
        may_repeat = self._call.repeat is Repeat.ALWAYS or lost.refused
        return self._pause(error, may_repeat and not lost.is_final)

    def answered(self, response: Response) -> float | None:
        """Return None on success, else the pause before the next try. Raises final errors."""
        if 200 <= response.status < 300:
            return None
        if self._call.method == "DELETE" and response.status == 404 and self._failures:
            return None  # an earlier try deleted it, and its answer was lost
        curable = _TEMPORARY if self._call.repeat is Repeat.ALWAYS else _CERTAINLY_NOT_BEGUN
        return self._pause(error_of(response), response.status in curable)

    def _pause(self, error: errors.MillraceError, may_repeat: bool) -> float:
        error._is_of_a_repetition = self._failures > 0
        pause = max(jittered(self._failures), error.retry_after or 0.0)
        ends = self._ends
        if error.code in _FULL:
            ends = min(ends, self._began + self._queue_full_timeout)
        if not may_repeat or time.monotonic() + pause >= ends:
            raise error from None
        self._failures += 1
        return pause


def all_pages(page_at: Callable[[str | None], Page[T]]) -> Iterator[T]:
    """Iterate over the items of all pages, each of which `page_at` gives for its cursor."""
    cursor: str | None = None
    while True:
        page = page_at(cursor)
        yield from page.items
        cursor = page.next_cursor
        if cursor is None:
            return


async def all_pages_async(
    page_at: Callable[[str | None], Awaitable[Page[T]]],
) -> AsyncIterator[T]:
    """Do the same with pages that are awaited."""
    cursor: str | None = None
    while True:
        page = await page_at(cursor)
        for item in page.items:
            yield item
        cursor = page.next_cursor
        if cursor is None:
            return


class Waiting:
    """A wait for an end, by several requests.

    Args:
        what: what has to end, for people.
        timeout: how long; None means without a bound.
    """

    def __init__(self, what: str, timeout: Duration | None) -> None:
        self._what = what
        self._began = time.monotonic()
        self._ends = None if timeout is None else self._began + to_seconds("timeout", timeout)

    def next_s(self) -> float:
        """Return how long the next request may wait at the server."""
        left = LONGEST_WAIT_S if self._ends is None else self._ends - time.monotonic()
        return min(max(left, 0.0), LONGEST_WAIT_S)

    def is_too_late_to_come(self) -> bool:
        """Whether what is not there won't come: a transaction that submitted it has committed."""
        comes = self._began + COMMIT_PATIENCE_S
        return time.monotonic() >= (comes if self._ends is None else min(comes, self._ends))

    def check(self, state: str) -> None:
        """Raise WaitTimeout if the time is over."""
        if self._ends is not None and time.monotonic() >= self._ends:
            raise errors.WaitTimeout(f"{self._what} is still {state}", code="wait_timeout")


def split_url(url: str) -> tuple[str, str, int, str]:
    """Return scheme, host, port and path prefix of a server's address; ValueError if invalid."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"the server's URL must be http://... or https://..., not {url!r}")
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return parts.scheme, parts.hostname, port, parts.path.rstrip("/")

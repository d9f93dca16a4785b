"""The worker's polls: their contents, and sending them to the server."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import _json
from ._aio_http import AsyncTransport, Grip
from ._attempt import Attempt
from ._calls import Call, Lost, error_of, read_object
from ._config import Config
from ._constants import GOODBYE_S
from ._operations import heartbeat, poll
from ._outbox import Ack
from .context import Line
from .errors import MillraceError, Unreachable

_logger = logging.getLogger("millrace.worker")


@dataclass(frozen=True)
class Options:
    """The options of a worker. Durations are in seconds."""

    id: str
    queues: Sequence[str]
    types: Sequence[str]
    concurrency: int
    lease_s: float | None
    poll_wait_s: float
    grace_s: float
    timeout_s: float
    host: str
    pid: int
    version: str | None  # of the application


class Request:
    """The contents of one poll."""

    def __init__(self) -> None:
        self.acks: list[Ack] = []
        self.beats: list[tuple[Attempt, dict[str, str]]] = []  # with progress by member, as JSON
        self.lines: list[tuple[Attempt, Line]] = []
        self.limit = 0  # of the claim; 0: no claim
        self.wait_s = 0.0


@dataclass(frozen=True)
class Answer:
    """The answer to a poll. Instants are those of the monotonic clock."""

    sent: float
    came: float
    acks: Sequence[Mapping[str, Any]]
    heartbeats: Sequence[Mapping[str, Any]]
    jobs: Sequence[Mapping[str, Any]]
    commands: Sequence[Mapping[str, Any]]


class Link:
    """Sends polls, each on its own connection while it runs. Logs once that the server is lost, and
    once that it is back. Used by the worker's own loop only.
    """

    def __init__(self, config: Config, options: Options) -> None:
        self._config = config
        self._options = options
        self._transport = AsyncTransport(config)
        self.is_lost = False

    async def poll(self, request: Request, timeout: float, grip: Grip | None = None) -> Answer:
        """Send a poll. Raises a MillraceError if there is no answer or a refusal."""
        sent = time.monotonic()
        answer = await self._send(poll(self._options.id, self._body_of(request)), timeout, grip)
        return Answer(
            sent,
            time.monotonic(),
            answer.get("acks") or (),
            answer.get("heartbeats") or (),
            answer.get("jobs") or (),
            answer.get("commands") or (),
        )

    async def job_of(self, attempt: Attempt, timeout: float) -> Mapping[str, Any]:
        """Return the attempt's job as the server shows it, by a separate heartbeat."""
        return await self._send(heartbeat(attempt.id, attempt.token), timeout)

    async def say_goodbye(self) -> None:
        """Remove the worker from the server's list. Nothing depends on it, so it is tried once."""
        if self.is_lost:
            return
        try:
            await self._transport.send(poll(self._options.id, b'{"goodbye":true}'), GOODBYE_S)
        except (Lost, MillraceError):
            pass

    async def close(self) -> None:
        await self._transport.close()

    def lost(self, error: MillraceError) -> None:
        """Take note that a poll failed because the server did not answer."""
        if not self.is_lost:
            self.is_lost = True
            url = self._config.url
            why = str(error).replace(f" to {url}", "")
            _logger.warning("the server at %s does not answer (%s); trying again", url, why)

    async def _send(
        self, call: Call[dict[str, Any]], timeout: float, grip: Grip | None = None
    ) -> dict[str, Any]:
        try:
            response = await self._transport.send(call, timeout, grip)
        except Lost as lost:
            error = Unreachable(str(lost), code="unreachable")
            error._is_of_no_connection = lost.refused
            raise error from None
        if response.status != 200:
            raise error_of(response)
        answer = read_object(response)
        if self.is_lost:
            self.is_lost = False
            # Whoever saw the warning must see its end.
            _logger.warning("connected to the server at %s again", self._config.url)
        return answer

    def _body_of(self, request: Request) -> bytes:
        members = []
        if request.acks:
            members.append(f'"acks":[{",".join(ack.text for ack in request.acks)}]')
        if request.beats:
            beats = ",".join(attempt.heartbeat(progress) for attempt, progress in request.beats)
            members.append(f'"heartbeats":[{beats}]')
        if request.lines:
            lines = [
                {"id": attempt.id, "token": attempt.token, **line.to_wire()}
                for attempt, line in request.lines
            ]
            members.append(f'"logs":{_json.dumps(lines)}')
        if request.limit:
            members.append(f'"claim":{_json.dumps(self._claim_of(request))}')
        return f"{{{','.join(members)}}}".encode()

    def _claim_of(self, request: Request) -> dict[str, Any]:
        options = self._options
        worker: dict[str, Any] = {"host": options.host, "pid": options.pid, "sdk": "python"}
        if options.version:
            worker["version"] = options.version
        claim: dict[str, Any] = {
            "queues": list(options.queues),
            "types": list(options.types),
            "limit": request.limit,
            "wait_ms": round(request.wait_s * 1000),
            "worker": worker,
        }
        if options.lease_s is not None:
            claim["lease_ms"] = round(options.lease_s * 1000)
        return claim


def is_about_content(error: MillraceError) -> bool:
    """Return whether something in the request was refused, rather than the worker."""
    return error.status == 413 or (error.status in (400, 422) and error.code != "bad_answer")


def is_refusal(error: MillraceError) -> bool:
    """Return whether the error is permanent."""
    return error.status in (400, 401, 403, 404, 413, 422) and error.code != "bad_answer"

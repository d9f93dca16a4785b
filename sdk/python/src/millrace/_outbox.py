"""Outcomes that the server has not answered yet."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

from ._constants import MANY_OUTCOMES, MOST_ITEMS, MOST_OUTCOME_BYTES, OUTCOME_DELAY_S

INFINITY = float("inf")


class Ack:
    """An outcome. Each time it is sent, its text is the same."""

    __slots__ = ("id", "is_substitute", "lease_s", "since", "text", "token")

    def __init__(
        self,
        id: str,
        token: int,
        text: str,
        since: float,
        lease_s: float,
        is_substitute: bool = False,
    ) -> None:
        self.id = id
        self.token = token
        self.text = text
        self.since = since  # when it came, or when to send it again; on the monotonic clock
        self.lease_s = lease_s  # the length of its lease, which makes it urgent
        self.is_substitute = is_substitute  # replaces an outcome that the server refused


class Outbox:
    """Holds outcomes until the server has answered them, except while a poll carries them."""

    def __init__(self) -> None:
        self._waiting: deque[Ack] = deque()
        self._alone: deque[Ack] = deque()
        self._in_flight = 0

    def __len__(self) -> int:
        """Return how many outcomes wait that may be sent together."""
        return len(self._waiting)

    @property
    def count_alone(self) -> int:
        return len(self._alone)

    @property
    def is_empty(self) -> bool:
        """Whether the server has answered all outcomes."""
        return not (self._waiting or self._alone or self._in_flight)

    def add(self, ack: Ack) -> None:
        self._waiting.append(ack)

    def add_alone(self, acks: Iterable[Ack]) -> None:
        """Add outcomes to be sent in separate polls, as one may be why a poll was refused."""
        self._alone.extend(acks)

    def take(self) -> list[Ack]:
        """Remove and return as many outcomes as fit into one poll, oldest first."""
        taken: list[Ack] = []
        size = 0
        while self._waiting and len(taken) < MOST_ITEMS and size < MOST_OUTCOME_BYTES:
            ack = self._waiting.popleft()
            size += len(ack.text)
            taken.append(ack)
        self._in_flight += len(taken)
        return taken

    def take_alone(self) -> list[Ack]:
        self._in_flight += 1
        return [self._alone.popleft()]

    def give_back(self, acks: Sequence[Ack]) -> None:
        """Put unanswered outcomes back. If the server has them, it repeats its first answer."""
        self._waiting.extendleft(reversed(acks))

    def landed(self, acks: Sequence[Ack]) -> None:
        """Take note that the poll that carried these is over, with or without success."""
        self._in_flight -= len(acks)

    def due(self, at_once: bool) -> float:
        """Return when the outcomes must be sent. They wait for others unless `at_once`."""
        if not self._waiting:
            return INFINITY
        since = self._waiting[0].since
        return since if at_once or len(self._waiting) >= MANY_OUTCOMES else since + OUTCOME_DELAY_S

    def due_alone(self) -> float:
        return self._alone[0].since if self._alone else INFINITY

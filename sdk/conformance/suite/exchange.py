"""One request that passed a Way, its fate, and its content about jobs."""

import dataclasses
import json


@dataclasses.dataclass(eq=False)
class Exchange:
    """Times are of this process's monotonic clock, in seconds."""

    connection: int  # the number of the way's connection, from 1
    at: float  # when it had arrived
    method: str
    target: str
    headers: dict  # lower-case names
    body: bytes
    fate: str = ""  # the harm that the way did to it, if any
    status: int | None = None  # of the answer, if one reached the way
    answer: bytes = b""
    delivered_at: float | None = None  # when the whole answer had been passed on

    @property
    def path(self):
        return self.target.split("?", 1)[0]

    @property
    def said(self):
        """The body's JSON; an empty object if there is none."""
        return _object(self.body)

    @property
    def answered(self):
        return _object(self.answer)

    @property
    def claim(self):
        """The members of its claim; None if it has no claim."""
        if self.path == "/v1/claim":
            return self.said
        return self.said.get("claim") if self.path.endswith("/poll") else None

    @property
    def jobs(self):
        """The jobs in its answer."""
        return self.answered.get("jobs", []) if self.claim is not None else []

    @property
    def acks(self):
        """(item, its result or None) for each outcome in it."""
        return self._items("acks", "/v1/ack")

    @property
    def heartbeats(self):
        """(item, its result or None) for each heartbeat in it."""
        return self._items("heartbeats", "/v1/heartbeat")

    @property
    def logs(self):
        return self._items("logs", None)

    def _items(self, member, path):
        if self.path.endswith("/poll"):
            items, results = self.said.get(member), self.answered.get(member)
        elif self.path == path:
            items, results = self.said.get("items"), self.answered.get("results")
        else:
            return []
        items, results = items or [], results or []
        return list(zip(items, [*results, *[None] * (len(items) - len(results))]))

    def told(self, begin):
        """A line for people."""
        text = f"{self.at - begin:7.3f} s  c{self.connection} {self.method} {self.target}"
        if self.body:
            text += f" {self.body.decode(errors='replace')[:240]}"
        text += f" -> {self.status}"
        if self.answer:
            text += f" {self.answer.decode(errors='replace')[:160]}"
        if self.delivered_at is None:
            text += " (not delivered)"
        elif self.delivered_at - self.at > 0.1:
            text += f" (after {self.delivered_at - self.at:.3f} s)"
        return text + (f" [{self.fate}]" if self.fate else "")


def _object(body):
    if not body:
        return {}
    try:
        read = json.loads(body)
    except ValueError:
        return {}
    return read if isinstance(read, dict) else {}

"""A client that records all its requests and their answers."""

import dataclasses
import http.client
import json
import random
import threading
import time

import history

TIMEOUT_S = 2.5
# Refused before it was decided: nothing happened.
REFUSALS_OF_503 = {"overloaded", "draining"}
# Done in several commands: the refusal may concern only the last one.
IN_SEVERAL_STEPS = {"purge"}


@dataclasses.dataclass(frozen=True)
class Targets:
    """The servers (nodes of one store) that a client may use, as "host:port", and its token."""

    addresses: tuple
    token: str | None = None


class Actor(threading.Thread):
    """One client with one connection, on its own thread if started. It uses one of the servers
    until that is gone or says that it is stopping, and then the next one.
    """

    def __init__(self, name, targets, directory, seed, stop=None):
        super().__init__(name=name, daemon=True)
        self.targets = targets
        self.dice = random.Random(f"{seed}/{name}")
        self.at = self.dice.randrange(len(targets.addresses)) if len(targets.addresses) > 1 else 0
        self.stop = stop or threading.Event()
        self.failure = None
        self._connection = None
        self._file = open(f"{directory}/{name}.jsonl", "a", buffering=1 << 16)

    def run(self):
        try:
            while not self.stop.is_set():
                self.act()
        except Exception as error:  # a fault of the harness, which the round must report
            self.failure = error
            raise
        finally:
            self.close()

    def act(self):
        raise NotImplementedError

    def rest(self, low_s, high_s):
        self.stop.wait(self.dice.uniform(low_s, high_s))

    def close(self):
        self._disconnect()
        self._file.close()

    # One recorded request.

    def call(self, op, method, path, args, body=None, headers=None, timeout_s=TIMEOUT_S, view=None):
        """Sends one request and returns its Record, or None if no server listened, so that nothing
        can have happened. `view(reply)` selects the part of a successful answer that the record
        keeps.
        """
        record = history.Record(self.name, op, time.monotonic(), 0.0, "maybe", args)
        try:
            if self._connection is None:
                self._connect(timeout_s)
        except OSError:
            self._go_elsewhere()
            self.rest(0.02, 0.06)
            return None
        try:
            self._connection.sock.settimeout(timeout_s)
            self._exchange(record, method, path, body, headers, view)
        except (OSError, http.client.HTTPException):
            self._go_elsewhere()
        record.end = time.monotonic()
        self._file.write(record.line() + "\n")
        if record.outcome == "maybe":
            self.rest(0.005, 0.03)
        return record

    def _exchange(self, record, method, path, body, headers, view):
        raw = None if body is None else json.dumps(body, separators=(",", ":")).encode()
        sent = {"Content-Type": "application/json"} if raw is not None else {}
        if self.targets.token:
            sent["Authorization"] = f"Bearer {self.targets.token}"
        self._connection.request(method, path, raw, {**sent, **(headers or {})})
        answer = self._connection.getresponse()
        text = answer.read()
        if answer.will_close:
            self._disconnect()
        record.status = answer.status
        if answer.status < 300:
            record.outcome = "ok"
            if view:
                record.reply = view(json.loads(text), answer.status)
            return
        record.code = json.loads(text)["code"]
        if record.code == "draining":
            self._go_elsewhere()
        refused = record.code in REFUSALS_OF_503 and record.op not in IN_SEVERAL_STEPS
        known = answer.status < 500 or refused
        record.outcome = "no" if known else "maybe"

    def _connect(self, timeout_s):
        address = self.targets.addresses[self.at]
        self._connection = http.client.HTTPConnection(address, timeout=timeout_s)
        self._connection.connect()

    def _go_elsewhere(self):
        self._disconnect()
        self.at = (self.at + 1) % len(self.targets.addresses)

    def _disconnect(self):
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def seen(job, _status=200):
    """The part of a job in an answer that a record keeps."""
    names = ("id", "state", "version", "generation", "attempt")
    return {"items": [{"status": 200, **{name: job[name] for name in names}}]}


def results(reply, _status=200):
    """The part of a batch call's answer that a record keeps."""
    names = ("status", "id", "state", "version")
    return {"items": [{name: result[name] for name in names if name in result} for result in reply["results"]]}

"""A worker of the contract: one lock, a thread for each handler, one for claims, one for
reports.
"""

import os
import random
import socket
import threading
import time
import uuid

from client import MUTANT, Problem

BATCH = 64
LATE_S = 0.005  # how long an outcome may wait for others


class Told(Exception):
    """The reference's exception for cancellation."""


class Attempt:
    """One job under its lease, and the signals to its handler."""

    def __init__(self, worker, job, sent):
        self.worker, self.job = worker, job
        self.id, self.token = job["id"], job["lease"]["token"]
        self.length = job["lease"]["lease_ms"] / 1000
        self.until = (sent if MUTANT != "lease-from-answer" else clock()) + self.length
        self.beat_at = sent + self.length / 3
        self.reason, self.told = None, threading.Event()
        self.started = self.over = self.was_beaten = False
        self.timeout_at, self.answered_at = None, clock()
        self.asks_for_timeout = bool(job.get("deadline")) and job["deadline"] <= job["lease"]["expires_at"]
        if job.get("deadline") and not self.asks_for_timeout:
            from_ms = ms(job["lease"]["expires_at"]) - job["lease"]["lease_ms"]
            left = (ms(job["deadline"]) - from_ms) / 1000
            if MUTANT == "timeout-by-wall-clock":
                left = ms(job["deadline"]) / 1000 - time.time()
            self.timeout_at = self.answered_at + left
        self.progress, self.progress_due = None, None
        self.lines, self.enqueued, self.grown = [], [], {}

    def tell(self, reason):
        if (self.reason and MUTANT != "told-twice") or self.over:
            return
        self.reason = self.reason or reason
        self.told.set()
        self.worker.events.told(self, reason)

    def cut_lines(self):
        """Drops the oldest lines beyond 256 KiB."""
        size = sum(len(line["message"]) for line in self.lines)
        while size > 256 << 10 and MUTANT != "lines-without-end":
            size -= len(self.lines.pop(0)["message"])

    def key(self):
        return {"id": self.id, "token": self.token}


def ms(text):
    import datetime

    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1000


def clock():
    return time.time() if MUTANT == "leases-by-wall-clock" else time.monotonic()


class Worker:
    """`run(attempt)` plays a handler and returns an ack without its key. Ends by stop()."""

    def __init__(
        self,
        client,
        events,
        run,
        name,
        queues,
        types,
        concurrency,
        lease_ms,
        poll_wait_ms,
        grace_ms,
        version,
    ):
        self.client, self.events, self.run, self.name = client, events, run, name
        self.claim = {"queues": queues, "types": types, "wait_ms": poll_wait_ms}
        if MUTANT == "claims-all-types":
            del self.claim["types"]
        if MUTANT == "no-wait":
            self.claim["wait_ms"] = 0
        if lease_ms:
            self.claim["lease_ms"] = lease_ms
        self.version = version or os.environ.get("MILLRACE_WORKER_VERSION")
        if MUTANT == "version-of-the-sdk":
            self.version = "1.0.0"
        self.concurrency, self.grace = concurrency, grace_ms / 1000
        self.id = f"{socket.gethostname()}.{os.getpid()}.{uuid.uuid4().hex[:8]}"
        self.lock = threading.Condition()
        self.attempts, self.outbox = {}, []
        self.stopping_at = None
        self.quiet = self.dead = self.done = False
        self.error, self.lost = None, False
        self.reporting = self.claiming = False
        self.failures, self.claimed_at = 0, 0
        self.ended = threading.Event()
        self.threads = [threading.Thread(target=t, daemon=True) for t in (self.claim_on, self.report_on, self.watch)]
        for thread in self.threads:
            thread.start()

    def stop(self, error=None):
        with self.lock:
            self.error = self.error or error
            if self.stopping_at is None:
                self.stopping_at = time.monotonic() + (0 if error else self.grace)
            self.lock.notify_all()

    def hurry(self):
        with self.lock:
            if self.stopping_at is not None and MUTANT != "deaf-to-second-signal":
                self.stopping_at = min(self.stopping_at, time.monotonic())

    # The claimer.

    def free(self):
        return self.concurrency - len(self.attempts) + (5 if MUTANT == "claims-too-many" else 0)

    def claim_on(self):
        n = 0
        while True:
            with self.lock:
                while (self.free() <= 0 or self.quiet) and self.stopping_at is None:
                    self.lock.wait()
                if self.stopping_at is not None and MUTANT != "claims-on":
                    break
                if self.dead:
                    break
                limit = self.free()
                acks = self.take_acks()
                self.claiming, self.claimed_at = True, time.monotonic()
            said = {
                "claim": {
                    **self.claim,
                    "limit": limit,
                    "worker": {
                        "host": socket.gethostname(),
                        "pid": os.getpid(),
                        "sdk": "reference",
                        "version": self.version,
                    },
                }
            }
            pause = self.exchange(said, acks, n)
            self.claiming = False
            n = n + 1 if pause is not None else 0
            if pause is not None:
                self.nap(pause)
        self.claiming = False

    def nap(self, seconds):
        deadline = time.monotonic() + seconds
        with self.lock:
            while self.stopping_at is None and time.monotonic() < deadline:
                self.lock.wait(deadline - time.monotonic())

    def take_acks(self):
        size = 1 if MUTANT == "one-by-one" else BATCH
        taken = self.outbox[:size]
        del self.outbox[:size]
        return taken

    def exchange(self, said, acks, n=0, beats=(), lines=()):
        """Makes a poll. Returns the pause to make if it failed, or None on success."""
        sent = clock()
        wait = said.get("claim", {}).get("wait_ms", 0) / 1000
        timeout = wait + 5
        if beats and not acks:
            timeout = max(0.3, min(a.length for a in beats) / 3)
        if acks:
            said["acks"] = [ack for _, ack in acks]
        if beats:
            said["heartbeats"] = [self.beat(attempt) for attempt in beats]
        if lines:
            said["logs"] = [{**attempt.key(), **line} for attempt, line in lines]
        try:
            answer = self.client.call("POST", f"/v1/workers/{self.id}/poll", said, timeout=timeout, tries=1)[0]
        except Problem as problem:
            with self.lock:
                if MUTANT != "acks-once":
                    self.outbox = acks + self.outbox
                for attempt, line in reversed(lines):
                    attempt.lines.insert(0, line)
                    attempt.lines_due = clock() + 0.2
                    attempt.cut_lines()
                if MUTANT == "acks-changed":
                    for _, ack in acks:
                        ack["delay_ms" if ack["outcome"] == "failed" else "result"] = random.randint(0, 9)
            if problem.status in (401, 403, 400, 404, 422) and MUTANT != "deaf-to-401":
                self.dead = True
                self.stop(problem)
                return None
            if self.stopping_at is not None and "claim" in said:
                return 0
            if not self.lost or MUTANT == "warns-often":
                self.lost = True
                self.events.log("warn", f"the server is lost: {problem}")
            pause = random.uniform(0, min(5, 0.1 * 2 ** min(n, 10)))
            if MUTANT == "hammers":
                pause = 0
            if problem.retry_after and MUTANT != "poll-ignores-retry-after":
                pause = max(pause, problem.retry_after)
            return pause
        if self.lost:
            self.lost = False
            self.events.log("info", "the server is back")
        with self.lock:
            for (attempt, ack), result in zip(acks, answer["acks"]):
                is_refused = result["status"] in (409, 413, 422) and result["error"].get("code") != "lease_lost"
                if is_refused and ack["outcome"] == "succeeded" and MUTANT != "refused-growth-passes":
                    self.outbox.append((attempt, {**attempt.key(), **refused(result["error"].get("detail", ""))}))
                elif MUTANT == "acks-twice" and "again" not in attempt.__dict__:
                    attempt.again = True
                    threading.Timer(1, lambda a=attempt, k=ack: self.outbox.append((a, k))).start()
            for attempt, result in zip(beats, answer["heartbeats"]):
                self.beaten(attempt, result, sent)
            for command in answer["commands"]:
                self.obey(command)
            for job in answer["jobs"]:
                self.take(Attempt(self, job, sent))
            self.lock.notify_all()
        return None

    def obey(self, command):
        if command["type"] == "cancel" and not MUTANT.startswith("deaf-to-cancel"):
            attempt = self.attempts.get((command["job_id"], command["token"]))
            if attempt:
                attempt.tell("cancelled")
        elif command["type"] == "stop":
            threading.Thread(target=self.stop).start()
        elif command["type"] == "quiet" and MUTANT != "deaf-to-quiet":
            self.quiet = True

    def take(self, attempt):
        if self.stopping_at is not None and MUTANT != "starts-after-stop":
            self.outbox.append((attempt, {**attempt.key(), "outcome": "released"}))
            return
        self.attempts[attempt.id, attempt.token] = attempt
        age = attempt.length - (attempt.until - clock())
        if age > attempt.length / 3 and MUTANT != "runs-late-claims":
            attempt.beat_at = 0  # the handler starts once a heartbeat has succeeded
        else:
            self.start(attempt)

    def start(self, attempt):
        attempt.started = True
        threading.Thread(target=self.handle, args=(attempt,), daemon=True).start()

    def handle(self, attempt):
        if attempt.asks_for_timeout and MUTANT != "timeout-by-formula":
            try:
                job = self.client.call("POST", f"/v1/jobs/{attempt.id}/heartbeat", {"token": attempt.token})[0]
                attempt.timeout_at = attempt.answered_at + job["timeout_ms"] / 1000
            except Problem:
                attempt.tell("lease_lost")
        ack = self.run(attempt)
        self.tell_failure(attempt, ack)
        if MUTANT == "last-progress-lost" and ack.get("outcome") == "succeeded":
            attempt.progress_due = None
        while attempt.progress_due and clock() < attempt.until:
            attempt.progress_due = None
            if MUTANT != "last-checkpoint-lost" and self.exchange({}, [], 0, [attempt]) is not None:
                attempt.progress_due = clock()
                time.sleep(0.1)
        with self.lock:
            if attempt.over:  # released at the stop
                self.events.end(attempt)
                return
            attempt.over = True
            self.events.end(attempt)
            self.attempts.pop((attempt.id, attempt.token), None)
            if attempt.lines and MUTANT != "last-lines-lost":
                ack["logs"] = attempt.lines
            if attempt.reason != "lease_lost" or MUTANT == "acks-lost-leases":
                self.outbox.append((attempt, {**attempt.key(), **ack}))
            self.lock.notify_all()

    def tell_failure(self, attempt, ack):
        if ack.get("outcome") != "failed" or MUTANT == "failures-in-silence":
            return
        job, error = attempt.job, ack["error"]
        is_dead = error.get("retryable") is False or job["attempt"] >= job["max_attempts"]
        is_meant = "delay_ms" in ack and not is_dead and MUTANT != "warns-of-retry-after"
        said = f"job {attempt.id} ({job['type']}): attempt {job['attempt']} failed: {error['type']}: {error['message']}"
        self.events.log("info" if is_meant else "warn", said)

    # The reporter.

    def beat(self, attempt):
        said = attempt.key()
        if attempt.progress is not None:
            said["progress"] = attempt.progress
        return said

    def beaten(self, attempt, result, sent):
        if result["status"] == 200:
            attempt.until = sent + attempt.length
            attempt.beat_at = sent + attempt.length / 3
            if not attempt.started:
                self.start(attempt)
            if result.get("cancel_requested") and MUTANT != "deaf-to-cancel":
                attempt.tell("cancelled")
        elif MUTANT != "deaf-to-lease-lost":
            if not attempt.started:
                self.attempts.pop((attempt.id, attempt.token), None)
            attempt.tell("lease_lost")

    def deliver(self, acks):
        """Sends outcomes. Unanswered ones wait again. One call at a time."""
        pause = self.exchange({}, acks, self.failures)
        self.failures = self.failures + 1 if pause is not None else 0
        if pause:
            time.sleep(pause if self.stopping_at is None else min(pause, 0.5))
        self.reporting = False

    def report_on(self):
        n = 0
        while not self.done:
            time.sleep(LATE_S)
            now = clock()
            with self.lock:
                late = [a for a in self.attempts.values() if a.beat_at <= now or (a.progress_due or now + 1) <= now]
                if MUTANT == "beats-in-handlers":
                    late = [a for a in late if not getattr(a, "blocked", False)]
                if MUTANT == "no-heartbeats":
                    late = []
                for attempt in late:
                    attempt.beat_at = now + attempt.length / 12
                    attempt.progress_due = None
                waits = self.reporting or (MUTANT == "waits-for-claims" and self.claiming)
                acks = [] if self.done or waits else self.take_acks()
                lines = []
                for attempt in self.attempts.values():
                    if attempt.lines and attempt.lines_due <= now and MUTANT != "lines-at-the-end":
                        lines += [(attempt, line) for line in attempt.lines]
                        attempt.lines = []
                self.reporting = self.reporting or bool(acks)
            if late or lines:
                self.exchange({}, [], n, late, lines)
            if acks:
                threading.Thread(target=self.deliver, args=(acks,), daemon=True).start()

    # The watch: leases, timeouts, the stop.

    def watch(self):
        while not self.ended.is_set():
            time.sleep(0.02)
            now = clock()
            with self.lock:
                for attempt in list(self.attempts.values()):
                    if now >= attempt.until and MUTANT != "never-lease-lost":
                        if not attempt.started:
                            self.attempts.pop((attempt.id, attempt.token))
                            continue
                        attempt.tell("lease_lost")
                    elif attempt.timeout_at and now >= attempt.timeout_at and MUTANT != "no-timeouts":
                        attempt.tell("timeout")
                if self.stopping_at is None:
                    continue
                over = time.monotonic() - self.stopping_at
                for attempt in list(self.attempts.values()):
                    if over >= 0 and MUTANT != "no-told-stopping":
                        attempt.tell("stopping")
                    if over >= 1 and MUTANT != "holds-on":
                        attempt.over = True
                        del self.attempts[attempt.id, attempt.token]
                        if attempt.reason != "lease_lost":
                            self.outbox.append((attempt, {**attempt.key(), "outcome": "released"}))
                idle = not self.attempts and not self.outbox and not self.reporting
                if self.claiming and time.monotonic() > self.claimed_at + (0.5 if MUTANT != "breaks-off-claims" else 0):
                    self.break_off()
                if idle and (not self.claiming or self.dead):
                    self.done = True
            if self.done:
                self.end()

    def break_off(self):
        """Ends the waiting claim. The server takes back the jobs of its lost answer."""
        try:
            self.threads[0].connection.sock.shutdown(socket.SHUT_RDWR)
        except (AttributeError, OSError):
            pass  # it has just ended

    def end(self):
        if not self.dead and MUTANT != "no-goodbye":
            try:
                self.client.call("POST", f"/v1/workers/{self.id}/poll", {"goodbye": True}, timeout=2)
            except Problem:
                pass
        self.events.worker_ended(self)
        self.ended.set()


def refused(why):
    return {
        "outcome": "failed",
        "error": {"type": "outcome_refused", "message": f"the server refuses the result: {why}"},
    }

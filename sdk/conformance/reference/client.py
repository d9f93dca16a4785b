"""A minimal client of the contract."""

import hashlib
import http.client
import json
import os
import random
import re
import ssl
import threading
import time
import urllib.parse
import uuid

MUTANT = os.environ.get("MUTANT", "")
CLASSES = {
    "not_found": "NotFound",
    "validation_failed": "ValidationFailed",
    "duplicate_job": "DuplicateJob",
    "duplicate_workflow": "DuplicateWorkflow" if MUTANT != "no-class-of-duplicates" else "MillraceError",
    "id_mismatch": "IdMismatch",
    "idempotency_mismatch": "IdempotencyMismatch" if MUTANT != "no-mismatch-class" else "MillraceError",
    "invalid_state": "InvalidState",
    "lease_lost": "LeaseLost",
    "version_conflict": "VersionConflict",
    "queue_full": "QueueFull",
    "key_full": "KeyFull" if MUTANT != "no-class-of-full-keys" else "MillraceError",
    "rate_limited": "RateLimited",
    "unauthenticated": "Unauthenticated",
    "forbidden": "Forbidden",
    "payload_too_large": "PayloadTooLarge",
    "unreachable": "Unreachable",
    "wait_timeout": "WaitTimeout",
}


class Problem(Exception):
    def __init__(self, code, status, message, retry_after=None, errors=(), request_id=None):
        super().__init__(message)
        self.code, self.status, self.retry_after = code, status, retry_after
        self.errors, self.request_id = list(errors), request_id

    def shape(self):
        name = "Unavailable" if self.status == 503 else CLASSES.get(self.code, "MillraceError")
        after = None if self.retry_after is None else int(self.retry_after * 1000)
        return {
            "class": name,
            "code": self.code,
            "status": self.status,
            "message": str(self),
            "retry_after_ms": after,
            "errors": self.errors,
            "request_id": self.request_id,
        }


def checked_token(given):
    """A token without the blanks around it; None for none. The error must not show it."""
    token = (given or "").strip() if MUTANT != "token-as-given" else given
    if token and not re.fullmatch("[!-~]+", token) and MUTANT != "token-unchecked":
        shown = f": {token!r}" if MUTANT == "token-printed" else ""
        raise Problem("bad_token", None, f"the token has a character that no token has{shown}")
    return token or None


_made, _made_lock = set(), threading.Lock()


def make_id(queue):
    """A UUIDv7 with the queue's bits."""
    bits = int(hashlib.sha256((queue or "default").encode()).hexdigest()[:3], 16)
    if MUTANT == "id-without-queue":
        bits = random.getrandbits(12)
    rest = 7 if MUTANT == "same-id" else random.getrandbits(62)
    now = int(time.time() * 1000)
    number = now << 80 | 7 << 76 | bits << 64 | 2 << 62 | rest
    return str(uuid.UUID(int=number))


class Client:
    """Thread-safe. Idle connections are kept for later calls."""

    def __init__(self, url=None, token=None, timeout=30, ca_file=None, queue_full_timeout=2):
        self.url = urllib.parse.urlsplit(url or os.environ.get("MILLRACE_URL") or "http://127.0.0.1:7600")
        self.token = checked_token(token or os.environ.get("MILLRACE_TOKEN"))
        self.timeout, self.queue_full_timeout = timeout, queue_full_timeout
        self.tls = ssl.create_default_context(cafile=ca_file) if self.url.scheme == "https" else None
        self.idle, self.lock = [], threading.Lock()

    def connection(self, timeout):
        with self.lock:
            if self.idle and MUTANT != "no-keep-alive":
                made = self.idle.pop()
                made.timeout = timeout
                if made.sock:
                    made.sock.settimeout(timeout)
                return made
        kind = http.client.HTTPSConnection if self.tls else http.client.HTTPConnection
        more = {"context": self.tls} if self.tls else {}
        return kind(self.url.hostname, self.url.port, timeout=timeout, **more)

    def once(self, method, target, body, headers, timeout):
        """(status, headers, body, whether a connection was made and data sent)."""
        connection = threading.current_thread().connection = self.connection(timeout)
        try:
            connection.request(method, target, body, headers)
            answer = connection.getresponse()
            read = answer.read()
        except ConnectionRefusedError as error:
            connection.close()
            error.never_sent = True
            raise
        except BaseException:
            connection.close()
            raise
        if answer.will_close:
            connection.close()
        else:
            with self.lock:
                self.idle.append(connection)
        return answer.status, {k.lower(): v for k, v in answer.getheaders()}, read

    def call(self, method, path, body=None, headers=None, query=None, safe=True, timeout=None, tries=None):
        """Retries until the deadline. If `safe`, the request may be sent again even if the
        server may have begun it.
        """
        begin = time.monotonic()
        deadline = begin + (timeout or self.timeout)
        query = {k: v for k, v in (query or {}).items() if v is not None}
        target = path + ("?" + urllib.parse.urlencode(query) if query else "")
        headers = dict(headers or {})
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        raw = None
        if body is not None:
            raw = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        n, again = 0, False
        while True:
            if MUTANT == "new-id-each-try" and again and isinstance(body, dict) and "id" in body:
                raw = json.dumps({**body, "id": make_id(body.get("queue"))}).encode()
            if MUTANT == "new-key-each-try" and again and "Idempotency-Key" in headers:
                headers["Idempotency-Key"] = uuid.uuid4().hex
            left = deadline - time.monotonic()
            may_again, after = safe, None
            try:
                if MUTANT == "deadline-per-try":
                    left = timeout or self.timeout
                status, got, read = self.once(method, target, raw, headers, max(left, 0.001))
                if method == "DELETE" and status == 404 and again and MUTANT != "delete-404":
                    return {}, got
                got[":status"] = status
                if status < 300:
                    return self.parse(status, read), got
                problem = self.problem(status, got, read)
                after = problem.retry_after
                if status in (429, 503):
                    may_again = True
                    if problem.code in ("queue_full", "key_full") and MUTANT != "full-until-the-deadline":
                        deadline = min(deadline, begin + self.queue_full_timeout)
                elif status not in (502, 504):
                    may_again = MUTANT == "retries-422" and n < 3
            except (OSError, http.client.HTTPException) as error:
                problem = Problem("unreachable", None, str(error) or type(error).__name__)
                may_again = safe or getattr(error, "never_sent", False)
                if isinstance(error, ssl.SSLCertVerificationError):
                    may_again = MUTANT == "trusts-later"
            if MUTANT == "no-tries":
                may_again = False
            if MUTANT == "all-again" and problem.status in (None, 502, 504):
                may_again = True
            pause = random.uniform(0, min(5, 0.1 * 2**n))
            if MUTANT == "no-jitter":
                pause = min(5, 0.1 * 2**n)
            if MUTANT == "slow-tries":
                pause = 3
            if after is not None and MUTANT != "ignores-retry-after":
                pause = max(pause, after)
            problem.again = again
            if not may_again or tries == 1:
                raise problem
            if time.monotonic() + pause >= deadline:
                if MUTANT == "waits-out-deadline":
                    time.sleep(max(0, deadline - time.monotonic()))
                raise problem
            time.sleep(pause)
            n, again = n + 1, True

    @staticmethod
    def parse(status, read):
        if not read:
            return {}
        try:
            return json.loads(read)
        except ValueError:
            if MUTANT == "html-is-fine":
                return {}
            raise Problem("bad_answer", status, f"not JSON: {read[:80]!r}") from None

    @staticmethod
    def problem(status, headers, read):
        after = headers.get("retry-after")
        after = float(after) if after and after.isdigit() else None
        try:
            said = json.loads(read)
            return Problem(
                said["code"],
                status,
                said.get("detail", ""),
                after,
                [
                    {
                        "where": e.get("pointer") or e.get("parameter") or e.get("header"),
                        "detail": e["detail"],
                    }
                    for e in (said.get("errors", []) if MUTANT != "no-places" else [])
                ],
                said.get("request_id"),
            )
        except (ValueError, KeyError, TypeError):
            return Problem("bad_answer", status, f"status {status}: {read[:80]!r}", after)

    # The calls.

    @staticmethod
    def prepared(job):
        job = dict(job)
        key = job.get("idempotency_key")
        if "id" not in job and key is None:
            job["id"] = make_id(job.get("queue"))
        return job

    def submit(self, job):
        job = self.prepared(job)
        key = job.pop("idempotency_key", None)
        made, got = self.call("POST", "/v1/jobs", job, {"Idempotency-Key": key} if key else None)
        return made, got[":status"] == 201

    def submit_batch(self, jobs, atomic):
        body = {"jobs": [self.prepared(job) for job in jobs]}
        if atomic:
            body["atomic"] = True
        return self.call("POST", "/v1/jobs/batch", body)[0]["results"]

    def wait(self, job_id, timeout):
        began = time.monotonic()
        deadline = began + timeout
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                raise Problem("wait_timeout", None, f"{job_id} has not ended")
            query = {"wait_ms": int(min(left, 60) * 1000), "until": "final", "include": "result"}
            if MUTANT == "long-waits":
                query["wait_ms"] = int(left * 1000)
            try:
                job = self.call("GET", f"/v1/jobs/{job_id}", query=query, timeout=left + 5)[0]
            except Problem as problem:
                if problem.code != "not_found" or time.monotonic() > began + 2 or MUTANT == "waits-for-none":
                    raise
                time.sleep(0.1)
                continue
            if job["state"] in ("succeeded", "dead", "cancelled", "expired"):
                return job

    def cancel(self, job_id, reason):
        try:
            return self.call("POST", f"/v1/jobs/{job_id}/cancel", {"reason": reason} if reason else {})[0]
        except Problem as problem:
            if problem.code == "invalid_state" and problem.again and MUTANT != "cancel-409":
                job = self.call("GET", f"/v1/jobs/{job_id}")[0]
                if job["state"] == "cancelled":
                    return job
            raise

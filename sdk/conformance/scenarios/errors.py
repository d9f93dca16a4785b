"""Errors, by class and code."""

import json

from suite import way
from suite.failure import expect, expect_between, expect_equal
from suite.scenario import scenario
from suite.tokens import config_of

NOBODY = "0195a1b2-c3d4-7e5f-8899-aabbccddeeff"


def expect_error(refused, class_name, code, status):
    expect_equal(
        (refused.class_name, refused.code, refused.status),
        (class_name, code, status),
        "class, code and status of the error",
    )
    expect(refused.message, "the error has no message")


@scenario
def not_found(stage):
    """A job, queue or schedule that is not there gives `NotFound`, with the server's request id."""
    refused = stage.program.refuse("get", job=NOBODY)
    expect_error(refused, "NotFound", "not_found", 404)
    expect(refused.request_id, "the error has no request_id")
    expect_error(stage.program.refuse("queue", name="nowhere"), "NotFound", "not_found", 404)
    expect_error(stage.program.refuse("schedule", name="never"), "NotFound", "not_found", 404)


@scenario
def validation_failed(stage):
    """A bad submission gives `ValidationFailed`, whose `errors` name each fault by where
    it stands.
    """
    refused = stage.program.refuse(
        "submit",
        job={"type": "work", "queue": stage.queue, "priority": 99_999, "max_attempts": 9_999},
    )
    expect_error(refused, "ValidationFailed", "validation_failed", 422)
    places = sorted(fault["where"] for fault in refused.errors or [])
    expect_equal(places, ["/max_attempts", "/priority"], "where the faults are")
    expect(all(fault["detail"] for fault in refused.errors), "a fault without detail")


@scenario
def id_mismatch(stage):
    """Another payload under a known id gives `IdMismatch`."""
    job = {"type": "work", "queue": stage.queue, "payload": 1}
    made = stage.program.do("submit", job=job)["job"]["id"]
    refused = stage.program.refuse("submit", job={**job, "id": made, "payload": 2})
    expect_error(refused, "IdMismatch", "id_mismatch", 409)


@scenario
def duplicate_job(stage):
    """A unique key that is held gives `DuplicateJob` with `reject`, and so does another
    queue's id.
    """
    job = {"type": "work", "queue": stage.queue, "unique": {"key": "k", "on_conflict": "reject"}}
    made = stage.program.do("submit", job=job)["job"]["id"]
    expect_error(stage.program.refuse("submit", job=job), "DuplicateJob", "duplicate_job", 409)
    elsewhere = {"type": "work", "queue": "elsewhere", "id": made}
    expect_error(stage.program.refuse("submit", job=elsewhere), "DuplicateJob", "duplicate_job", 409)


@scenario
def idempotency_mismatch(stage):
    """A key that was used with another body gives `IdempotencyMismatch`."""
    job = {"type": "work", "queue": stage.queue, "payload": 1, "idempotency_key": "k"}
    stage.program.do("submit", job=job)
    refused = stage.program.refuse("submit", job={**job, "payload": 2})
    expect_error(refused, "IdempotencyMismatch", "idempotency_mismatch", 422)


@scenario
def invalid_state(stage):
    """Cancelling what has ended, retrying what has not and deleting what runs give
    `InvalidState`.
    """
    ended = stage.submit(type="other")
    expect_error(stage.program.refuse("retry", job=ended), "InvalidState", "invalid_state", 409)
    stage.program.do("cancel", job=ended)
    expect_error(stage.program.refuse("cancel", job=ended), "InvalidState", "invalid_state", 409)
    running = stage.submit(["sleep", 1000])
    stage.worker()
    stage.program.await_event("start", job=running)
    expect_error(stage.program.refuse("delete", job=running), "InvalidState", "invalid_state", 409)


@scenario
def version_conflict(stage):
    """An `If-Match` that does not hold gives `VersionConflict`; one that holds does the change."""
    name = stage.queue
    version = stage.program.do("put_queue", name=name, settings={"max_attempts": 3})["version"]
    stage.program.do("put_queue", name=name, settings={"max_attempts": 4}, if_match=version)
    refused = stage.program.refuse("put_queue", name=name, settings={"max_attempts": 5}, if_match=version)
    expect_error(refused, "VersionConflict", "version_conflict", 412)
    settings = stage.api.get(f"/v1/queues/{name}").json["settings"]
    expect_equal(settings["max_attempts"], 4, "max_attempts in the end")


@scenario
def queue_full(stage):
    """A full queue gives `QueueFull` with its `Retry-After`, when `queue_full_timeout` is over; when
    there is room before that, the submission succeeds.
    """
    stage.api.put(f"/v1/queues/{stage.queue}", {"max_ready": 1})
    waiting = stage.submit()
    job = {"type": "work", "queue": stage.queue}
    refused = stage.program.refuse("submit", job=job)
    expect_error(refused, "QueueFull", "queue_full", 429)
    expect((refused.retry_after_ms or 0) > 0, f"retry_after_ms is {refused.retry_after_ms}")
    stage.program.do("configure", url=stage.way.url, timeout_ms=60_000, queue_full_timeout_ms=60_000)
    tries = len(stage.way.requests("POST", "^/v1/jobs$"))
    call = stage.program.send("submit", job=job)
    stage.eventually(
        lambda: len(stage.way.requests("POST", "^/v1/jobs$")) > tries,
        "the first try while it is full",
    )
    stage.api.delete(f"/v1/jobs/{waiting}")
    expect_equal(call.result()["is_new"], True, "is_new, once there is room")


@scenario
def key_full(stage):
    """A queue that is full for a fair key gives `KeyFull`, while it takes jobs of other keys."""
    stage.api.put(f"/v1/queues/{stage.queue}", {"fair": {}, "max_ready_per_key": 1})
    job = {"type": "work", "queue": stage.queue, "fair_key": "acme"}
    stage.program.do("submit", job=job)
    refused = stage.program.refuse("submit", job=job)
    expect_error(refused, "KeyFull", "key_full", 429)
    expect((refused.retry_after_ms or 0) > 0, f"retry_after_ms is {refused.retry_after_ms}")
    stage.program.do("submit", job={**job, "fair_key": "other"})


@scenario
def queue_full_is_not_tried_for_long(stage):
    """Without the option, a submission to a full queue is tried again for 2 s, whatever the call's
    timeout: a web request can't wait longer. A rate limit is waited for until the deadline.
    """
    stage.way.always(way.problem(429, "queue_full", 3), "POST", "^/v1/jobs$")
    job = {"type": "work", "queue": stage.queue}
    expect_error(stage.program.refuse("submit", job=job), "QueueFull", "queue_full", 429)
    expect_equal(len(stage.way.seen), 1, "tries, if the first answer asks for a pause of 3 s")
    stage.program.do("configure", url=stage.way.url, queue_full_timeout_ms=4000)
    expect_error(stage.program.refuse("submit", job=job), "QueueFull", "queue_full", 429)
    expect_equal(len(stage.way.seen), 3, "tries, with two more in a time of 4 s")
    stage.way.forget()
    stage.way.when(way.problem(429, "rate_limited", 3), "POST", "^/v1/jobs$")
    expect_equal(stage.program.do("submit", job=job)["is_new"], True, "is_new, after the pause")


@scenario
def rate_limited(stage):
    """429 `rate_limited` beyond the deadline gives `RateLimited`, with its `Retry-After`."""
    stage.way.always(way.problem(429, "rate_limited", 60), "GET")
    refused = stage.program.refuse("get", job=NOBODY)
    expect_error(refused, "RateLimited", "rate_limited", 429)
    expect_equal(refused.retry_after_ms, 60_000, "retry_after_ms")


@scenario(program=False)
def unauthenticated_and_forbidden(stage):
    """A wrong token gives `Unauthenticated`, one without the scope `Forbidden`; neither is tried
    again. The right one works.
    """
    reader, config = config_of("--name", "reader", "--scope", "read")
    stage.restart_with(config, reader)
    program = stage.start_program(token="mlr_wrong")
    expect_error(program.refuse("queues"), "Unauthenticated", "unauthenticated", 401)
    program.do("configure", url=stage.way.url, token=reader)
    refused = program.refuse("submit", job={"type": "work", "queue": stage.queue})
    expect_error(refused, "Forbidden", "forbidden", 403)
    expect_equal(len(stage.way.seen), 2, "requests for two refusals")
    expect_equal(program.do("queues")["items"], [], "what the right token may read")


@scenario
def payload_too_large(stage):
    """A payload over the server's limit gives `PayloadTooLarge`, at once."""
    job = {"type": "work", "queue": stage.queue, "payload": "x" * (2 << 20)}
    refused = stage.program.refuse("submit", job=job)
    expect_error(refused, "PayloadTooLarge", "payload_too_large", 413)


@scenario
def unavailable(stage):
    """503 of any code gives `Unavailable`, with that code."""
    stage.program.do("configure", url=stage.way.url, timeout_ms=10_000)
    for code in ("overloaded", "draining", "storage_unavailable"):
        stage.way.forget()
        stage.way.always(way.problem(503, code, 30))
        refused = stage.program.refuse("get", job=NOBODY)
        expect_error(refused, "Unavailable", code, 503)
        expect_equal(refused.retry_after_ms, 30_000, "retry_after_ms")


@scenario
def unreachable(stage):
    """No answer until the deadline gives `Unreachable`, whether nobody listens or nobody
    answers.
    """
    stage.program.do("configure", url="http://127.0.0.1:9", timeout_ms=700)
    call = stage.program.send("get", job=NOBODY)
    call.came.wait(60)
    expect_between(0, call.took_s, 15, "seconds with a deadline of 0.7 s, where nobody listens")
    for kind in ("nobody listens", "nobody answers"):
        refused = stage.program.refuse("get", job=NOBODY)
        expect_equal((refused.class_name, refused.code), ("Unreachable", "unreachable"), kind)
        stage.way.always(way.HANGING)
        stage.program.do("configure", url=stage.way.url, timeout_ms=700)


@scenario
def bad_answer(stage):
    """An answer that is not Millrace's gives the code `bad_answer`, with its status."""
    stage.way.when(way.page(200), "GET")
    refused = stage.program.refuse("get", job=NOBODY)
    expect_error(refused, "MillraceError", "bad_answer", 200)
    stage.way.when(way.page(404, "no such page", "text/plain"), "GET")
    refused = stage.program.refuse("get", job=NOBODY)
    expect_error(refused, "MillraceError", "bad_answer", 404)
    stage.way.when(way.page(400, json.dumps({"error": "nope"}), "application/json"), "GET")
    refused = stage.program.refuse("get", job=NOBODY)
    expect_error(refused, "MillraceError", "bad_answer", 400)


@scenario
def refusals_are_not_tried_again(stage):
    """What will fail again is asked once: 400, 404, 409, 422, and 500, the server's own bugs."""
    stage.program.refuse("get", job=NOBODY)
    stage.program.refuse("submit", job={"type": "no blanks", "queue": stage.queue})
    for status, code in ((500, "internal"), (400, "invalid_json"), (409, "id_mismatch")):
        stage.way.when(way.problem(status, code), "POST")
        refused = stage.program.refuse("submit", job={"type": "work", "queue": stage.queue})
        expect_equal((refused.code, refused.status), (code, status), "code and status")
    expect_equal(len(stage.way.seen), 5, "requests for five refusals")

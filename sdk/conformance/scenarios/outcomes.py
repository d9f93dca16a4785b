"""What becomes of what a handler does."""

import harness
from suite.failure import expect, expect_between, expect_equal
from suite.scenario import scenario

FIXED = {"strategy": "fixed", "base_ms": 50, "jitter": 0}
ERROR_S = 30  # until a failure is reported, on a busy machine


def seconds_between(earlier, later):
    """Of two times that the server gave."""
    return harness.seconds(later) - harness.seconds(earlier)


@scenario
def a_value_is_the_result(stage):
    """A handler that returns a value succeeds, and the value is the result; a script's end returns
    null.
    """
    values = [{"bytes": 4711, "names": ["a", "é", "😀"]}, [], "text", 0, False, 1.5, None]
    jobs = [stage.submit(["return", value]) for value in values] + [stage.submit()]
    stage.worker()
    for job, value in zip(jobs, [*values, None]):
        ended = stage.final(job, state="succeeded")
        expect_equal(ended["result"], value, "the result")
        expect_equal(len(ended["attempts"]), 1, "attempts")


@scenario
def an_error_is_tried_again(stage):
    """A handler that throws fails its attempt, with the error's type and message, and runs again
    until the attempts are used up; then the job is dead.
    """
    job = stage.submit(["fail", "the disk is full"], max_attempts=3, retry=FIXED)
    stage.worker()
    ended = stage.final(job, state="dead")
    expect_equal([a["outcome"] for a in ended["attempts"]], ["failed"] * 3, "the attempts")
    expect_equal([e["attempt"] for e in stage.program.seen("start")], [1, 2, 3], "the handler's runs")
    error = ended["last_error"]
    expect(
        "the disk is full" in error["message"] and len(error["message"]) < 60,
        f"the error's message is {error['message']!r}",
    )
    expect(error["type"] not in ("", "timeout"), f"the error's type is {error['type']!r}")


@scenario
def fails_then_succeeds(stage):
    """A job that fails twice and then succeeds has three attempts and one result."""
    job = stage.submit(
        ["on_attempt", 1, [["fail", "once"]]],
        ["on_attempt", 2, [["fail", "twice"]]],
        ["return", "third"],
        retry=FIXED,
    )
    stage.worker()
    ended = stage.final(job, state="succeeded")
    expect_equal(ended["result"], "third", "the result")
    outcomes = [a["outcome"] for a in ended["attempts"]]
    expect_equal(outcomes, ["failed", "failed", "succeeded"], "the attempts")


@scenario
def a_failure_is_one_warning(stage):
    """A failed attempt is one warning in the worker's own log; a `RetryAfter` that leaves attempts is
    a line of information.
    """
    job = stage.submit(
        ["on_attempt", 1, [["fail", "by accident"]]],
        ["on_attempt", 2, [["retry_after", 50, "on purpose"]]],
        retry=FIXED,
    )
    stage.worker()
    stage.final(job, state="succeeded")
    told = [(event["level"], event["message"]) for event in stage.program.seen("log")]
    for what, level in (("by accident", "warn"), ("on purpose", "info")):
        lines = [(at, message) for at, message in told if job in message and what in message]
        expect_equal([at.replace("warning", "warn") for at, _ in lines], [level], f"the levels of {lines}")


@scenario
def non_retryable(stage):
    """`NonRetryable` ends the job as dead at its first attempt."""
    job = stage.submit(["non_retryable", "no such address"], max_attempts=5, retry=FIXED)
    stage.worker()
    ended = stage.final(job, state="dead")
    expect_equal(len(ended["attempts"]), 1, "attempts")
    expect_equal(ended["last_error"]["message"], "no such address", "the error's message")


@scenario
def retry_after(stage):
    """`RetryAfter` fails the attempt, and the next one comes after the delay that it names,
    whatever the job's backoff.
    """
    slow = {"strategy": "fixed", "base_ms": 60_000, "jitter": 0}
    job = stage.submit(["on_attempt", 1, [["retry_after", 700, "busy"]]], ["return", "ok"], retry=slow)
    stage.worker(poll_wait_ms=500)
    ended = stage.final(job, state="succeeded")
    first, second = ended["attempts"]
    expect_equal((first["outcome"], first["error"]["message"]), ("failed", "busy"), "the first attempt")
    gap = seconds_between(first["finished_at"], second["started_at"])
    expect_between(0.69, gap, 30, "seconds from the first attempt's end to the second's start")


@scenario
def snooze(stage):
    """`Snooze` puts the job off for its delay and costs no attempt."""
    job = stage.submit(["snooze", 300], max_attempts=1)
    stage.worker(poll_wait_ms=500)
    stage.program.await_event("start", job=job, count=3)
    expect_equal({e["attempt"] for e in stage.program.seen("start")}, {1}, "the runs' attempts")
    attempts = stage.job(job, "attempts")["attempts"]
    expect_equal(attempts[0]["outcome"], "snoozed", "the first attempt's outcome")
    gap = seconds_between(attempts[0]["finished_at"], attempts[1]["started_at"])
    expect_between(0.29, gap, 30, "seconds from one run to the next")


@scenario
def cancel_with_a_reason(stage):
    """`Cancel` ends the job as cancelled; the reason is a line in the job's log."""
    job = stage.submit(["cancel", "the account is closed"])
    stage.worker()
    ended = stage.final(job, state="cancelled")
    expect_equal([a["outcome"] for a in ended["attempts"]], ["cancelled"], "the attempts")
    lines = [line["message"] for line in stage.api.get(f"/v1/jobs/{job}/logs").json["items"]]
    expect(
        any("the account is closed" in line for line in lines),
        f"the reason is not in the job's log: {lines}",
    )


@scenario
def a_result_that_is_no_json(stage):
    """A result that is not JSON fails the attempt with the type `outcome_refused` and says so; the
    worker goes on.
    """
    bad = stage.submit(["bad_result"], max_attempts=1)
    good = stage.submit(["return", 1])
    stage.worker()
    ended = stage.final(bad, state="dead")
    expect_equal(ended["last_error"]["type"], "outcome_refused", "the error's type")
    expect(ended["last_error"]["message"], "the error has no message")
    stage.final(good, state="succeeded")


@scenario
def a_result_that_is_too_large(stage):
    """A result that the server refuses for its size fails the attempt with the type
    `outcome_refused`; outcomes beside it are not lost.
    """
    bad = stage.submit(["return", "x" * 200_000], max_attempts=1)
    good = [stage.submit(["return", n]) for n in range(3)]
    stage.stop_server()
    stage.server.args += ["--limits-payload", "64KiB"]
    stage.start_server()
    stage.worker()
    for number, job in enumerate(good):
        expect_equal(stage.final(job, state="succeeded")["result"], number, "the result")
    ended = stage.final(bad, state="dead")
    expect_equal(ended["last_error"]["type"], "outcome_refused", "the error's type")


@scenario
def a_handler_that_panics(stage):
    """A handler that ends by the language's worst means (in Go a panic) fails its attempt, and the
    worker goes on.
    """
    bad = stage.submit(["panic", "out of range"], max_attempts=1)
    stage.worker()
    ended = stage.final(bad, state="dead")
    expect("out of range" in ended["last_error"]["message"], f"the error: {ended['last_error']}")
    stage.final(stage.submit(["return", 1]), state="succeeded")


def expect_slot_back(stage):
    """The worker's only slot is free again: another job runs in it, and the worker has not ended."""
    stage.final(stage.submit(["return", "next"]), state="succeeded")
    expect_equal(stage.program.seen("worker_ended"), [], "workers that have ended")


@scenario
def an_error_that_can_not_be_described(stage):
    """An error whose own text fails is reported like any other, with a text of the SDK's. Its slot
    is free again, no lease of it is renewed, and the worker goes on.
    """
    bad = stage.submit(["fail_indescribably"], max_attempts=2, lease_ms=3000, retry=FIXED)
    stage.worker(concurrency=1)
    ended = stage.final(bad, state="dead", timeout_s=ERROR_S)
    expect_equal([a["outcome"] for a in ended["attempts"]], ["failed", "failed"], "the attempts")
    error = ended["last_error"]
    expect(error["message"].strip(), "the error has no message")
    expect(error["type"] not in ("", "timeout", "outcome_refused"), f"the error's type is {error['type']!r}")
    expect_slot_back(stage)


@scenario
def half_a_surrogate_in_an_error(stage):
    """An error whose text is not Unicode is reported as the error that it is, without the part that
    is no text.
    """
    bad = stage.submit(["fail", "before <half> after"], max_attempts=1)
    final = stage.submit(["non_retryable", "before <half> after"], max_attempts=3)
    stage.worker(concurrency=1)
    for job in (bad, final):
        ended = stage.final(job, state="dead", timeout_s=ERROR_S)
        error = ended["last_error"]
        expect(error["type"] not in ("", "outcome_refused"), f"the error's type is {error['type']!r}")
        expect(
            error["message"].startswith("before ") and " after" in error["message"],
            f"the error's message is {error['message']!r}",
        )
    expect_slot_back(stage)


@scenario
def a_result_whose_conversion_fails(stage):
    """A result that throws while it is converted to JSON fails the attempt with the type
    `outcome_refused`; the slot is free again, and the worker goes on.
    """
    bad = stage.submit(["broken_result"], max_attempts=1)
    stage.worker(concurrency=1)
    ended = stage.final(bad, state="dead", timeout_s=ERROR_S)
    expect_equal(ended["last_error"]["type"], "outcome_refused", "the error's type")
    expect(ended["last_error"]["message"].strip(), "the error has no message")
    expect_slot_back(stage)


@scenario
def only_types_with_handlers(stage):
    """A worker claims only the types that it has handlers for, and each job meets its type's
    handler.
    """
    other = stage.submit(type="other")
    jobs = {stage.submit(type=name): name for name in ("work", "mail", "work")}
    stage.worker(types=["work", "mail"])
    for job in jobs:
        stage.final(job, state="succeeded")
    types = {event["job"]: event["type"] for event in stage.program.seen("start")}
    expect_equal(types, jobs, "the types of the jobs that ran")
    expect_equal(stage.job(other)["state"], "ready", "the state of the other job")


@scenario
def follow_ups(stage):
    """Jobs of `context.enqueue` are submitted with a success, in its commit, and not with a
    failure.
    """
    follow = {"type": "next", "queue": stage.queue, "payload": {"from": "first"}}
    bad = stage.submit(["enqueue", follow], ["fail", "no"], max_attempts=1)
    stage.worker()
    stage.final(bad, state="dead")
    found = stage.api.get("/v1/jobs", queue=stage.queue, type="next", fresh="true").json["items"]
    expect_equal(found, [], "the follow-ups of the failed job")
    good = stage.submit(["enqueue", follow], ["enqueue", {**follow, "queue": "b"}], ["return", 1])
    stage.final(good, state="succeeded")
    found = stage.api.get("/v1/jobs", type="next", fresh="true", include="payload").json["items"]
    expect_equal(sorted(job["queue"] for job in found), ["b", stage.queue], "the follow-ups' queues")
    expect_equal(found[0]["payload"], {"from": "first"}, "the payload")


@scenario
def what_a_handler_sees(stage):
    """A handler sees the job's id, queue, type, attempt, meta, traceparent and fencing token."""
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    meta = {"tenant": "acme"}
    job = stage.submit(meta=meta, traceparent=trace)
    stage.worker()
    stage.final(job, state="succeeded")
    event = stage.program.seen("start")[0]
    seen = {name: event.get(name) for name in ("job", "queue", "type", "attempt", "meta", "traceparent")}
    wanted = {"job": job, "queue": stage.queue, "type": "work", "attempt": 1, "meta": meta}
    expect_equal(seen, {**wanted, "traceparent": trace}, "what the handler saw")
    granted = [j["lease"]["token"] for e in stage.way.seen for j in e.jobs]
    expect_equal([event["token"]], granted, "the token")
    expect_equal((event.get("checkpoint"), event.get("schedule")), (None, None), "what it has not")


@scenario
def trace_context(stage):
    """A submission inside a handler carries the handler's `traceparent`, unless it names
    another.
    """
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    own = "00-11111111111111111111111111111111-2222222222222222-01"
    inner = {"type": "inner", "queue": stage.queue}
    job = stage.submit(["submit", inner], ["submit", {**inner, "traceparent": own}], traceparent=trace)
    untraced = stage.submit(["submit", inner])
    stage.worker()
    stage.final(job, state="succeeded")
    ids = [event["id"] for event in stage.program.seen("submitted", job=job)]
    expect_equal([stage.job(each).get("traceparent") for each in ids], [trace, own], "traceparents")
    stage.final(untraced, state="succeeded")
    (plain,) = stage.program.seen("submitted", job=untraced)
    expect_equal(stage.job(plain["id"]).get("traceparent"), None, "traceparent, where there is none")


@scenario
def middleware(stage):
    """Middleware runs around each handler: before it, and after it, also if it fails."""
    good = stage.submit(["return", 1])
    bad = stage.submit(["fail", "no"], max_attempts=1)
    stage.worker(middleware=True)
    stage.final(good, state="succeeded")
    stage.final(bad, state="dead")
    stage.program.settle()
    for job in (good, bad):
        events = [
            event.get("phase", event["event"])
            for event in stage.program.events
            if event.get("job") == job and event["event"] in ("middleware", "start")
        ]
        expect_equal(events, ["before", "start", "after"], "the order of events")


@scenario(end=False, history=False)
def a_process_that_dies(stage):
    """A process that ends in the middle of a handler leaves the job to its lease: another worker
    runs it again after that, as attempt 2.
    """
    job = stage.submit(
        ["on_attempt", 1, [["sleep", 1000], ["exit"]]],  # the answer about the worker goes first
        ["return", "survived"],
        lease_ms=4000,
        retry=FIXED,
    )
    stage.worker()
    expect_equal(stage.program.await_end(), 9, "the exit status of the first process")
    other = stage.start_program()
    stage.worker(program=other)
    ended = stage.final(job, state="succeeded")
    outcomes = [a["outcome"] for a in ended["attempts"]]
    expect_equal(outcomes, ["lease_expired", "succeeded"], "the attempts")
    expect_equal(other.end(), 0, "the exit status of the second process")

"""What a handler is told while it runs."""

from suite.failure import expect, expect_between, expect_equal
from suite.scenario import scenario


def cancel(stage, job):
    reply = stage.api.post(f"/v1/jobs/{job}/cancel", {"reason": "not needed"})
    expect_equal(reply.status, 200, "the status of the driver's cancel")


@scenario
def cancelled_by_a_command(stage):
    """The cancellation of a running job reaches the handler of a worker whose claim waits, at once;
    the job is cancelled.
    """
    job = stage.submit(["sleep", 20_000])
    stage.worker(poll_wait_ms=20_000)
    stage.program.await_event("start", job=job)
    cancel(stage, job)
    told = stage.program.await_event("told", timeout_s=8, job=job)
    expect_equal(told["reason"], "cancelled", "the reason that the handler is told")
    ended = stage.final(job, state="cancelled")
    expect_equal([a["outcome"] for a in ended["attempts"]], ["cancelled"], "the attempts")


@scenario
def cancelled_by_a_heartbeat(stage):
    """A worker whose slots are all taken, and which so does not claim, learns of a cancellation by
    its heartbeats.
    """
    job = stage.submit(["sleep", 20_000], lease_ms=6000)
    stage.worker(concurrency=1)
    stage.program.await_event("start", job=job)
    cancel(stage, job)
    told = stage.program.await_event("told", job=job)
    expect_equal(told["reason"], "cancelled", "the reason that the handler is told")
    stage.final(job, state="cancelled")


@scenario
def cancelled_and_yet_a_result(stage):
    """A handler that returns a value after it was told `cancelled` succeeds as if it had not been
    told; one that throws another error fails.
    """
    good = stage.submit(["stubborn", 6000], ["return", "done anyway"])
    bad = stage.submit(["stubborn", 6000], ["fail", "by chance"], max_attempts=1)
    stage.worker()
    for job in (good, bad):
        stage.program.await_event("start", job=job)
        cancel(stage, job)
    ended = stage.final(good, state="succeeded")
    expect_equal(ended["result"], "done anyway", "the result")
    expect_equal(stage.final(bad)["attempts"][0]["outcome"], "failed", "the other's outcome")
    for job in (good, bad):
        expect_equal([e["reason"] for e in stage.program.seen("told", job=job)], ["cancelled"], "told")


@scenario
def told_once(stage):
    """A handler is told once, even if it is cancelled, runs out of time and is stopped."""
    job = stage.submit(["stubborn", 9000], ["return", 1], timeout_ms=7000)
    stage.worker(grace_ms=300)
    stage.program.await_event("start", job=job)
    cancel(stage, job)
    stage.program.await_event("told", timeout_s=8, job=job)
    cancel(stage, job)
    stage.program.do("stop", name="w")
    stage.program.await_event("end", job=job)
    reasons = [event["reason"] for event in stage.program.seen("told", job=job)]
    expect_equal(reasons, ["cancelled"], "what the handler was told")


@scenario
def timeout(stage):
    """When the attempt's time is over, the handler is told `timeout`, and the attempt fails with
    that type.
    """
    job = stage.submit(["sleep", 20_000], timeout_ms=3000, max_attempts=1)
    stage.worker()
    told = stage.program.await_event("told", job=job)
    expect_equal(told["reason"], "timeout", "the reason that the handler is told")
    claim = next(e for e in stage.way.requests() if e.jobs)
    expect_between(2.95, told["at"] - claim.at, 8, "seconds from the claim until it is told")
    ended = stage.final(job)
    expect_equal(ended["last_error"]["type"], "timeout", "the error's type")


@scenario
def timeout_longer_than_the_lease(stage):
    """An attempt whose time is longer than its lease is told `timeout` when that is over, however
    often heartbeats have extended the lease.
    """
    job = stage.submit(["sleep", 20_000], timeout_ms=9000, lease_ms=4000, max_attempts=1)
    stage.worker()
    told = stage.program.await_event("told", job=job)
    expect_equal(told["reason"], "timeout", "the reason that the handler is told")
    claim = next(e for e in stage.way.requests() if e.jobs)
    expect_between(8.95, told["at"] - claim.at, 14, "seconds from the claim until it is told")
    expect_equal(stage.final(job)["last_error"]["type"], "timeout", "the error's type")


@scenario
def timeout_of_a_stubborn_handler(stage):
    """A handler that returns a value after it was told `timeout` has not succeeded."""
    job = stage.submit(["stubborn", 6000], ["return", "too late"], timeout_ms=3000, max_attempts=1)
    stage.worker()
    stage.program.await_event("told", job=job, reason="timeout")
    stage.program.await_event("end", job=job)
    ended = stage.final(job, state="dead")
    expect_equal(ended["last_error"]["type"], "timeout", "the error's type")
    stage.program.do("stop", name="w")
    sent = [item for e in stage.way.requests() for item, _ in e.acks]
    told = {(item["outcome"], (item.get("error") or {}).get("type")) for item in sent}
    expect(told <= {("failed", "timeout")}, f"the outcomes sent: {told}")


@scenario
def a_blocking_handler_is_told(stage):
    """A handler that keeps its thread or its event loop to itself has a means to see that it is
    told.
    """
    job = stage.submit(["block", 9000], ["return", 1], lease_ms=4500)
    stage.worker()
    stage.program.await_event("start", job=job)
    cancel(stage, job)
    told = stage.program.await_event("told", job=job)
    expect_equal(told["reason"], "cancelled", "the reason that the handler is told")
    stage.final(job, state="succeeded")


@scenario
def only_its_own_job(stage):
    """A cancellation reaches the handler of its job, and no other."""
    jobs = [stage.submit(["sleep", 5000], ["return", n]) for n in range(3)]
    stage.worker()
    for job in jobs:
        stage.program.await_event("start", job=job)
    cancel(stage, jobs[1])
    stage.final(jobs[1], state="cancelled")
    for job in (jobs[0], jobs[2]):
        stage.final(job, state="succeeded")
    expect_equal([e["job"] for e in stage.program.seen("told")], [jobs[1]], "the jobs that were told")


@scenario
def a_lease_that_was_taken_away(stage):
    """A heartbeat that is refused with `lease_lost` tells the handler `lease_lost`, and no outcome
    is sent for it, also if it goes on to its end.
    """
    job = stage.submit(["stubborn", 14_000], ["return", "mine"], lease_ms=12_000)
    worker = stage.worker(concurrency=1)
    start = stage.program.await_event("start", job=job)
    reply = stage.api.post(f"/v1/jobs/{job}/snooze", {"token": start["token"], "delay_ms": 3_600_000})
    expect_equal(reply.status, 200, "the status of the driver's snooze")
    told = stage.program.await_event("told", timeout_s=10, job=job)
    expect_equal(told["reason"], "lease_lost", "the reason that the handler is told")
    stage.program.await_event("end", job=job)
    stage.program.do("stop", name="w")
    acks = [item for e in stage.way.seen for item, _ in e.acks if item["id"] == job]
    expect_equal(acks, [], f"outcomes that {worker} sent")
    expect(stage.job(job)["state"] == "scheduled", "the job did not stay as the driver left it")

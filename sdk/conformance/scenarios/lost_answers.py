"""Requests of a worker whose answers are lost, doubled, late."""

import time

from suite import way
from suite.failure import expect, expect_between, expect_equal
from suite.scenario import scenario

FIXED = {"strategy": "fixed", "base_ms": 50, "jitter": 0}


def outcomes(job):
    return [attempt["outcome"] for attempt in job["attempts"]]


def carries_acks(exchange):
    return exchange.acks


def carries_claim(exchange):
    return exchange.claim is not None


def await_answered(stage, job):
    """Waits until an outcome of the job has been answered."""
    stage.eventually(
        lambda: any(
            result and exchange.delivered_at
            for exchange in stage.way.requests()
            for item, result in exchange.acks
            if item["id"] == job
        ),
        "an answered outcome",
    )


@scenario
def of_an_outcome(stage):
    """An outcome whose answer is lost is sent again, the same one, until it is answered, and not
    again after that; the job has one attempt.
    """
    lost = stage.way.when(way.LOST_ANSWER, "POST", where=carries_acks, times=2)
    job = stage.submit(["return", "once"])
    stage.worker()
    ended = stage.final(job, state="succeeded")
    await_answered(stage, job)
    time.sleep(1.5)  # one that is sent once more comes in this time
    expect_equal(len(lost.hits), 2, "how many answers were lost")
    expect_equal(outcomes(ended), ["succeeded"], "the attempts")


@scenario
def of_a_failure(stage):
    """A failure whose answer is lost is told once: the next attempt is the second, not
    the third.
    """
    # Not again so soon that a claim beside the outcome brings it, whose answer is lost as well.
    slow = {**FIXED, "base_ms": 8000}
    stage.way.when(way.LOST_ANSWER, "POST", where=carries_acks, times=2)
    job = stage.submit(["on_attempt", 1, [["fail", "once"]]], ["return", 1], retry=slow, max_attempts=2)
    stage.worker()
    ended = stage.final(job, state="succeeded")
    expect_equal(outcomes(ended), ["failed", "succeeded"], "the attempts")
    await_answered(stage, job)


@scenario
def a_lost_outcome(stage):
    """An outcome that never arrived is sent again; the job does not wait for its lease."""
    stage.way.when(way.LOST_REQUEST, "POST", where=carries_acks, times=3)
    job = stage.submit(["return", "kept"], lease_ms=120_000)
    stage.worker()
    ended = stage.final(job, state="succeeded")
    expect_equal((ended["result"], outcomes(ended)), ("kept", ["succeeded"]), "result and attempts")


@scenario
def half_an_answer(stage):
    """Half of an answer is no answer: outcomes go out again, and the connection is not
    used again.
    """
    stage.way.when(way.HALF_ANSWER, "POST", where=carries_acks, times=2)
    jobs = [stage.submit(["return", n]) for n in range(4)]
    stage.worker()
    for number, job in enumerate(jobs):
        expect_equal(stage.final(job, state="succeeded")["result"], number, "the result")
        await_answered(stage, job)


@scenario
def a_doubled_outcome(stage):
    """An outcome that arrives twice counts once, and its follow-up comes once."""
    follow = {"type": "next", "queue": stage.queue}
    stage.way.always(way.DOUBLED, "POST", where=lambda e: e.acks and e.claim is None)
    job = stage.submit(["enqueue", follow], ["return", 1])
    stage.worker()
    ended = stage.final(job, state="succeeded")
    expect_equal(outcomes(ended), ["succeeded"], "the attempts")
    await_answered(stage, job)
    found = stage.api.get("/v1/jobs", queue=stage.queue, type="next", fresh="true").json["items"]
    expect_equal(len(found), 1, "follow-ups")


@scenario
def follow_ups_come_once(stage):
    """The follow-ups of an outcome whose answers are lost come once."""
    follow = {"type": "next", "queue": stage.queue}
    stage.way.when(way.LOST_ANSWER, "POST", where=carries_acks, times=3)
    job = stage.submit(["enqueue", follow], ["enqueue", {**follow, "payload": 2}], ["return", 1])
    stage.worker()
    stage.final(job, state="succeeded")
    await_answered(stage, job)
    found = stage.api.get("/v1/jobs", queue=stage.queue, type="next", fresh="true").json["items"]
    expect_equal(len(found), 2, "follow-ups")


@scenario
def of_a_claim(stage):
    """A claim whose answer is lost leaves its jobs to their leases; the worker claims on, and runs
    them after that.
    """
    lost = stage.way.when(way.LOST_ANSWER, where=carries_claim)
    jobs = [stage.submit(["return", n], lease_ms=1000, retry=FIXED) for n in range(3)]
    stage.worker()
    stage.eventually(lambda: lost.hits and lost.hits[0].answer, "a lost claim")
    later = stage.submit(["return", "at once"])
    stage.final(later, state="succeeded", timeout_s=20)
    for job in jobs:
        ended = stage.final(job, state="succeeded")
        expect_equal(outcomes(ended)[-1], "succeeded", "the last attempt")


@scenario
def outcomes_while_a_claim_waits(stage):
    """While a claim waits at the server, an outcome goes out at once, on a second connection; the
    claim is not broken off.
    """
    job = stage.submit(["sleep", 5000], ["return", 1])
    stage.worker(poll_wait_ms=60_000)
    stage.program.await_event("start", job=job)
    held = stage.eventually(
        lambda: [e for e in stage.way.requests(where=carries_claim) if e.status is None],
        "a claim that waits",
    )
    end = stage.program.await_event("end", job=job)
    stage.final(job, state="succeeded", timeout_s=20)
    sent = next(e for e in stage.way.requests() if e.acks)
    late = sent.at - end["at"]
    expect_between(-5, late, 10, "seconds from the handler's end to its outcome")
    expect(sent.connection != held[0].connection, "outcome and claim went on one connection")
    time.sleep(0.5)
    expect(held[0].status is None, "the claim was answered before its time")
    before = stage.way.requests(where=carries_claim)
    later = stage.submit(["return", 2])
    stage.final(later, state="succeeded", timeout_s=20)
    brought = next(e for e in stage.way.requests() if later in [each["id"] for each in e.jobs])
    expect(brought in before, "no claim that waited brought the next job, but a new one")


@scenario
def outcomes_travel_together(stage):
    """Of many short jobs the outcomes travel together: at most a request for two of 200, and never
    more than 1,000 in one.
    """
    jobs = stage.submit_many(200, ["return", 1])
    stage.worker(concurrency=50)
    for job in jobs:
        stage.final(job, state="succeeded")
    sizes = [len(e.acks) for e in stage.way.requests() if e.acks]
    expect(len(sizes) <= 100, f"200 outcomes went in {len(sizes)} requests: {sizes}")
    expect(max(sizes) <= 1000, f"a request with {max(sizes)} outcomes")


@scenario
def slow_answers(stage):
    """Answers that come in small pieces are answers: nothing is sent twice, nothing gets lost."""
    stage.way.always(way.slow_answer(0.01), "POST", "/poll$")
    jobs = [stage.submit(["sleep", 300], ["return", n]) for n in range(6)]
    stage.worker()
    for number, job in enumerate(jobs):
        ended = stage.final(job, state="succeeded")
        expect_equal((ended["result"], outcomes(ended)), (number, ["succeeded"]), "the outcome")


@scenario
def a_slow_line(stage):
    """Over a line on which every request takes 300 ms a worker keeps leases of 4 s."""
    stage.way.always(way.Harm("slow line", late_request_s=0.15, late_answer_s=0.15))
    jobs = [stage.submit(["sleep", 6000], ["return", n], lease_ms=4000) for n in range(3)]
    stage.worker()
    for job in jobs:
        expect_equal(outcomes(stage.final(job, state="succeeded")), ["succeeded"], "the attempts")
    expect_equal(stage.program.seen("told"), [], "what handlers were told")


@scenario
def a_hanging_answer(stage):
    """An outcome whose answer hangs does not hang the worker: other jobs run, heartbeats go on, and
    it is sent again.
    """
    hung = stage.way.when(way.HANGING, "POST", where=carries_acks)
    job = stage.submit(["return", "first"], lease_ms=60_000)
    stage.worker(poll_wait_ms=1000)
    stage.eventually(lambda: hung.hits, "an outcome that hangs")
    other = stage.submit(["sleep", 6000], ["return", "second"], lease_ms=4000)
    ended = stage.final(other, state="succeeded")
    expect_equal(outcomes(ended), ["succeeded"], "the attempts of the other job")
    ended = stage.final(job, state="succeeded")
    expect_equal(outcomes(ended), ["succeeded"], "the attempts of the first job")


@scenario
def cut_connections(stage):
    """Connections that are cut five times a second lose no outcome and tell none twice."""
    jobs = [stage.submit(["sleep", 50], ["return", n], lease_ms=2000, retry=FIXED) for n in range(60)]
    stage.worker(concurrency=8, poll_wait_ms=1000)
    for _ in range(15):
        time.sleep(0.2)
        stage.way.cut()
    for number, job in enumerate(jobs):
        expect_equal(stage.final(job, state="succeeded")["result"], number, "the result")
        await_answered(stage, job)

"""Leases: what a worker may still do."""

import time

from suite import way
from suite.clock import Clock
from suite.failure import expect, expect_between, expect_equal
from suite.scenario import scenario

FIXED = {"strategy": "fixed", "base_ms": 50, "jitter": 0}
FIRST, SECOND = ["on_attempt", 1], ["on_attempt", 2]


def outcomes(job):
    return [attempt["outcome"] for attempt in job["attempts"]]


def heartbeats(stage, job):
    """The requests that carried a heartbeat of this job."""
    return [e for e in stage.way.requests() if any(i["id"] == job for i, _ in e.heartbeats)]


def carries_heartbeat(exchange):
    return exchange.heartbeats


def carries_claim(exchange):
    return exchange.claim is not None


@scenario
def a_long_handler_keeps_its_lease(stage):
    """A handler that runs three times as long as its lease keeps it by heartbeats, one each third
    of the lease.
    """
    job = stage.submit(["sleep", 13_500], ["return", "done"], lease_ms=4500)
    stage.worker()
    ended = stage.final(job, state="succeeded")
    expect_equal(outcomes(ended), ["succeeded"], "the attempts")
    beats = len(heartbeats(stage, job))
    expect(6 <= beats <= 14, f"{beats} heartbeats in 13.5 s of a lease of 4.5 s")


@scenario
def a_blocking_handler_keeps_its_lease(stage):
    """Heartbeats go on while a handler keeps its thread or its event loop to itself."""
    job = stage.submit(["block", 10_000], ["return", "done"], lease_ms=4000)
    stage.worker()
    ended = stage.final(job, state="succeeded")
    expect_equal(outcomes(ended), ["succeeded"], "the attempts")


@scenario
def the_option_lease(stage):
    """The worker's `lease` is asked for in each claim, and is the length of the leases."""
    job = stage.submit(["sleep", 1000])
    stage.worker(lease_ms=20_000)
    stage.final(job, state="succeeded")
    claims = [e for e in stage.way.requests() if e.claim is not None]
    expect_equal({e.claim.get("lease_ms") for e in claims}, {20_000}, "lease_ms of the claims")
    given = [each["lease"]["lease_ms"] for e in claims for each in e.jobs]
    expect_equal(given, [20_000], "lease_ms of the job")


@scenario
def no_lease_asked_for_without_the_option(stage):
    """Without the option, the claim asks for no length, and the job's own applies."""
    job = stage.submit(["sleep", 7000], lease_ms=4500)
    stage.worker()
    stage.final(job, state="succeeded")
    claims = [e.claim for e in stage.way.requests() if e.claim is not None]
    expect_equal([claim.get("lease_ms") for claim in claims], [None] * len(claims), "lease_ms asked")
    expect(len(heartbeats(stage, job)) >= 3, "too few heartbeats for a lease of 4.5 s")


@scenario
def a_claim_that_was_slow(stage):
    """If more than a third of the lease has passed when the claim's answer arrives, a heartbeat
    goes first, and the handler starts once it has succeeded.
    """
    stage.way.when(way.late_answer(3.5), where=lambda e: carries_claim(e) and b'"work"' in e.body)
    job = stage.submit(["return", 1], lease_ms=9000)
    stage.worker()
    start = stage.program.await_event("start", job=job)
    ended = stage.final(job, state="succeeded")
    expect_equal(outcomes(ended), ["succeeded"], "the attempts")
    beats = [e for e in heartbeats(stage, job) if e.delivered_at and e.delivered_at < start["at"] + 1]
    expect(beats, "the handler started, and no heartbeat had been answered before")


@scenario
def a_claim_that_was_too_slow(stage):
    """If the lease is over when the claim's answer arrives, the job does not start under it; it
    runs under the next lease.
    """
    late = stage.way.when(way.late_answer(6.5), where=carries_claim)
    job = stage.submit(["return", "ran"], lease_ms=3000, retry=FIXED)
    stage.worker()
    ended = stage.final(job, state="succeeded")
    stage.eventually(lambda: late.hits[0].delivered_at, "the late answer")
    expect_equal(outcomes(ended)[:1], ["lease_expired"], "the outcome of the first attempt")
    lost = late.hits[0].jobs[0]["lease"]["token"]
    tokens = [event["token"] for event in stage.program.seen("start")]
    expect(lost not in tokens, "the job was started under a lease that was over")


@scenario
def a_slow_heartbeat_does_not_start_it(stage):
    """A job whose claim was slow, and whose first heartbeat is not answered, does not start as long
    as no heartbeat has succeeded.
    """
    stage.way.when(way.late_answer(3), where=carries_claim)
    stage.way.always(way.HANGING, where=carries_heartbeat)
    job = stage.submit(["return", 1], lease_ms=6000, retry=FIXED, max_attempts=9)
    stage.worker()
    stage.eventually(lambda: any(e.jobs for e in stage.way.requests()), "a claim with the job")
    time.sleep(7)
    claimed = [each for e in stage.way.requests() for each in e.jobs]
    first = claimed[0]["lease"]["token"]
    tokens = [event["token"] for event in stage.program.seen("start")]
    expect(first not in tokens, "the job was started, and no heartbeat had succeeded")
    stage.way.forget()
    stage.final(job, state="succeeded")


@scenario
def a_lost_heartbeat_is_tried_again(stage):
    """Heartbeats whose answers are lost are sent again while the lease is certain: the job keeps
    its lease.
    """
    lost = stage.way.when(way.LOST_ANSWER, where=carries_heartbeat, times=2)
    job = stage.submit(["sleep", 9000], ["return", 1], lease_ms=6000)
    stage.worker()
    ended = stage.final(job, state="succeeded")
    expect_equal(outcomes(ended), ["succeeded"], "the attempts")
    expect_equal(len(lost.hits), 2, "lost answers")
    expect_equal(stage.program.seen("told"), [], "what handlers were told")


@scenario
def a_refused_heartbeat_is_tried_again(stage):
    """Heartbeats that get 503 are sent again while the lease is certain."""
    stage.way.when(way.problem(503, "overloaded"), where=carries_heartbeat, times=2)
    job = stage.submit(["sleep", 9000], ["return", 1], lease_ms=6000)
    stage.worker()
    ended = stage.final(job, state="succeeded")
    expect_equal(outcomes(ended), ["succeeded"], "the attempts")


@scenario
def heartbeats_without_answers(stage):
    """A handler whose heartbeats are not answered is told `lease_lost` when the lease is no longer
    certain, not much before and not after; no outcome is sent.
    """
    stage.way.always(way.HANGING, where=carries_heartbeat)
    job = stage.submit([*FIRST, [["stubborn", 12_000]]], ["return", 1], lease_ms=6000, retry=FIXED)
    stage.worker(concurrency=1)
    start = stage.program.await_event("start", job=job)
    claim = next(e for e in stage.way.requests() if e.jobs)
    told = stage.program.await_event("told", job=job, token=start["token"])
    expect_equal(told["reason"], "lease_lost", "the reason that the handler is told")
    expect_between(4, told["at"] - claim.at, 9, "seconds from the claim of a lease of 6 s")
    stage.way.forget()
    ended = stage.final(job, state="succeeded")
    expect_equal(outcomes(ended)[0], "lease_expired", "the outcome of the first attempt")


@scenario
def a_process_that_was_paused(stage):
    """A process that was stopped for longer than its leases, and goes on, tells its handlers
    `lease_lost` within a second; no outcome is sent for them, and the jobs run elsewhere meanwhile.
    """
    script = [*FIRST, [["stubborn", 15_000], ["return", "stale"]]]
    jobs = [stage.submit(script, ["return", "fresh"], lease_ms=3000, retry=FIXED) for _ in range(2)]
    other = stage.start_program()  # which may take long
    stage.worker()
    for job in jobs:
        stage.program.await_event("start", job=job)
    stage.program.pause()
    try:
        stage.worker(program=other, name="other")
        for job in jobs:
            ended = stage.final(job, state="succeeded")
            expect_equal(ended["result"], "fresh", "the result")
    finally:
        stage.program.go_on()
    for job in jobs:
        told = stage.program.await_event("told", job=job)
        expect_equal(told["reason"], "lease_lost", "the reason that the handler is told")
        late = told["at"] - stage.program.pauses[0][1]
        # The process may be faster than the suite, which notes the pause's end after it.
        expect_between(-1, late, 5, "seconds from going on until it is told")
    for job in jobs:
        stage.program.await_event("end", job=job)


@scenario
def a_short_pause(stage):
    """A pause that is shorter than the lease does no harm."""
    job = stage.submit(["sleep", 5000], ["return", 1], lease_ms=9000)
    stage.worker()
    stage.program.await_event("start", job=job)
    time.sleep(0.2)
    stage.program.pause()
    time.sleep(1.5)
    stage.program.go_on()
    ended = stage.final(job, state="succeeded")
    expect_equal(outcomes(ended), ["succeeded"], "the attempts")
    expect_equal(stage.program.seen("told"), [], "what handlers were told")


@scenario
def a_pause_while_a_claim_waits(stage):
    """Jobs that a claim brought while the process was stopped, and whose leases are over when it
    goes on, do not start under these.
    """
    stage.worker(poll_wait_ms=10_000, name="w")
    stage.eventually(lambda: [e for e in stage.way.seen if carries_claim(e)], "a claim")
    time.sleep(0.3)
    stage.program.pause()
    try:
        jobs = [stage.submit(["return", 1], lease_ms=3000, retry=FIXED) for _ in range(2)]
        stage.eventually(lambda: stage.attempts(jobs[0]) == ["lease_expired"], "an expired lease")
    finally:
        stage.program.go_on()
    for job in jobs:
        stage.final(job, state="succeeded")
    gone = {
        (each["id"], each["lease"]["token"])
        for e in stage.way.requests()
        for each in e.jobs
        if e.at < stage.program.pauses[0][0]
    }
    started = {(event["job"], event["token"]) for event in stage.program.seen("start")}
    expect(gone, "the claim that waited brought nothing")
    expect(not gone & started, "a job was started under a lease that was over")


@scenario(program=False)
def the_programs_clock_is_set(stage):
    """A step of the program's wall clock by an hour, ahead or back, touches no lease and no
    timeout.
    """
    clock = Clock(stage.server.home)
    program = stage.start_program(env=clock.env)
    jobs = [stage.submit(["sleep", 8000], ["return", 1], lease_ms=6000, timeout_ms=60_000)]
    stage.worker(program=program)
    program.await_event("start", job=jobs[0])
    clock.set(3600)
    time.sleep(2)
    jobs.append(stage.submit(["sleep", 3000], ["return", 1], lease_ms=6000, timeout_ms=60_000))
    time.sleep(1)
    clock.set(-3600)
    jobs.append(stage.submit(["sleep", 3000], ["return", 1], lease_ms=6000))
    for job in jobs:
        ended = stage.final(job, state="succeeded")
        expect_equal(outcomes(ended), ["succeeded"], "the attempts")
    expect_equal(program.seen("told"), [], "what handlers were told")


@scenario(program=False)
def the_servers_clock_is_wrong(stage):
    """A server whose wall clock is an hour ahead, and then an hour behind, is as good as any:
    leases and timeouts are measured, not compared.
    """
    clock = Clock(stage.server.home)
    for offset in (3600, -3600):
        stage.stop_server()
        clock.set(offset)
        stage.server.env.update(clock.env)
        stage.start_server()
        program = stage.start_program()
        good = stage.submit(["sleep", 6000], ["return", 1], lease_ms=4000, timeout_ms=40_000)
        slow = stage.submit(["sleep", 30_000], lease_ms=4000, timeout_ms=5000, max_attempts=1)
        stage.worker(program=program)
        told = program.await_event("told", job=slow)
        expect_equal(told["reason"], "timeout", f"what the slow one is told, {offset} s off")
        claim = next(e for e in stage.way.requests() if slow in [each["id"] for each in e.jobs])
        expect_between(4.95, told["at"] - claim.at, 10, "seconds from the claim until it is told")
        ended = stage.final(good, state="succeeded")
        expect_equal(outcomes(ended), ["succeeded"], "the attempts of the good one")
        program.do("stop", name="w")


@scenario
def the_servers_clock_is_set(stage):
    """A step of the server's wall clock while jobs run touches no lease."""
    clock = Clock(stage.server.home)
    stage.stop_server()
    stage.server.env.update(clock.env)
    stage.start_server()
    job = stage.submit(["sleep", 8000], ["return", 1], lease_ms=6000)
    stage.worker()
    stage.program.await_event("start", job=job)
    for offset in (600, -600, 0):
        clock.set(offset)
        time.sleep(1.5)
    ended = stage.final(job, state="succeeded")
    expect_equal(outcomes(ended), ["succeeded"], "the attempts")


@scenario
def tokens_rise(stage):
    """Each lease of a job has its own fencing token, and later ones are greater."""
    job = stage.submit([*FIRST, [["fail", "1"]]], [*SECOND, [["fail", "2"]]], retry=FIXED)
    stage.worker()
    stage.final(job, state="succeeded")
    tokens = [event["token"] for event in stage.program.seen("start")]
    expect(tokens == sorted(set(tokens)) and len(tokens) == 3, f"the tokens are {tokens}")

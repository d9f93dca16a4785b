"""A server that is killed, restarted, drained, or says no."""

import time

from suite import way
from suite.failure import expect, expect_between, expect_equal
from suite.program import Refused
from suite.scenario import scenario
from suite.tokens import config_of

FIXED = {"strategy": "fixed", "base_ms": 50, "jitter": 0}


def outcomes(job):
    return [attempt["outcome"] for attempt in job["attempts"]]


def polls(stage):
    return stage.way.requests("POST", "/poll$")


@scenario
def killed_and_started_again(stage):
    """A worker survives the server's death: it goes on when the server is back, and says so in one
    warning and one line.
    """
    before = stage.submit_many(5, ["sleep", 100])
    stage.worker(poll_wait_ms=1000)
    for job in before:
        stage.final(job, state="succeeded")
    stage.kill_server()
    stage.eventually(lambda: stage.program.seen("log"), "a warning that the server is lost")
    time.sleep(1.5)
    stage.start_server()
    after = stage.submit_many(5, ["sleep", 100])
    for job in after:
        stage.final(job, state="succeeded")
    stage.eventually(lambda: len(stage.program.seen("log")) > 1, "a line that the server is back")
    lines = [(event["level"], event["message"]) for event in stage.program.seen("log")]
    loud = [line for line in lines if line[0] in ("warn", "warning", "error")]
    expect(loud and loud[0] == lines[0], f"the first line was to be a warning: {lines}")
    expect(len(loud) <= 2 and len(lines) <= 3, f"more than a warning and a line: {lines}")


@scenario
def drained_and_started_again(stage):
    """A worker survives a server that drains, ends and comes back; what runs meanwhile keeps its
    lease.
    """
    job = stage.submit(["sleep", 4000], ["return", "survived"], lease_ms=30_000)
    stage.worker(poll_wait_ms=10_000)
    stage.program.await_event("start", job=job)
    stage.stop_server()
    time.sleep(1)
    stage.start_server()
    ended = stage.final(job, state="succeeded")
    expect_equal(outcomes(ended), ["succeeded"], "the attempts")
    expect_equal(stage.program.seen("told"), [], "what handlers were told")


@scenario
def an_outcome_while_it_is_away(stage):
    """An outcome that comes while the server is away is kept, and sent when it is back."""
    job = stage.submit(["sleep", 1000], ["return", "kept"], lease_ms=90_000)
    stage.worker()
    stage.program.await_event("start", job=job)
    stage.kill_server()
    stage.program.await_event("end", job=job)
    time.sleep(1)
    stage.start_server()
    ended = stage.final(job, state="succeeded")
    expect_equal((ended["result"], outcomes(ended)), ("kept", ["succeeded"]), "result and attempts")


@scenario
def away_for_longer_than_a_lease(stage):
    """A server that is away for longer than a lease costs the lease: the handler is told
    `lease_lost`, and the job runs again.
    """
    script = [["on_attempt", 1, [["stubborn", 10_000], ["return", "stale"]]], ["return", "fresh"]]
    job = stage.submit(*script, lease_ms=3000, retry=FIXED)
    stage.worker()
    stage.program.await_event("start", job=job)
    stage.kill_server()
    told = stage.program.await_event("told", job=job)
    expect_equal(told["reason"], "lease_lost", "the reason that the handler is told")
    time.sleep(0.5)
    stage.start_server()
    ended = stage.final(job, state="succeeded")
    expect_equal(ended["result"], "fresh", "the result")


@scenario
def retry_after_of_a_poll(stage):
    """A poll that gets 503 with `Retry-After: 2` is not repeated before that."""
    refused = stage.way.when(way.problem(503, "overloaded", 2), where=lambda e: e.claim)
    stage.worker()
    stage.eventually(lambda: [e for e in polls(stage) if e not in refused.hits], "the next poll")
    first, second = polls(stage)[:2]
    expect_between(1.99, second.at - first.at, 40, "seconds between the polls")


@scenario
def pauses_grow(stage):
    """A worker whose server is away tries on with pauses: no more than 40 connections in the first
    three seconds.
    """
    stage.worker()
    stage.eventually(lambda: polls(stage), "the first poll")
    stage.kill_server()
    before = stage.way.connections
    time.sleep(3)
    tries = stage.way.connections - before
    expect(tries <= 40, f"{tries} connections within 3 s")
    stage.eventually(lambda: stage.way.connections - before >= 2, "another try")
    stage.start_server()
    job = stage.submit(["return", 1])
    stage.final(job, state="succeeded")


@scenario(program=False)
def a_wrong_token_ends_it(stage):
    """401 and 403 end the worker with that error, since time does not cure them."""
    reader, config = config_of("--name", "reader", "--scope", "read")
    stage.restart_with(config, reader)
    for token, class_name in (("mlr_wrong", "Unauthenticated"), (reader, "Forbidden")):
        program = stage.start_program(token=token)
        stage.worker(program=program)
        ended = program.await_event("worker_ended", worker="w")
        expect((ended["error"] or {}).get("class") == class_name, f"it ended with {ended['error']}")


@scenario
def a_name_that_is_not_valid(stage):
    """A queue's name that is not valid ends the worker with `ValidationFailed`, or is refused
    before it starts.
    """
    try:
        stage.worker(queues=["no blanks, please"])
        error = stage.program.await_event("worker_ended", worker="w")["error"] or {}
    except Refused as refused:
        error = refused.error
    expect_equal(error.get("class"), "ValidationFailed", "the class of the error")


@scenario
def idle(stage):
    """An idle worker holds one request that waits, and uses no processor time that can be seen."""
    stage.worker(poll_wait_ms=10_000)
    stage.eventually(lambda: polls(stage), "the first poll")
    time.sleep(1.5)  # what starts late has started
    for _ in range(6):  # on a slow machine something may start later still
        before, asked = stage.program.cpu_s(), len(polls(stage))
        time.sleep(5)
        used = stage.program.cpu_s() - before
        if used <= 0.1:
            break
    expect(used <= 0.1, f"5 s of waiting took {used:.2f} s of processor time")
    expect(len(polls(stage)) - asked <= 1, f"{len(polls(stage)) - asked} polls within 5 s")
    waiting = [e for e in polls(stage) if e.delivered_at is None]
    expect_equal(len(waiting), 1, "requests that wait")
    job = stage.submit(["return", 1])
    stage.final(job, state="succeeded")

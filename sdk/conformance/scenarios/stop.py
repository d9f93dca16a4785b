"""How a worker ends."""

import signal
import time

from suite import way
from suite.failure import expect, expect_between, expect_equal
from suite.scenario import scenario


def outcomes(job):
    return [attempt["outcome"] for attempt in job["attempts"]]


def listed_workers(stage):
    return [each["id"] for each in stage.api.get("/v1/workers").json["items"]]


def expect_goodbye(stage, worker):
    listed = listed_workers(stage)
    expect(worker not in listed, f"the worker said no goodbye: the server lists {listed}")


def carries_claim(exchange):
    return exchange.claim is not None


@scenario
def running_handlers_finish(stage):
    """A stopped worker lets its handlers finish within the grace time, sends their outcomes, says
    goodbye and claims no more.
    """
    job = stage.submit(["sleep", 4000], ["return", 7])
    worker = stage.worker(grace_ms=10_000)
    stage.program.await_event("start", job=job)
    call = stage.program.send("stop", name="w")
    time.sleep(2)
    later = stage.submit()
    call.result()
    expect_between(0.3, call.took_s, 9.5, "seconds that the stop took")
    expect_equal(stage.job(job, "result")["result"], 7, "the result, once the stop is answered")
    expect_equal(stage.job(later)["state"], "ready", "the state of a job that came after the stop")
    expect_goodbye(stage, worker)
    ended = stage.program.await_event("worker_ended", worker="w")
    expect_equal(ended["error"], None, "the error of the worker's end")


@scenario
def an_idle_worker_stops_at_once(stage):
    """A worker without jobs stops at once, although its claim would wait for long."""
    worker = stage.worker(poll_wait_ms=30_000, grace_ms=20_000)
    stage.eventually(lambda: stage.way.requests(where=carries_claim), "a claim")
    time.sleep(0.5)
    call = stage.program.send("stop", name="w")
    call.result()
    expect_between(0, call.took_s, 15, "seconds that the stop took")
    expect_goodbye(stage, worker)


@scenario
def after_the_grace_time(stage):
    """When the grace time is over, handlers are told `stopping`; a handler that then ends is
    released: the job is ready again and has lost no attempt.
    """
    job = stage.submit(["on_attempt", 1, [["sleep", 20_000]]], ["return", 1], max_attempts=1)
    stage.worker(grace_ms=700)
    stage.program.await_event("start", job=job)
    call = stage.program.send("stop", name="w")
    told = stage.program.await_event("told", job=job)
    expect_equal(told["reason"], "stopping", "the reason that the handler is told")
    expect_between(0.6, told["at"] - call.sent_at, 8, "seconds from the stop until it is told")
    call.result()
    kept = stage.job(job, "attempts")
    expect_equal(kept["state"], "ready", "the state, once the stop is answered")
    expect_equal((kept["attempt"], outcomes(kept)), (0, ["released"]), "attempt, and the attempts")


@scenario
def a_stubborn_handler_is_left(stage):
    """What still runs a second after it was told `stopping` is released; its later outcome is
    ignored, and the stop does not wait for it.
    """
    job = stage.submit(["stubborn", 10_000], ["return", "too late"])
    stage.worker(grace_ms=300)
    stage.program.await_event("start", job=job)
    call = stage.program.send("stop", name="w")
    call.result()
    expect_between(1.1, call.took_s, 8, "seconds that the stop took")
    expect_equal(stage.job(job)["state"], "ready", "the state, once the stop is answered")
    time.sleep(max(0, 10.5 - call.took_s))
    kept = stage.job(job, "attempts", "result")
    expect_equal((outcomes(kept), kept["result"]), (["released"], None), "the attempts and the result")


@scenario
def a_result_after_stopping(stage):
    """A handler that returns a value within the second after it was told `stopping` succeeds."""
    job = stage.submit(["stubborn", 1400], ["return", "just in time"])
    stage.worker(grace_ms=1000)
    stage.program.await_event("start", job=job)
    stage.program.do("stop", name="w")
    ended = stage.final(job, state="succeeded", timeout_s=1)
    expect_equal((ended["result"], outcomes(ended)), ("just in time", ["succeeded"]), "the outcome")


@scenario
def heartbeats_go_on_while_stopping(stage):
    """During the grace time handlers keep their leases."""
    job = stage.submit(["sleep", 8000], ["return", 1], lease_ms=4000)
    stage.worker(grace_ms=20_000)
    stage.program.await_event("start", job=job)
    stage.program.do("stop", name="w")
    ended = stage.final(job, state="succeeded", timeout_s=1)
    expect_equal(outcomes(ended), ["succeeded"], "the attempts")


@scenario
def jobs_that_a_claim_still_brings(stage):
    """A claim that has just been sent is not broken off by a stop: the jobs that it brings do not
    start, and are ready again long before their leases are over.
    """
    jobs = [stage.submit() for _ in range(3)]
    stage.way.always(way.late_answer(0.35), where=carries_claim)
    stage.worker(grace_ms=5000, poll_wait_ms=10_000)
    stage.eventually(lambda: stage.way.requests(where=carries_claim), "a claim")
    stage.program.do("stop", name="w")
    for job in jobs:
        stage.await_state(job, "ready", timeout_s=5)
    expect_equal(stage.program.seen("start"), [], "handlers that started")
    taken = [each["id"] for e in stage.way.requests() for each in e.jobs]
    expect(taken, "the claim brought nothing: the scenario missed its moment")


@scenario
def sigterm(stage):
    """On SIGTERM the program stops its workers: what runs finishes, the rest stays, and
    it exits 0.
    """
    job = stage.submit(["sleep", 1000], ["return", 1])
    worker = stage.worker(grace_ms=10_000)
    stage.program.await_event("start", job=job)
    stage.program.terminate()
    expect_equal(stage.program.await_end(), 0, "the exit status")
    ended = stage.final(job, state="succeeded", timeout_s=1)
    expect_equal(outcomes(ended), ["succeeded"], "the attempts")
    expect_goodbye(stage, worker)


@scenario
def sigint(stage):
    """SIGINT does the same."""
    job = stage.submit(["sleep", 800], ["return", 1])
    stage.worker(grace_ms=10_000)
    stage.program.await_event("start", job=job)
    stage.program.process.send_signal(signal.SIGINT)
    expect_equal(stage.program.await_end(), 0, "the exit status")
    stage.final(job, state="succeeded", timeout_s=1)


@scenario
def a_second_sigterm(stage):
    """A second SIGTERM ends the grace time: handlers are told `stopping` at once, and the program
    exits 0.
    """
    job = stage.submit(["sleep", 30_000])
    stage.worker(grace_ms=30_000)
    stage.program.await_event("start", job=job)
    stage.program.terminate()
    time.sleep(2)
    expect_equal(stage.program.seen("told"), [], "told before the second signal")
    begin = time.monotonic()
    stage.program.terminate()
    expect_equal(stage.program.await_end(), 0, "the exit status")
    expect_between(0, time.monotonic() - begin, 20, "seconds from the second signal to the end")
    expect_equal([e["reason"] for e in stage.program.seen("told")], ["stopping"], "told")
    expect_equal(stage.job(job)["state"], "ready", "the state of the job")


@scenario
def the_end_of_its_input(stage):
    """When its input ends, the program stops its workers and exits 0."""
    job = stage.submit(["sleep", 600], ["return", 1])
    worker = stage.worker(grace_ms=10_000)
    stage.program.await_event("start", job=job)
    expect_equal(stage.program.end(), 0, "the exit status")
    stage.final(job, state="succeeded", timeout_s=1)
    expect_goodbye(stage, worker)


@scenario
def the_command_stop(stage):
    """The server's command `stop` ends the worker as a stop does, without an error."""
    job = stage.submit(["sleep", 700], ["return", 1])
    worker = stage.worker(grace_ms=10_000)
    stage.program.await_event("start", job=job)
    expect_equal(stage.api.post(f"/v1/workers/{worker}/stop").status, 200, "the driver's request")
    ended = stage.program.await_event("worker_ended", worker="w")
    expect_equal(ended["error"], None, "the error of the worker's end")
    stage.final(job, state="succeeded", timeout_s=1)
    expect_goodbye(stage, worker)


@scenario
def the_command_quiet(stage):
    """The server's command `quiet` ends claims alone: what runs goes on, the worker stays, and can
    be stopped.
    """
    job = stage.submit(["sleep", 6000], ["return", 1], lease_ms=6000)
    worker = stage.worker(poll_wait_ms=1000)
    stage.program.await_event("start", job=job)
    stage.api.post(f"/v1/workers/{worker}/quiet")
    time.sleep(3.5)  # the claim that waited is over
    before = len(stage.way.requests(where=carries_claim))
    later = stage.submit()
    ended = stage.final(job, state="succeeded")
    expect_equal(outcomes(ended), ["succeeded"], "the attempts")
    time.sleep(0.7)
    claims = len(stage.way.requests(where=carries_claim)) - before
    expect_equal(claims, 0, "claims after the command")
    expect_equal(stage.job(later)["state"], "ready", "the state of a later job")
    expect_equal(stage.program.seen("worker_ended"), [], "ends of the worker")
    call = stage.program.send("stop", name="w")
    call.result()
    expect_between(0, call.took_s, 15, "seconds that the stop took")


@scenario
def one_of_two_workers(stage):
    """Two workers of one program are two: the stop of one leaves the other alone."""
    first = stage.worker(name="first")
    second = stage.worker(name="second")
    expect(first != second, f"two workers have the name {first}")
    stage.program.do("stop", name="first")
    jobs = [stage.submit(["return", n]) for n in range(3)]
    for job in jobs:
        stage.final(job, state="succeeded")
    workers = {event["worker"] for event in stage.program.seen("start")}
    expect_equal(workers, {"second"}, "the workers that ran jobs")
    expect(second in listed_workers(stage), "the server does not list the other worker")


@scenario
def the_last_outcome_is_sent_again(stage):
    """At a stop, an outcome whose answer is lost is sent again before the worker ends."""
    stage.way.when(way.LOST_REQUEST, where=lambda e: e.acks, times=2)
    job = stage.submit(["sleep", 500], ["return", "kept"])
    stage.worker(grace_ms=10_000)
    stage.program.await_event("start", job=job)
    stage.program.do("stop", name="w")
    expect_equal(stage.final(job, timeout_s=1)["result"], "kept", "the result")

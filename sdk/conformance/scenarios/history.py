"""Whole lives: many jobs, many faults, and a look at all that was said in the end."""

import random
import threading
import time

from suite import way
from suite.failure import expect, expect_equal
from suite.scenario import scenario

QUICK = {"strategy": "fixed", "base_ms": 100, "jitter": 0}
MEMBERS = {"lease_ms": 4000, "retry": QUICK, "max_attempts": 100}


class Jobs:
    """Jobs of many kinds, and how each must end."""

    def __init__(self, stage, dice):
        self.stage, self.dice = stage, dice
        self.wanted = {}  # id -> (state, result or None)
        self.followed = 0

    def submit(self, count):
        for number in range(count):
            script, state, result = self._draw(f"{len(self.wanted)}-{number}")
            self.wanted[self.stage.submit(*script, **MEMBERS)] = (state, result)

    def _draw(self, name):
        pause = ["sleep", self.dice.choice((0, 5, 20, 100, 300))]
        good = ["return", {"name": name}]
        follow = {"type": "next", "queue": "follow-ups", "payload": name}
        kind = self.dice.choice("ssssffoodekcp")
        if kind == "f":
            return [["on_attempt", 1, [pause, ["fail", "once"]]], good], "succeeded", {"name": name}
        if kind == "o":
            return (
                [["on_attempt", 1, [["retry_after", 200, "busy"]]], pause, good],
                "succeeded",
                {"name": name},
            )
        if kind == "d":
            return [pause, ["non_retryable", "never"]], "dead", None
        if kind == "e":
            self.followed += 1
            return [pause, ["enqueue", follow], good], "succeeded", {"name": name}
        if kind == "k":
            return [["cancel", "not any more"]], "cancelled", None
        if kind == "c":
            steps = [["progress", 1, "on", name], pause, ["fail", "with a checkpoint"]]
            return [["on_attempt", 1, steps], good], "succeeded", {"name": name}
        if kind == "p":
            return [["log", "info", name], ["stubborn", 200], good], "succeeded", {"name": name}
        return [pause, good], "succeeded", {"name": name}

    def all_end(self, timeout_s):
        """Waits until each has ended as it must."""
        deadline = time.monotonic() + timeout_s
        for job, (state, result) in self.wanted.items():
            ended = self.stage.final(job, timeout_s=max(0.1, min(50, deadline - time.monotonic())))
            expect_equal((ended["state"], ended["result"]), (state, result), f"the end of job {job}")
        found = self.stage.api.get("/v1/jobs", queue="follow-ups", fresh="true", limit=1000).json["items"]
        expect_equal(len(found), self.followed, "follow-ups")


def roughen(stage, dice):
    """Loses, cuts, doubles and delays some of all requests."""
    for harm, part in (
        (way.LOST_ANSWER, 0.04),
        (way.LOST_REQUEST, 0.03),
        (way.HALF_ANSWER, 0.02),
        (way.late_answer(0.2), 0.04),
        (way.problem(503, "overloaded", 0), 0.02),
        (way.page(502), 0.02),
    ):
        stage.way.always(harm, where=lambda _, part=part: dice.random() < part)
    stage.way.always(way.DOUBLED, where=lambda e: e.claim is None and dice.random() < 0.03)


@scenario
def under_kills_of_the_server(stage):
    """Three hundred jobs of many kinds, while the server is killed three times and requests are
    lost, cut, doubled and delayed: each ends as it must, and the history keeps every promise.
    """
    dice = random.Random(31)
    jobs = Jobs(stage, dice)
    jobs.submit(150)
    stage.worker(concurrency=10, poll_wait_ms=1000)
    roughen(stage, dice)
    for _ in range(3):
        time.sleep(1)
        stage.kill_server()
        time.sleep(0.3)
        stage.start_server()
        jobs.submit(50)
    time.sleep(1)
    stage.way.forget()
    jobs.all_end(120)


@scenario
def under_kills_of_workers(stage):
    """Two hundred jobs, while one program after the other is killed, or stopped for longer than its
    leases and continued: each job ends as it must.
    """
    dice = random.Random(32)
    jobs = Jobs(stage, dice)
    stage.worker(concurrency=5, poll_wait_ms=1000)
    jobs.submit(200)
    second = stage.start_program()
    stage.worker(program=second, name="second", concurrency=5, poll_wait_ms=1000)
    time.sleep(0.4)
    second.kill()
    stage.program.pause()
    third = stage.start_program()
    stage.worker(program=third, name="third", concurrency=5, poll_wait_ms=1000)
    time.sleep(6)
    stage.program.go_on()
    jobs.all_end(120)


@scenario
def under_cut_connections(stage):
    """Two hundred jobs of two workers, while all connections are cut again and again and the server
    is drained once: each job ends as it must.
    """
    dice = random.Random(33)
    jobs = Jobs(stage, dice)
    stage.worker(name="first", concurrency=5, poll_wait_ms=1000)
    stage.worker(name="second", concurrency=5, poll_wait_ms=1000)
    over = threading.Event()

    def cut():
        while not over.wait(dice.uniform(0.1, 0.5)):
            stage.way.cut()

    cutter = threading.Thread(target=cut)
    cutter.start()
    try:
        jobs.submit(100)
        time.sleep(1.5)
        stage.stop_server()
        time.sleep(0.5)
        stage.start_server()
        jobs.submit(100)
        time.sleep(1.5)
    finally:
        over.set()
        cutter.join()
    jobs.all_end(120)


@scenario
def submitted_under_kills(stage):
    """Two hundred submissions of the client, twenty at a time, while the server is killed twice and
    answers are lost: every one that is acknowledged is there once, and no other.
    """
    dice = random.Random(34)
    stage.program.do("configure", url=stage.way.url, timeout_ms=60_000)
    roughen(stage, dice)
    calls = []
    for group in range(10):
        for number in range(20):
            job = {"type": "quiet", "queue": stage.queue, "payload": [group, number]}
            calls.append(stage.program.send("submit", job=job))
        time.sleep(0.15)
        if group in (3, 7):
            stage.kill_server()
            time.sleep(0.3)
            stage.start_server()
    made = [call.result(90)["job"]["id"] for call in calls]
    listed = stage.api.get("/v1/jobs", queue=stage.queue, fresh="true", limit=1000).json["items"]
    expect_equal(len({job["id"] for job in listed}), 200, "jobs of the queue")
    expect(set(made) == {job["id"] for job in listed}, "the jobs are not those that were acknowledged")

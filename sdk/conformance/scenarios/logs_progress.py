"""Logs, progress and checkpoints."""

import time

from suite import way
from suite.failure import expect, expect_between, expect_equal
from suite.scenario import scenario

FIXED = {"strategy": "fixed", "base_ms": 50, "jitter": 0}


def lines_of(stage, job):
    """(level, message) of each line that the server keeps."""
    items, cursor = [], None
    while True:
        query = {"limit": 1000, **({"cursor": cursor} if cursor else {})}
        page = stage.api.get(f"/v1/jobs/{job}/logs", **query).json
        items += [(line["level"], line["message"]) for line in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            return items


@scenario
def lines_of_a_handler(stage):
    """What a handler writes to the language's standard logger is kept with its job, in order, with
    its level; all of it is there when the job has ended.
    """
    wanted = [(level, f"at {level} é") for level in ("info", "warn", "error")]
    job = stage.submit(*(["log", level, message] for level, message in wanted))
    stage.worker()
    stage.final(job, state="succeeded")
    expect_equal(lines_of(stage, job), wanted, "the lines, once the job has ended")


@scenario
def each_line_to_its_job(stage):
    """Lines of handlers that run side by side go to the job of each."""
    steps = [["log", "info", "{}-1"], ["sleep", 200], ["log", "info", "{}-2"], ["sleep", 200]]
    jobs = {}
    for name in ("a", "b", "c", "d"):
        script = [[part.format(name) if isinstance(part, str) else part for part in s] for s in steps]
        jobs[stage.submit(*script)] = name
    stage.worker()
    for job, name in jobs.items():
        stage.final(job, state="succeeded")
        expect_equal([m for _, m in lines_of(stage, job)], [f"{name}-1", f"{name}-2"], "the lines")


@scenario
def lines_of_a_job_that_runs(stage):
    """Lines are sent within a second, also while the handler goes on."""
    job = stage.submit(["log", "info", "begun"], ["sleep", 20_000])
    stage.worker()
    start = stage.program.await_event("start", job=job)
    stage.eventually(lambda: lines_of(stage, job), "the first line")
    expect_between(0, time.monotonic() - start["at"], 8, "seconds until the line is at the server")
    stage.api.post(f"/v1/jobs/{job}/cancel", {})


@scenario
def lines_of_a_failure(stage):
    """The lines of an attempt that fails are kept, and those of the next attempt come
    after them.
    """
    job = stage.submit(
        ["on_attempt", 1, [["log", "error", "first"], ["fail", "no"]]],
        ["log", "info", "second"],
        retry=FIXED,
    )
    stage.worker()
    stage.final(job, state="succeeded")
    items = stage.api.get(f"/v1/jobs/{job}/logs").json["items"]
    came = [(line["attempt"], line["level"], line["message"]) for line in items]
    expect_equal(came, [(1, "error", "first"), (2, "info", "second")], "the lines")


@scenario
def lines_when_answers_are_lost(stage):
    """When the answer to lines is lost, the last lines are kept nevertheless, and so is the
    outcome.
    """
    stage.way.when(way.LOST_ANSWER, where=lambda e: e.logs)
    job = stage.submit(["log", "info", "one"], ["sleep", 2500], ["log", "info", "two"])
    stage.worker()
    stage.final(job, state="succeeded")
    messages = [message for _, message in lines_of(stage, job)]
    expect("one" in messages and messages[-1] == "two", f"the lines are {messages}")


@scenario
def more_lines_than_it_keeps(stage):
    """Of more than 256 KiB of lines that wait the oldest go; the newest are kept, and the job ends
    as it would.
    """
    refuse = stage.way.always(way.problem(503, "overloaded"), where=lambda e: e.logs)
    script = [["log", "info", f"{n:04d} " + "x" * 1000] for n in range(400)]
    job = stage.submit(*script, ["sleep", 1500], ["return", 1], lease_ms=20_000)
    stage.worker()
    stage.program.await_event("start", job=job)
    time.sleep(1)
    stage.way.forget(refuse)
    stage.final(job, state="succeeded")
    numbers = [int(message[:4]) for _, message in lines_of(stage, job)]
    expect_equal(numbers[-1:], [399], "the newest line")
    expect_equal(numbers, list(range(400 - len(numbers), 400)), "the lines, without a gap")
    sent = {item["message"][:4] for e in stage.way.requests() for item, result in e.logs if result}
    sent |= {line["message"][:4] for e in stage.way.requests() for i, r in e.acks if r for line in i.get("logs", ())}
    expect(len(sent) <= 262, f"{len(sent)} lines of 1 KiB had been kept")


@scenario
def progress_of_a_job_that_runs(stage):
    """Progress is at the server within a second, without waiting for a third of the lease."""
    job = stage.submit(["progress", 40, "resizing", {"page": 3}], ["sleep", 20_000], lease_ms=30_000)
    stage.worker()
    start = stage.program.await_event("start", job=job)
    progress = stage.eventually(lambda: stage.job(job)["progress"], "the progress")
    expect_between(0, time.monotonic() - start["at"], 8, "seconds until it is at the server")
    wanted = {"percent": 40, "message": "resizing", "checkpoint": {"page": 3}}
    expect_equal(progress, wanted, "the progress")
    stage.api.post(f"/v1/jobs/{job}/cancel", {})


@scenario
def the_newest_progress(stage):
    """Of many reports the newest is kept, in few requests."""
    script = [["progress", n, f"step {n}", None] for n in range(1, 51)]
    job = stage.submit(*script, ["sleep", 2500])
    stage.worker()
    progress = stage.eventually(
        lambda: (p := stage.job(job)["progress"]) and p["percent"] == 50 and p,
        "the last progress",
    )
    expect_equal(progress["message"], "step 50", "the message")
    sent = [e for e in stage.way.requests() for item, _ in e.heartbeats if "progress" in item]
    expect(len(sent) <= 10, f"50 reports went in {len(sent)} requests")
    stage.final(job, state="succeeded")


@scenario
def checkpoints(stage):
    """The next attempt sees the checkpoint that the last one reported."""
    checkpoint = {"page": 3, "names": ["a", None]}
    job = stage.submit(
        ["on_attempt", 1, [["progress", 10, "one", checkpoint], ["sleep", 2000], ["fail", "no"]]],
        retry=FIXED,
    )
    stage.worker()
    stage.final(job, state="succeeded")
    seen = [event["checkpoint"] for event in stage.program.seen("start")]
    expect_equal(seen, [None, checkpoint], "the checkpoints that the attempts saw")


@scenario
def progress_without_a_checkpoint(stage):
    """A later report that names no checkpoint leaves the one before in place."""
    checkpoint = {"page": 3}
    first = [
        ["progress", 10, "one", checkpoint],
        ["sleep", 1500],
        ["progress", 60, "two"],
        ["sleep", 1500],
        ["fail", "no"],
    ]
    stage.submit(["on_attempt", 1, first], ["return", 1], retry=FIXED, lease_ms=9000)
    stage.worker()
    stage.program.await_event("start", attempt=2)
    seen = [event["checkpoint"] for event in stage.program.seen("start")]
    expect_equal(seen, [None, checkpoint], "the checkpoints that the attempts saw")


@scenario
def a_checkpoint_just_before_the_end(stage):
    """A checkpoint that is reported just before the attempt ends is not lost."""
    job = stage.submit(["on_attempt", 1, [["progress", 10, "one", "last words"], ["fail", "no"]]], retry=FIXED)
    stage.worker()
    stage.final(job, state="succeeded")
    seen = [event["checkpoint"] for event in stage.program.seen("start")]
    expect_equal(seen, [None, "last words"], "the checkpoints that the attempts saw")


@scenario
def progress_just_before_success(stage):
    """Progress that is reported just before the handler succeeds stays with the job."""
    job = stage.submit(["progress", 100, "all sent", {"page": 9}], ["return", 1])
    stage.worker()
    ended = stage.final(job, state="succeeded")
    wanted = {"percent": 100, "message": "all sent", "checkpoint": {"page": 9}}
    expect_equal(ended["progress"], wanted, "the progress of the job that has ended")


@scenario
def half_a_surrogate_in_lines_and_progress(stage):
    """A line and a progress message that are not Unicode cost neither the line nor the outcome."""
    job = stage.submit(
        ["log", "info", "line <half> end"],
        ["progress", 50, "half way <half> there", {"page": 3}],
        ["return", "done"],
    )
    stage.worker()
    ended = stage.final(job, state="succeeded")
    expect_equal([a["outcome"] for a in ended["attempts"]], ["succeeded"], "the attempts")
    lines = [message for _, message in lines_of(stage, job)]
    expect(
        len(lines) == 1 and lines[0].startswith("line ") and lines[0].endswith(" end"),
        f"the lines are {lines}",
    )


@scenario
def progress_that_is_no_number(stage):
    """A percent that is NaN and a checkpoint that is not JSON are refused in the call or left out.
    The worker goes on, and keeps what was reported before.
    """
    reports = [["progress", 10, "ten", {"page": 3}], ["bad_progress"], ["fail", "no"]]
    job = stage.submit(["on_attempt", 1, reports], ["return", 1], retry=FIXED)
    stage.worker(concurrency=1)
    ended = stage.final(job, state="succeeded")
    expect_equal([a["outcome"] for a in ended["attempts"]], ["failed", "succeeded"], "the attempts")
    seen = [event["checkpoint"] for event in stage.program.seen("start")]
    expect_equal(seen, [None, {"page": 3}], "the checkpoints that the attempts saw")
    expect_equal(stage.program.seen("worker_ended"), [], "workers that have ended")

"""The fake: a client without a server, for unit tests of applications."""

import harness
from suite.failure import expect, expect_equal
from suite.scenario import scenario

# What differs from one job to the next, or is the server's own affair.
VOLATILE = {"id", "version", "created_at", "run_at", "started_at", "finished_at", "expires_at"}
FIXED = {"strategy": "fixed", "base_ms": 1000, "jitter": 0.5}
TYPES = ["work", "other"]


def fake(stage, mode="drained"):
    stage.program.do("configure", fake=mode, types=TYPES)
    return stage.program


def job_of(*script, type="work", **members):
    return {
        "type": type,
        "queue": "q",
        "payload": {"script": [list(step) for step in script]},
        **members,
    }


def submit(program, *script, **members):
    """The id of a job that the fake has taken."""
    return program.do("submit", job=job_of(*script, **members))["job"]["id"]


def drain(program):
    return program.do("drain", types=TYPES)["ran"]


def state(program, job):
    return program.do("get", job=job)["state"]


def time_of(job, name="run_at"):
    """Seconds from the clock's beginning to a time of the job's."""
    return round(harness.seconds(job[name]) - harness.seconds("2030-01-01T00:00:00Z"), 3)


def runs(program):
    """(job, attempt) of each run of a handler, in order."""
    return [(event["job"], event["attempt"]) for event in program.seen("start")]


@scenario(history=False)
def drained(stage):
    """In the mode `drained` a job waits for `drain`, which runs it and says how many attempts ran;
    its result can be read and waited for.
    """
    program = fake(stage)
    job = submit(program, ["return", {"sum": 42}])
    expect_equal(state(program, job), "ready", "the state before")
    expect_equal(runs(program), [], "what ran before")
    expect_equal(drain(program), 1, "attempts that ran")
    read = program.do("get", job=job, include=["result"])
    expect_equal((read["state"], read["result"], read["attempt"]), ("succeeded", {"sum": 42}, 1), "after")
    expect_equal(drain(program), 0, "attempts of the second drain")


@scenario(history=False)
def inline(stage):
    """In the mode `inline` a job that is due runs within its submission, and one that is
    not waits.
    """
    program = fake(stage, "inline")
    job = submit(program, ["return", 1])
    expect_equal(runs(program), [(job, 1)], "what ran within the submission")
    expect_equal(state(program, job), "succeeded", "the state, once it is submitted")
    later = submit(program, ["return", 2], delay_ms=1000)
    expect_equal(state(program, later), "scheduled", "the state of a delayed one")
    program.do("advance", ms=1000)
    drain(program)
    expect_equal(state(program, later), "succeeded", "its state after its time")


@scenario(history=False)
def in_order_of_priority_and_age(stage):
    """`drain` runs jobs by priority, then by age."""
    program = fake(stage)
    order = [submit(program, priority=p) for p in (0, 5, -10, 0, 5)]
    expect_equal(drain(program), 5, "attempts that ran")
    wanted = [order[n] for n in (2, 0, 3, 1, 4)]
    expect_equal([job for job, _ in runs(program)], wanted, "the jobs in the order of their runs")


@scenario(history=False)
def jobs_that_handlers_submit(stage):
    """`drain` also runs what handlers submit and enqueue; what a failed attempt enqueued
    never was.
    """
    program = fake(stage)
    inner = job_of(["return", 1], type="other")
    submit(program, ["submit", inner], ["enqueue", inner], ["return", 1])
    expect_equal(drain(program), 3, "attempts that ran")
    submit(program, ["enqueue", inner], ["non_retryable", "no"])
    expect_equal(drain(program), 1, "attempts, where the handler failed")


@scenario(history=False)
def its_clock(stage):
    """Its clock starts at 2030-01-01T00:00:00Z, never moves by itself, and moves by `advance`."""
    program = fake(stage)
    first = program.do("submit", job=job_of())["job"]
    drain(program)
    program.do("advance", ms=90_061_001)
    second = program.do("submit", job=job_of())["job"]
    times = (time_of(first, "created_at"), time_of(second, "created_at"))
    expect_equal(times, (0, 90_061.001), "created_at, in seconds from 2030-01-01T00:00:00Z")


@scenario(history=False)
def delays(stage):
    """A job with a delay runs when its time has come, and not a millisecond before."""
    program = fake(stage)
    job = submit(program, delay_ms=60_000)
    at = submit(program, run_at="2030-01-01T00:01:00Z")
    expect_equal((state(program, job), state(program, at)), ("scheduled", "scheduled"), "the states")
    program.do("advance", ms=59_999)
    expect_equal(drain(program), 0, "attempts a millisecond before")
    program.do("advance", ms=1)
    expect_equal(drain(program), 2, "attempts at their time")


@scenario(history=False)
def retries_without_jitter(stage):
    """A failed job waits for its backoff, which is exact, and is dead after its last attempt;
    without a policy it is 5 s, then 10 s.
    """
    program = fake(stage)
    job = submit(program, ["fail", "no luck"], retry=FIXED, max_attempts=2)
    usual = submit(program, ["fail", "no luck"])
    expect_equal(drain(program), 2, "first attempts")
    read = program.do("get", job=job)
    expect_equal((read["state"], read["attempt"]), ("retrying", 1), "state and attempt")
    expect_equal(time_of(read), 1, "run_at, in seconds")
    expect_equal(read["last_error"]["message"], "no luck", "the error's message")
    program.do("advance", ms=999)
    expect_equal(drain(program), 0, "attempts a millisecond before")
    program.do("advance", ms=1)
    expect_equal(drain(program), 1, "second attempts")
    expect_equal(state(program, job), "dead", "the state after the last attempt")
    expect_equal(time_of(program.do("get", job=usual)), 5, "run_at of the usual one, in seconds")
    program.do("advance", ms=4000)
    drain(program)
    expect_equal(time_of(program.do("get", job=usual)), 15, "its next, in seconds")


@scenario(history=False)
def outcomes(stage):
    """`NonRetryable`, `RetryAfter`, `Snooze`, `Cancel` and results that are no JSON do as on the
    server.
    """
    program = fake(stage)
    dead = submit(program, ["non_retryable", "no"])
    later = submit(program, ["on_attempt", 1, [["retry_after", 7000, "busy"]]])
    snoozed = submit(program, ["snooze", 3000])
    cancelled = submit(program, ["cancel", "closed"])
    bad = submit(program, ["bad_result"], max_attempts=1)
    expect_equal(drain(program), 5, "attempts that ran")
    expect_equal(state(program, dead), "dead", "after NonRetryable")
    expect_equal(state(program, cancelled), "cancelled", "after Cancel")
    read = program.do("get", job=bad)
    came = (read["state"], read["last_error"]["type"])
    expect_equal(came, ("dead", "outcome_refused"), "after a bad result")
    read = program.do("get", job=later)
    expect_equal((read["state"], time_of(read)), ("retrying", 7), "after RetryAfter")
    read = program.do("get", job=snoozed)
    came = (read["state"], read["attempt"], time_of(read))
    expect_equal(came, ("scheduled", 0, 3), "after Snooze")
    program.do("advance", ms=7000)
    expect_equal(drain(program), 2, "attempts, seven seconds later")
    expect_equal(state(program, later), "succeeded", "after the second attempt")


@scenario(history=False)
def checkpoints(stage):
    """The next attempt sees the checkpoint of the last one."""
    program = fake(stage)
    submit(
        program,
        ["on_attempt", 1, [["progress", 50, "half", {"page": 3}], ["fail", "no"]]],
        retry=FIXED,
    )
    drain(program)
    program.do("advance", ms=1000)
    drain(program)
    seen = [event["checkpoint"] for event in program.seen("start")]
    expect_equal(seen, [None, {"page": 3}], "the checkpoints that the attempts saw")


@scenario(history=False)
def cancel_and_retry(stage):
    """`cancel` ends a waiting job, `retry` makes an ended one ready again as a new generation; the
    other way round both are `InvalidState`.
    """
    program = fake(stage)
    job = submit(program, ["return", 1])
    expect_equal(program.refuse("retry", job=job).class_name, "InvalidState", "retry of a waiting job")
    cancelled = program.do("cancel", job=job, reason="not needed")
    expect_equal(cancelled["state"], "cancelled", "the state after cancel")
    expect_equal(drain(program), 0, "attempts of a cancelled job")
    expect_equal(program.refuse("cancel", job=job).class_name, "InvalidState", "cancel again")
    again = program.do("retry", job=job)
    came = (again["state"], again["generation"], again["attempt"])
    expect_equal(came, ("ready", cancelled["generation"] + 1, 0), "after retry")
    expect_equal(drain(program), 1, "attempts after retry")


@scenario(history=False)
def ids_and_keys(stage):
    """Ids, idempotency keys and unique keys are kept: repetitions are not new, others are refused
    as the server refuses them.
    """
    program = fake(stage)
    first = program.do("submit", job=job_of(idempotency_key="k"))
    again = program.do("submit", job=job_of(idempotency_key="k"))
    came = (first["is_new"], again["is_new"], again["job"]["id"] == first["job"]["id"])
    expect_equal(came, (True, False, True), "of a key: new, again new, same id")
    refused = program.refuse("submit", job=job_of(["return", 2], idempotency_key="k"))
    expect_equal(refused.code, "idempotency_mismatch", "the code of a key with another body")
    own = program.do("make_id", queue="q")["id"]
    first = program.do("submit", job=job_of(id=own))
    again = program.do("submit", job=job_of(id=own))
    expect_equal((first["is_new"], again["is_new"]), (True, False), "of an id: new, again new")
    refused = program.refuse("submit", job=job_of(["return", 2], id=own))
    expect_equal(refused.class_name, "IdMismatch", "the error of an id with another payload")
    holder = submit(program, unique={"key": "u"})
    again = program.do("submit", job=job_of(unique={"key": "u"}))
    came = (again["is_new"], again["job"]["id"])
    expect_equal(came, (False, holder), "of a unique key: new, id")
    refused = program.refuse("submit", job=job_of(unique={"key": "u", "on_conflict": "reject"}))
    expect_equal(refused.class_name, "DuplicateJob", "the error with `reject`")
    newer = submit(program, unique={"key": "u", "on_conflict": "replace"})
    expect_equal(state(program, holder), "cancelled", "the holder, once it is replaced")
    drain(program)
    expect_equal(state(program, newer), "succeeded", "the one that replaced it")
    free = program.do("submit", job=job_of(unique={"key": "u"}))
    expect_equal(free["is_new"], True, "is_new, once the holder has ended")


@scenario(history=False)
def what_was_enqueued(stage):
    """`enqueued` lists what was submitted of a type, oldest first, also by handlers, for
    assertions.
    """
    program = fake(stage)
    inner = job_of(["return", 1], type="other", tags=["inner"])
    submit(program, ["submit", inner])
    submit(program, ["return", 2], type="other")
    jobs = program.do("enqueued", type="other")["jobs"]
    expect_equal([job["payload"]["script"] for job in jobs], [[["return", 2]]], "before the drain")
    drain(program)
    jobs = program.do("enqueued", type="other")["jobs"]
    expect_equal([job.get("tags") for job in jobs], [[], ["inner"]], "the tags, after it")
    expect_equal(program.do("enqueued", type="nothing")["jobs"], [], "of another type")


@scenario(history=False)
def lists_and_errors(stage):
    """`list` and `get` find jobs by queue, type and state; what is not there or not valid is
    refused as by the server.
    """
    program = fake(stage)
    first = submit(program)
    second = submit(program, type="other", delay_ms=1000)
    other = submit(program, queue="p")

    def ids(**filter):
        return [job["id"] for job in program.do("list", filter=filter)["items"]]

    expect_equal(ids(), [other, second, first], "all, newest first")
    expect_equal(ids(queue="q"), [second, first], "of a queue")
    expect_equal(ids(type="other"), [second], "of a type")
    expect_equal(ids(state="ready"), [other, first], "ready ones")
    nobody = "0195a1b2-c3d4-7e5f-8899-aabbccddeeff"
    refused = program.refuse("get", job=nobody)
    expect_equal((refused.class_name, refused.status), ("NotFound", 404), "of a job that is not there")
    refused = program.refuse("submit", job=job_of(priority=99_999))
    came = (refused.class_name, refused.status, [fault["where"] for fault in refused.errors])
    expect_equal(came, ("ValidationFailed", 422, ["/priority"]), "of a priority out of bounds")


@scenario(history=False)
def batches(stage):
    """A batch has a result for each job; an atomic one with a bad job stores nothing."""
    program = fake(stage)
    jobs = [job_of(), job_of(priority=99_999), job_of(delay_ms=1000)]
    items = program.do("submit_batch", jobs=jobs)["items"]
    expect_equal([item["status"] for item in items], [201, 422, 201], "the statuses")
    expect_equal(items[1]["error"]["code"], "validation_failed", "the code of the refused one")
    refused = program.refuse("submit_batch", jobs=jobs, atomic=True)
    expect_equal(refused.class_name, "ValidationFailed", "the error of the atomic one")
    expect_equal(len(program.do("list")["items"]), 2, "jobs in the end")


@scenario(history=False)
def limits_that_do_not_exist(stage):
    """A job and a queue that name a limit that nobody has put are refused, as by the server."""
    limited = job_of(limits=[{"name": "provider"}], queue="limited")

    def story(program):
        def refusal(do, **members):
            refused = program.refuse(do, **members)
            return refused.code, refused.status, [fault["where"] for fault in refused.errors or ()]

        yield refusal("submit", job=limited)
        yield refusal("put_queue", name="limited", settings={"limits": [{"name": "provider"}]})
        yield refusal("submit_batch", jobs=[job_of(), limited], atomic=True)
        items = program.do("submit_batch", jobs=[job_of(), limited])["items"]
        yield [(item["status"], (item.get("error") or {}).get("code")) for item in items]
        program.do("put_limit", name="provider", settings={"concurrency": 3})
        yield program.do("submit", job=limited)["job"]["state"]
        program.do("put_queue", name="limited", settings={"limits": [{"name": "provider"}]})

    on_server = list(story(stage.program))
    expect_equal(on_server[0], ("unknown_limit", 422, []), "the server's refusal of the job")
    for number, (real, faked) in enumerate(zip(on_server, story(fake(stage))), 1):
        expect_equal(faked, real, f"answer {number} of the fake, and what the server answers")


@scenario(history=False)
def as_the_server_answers(stage):
    """The same story on the server and on the fake gives the same answers, member by member."""
    job = job_of(["return", [1]], priority=3, tags=["a"], meta={"m": "1"}, max_attempts=4, queue="q")
    unknown = {"type": "work", "queue": "q"}

    def story(program):
        yield program.do("submit", job=job)
        made = program.do("submit", job={**job, "retry": FIXED, "timeout_ms": 5000, "delay_ms": 60_000})
        yield made
        yield program.do("submit", job=unknown)
        yield program.do("get", job=made["job"]["id"], include=["payload"])
        yield program.do("cancel", job=made["job"]["id"], reason="no")
        yield program.do("retry", job=made["job"]["id"])
        yield program.do("cancel", job=made["job"]["id"])
        yield program.do("submit_batch", jobs=[job, {**job, "priority": 99_999}])

    on_server = [comparable(each) for each in story(stage.program)]
    on_fake = [comparable(each) for each in story(fake(stage))]
    for number, (real, faked) in enumerate(zip(on_server, on_fake), 1):
        expect_equal(faked, real, f"answer {number} of the fake, and what the server answers")
    expect(len(on_server) == 8, "the story is not whole")


def comparable(value):
    """A value without what differs from one run to the next; the names of members stay."""
    if isinstance(value, list):
        return [comparable(each) for each in value]
    if not isinstance(value, dict):
        return value
    kept = {name: comparable(each) for name, each in value.items() if name != "error"}
    for name in VOLATILE & kept.keys():
        kept[name] = "null" if kept[name] is None else "given"
    if "error" in value:
        kept["error"] = (value["error"] or {}).get("code")
    return kept

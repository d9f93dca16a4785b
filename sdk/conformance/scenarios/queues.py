"""Queues: their settings, and how workers take from them."""

import time

from suite.failure import expect, expect_equal
from suite.scenario import scenario


@scenario
def settings(stage):
    """`put_queue` replaces a queue's settings, `patch_queue` changes those that it names, `queue`
    and `queues` read them.
    """
    made = stage.program.do("put_queue", name="mail", settings={"max_attempts": 7, "lease_ms": 5000})
    expect_equal((made["settings"]["max_attempts"], made["settings"]["lease_ms"]), (7, 5000), "settings")
    changed = stage.program.do("patch_queue", name="mail", settings={"max_ready": 10})
    came = {name: changed["settings"][name] for name in ("max_attempts", "lease_ms", "max_ready")}
    expect_equal(came, {"max_attempts": 7, "lease_ms": 5000, "max_ready": 10}, "after the patch")
    cleared = stage.program.do("patch_queue", name="mail", settings={"max_ready": None})
    expect_equal(cleared["settings"]["max_ready"], None, "max_ready, set to null")
    replaced = stage.program.do("put_queue", name="mail", settings={"max_attempts": 3})
    came = {name: replaced["settings"][name] for name in ("max_attempts", "lease_ms")}
    expect_equal(came, {"max_attempts": 3, "lease_ms": 30_000}, "after the second put")
    read = stage.program.do("queue", name="mail")
    for shown in (read, replaced):
        shown.pop("blocked_by", None)  # the answer about one queue alone has it
    expect_equal(read, replaced, "what `queue` reads")
    listed = stage.program.do("queues")["items"]
    expect_equal([queue["name"] for queue in listed], ["mail"], "the list")


@scenario
def a_pause(stage):
    """A paused queue hands nothing out, and shows the reason; once it is resumed, its jobs run."""
    job = stage.submit(["return", 1])
    paused = stage.program.do("pause_queue", name=stage.queue, reason="the gateway is down")
    expect_equal((paused["paused"], paused["pause_reason"]), (True, "the gateway is down"), "paused")
    stage.worker()
    time.sleep(0.7)
    expect_equal(stage.job(job)["state"], "ready", "the state in the paused queue")
    resumed = stage.program.do("resume_queue", name=stage.queue)
    expect_equal(resumed["paused"], False, "paused, once it is resumed")
    stage.final(job, state="succeeded")


@scenario
def deletion(stage):
    """A queue with jobs is deleted only with `force`; without jobs, at once."""
    job = stage.submit()
    refused = stage.program.refuse("delete_queue", name=stage.queue)
    expect_equal(refused.class_name, "InvalidState", "the error of a queue with a job")
    expect_equal(stage.program.do("delete_queue", name=stage.queue, force=True), {}, "with force")
    expect_equal(stage.api.get(f"/v1/jobs/{job}").status, 404, "the status of its job")
    stage.program.do("put_queue", name="empty", settings={})
    expect_equal(stage.program.do("delete_queue", name="empty"), {}, "of an empty queue")


@scenario
def names_with_slashes(stage):
    """Names with `/` and `:` are one segment of the path."""
    name = "eu/reports:daily.1"
    stage.program.do("put_queue", name=name, settings={"max_attempts": 2})
    expect_equal(stage.program.do("queue", name=name)["name"], name, "the name that is read")
    stage.program.do("put_schedule", name=name, spec={"every_ms": 60_000, "job": {"type": "a"}})
    expect_equal(stage.program.do("schedule", name=name)["name"], name, "the schedule's name")
    stage.program.do("delete_queue", name=name)


@scenario
def in_order_of_preference(stage):
    """A worker of several queues takes from the first as long as it has jobs."""
    first, second = f"{stage.queue}-a", f"{stage.queue}-b"
    later = [stage.submit(queue=second) for _ in range(3)]
    sooner = [stage.submit(queue=first) for _ in range(3)]
    stage.worker(queues=[first, second], concurrency=1)
    for job in later:
        stage.final(job, state="succeeded")
    ran = [event["queue"] for event in stage.program.seen("start")]
    expect_equal(ran, [first] * 3 + [second] * 3, "the queues of the jobs that ran, in order")
    expect_equal(len(sooner), 3, "jobs of the first queue")


@scenario
def the_default_queue(stage):
    """A worker without the option `queues` works on `default`."""
    job = stage.submit(["return", 1], queue="default")
    stage.program.do("worker", name="w", types=["work"], concurrency=1, grace_ms=1000)
    stage.final(job, state="succeeded")
    claim = next(e.claim for e in stage.way.requests() if e.claim is not None)
    expect_equal(claim["queues"], ["default"], "the queues that it claims from")


@scenario
def never_more_than_its_slots(stage):
    """A worker never holds more jobs than its concurrency, and claims no more than it has slots
    for; none waits while a slot is free.
    """
    jobs = [stage.submit(["sleep", 800], ["return", 1]) for _ in range(12)]
    stage.worker(concurrency=3)
    most = 0
    while stage.job(jobs[-1])["state"] in ("ready", "running"):
        counts = stage.api.get(f"/v1/queues/{stage.queue}").json["counts"]
        most = max(most, counts["running"])
        time.sleep(0.03)
    for job in jobs:
        stage.final(job, state="succeeded")
    expect_equal(most, 3, "the most jobs that the worker held at a time")
    limits = [e.claim.get("limit", 1) for e in stage.way.requests() if e.claim is not None]
    expect(max(limits) <= 3, f"claims asked for {max(limits)} jobs")
    stage.program.settle()
    running = most_running = 0
    for event in stage.program.events:
        running += {"start": 1, "end": -1}.get(event["event"], 0)
        most_running = max(most_running, running)
    expect_equal(most_running, 3, "the most handlers at a time")


@scenario
def no_claim_without_a_slot(stage):
    """A worker whose slots are all taken does not claim."""
    job = stage.submit(["sleep", 6000], lease_ms=4500)
    stage.worker(concurrency=1)
    stage.program.await_event("start", job=job)
    stage.final(job, state="succeeded")
    start = stage.program.seen("start")[0]["at"]
    end = stage.program.await_event("end", job=job)["at"]
    between = [e for e in stage.way.requests() if e.claim and start + 1 < e.at < end - 2]
    expect_equal(len(between), 0, "claims while its slot was taken")


@scenario
def a_free_slot_is_filled(stage):
    """While some slots work on long jobs, the others go on with short ones."""
    long = stage.submit(["sleep", 14_000])
    stage.worker(concurrency=2, poll_wait_ms=5000)
    stage.program.await_event("start", job=long)
    begin = time.monotonic()
    for number in range(5):
        job = stage.submit(["return", number])
        stage.final(job, state="succeeded")
    expect(time.monotonic() - begin < 10, "five short jobs took over 10 s beside a long one")
    expect_equal(stage.job(long)["state"], "running", "the state of the long job")


@scenario
def what_the_server_knows_of_it(stage):
    """The server lists the worker with its queues, types, SDK, host and process id."""
    worker = stage.worker(types=["work", "mail"])

    def found():
        listed = stage.api.get("/v1/workers").json["items"]
        return next((each for each in listed if each["id"] == worker), None)

    listed = stage.eventually(found, "the worker in the server's list")
    expect_equal(listed["queues"], [stage.queue], "its queues")
    expect_equal(sorted(listed["types"] or []), ["mail", "work"], "its types")
    expect(listed["host"] and listed["pid"] and listed["sdk"], f"its particulars: {listed}")


@scenario
def the_version_of_its_program(stage):
    """A worker sends the option `version`, else MILLRACE_WORKER_VERSION, else none."""

    def version_of(name, program=None, **options):
        worker = stage.worker(name, program, **options)

        def found():
            listed = stage.api.get("/v1/workers").json["items"]
            return next((each for each in listed if each["id"] == worker), None)

        return stage.eventually(found, "the worker in the server's list")["version"]

    deployed = stage.start_program(env={"MILLRACE_WORKER_VERSION": "2.4.0"})
    expect_equal(version_of("none"), None, "the version that nobody named")
    expect_equal(version_of("named", version="2.4.1"), "2.4.1", "the version of the option")
    expect_equal(version_of("deployed", deployed), "2.4.0", "the version of the environment")
    later = version_of("later", deployed, version="2.4.1")
    expect_equal(later, "2.4.1", "the option's version beside the environment's")

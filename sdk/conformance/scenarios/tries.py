"""Calls that are tried again."""

import time

from suite import way
from suite.failure import Failure, expect, expect_between, expect_equal
from suite.program import Refused
from suite.scenario import scenario

SUBMISSIONS = ("POST", "^/v1/jobs$")


def job_of(stage, **members):
    return {"type": "work", "queue": stage.queue, **members}


def listed(stage):
    return stage.api.get("/v1/jobs", queue=stage.queue, fresh="true").json["items"]


def pauses(exchanges):
    """Seconds from each try to the next."""
    return [later.at - earlier.at for earlier, later in zip(exchanges, exchanges[1:])]


@scenario
def lost_answer_of_a_submission(stage):
    """A submission whose answer is lost is sent again, the same one, and makes one job."""
    lost = stage.way.when(way.LOST_ANSWER, *SUBMISSIONS, times=2)
    stored = stage.program.do("submit", job=job_of(stage, payload=1))["job"]
    expect_equal(len(lost.hits), 2, "how many answers were lost")
    sent = [exchange.said for exchange in stage.way.requests(*SUBMISSIONS)]
    expect_equal(sent, [sent[0]] * 3, "what was sent")
    expect_equal(stored["id"], sent[0]["id"], "the id of the stored job")
    expect_equal([each["id"] for each in listed(stage)], [stored["id"]], "the jobs of the queue")


@scenario
def lost_request_of_a_submission(stage):
    """A submission that never arrived is sent again, and so is one of whose answer only
    half came.
    """
    stage.way.when(way.LOST_REQUEST, *SUBMISSIONS)
    stored = stage.program.do("submit", job=job_of(stage))
    expect_equal(stored["is_new"], True, "is_new, where the server had not seen it")
    stage.way.when(way.HALF_ANSWER, *SUBMISSIONS)
    stage.program.do("submit", job=job_of(stage))
    expect_equal(len(listed(stage)), 2, "jobs of the queue")


@scenario
def lost_answer_of_a_batch(stage):
    """A batch whose answer is lost is sent again with the same ids, and makes each job once."""
    stage.way.when(way.LOST_ANSWER, "POST", "/batch$", times=2)
    items = stage.program.do("submit_batch", jobs=[job_of(stage, payload=n) for n in range(50)])["items"]
    sent = [[job["id"] for job in e.said["jobs"]] for e in stage.way.requests("POST", "/batch$")]
    expect_equal(sent, [sent[0]] * 3, "the ids sent")
    expect_equal([item["id"] for item in items], sent[0], "the ids of the results")
    expect_equal(len(listed(stage)), 50, "jobs of the queue")


@scenario
def lost_answer_with_a_key(stage):
    """A submission with an idempotency key is sent again with that key, and makes one job."""
    stage.way.when(way.LOST_ANSWER, *SUBMISSIONS, times=2)
    stage.program.do("submit", job=job_of(stage, idempotency_key="order-1"))
    keys = [e.headers.get("idempotency-key") for e in stage.way.requests(*SUBMISSIONS)]
    expect_equal(keys, ["order-1"] * 3, "the keys sent")
    expect_equal(len(listed(stage)), 1, "jobs of the queue")


@scenario
def doubled_submission(stage):
    """A submission that arrives twice makes one job, and its caller gets that job."""
    stage.way.when(way.DOUBLED, *SUBMISSIONS)
    stored = stage.program.do("submit", job=job_of(stage))["job"]
    expect_equal([each["id"] for each in listed(stage)], [stored["id"]], "the jobs of the queue")


@scenario
def a_server_that_is_not_there_yet(stage):
    """A call while nobody listens is tried again, and succeeds once the server is there."""
    stage.program.do("configure", url=stage.server.url, timeout_ms=60_000)
    stage.kill_server()
    call = stage.program.send("submit", job=job_of(stage))
    time.sleep(0.5)
    expect(not call.came.is_set(), f"the call did not wait for the server: {call.answer}")
    stage.start_server()
    expect_equal(call.result()["is_new"], True, "is_new")


@scenario
def kept_connections_that_died(stage):
    """A call on a kept connection that the server has closed meanwhile succeeds."""
    job = stage.submit()
    stage.program.do("get", job=job)
    stage.server.kill()
    stage.start_server()
    stage.program.do("get", job=job)
    stage.way.cut()
    expect_equal(stage.program.do("submit", job=job_of(stage))["is_new"], True, "is_new")


@scenario
def retry_after_of_a_503(stage):
    """After a 503 with `Retry-After: 1` the client waits that second, and then succeeds."""
    stage.way.when(way.problem(503, "overloaded", 1), *SUBMISSIONS)
    stage.program.do("submit", job=job_of(stage))
    expect_between(0.99, pauses(stage.way.requests(*SUBMISSIONS))[0], 30, "seconds between the tries")


@scenario
def retry_after_of_a_429(stage):
    """After a 429 with `Retry-After: 1` likewise."""
    stage.way.when(way.problem(429, "rate_limited", 1), *SUBMISSIONS)
    stage.program.do("submit", job=job_of(stage))
    expect_between(0.99, pauses(stage.way.requests(*SUBMISSIONS))[0], 30, "seconds between the tries")


@scenario
def a_gateway_in_trouble(stage):
    """502 and 504 of something between, with pages of its own, are tried again."""
    stage.way.when(way.page(502), *SUBMISSIONS)
    stage.way.when(way.page(504, "upstream timed out", "text/plain"), *SUBMISSIONS)
    stage.way.when(way.page(503, ""), *SUBMISSIONS)
    expect_equal(stage.program.do("submit", job=job_of(stage))["is_new"], True, "is_new")
    expect_equal(len(stage.way.requests(*SUBMISSIONS)), 4, "tries")


@scenario
def full_jitter(stage):
    """The n-th pause is random between 0 and 100 ms times 2^n: over forty calls the first pauses
    fill that range, and the fourth ones theirs.
    """
    stage.way.always(way.problem(503, "overloaded"), *SUBMISSIONS)
    stage.program.do("configure", url=stage.way.url, timeout_ms=4000)
    calls = [stage.program.send("submit", job=job_of(stage, payload=n)) for n in range(40)]
    for call in calls:
        call.came.wait(20)
    tries = {}
    for exchange in stage.way.requests(*SUBMISSIONS):
        tries.setdefault(exchange.said["payload"], []).append(exchange)
    busy = 0.4  # seconds that 40 calls at a time may add
    for number, longest in ((0, 0.1), (3, 0.8)):
        some = sorted(p[number] for each in tries.values() if len(p := pauses(each)) > number)
        expect(len(some) >= 20, f"only {len(some)} of 40 calls were tried {number + 2} times")
        shown = [round(pause, 3) for pause in some]
        expect(some[-1] - some[0] > longest * 0.4, f"pauses {number} are all alike: {shown}")
        expect(some[-1] > longest * 0.5, f"pauses {number} are all short: {shown}")
        expect(some[len(some) // 4] < longest * 0.6 + busy, f"pauses {number} are all long: {shown}")
        expect(some[-1] < longest + busy * 2, f"pauses {number} are too long: {shown}")


@scenario
def one_deadline_for_all_tries(stage):
    """All tries and pauses of a call together take no longer than its deadline."""
    stage.program.do("configure", url=stage.way.url, timeout_ms=5000)
    stage.way.always(way.problem(503, "overloaded"), *SUBMISSIONS)
    call = stage.program.send("submit", job=job_of(stage))
    expect_refused(call, "Unavailable", "Unreachable")
    expect_between(0.1, call.took_s, 15, "seconds with a deadline of 5 s")
    tries = len(stage.way.requests(*SUBMISSIONS))
    expect(tries >= 3, f"{tries} tries in 5 s")


@scenario
def a_pause_past_the_deadline(stage):
    """Where `Retry-After` would pass the deadline the call fails at once."""
    stage.program.do("configure", url=stage.way.url, timeout_ms=20_000)
    stage.way.always(way.problem(503, "draining", 30), *SUBMISSIONS)
    call = stage.program.send("submit", job=job_of(stage))
    expect_refused(call, "Unavailable")
    expect_between(0, call.took_s, 10, "seconds until it failed")
    expect_equal(len(stage.way.requests(*SUBMISSIONS)), 1, "tries")


@scenario
def each_try_gets_what_is_left(stage):
    """A try that hangs ends with the deadline of the whole call, also after tries before it."""
    stage.program.do("configure", url=stage.way.url, timeout_ms=8000)
    stage.way.when(way.problem(503, "overloaded", 5), *SUBMISSIONS)
    stage.way.always(way.HANGING, *SUBMISSIONS)
    call = stage.program.send("submit", job=job_of(stage))
    expect_refused(call, "Unavailable", "Unreachable")
    expect_between(7.8, call.took_s, 11.5, "seconds with a deadline of 8 s")


def expect_refused(call, *class_names):
    try:
        value = call.result()
    except Refused as refused:
        expect(refused.class_name in class_names, f"the error's class is {refused.class_name}")
    else:
        raise Failure(f"{call.text} was to fail, and gave {value}")


@scenario
def retry_is_not_repeated(stage):
    """`retry` whose answer is lost is not sent again: it may have happened. After a 503 or a 429 it
    is.
    """
    job = stage.submit()
    stage.api.post(f"/v1/jobs/{job}/cancel", {})
    stage.way.when(way.LOST_ANSWER, "POST", "/retry$")
    refused = stage.program.refuse("retry", job=job)
    expect_equal(refused.class_name, "Unreachable", "the error after the lost answer")
    expect_equal(len(stage.way.requests("POST", "/retry$")), 1, "tries with a lost answer")
    stage.api.post(f"/v1/jobs/{job}/cancel", {})
    stage.way.when(way.page(502), "POST", "/retry$")
    refused = stage.program.refuse("retry", job=job)
    expect_equal(refused.status, 502, "the status of the error after a 502")
    stage.way.when(way.problem(503, "overloaded", 0), "POST", "/retry$")
    stage.way.when(way.problem(429, "rate_limited", 0), "POST", "/retry$")
    expect_equal(stage.program.do("retry", job=job)["state"], "ready", "the state, after 503 and 429")


@scenario
def patch_queue_is_not_repeated(stage):
    """`patch_queue` likewise, except where nobody listened."""
    name = stage.queue
    stage.program.do("put_queue", name=name, settings={})
    patches = ("PATCH", f"/{name}$")
    stage.way.when(way.LOST_ANSWER, *patches)
    stage.program.refuse("patch_queue", name=name, settings={"max_attempts": 3})
    expect_equal(len(stage.way.requests(*patches)), 1, "tries with a lost answer")
    stage.way.when(way.problem(503, "overloaded", 0), *patches)
    changed = stage.program.do("patch_queue", name=name, settings={"max_attempts": 4})
    expect_equal(changed["settings"]["max_attempts"], 4, "max_attempts, after a 503")
    stage.program.do("configure", url=stage.server.url, timeout_ms=60_000)
    stage.kill_server()
    call = stage.program.send("patch_queue", name=name, settings={"max_attempts": 5})
    time.sleep(0.3)
    stage.start_server()
    expect_equal(call.result()["settings"]["max_attempts"], 5, "max_attempts, once it listens")


@scenario
def cancel_is_repeated(stage):
    """`cancel` whose answer is lost is sent again, and succeeds, although the server now says
    `invalid_state`: the job is cancelled.
    """
    job = stage.submit()
    lost = stage.way.when(way.LOST_ANSWER, "POST", "/cancel$")
    cancelled = stage.program.do("cancel", job=job)
    expect_equal(len(lost.hits), 1, "lost answers")
    expect_equal((cancelled["id"], cancelled["state"]), (job, "cancelled"), "id and state")


@scenario
def delete_is_repeated(stage):
    """`delete` whose answer is lost is sent again, and the 404 that it then gets is a success; one
    that gets 404 at first is `NotFound`.
    """
    job = stage.submit()
    lost = stage.way.when(way.LOST_ANSWER, "DELETE", f"/{job}$")
    expect_equal(stage.program.do("delete", job=job), {}, "what delete gives")
    expect_equal(len(lost.hits), 1, "lost answers")
    expect_equal(stage.program.refuse("delete", job=job).class_name, "NotFound", "the second delete")


@scenario
def trigger_is_repeated(stage):
    """`trigger_schedule` carries an idempotency key of the SDK's, the same in each try: a lost
    answer makes no second job; another trigger has another key.
    """
    name = stage.queue
    stage.api.put(f"/v1/schedules/{name}", {"cron": "0 0 1 1 *", "job": job_of(stage)})
    stage.way.when(way.LOST_ANSWER, "POST", "/trigger$", times=2)
    first = stage.program.do("trigger_schedule", name=name)
    second = stage.program.do("trigger_schedule", name=name)
    keys = [e.headers.get("idempotency-key") for e in stage.way.requests("POST", "/trigger$")]
    expect(all(keys), f"a trigger without Idempotency-Key: {keys}")
    expect_equal(keys[:3], [keys[0]] * 3, "the keys of the first trigger's tries")
    expect(keys[3] != keys[0], "two triggers have one key")
    ids = sorted(each["id"] for each in listed(stage))
    expect_equal(ids, sorted([first["id"], second["id"]]), "the jobs of the queue")


@scenario
def put_is_repeated(stage):
    """`put_schedule` and `put_queue` whose answers are lost are sent again, and succeed."""
    stage.way.when(way.LOST_ANSWER, "PUT", times=2)
    spec = {"cron": "0 9 * * *", "job": job_of(stage)}
    made = stage.program.do("put_schedule", name=stage.queue, spec=spec)
    expect_equal((made["cron"], made["version"]), ("0 9 * * *", 1), "cron and version")
    stage.way.when(way.LOST_ANSWER, "PUT")
    made = stage.program.do("put_queue", name=stage.queue, settings={"max_attempts": 9})
    expect_equal(made["settings"]["max_attempts"], 9, "max_attempts")

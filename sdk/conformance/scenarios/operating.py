"""Limits, changes of many jobs, and what the server tells of itself."""

from suite import way
from suite.failure import expect, expect_equal
from suite.scenario import scenario


@scenario
def a_limit(stage):
    """Limits can be made, read, listed, changed, paused, resumed and deleted; jobs may name them."""
    name = stage.queue
    made = stage.program.do("put_limit", name=name, settings={"concurrency": 2})
    expect_equal((made["name"], made["concurrency"]), (name, 2), "the limit that was made")
    job = {"type": "work", "queue": stage.queue, "limits": [{"name": name}]}
    expect_equal(stage.program.do("submit", job=job)["is_new"], True, "is_new of a job that names it")
    changed = stage.program.do(
        "patch_limit", name=name, settings={"rate": {"limit": 5, "per_ms": 1000}}, if_match=made["version"]
    )
    expect_equal((changed["concurrency"], changed["rate"]["limit"]), (2, 5), "the changed limit")
    paused = stage.program.do("pause_limit", name=name, reason="the provider is down")
    expect_equal((paused["paused"], paused["pause_reason"]), (True, "the provider is down"), "the pause")
    expect_equal(stage.program.do("resume_limit", name=name)["paused"], False, "paused, once resumed")
    expect_equal([each["name"] for each in stage.program.do("limits")["items"]], [name], "the list")
    expect_equal(stage.program.do("delete_limit", name=name, force=True), {}, "what delete_limit gives")
    expect_equal(stage.program.refuse("limit", name=name).class_name, "NotFound", "the deleted limit")


@scenario
def many_jobs_at_once(stage):
    """`bulk` changes jobs by ids, with a result for each, or by a filter as an operation, which can
    be read and listed.
    """
    jobs = [stage.submit(type="other") for _ in range(3)]
    done = stage.program.do("bulk", request={"action": "cancel", "ids": jobs[:2]})
    expect_equal((done["matched"], done["changed"], len(done["results"])), (2, 2, 2), "the answer by ids")
    request = {"action": "delete", "filter": {"queue": stage.queue}, "operation": True}
    begun = stage.program.do("bulk", request=request)
    expect_equal((begun["kind"], begun["action"]), ("bulk", "delete"), "the operation")

    def ended():
        operation = stage.program.do("operation", operation=begun["id"])
        return operation if operation["state"] != "running" else None

    operation = stage.eventually(ended, "the operation's end")
    expect_equal((operation["state"], operation["changed"]), ("completed", 3), "the ended operation")
    listed = stage.program.do("operations")["items"]
    expect_equal([each["id"] for each in listed], [begun["id"]], "the list")
    refused = stage.program.refuse("cancel_operation", operation=begun["id"])
    expect_equal(refused.class_name, "InvalidState", "cancelling what has ended")


@scenario
def bulk_is_not_repeated(stage):
    """A `bulk` whose answer is lost is not sent again: jobs that it retried would run once more."""
    stage.way.when(way.LOST_ANSWER, "POST", "/bulk$")
    request = {"action": "retry", "ids": [stage.submit(type="other")]}
    refused = stage.program.refuse("bulk", request=request)
    expect_equal(refused.class_name, "Unreachable", "the error")
    expect_equal(len(stage.way.requests("POST", "/bulk$")), 1, "requests")


@scenario
def what_the_server_tells(stage):
    """`workers` lists the workers, `events` gives a job's log of events in pages, `stats` counts,
    and `why` says what a job waits for.
    """
    worker = stage.worker()
    job = stage.submit(["return", 1])
    stage.final(job, state="succeeded")
    listed = stage.eventually(lambda: stage.program.do("workers")["items"], "a worker")
    expect_equal([each["id"] for each in listed], [worker], "the workers")
    types, cursor = [], None
    for _ in range(9):
        page = stage.program.do("events", job=job, limit=1, cursor=cursor)
        if not page["items"]:
            break
        types += [event["type"] for event in page["items"]]
        cursor = page["next_cursor"]
    expect_equal(types, ["job.submitted", "job.started", "job.succeeded"], "the events, page by page")
    groups = stage.program.do("stats", window_ms=3_600_000, by="queue")["groups"]
    mine = [group for group in groups if group["queue"] == stage.queue]
    expect(len(mine) == 1 and mine[0]["submitted"], f"the statistics are {groups}")
    waiting = stage.submit(type="nobody", delay_ms=3_600_000)
    why = stage.program.do("why", job=waiting)
    expect_equal((why["id"], why["state"]), (waiting, "scheduled"), "why it waits")
    expect(why["summary"] and why["blocking"], f"it says nothing: {why}")


@scenario
def any_other_call(stage):
    """`call` sends a request of any method, path and body, with the client's token and tries; its
    refusals are errors as of the other calls.
    """
    stage.submit_many(3)
    path = f"/v1/queues/{stage.queue}/purge"
    purged = stage.program.do("call", method="POST", path=path, body={"states": ["ready"]})
    expect_equal(purged["deleted"], 3, "the purged jobs")
    page = stage.program.do("call", method="GET", path="/v1/queues", query={"limit": 1})
    expect_equal([each["name"] for each in page["items"]], [stage.queue], "the queues")
    stage.way.when(way.LOST_ANSWER, "GET", "/v1/meta$")
    expect(stage.program.do("call", method="GET", path="/v1/meta"), "the answer of a second try")
    refused = stage.program.refuse("call", method="GET", path="/v1/queues/nowhere")
    expect_equal((refused.class_name, refused.code), ("NotFound", "not_found"), "the refusal")

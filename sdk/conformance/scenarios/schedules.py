"""Schedules."""

import datetime

import harness
from suite import way
from suite.failure import expect, expect_equal
from suite.scenario import scenario

YEARLY = "0 0 1 1 *"


def job_of(stage, **members):
    return {"type": "work", "queue": stage.queue, "payload": {"script": []}, **members}


def instants(texts):
    """Times in seconds: an SDK may write them in its language's own way."""
    return [harness.seconds(text) for text in texts]


@scenario
def made_and_read(stage):
    """`put_schedule` makes a schedule, the same again changes nothing, `schedule` and `schedules`
    read it, `delete_schedule` removes it.
    """
    spec = {
        "cron": "0 9 * * MON-FRI",
        "timezone": "Europe/Zurich",
        "job": job_of(stage, payload={"format": "pdf"}, tags=["daily"]),
        "overlap": "skip",
        "missed": "all",
        "missed_limit": 7,
    }
    made = stage.program.do("put_schedule", name="daily", spec=spec)
    came = {name: made[name] for name in spec if name != "job"}
    expect_equal({**came, "job": spec["job"]}, spec, "the schedule")
    expect_equal(made["job"]["payload"], {"format": "pdf"}, "the payload of its job")
    again = stage.program.do("put_schedule", name="daily", spec=spec)
    expect_equal((again["version"], len(again["next"])), (made["version"], 5), "version and next")
    read = stage.program.do("schedule", name="daily")
    expect_equal(read["description"], "At 09:00 on Monday to Friday, Europe/Zurich", "description")
    listed = stage.program.do("schedules")["items"]
    expect_equal([each["name"] for each in listed], ["daily"], "the list")
    expect_equal(stage.program.do("delete_schedule", name="daily"), {}, "what delete gives")
    refused = stage.program.refuse("schedule", name="daily")
    expect_equal(refused.class_name, "NotFound", "the error after the delete")


@scenario
def paused_and_resumed(stage):
    """`pause_schedule` keeps the reason, `resume_schedule` makes it active again."""
    stage.program.do("put_schedule", name="feed", spec={"every_ms": 900_000, "job": job_of(stage)})
    paused = stage.program.do("pause_schedule", name="feed", reason="the site is down")
    expect_equal((paused["state"], paused["reason"]), ("paused", "the site is down"), "when paused")
    resumed = stage.program.do("resume_schedule", name="feed")
    expect_equal((resumed["state"], resumed["reason"]), ("active", None), "when resumed")


@scenario
def a_job_knows_its_schedule(stage):
    """A handler sees which schedule made its job, and for which instant; a trigger makes one at
    once.
    """
    stage.program.do("put_schedule", name="tick", spec={"cron": YEARLY, "job": job_of(stage)})
    job = stage.program.do("trigger_schedule", name="tick")
    expect_equal((job["state"], job["schedule"]["name"]), ("ready", "tick"), "the job of the trigger")
    stage.worker()
    stage.final(job["id"], state="succeeded")
    (event,) = stage.program.seen("start")
    expect_equal(event["schedule"]["name"], "tick", "the name that the handler saw")
    seen = [event["schedule"]["scheduled_at"], job["schedule"]["scheduled_at"]]
    expect(len(set(instants(seen))) == 1, f"the handler saw another instant: {seen}")
    runs = stage.program.do("schedule_runs", name="tick")["items"]
    expect_equal([(run["outcome"], run["job_id"]) for run in runs], [("submitted", job["id"])], "the runs")


@scenario
def an_interval_fires(stage):
    """A schedule of each second makes a job a second, which the worker runs."""
    stage.worker()
    stage.program.do("put_schedule", name="second", spec={"every_ms": 1000, "job": job_of(stage)})
    stage.program.await_event("start", count=2)
    stage.program.do("delete_schedule", name="second")
    came = instants(event["schedule"]["scheduled_at"] for event in stage.program.seen("start"))
    expect(len(set(came)) == len(came), f"an instant came twice: {came}")
    expect(all(instant == int(instant) for instant in came), f"instants between seconds: {came}")


@scenario
def preview(stage):
    """`preview_schedule` says what an expression means; a wrong one is `ValidationFailed` with the
    field and the fault.
    """
    spec = {
        "cron": "30 2 * * *",
        "timezone": "Europe/Zurich",
        "from": "2026-03-28T00:00:00Z",
        "count": 3,
    }
    shown = stage.program.do("preview_schedule", spec=spec)
    wanted = ["2026-03-28T01:30:00.000Z", "2026-03-29T01:00:00.000Z", "2026-03-30T00:30:00.000Z"]
    expect_equal(instants(shown["next"]), instants(wanted), "the instants")
    expect_equal(shown["description"], "At 02:30 every day, Europe/Zurich", "the description")
    refused = stage.program.refuse("preview_schedule", spec={"cron": "0 0 31 2 *"})
    expect_equal(refused.class_name, "ValidationFailed", "the error of a day that never comes")
    expect_equal([fault["where"] for fault in refused.errors], ["/cron"], "where the fault is")


@scenario
def a_set_is_applied(stage):
    """`apply_schedules` makes, updates, leaves alone and, with `prune`, deletes one owner's
    schedules; it is sent again when its answer is lost.
    """
    set_of = {
        "managed_by": "billing",
        "schedules": {
            "invoices": {"cron": "0 9 * * *", "job": job_of(stage)},
            "balance": {"every_ms": 900_000, "job": job_of(stage)},
        },
        "prune": True,
    }
    done = stage.program.do("apply_schedules", spec=set_of)
    expect_equal(done["created"], ["balance", "invoices"], "created")
    stage.program.do("put_schedule", name="mine", spec={"cron": YEARLY, "job": job_of(stage)})
    set_of["schedules"]["invoices"]["cron"] = "0 10 * * *"
    del set_of["schedules"]["balance"]
    lost = stage.way.when(way.LOST_REQUEST, "PUT", "^/v1/schedules$")
    done = stage.program.do("apply_schedules", spec=set_of)
    expect_equal((done["updated"], done["deleted"]), (["invoices"], ["balance"]), "updated and deleted")
    expect_equal(len(lost.hits), 1, "lost requests")
    stage.way.when(way.LOST_ANSWER, "PUT", "^/v1/schedules$")
    done = stage.program.do("apply_schedules", spec=set_of)
    expect_equal(done["unchanged"], ["invoices"], "unchanged")
    listed = stage.program.do("schedules", managed_by="billing")["items"]
    expect_equal([each["name"] for each in listed], ["invoices"], "the owner's schedules")


@scenario
def a_backfill(stage):
    """`backfill_schedule` submits the jobs of a past range; it carries an idempotency key, so that
    a lost answer does not change what it says.
    """
    stage.program.do("put_schedule", name="hourly", spec={"cron": "0 * * * *", "job": job_of(stage)})
    now = datetime.datetime.now(datetime.timezone.utc).replace(minute=30, second=0, microsecond=0)
    end = now - datetime.timedelta(hours=1)
    spec = {
        "from": (end - datetime.timedelta(hours=4)).isoformat(),
        "to": end.isoformat(),
    }
    counted = stage.program.do("backfill_schedule", name="hourly", spec={**spec, "dry_run": True})
    expect_equal(counted["submitted"], 4, "counted by dry_run")
    stage.way.when(way.LOST_ANSWER, "POST", "/backfill$", times=2)
    done = stage.program.do("backfill_schedule", name="hourly", spec=spec)
    expect_equal((done["submitted"], done["more"]), (4, False), "submitted and more")
    keys = [e.headers.get("idempotency-key") for e in stage.way.requests("POST", "/backfill$")]
    expect(all(keys), f"a backfill without Idempotency-Key: {keys}")
    expect_equal(len(set(keys[1:])), 1, "keys of one backfill's tries")
    expect(keys[0] != keys[1], "two backfills have one key")
    again = stage.program.do("backfill_schedule", name="hourly", spec=spec)
    expect_equal((again["submitted"], again["existing"]), (0, 4), "submitted and existing, again")

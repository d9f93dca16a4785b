"""The story of every sample: it leaves every kind of event and of stored data. A job's type says
its purpose.
"""

import datetime
import hashlib
import itertools
import time

import sample
import workflow_chapter
from sample import FAR, harness

KEEP = {"retention": dict.fromkeys(("succeeded_ms", "dead_ms", "cancelled_ms", "expired_ms"))}
DAY_MS = 86_400_000
TEN_YEARS_MS = 3650 * DAY_MS
AT_ONCE = {"strategy": "fixed", "base_ms": 0, "jitter": 0}

# Their bytes must be kept: white space, numbers beyond doubles, escapes, duplicate members.
PAYLOAD = '{ "n" : 123456789012345678901234567890 , "x":1e400,\t"s":"\\u00e9\\ud83d\\ude00 é" , "s": []}'
RESULT = "[  -0.10, 999999999999999999999999999999 ]"
CHECKPOINT = '{ "at" :  [1,2 ,3.00] }'
# Requests repeated on each sample that has them, so they must never change.
WITH_A_KEY = {"headers": {"Idempotency-Key": "order-66"}, "payload": '{"n": 1}'}
UNIQUE_FOR_LONG = {"unique": {"key": "long", "for_ms": TEN_YEARS_MS}}
TRACESTATE = "vendor=1, other=2"
TRACEPARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
ERROR = {
    "type": "Mail::Refused",
    "message": "über 100% – «no» \u0007",
    "stack": "at deliver (mail.py:17)\n\tat main\n" + "and so on\n" * 40,
}


def rfc3339(unix_s):
    return datetime.datetime.fromtimestamp(unix_s, datetime.timezone.utc).isoformat()


def other_shard(queue, name="far"):
    """A queue on another shard, if there are two; its name begins with `name`."""

    def bit(name):
        return int(hashlib.sha256(name.encode()).hexdigest()[2], 16) % 2

    return next(far for n in itertools.count() if bit(far := f"{name}-{n}") != bit(queue))


class Story(harness.MillraceCase):
    """`jobs` has the ids by role. `leases` has the tokens of running jobs, `ended` and `lost` those
    of others. `parts` names the parts that only some samples have.
    """

    MAIN, EVERY, PAUSED = "main", "every:setting/of-a.queue_1", "paused"
    INBOX = "inbox"  # its jobs are handled as soon as a server runs
    FLOWS = "flows"  # of workflows and their members
    FAR_FLOWS = other_shard(FLOWS, FLOWS)

    def __init__(self, parts=(), shards=1):
        super().__init__()
        self.queue, self.parts, self.plan_shards = self.MAIN, set(parts), shards
        self.jobs, self.inbox, self.outbox = {}, {}, None
        self.leases, self.ended, self.lost = {}, {}, {}
        self.schedules = set()
        self.workflows = {}  # ids by role
        self.settings = set()  # paths of limits, gates of types and push targets
        self.queues = {self.MAIN, self.EVERY, self.PAUSED, "resumed", "fleeting", "purged"}

    # Helpers.

    def put_queue(self, queue, **settings):
        reply = self.api.put(sample.path_of(queue), {**KEEP, **settings})
        self.assertIn(reply.status, (200, 201), reply)

    def post(self, path, body=None, **query):
        reply = self.api.post(path, body, **query)
        self.assertEqual(reply.status, 200, reply)
        return reply.json

    def delete(self, path, **query):
        reply = self.api.delete(path, **query)
        self.assertEqual(reply.status, 204, reply)

    def patch(self, role, **members):
        reply = self.api.patch(f"/v1/jobs/{self.jobs[role]}", members)
        self.assertEqual(reply.status, 200, reply)

    def make(self, role, headers=None, payload=None, **members):
        """Submits the job of this role; the payload is text, sent unchanged."""
        body = {"type": role, "queue": self.MAIN, **members}
        text = sample.json.dumps(body)
        if payload is not None:
            text = f'{text[:-1]},"payload":{payload}}}'
        reply = self.api.post("/v1/jobs", raw=text.encode(), headers=headers)
        self.assertIn(reply.status, (200, 201), reply)
        self.jobs[role] = reply.json["id"]
        return reply

    def batch(self):
        """Submits two jobs at once; returns their ids by role. Also used for the repetition."""
        jobs = [
            {"type": "in-a-batch-1", "payload": [1], "unique": {"key": "one of the two"}},
            {"type": "in-a-batch-2", "idempotency_key": "item-2", "priority": 32767},
        ]
        body = {"jobs": jobs, "defaults": {"queue": self.MAIN, "tags": ["batch"]}, "atomic": True}
        results = self.post("/v1/jobs/batch", body)["results"]
        return {job["type"]: result["id"] for job, result in zip(jobs, results)}

    def begin(self, role, queue=None, lease_ms=DAY_MS, worker="worker-1"):
        """Claims the job of this role."""
        job = self.claim_within(queues=[queue or self.MAIN], types=[role], lease_ms=lease_ms, worker=worker)
        self.assertEqual(job["id"], self.jobs[role])
        self.leases[role] = job["lease"]["token"]
        return job

    def end(self, role, outcome="succeeded", result=None, **members):
        """Acks the job of this role; the result is text, sent unchanged."""
        item = {
            "id": self.jobs[role],
            "token": self.leases.pop(role),
            "outcome": outcome,
            **members,
        }
        text = sample.json.dumps({"items": [item]})
        if result is not None:
            text = f'{text[:-3]},"result":{result}}}]}}'
        reply = self.api.post("/v1/ack", raw=text.encode())
        self.assertEqual(reply.json["results"][0]["status"], 200, reply)
        state = reply.json["results"][0]["state"]
        self.ended[role] = {"token": item["token"], "outcome": outcome, "state": state}
        return state

    def run_through(self, role, outcome="succeeded", queue=None, result=None, error=None, **members):
        self.make(role, queue=queue or self.MAIN, **members)
        self.begin(role, queue)
        return self.end(role, outcome, result, **({"error": error} if error else {}))

    # Its chapters.

    def what_passes(self):
        """Creates data that expires, on a server that keeps keys for a second."""
        self.put_queue(self.MAIN)
        self.put_queue("fleeting", retention={"succeeded_ms": 1})
        self.run_through("pruned", queue="fleeting")
        self.make("key-runs-out", headers={"Idempotency-Key": "for-a-second"})
        self.run_through("unique-let-go", unique={"key": "short", "for_ms": 300})
        self.make("runs-through-a-stop", timeout_ms=TEN_YEARS_MS)
        self.begin("runs-through-a-stop")
        self.put_queue("purged")
        self.make("in-vain", queue="purged")
        self.assertEqual(self.post("/v1/queues/purged/purge")["deleted"], 1)
        if "queue_deleted" in self.parts:
            self.make("in-vain", queue="deleted")
            self.delete("/v1/queues/deleted", force="true")
        del self.jobs["in-vain"]
        gone = self.jobs.pop("pruned")
        harness.eventually(
            lambda: self.api.get(f"/v1/jobs/{gone}").status == 404,
            30,
            what="the end of a retention",
        )

    def what_lasts(self):
        self.operators_set_up_queues()
        self.jobs_wait()
        self.jobs_end()
        self.time_passes()
        self.jobs_run()
        self.operators_change_jobs()
        if "workflows" in self.parts:
            workflow_chapter.Chapter(self).tell()
        if "outbox" in self.parts:
            self.a_submission_waits_in_the_outbox()
        if "queue_deleted" in self.parts:
            self.put_queue("deleted-empty")
            self.delete("/v1/queues/deleted-empty")
        if "schedules" in self.parts:
            self.schedules_are_made()
        if "catalog" in self.parts:
            self.the_catalog_is_filled()
        if "limits" in self.parts:
            self.limits_hold_jobs()
        if "operations" in self.parts and "operated" not in self.queues:
            self.operations_go_on()
        if "error_groups" in self.parts:
            self.errors_are_looked_at()

    def set(self, path, **settings):
        reply = self.api.put(path, settings)
        self.assertIn(reply.status, (200, 201), reply)
        self.settings.add(path)

    def the_catalog_is_filled(self):
        """No receiver is called, as the targets are paused."""
        receiver = {"url": "https://receiver.example/jobs", "queues": ["pushed"], "paused": True}
        self.set("/v1/push-targets/receiver", **receiver)
        self.set("/v1/push-targets/receiver", **receiver, concurrency=3)
        self.set("/v1/push-targets/gone", **receiver)
        self.delete("/v1/push-targets/gone")
        self.settings.remove("/v1/push-targets/gone")

    def errors_are_looked_at(self):
        """Resolves one group and mutes one for ten years; the server creates all groups itself."""

        def groups():
            return self.api.get("/v1/error-groups", limit=2, order="first_seen").json["items"]

        harness.eventually(lambda: len(groups()) == 2, 30, what="two groups of errors")
        resolved, muted = (f"/v1/error-groups/{group['id']}" for group in groups())
        for path, members in (
            (resolved, {"status": "resolved", "note": "fixed «today»"}),
            (muted, {"muted_until": FAR}),
        ):
            self.assertEqual(self.api.patch(path, members).status, 200)

    def limits_hold_jobs(self):
        """One gate of each kind is full, paused, or without tokens for ten years."""
        self.put_queue("gated", concurrency=1, rate={"limit": 1, "per_ms": DAY_MS, "burst": 9})
        self.queues.add("gated")
        for role in ("holds-a-slot", "waits-for-a-slot"):
            self.make(role, queue="gated")
        self.begin("holds-a-slot", "gated")
        order = {"order_key": "account", "order_on_failure": "pass"}
        for role in ("first-of-its-key", "second-of-its-key"):
            self.make(role, **order)
        self.put_queue("shared", fair={"weights": {"acme": 3}, "by": "time"})
        self.queues.add("shared")
        for role, key in (("runs-for-acme", "acme"), ("waits-for-acme", "acme"), ("waits-keyless", None)):
            self.make(role, queue="shared", **({"fair_key": key} if key else {}))
        self.begin("runs-for-acme", "shared")
        self.put_queue("aged", ageing_ms=DAY_MS)
        self.queues.add("aged")
        self.make("of-an-aged-queue", queue="aged")
        for payload in ("1", "2"):
            rule = {"key": "debounced", "on_conflict": "debounce", "max_wait_ms": TEN_YEARS_MS}
            self.make("debounced", payload=payload, delay_ms=TEN_YEARS_MS, unique=rule)
        a_rate = {"limit": 1, "per_ms": DAY_MS, "burst": 5}
        self.set("/v1/limits/by-key", per_key=True, concurrency=1, keys={"big": {"rate": a_rate}})
        self.set("/v1/limits/rated", rate=a_rate, concurrency=7)
        self.set("/v1/types/gated-type", concurrency=2, paused=True, pause_reason="for good")
        breaker = {"failure_rate": 0.5, "min_attempts": 1, "window_ms": 1000, "open_ms": 100}
        self.set("/v1/limits/broken", breaker={**breaker, "probes": 1}, retry_rate=a_rate)
        self.make("breaks-a-limit", limits=[{"name": "broken"}])
        self.begin("breaks-a-limit")
        why = {"type": "t", "message": "m"}
        wish = {"limit": "broken", "for_ms": 100}
        self.end("breaks-a-limit", "dead", error=why, slow_down=[wish])
        for name in ("gone", "forced"):
            self.set(f"/v1/limits/{name}", concurrency=1)
        self.put_queue("limited", limits=[{"name": "rated", "cost": 2}])
        self.queues.add("limited")
        self.make("pays-two-tokens", queue="limited", limits=[{"name": "forced"}])
        self.begin("pays-two-tokens", "limited")
        self.make("waits-for-its-key", limits=[{"name": "by-key", "key": "big"}])
        self.make("of-a-gated-type", type="gated-type")
        self.post("/v1/limits/by-key/pause", {"key": "big", "reason": "one key"})
        self.post("/v1/limits/rated/pause")
        self.post("/v1/limits/rated/resume")
        self.delete("/v1/limits/gone")
        self.delete("/v1/limits/forced", force="true")
        self.settings -= {"/v1/limits/gone", "/v1/limits/forced"}

    def operations_go_on(self):
        """One operation is paused before its first job, one is complete, one was cancelled."""
        self.queues.add("operated")
        self.put_queue("operated")
        for role in ("waits-for-an-operation", "was-reprioritized", "was-left-alone"):
            self.make(role, queue="operated", run_at=FAR)

        def begin(**members):
            body = {"action": "reprioritize", "priority": 5, "rate_per_s": 1, **members}
            reply = self.api.post("/v1/jobs/bulk", body)
            self.assertEqual(reply.status, 202, reply)
            path = f"/v1/operations/{reply.json['id']}"
            self.settings.add(path)
            return path

        complete = begin(filter={"queue": "operated", "q": "state:scheduled"}, rate_per_s=100_000)
        harness.eventually(
            lambda: sample.get(self.api, complete).json["state"] == "completed",
            30,
            what="the end of an operation",
        )
        for order in ("pause", "cancel"):
            path = begin(filter={"queue": "operated", "q": "priority:5 -tag:none"})
            self.post(f"{path}/{order}")

    def schedules_are_made(self):
        """Makes schedules that never fire again, however old the sample becomes."""
        job = {"type": "by-schedule", "queue": self.MAIN, "payload": {"n": 1}}
        lately = time.time()
        fired = {
            "every_ms": 1000,
            "start_at": rfc3339(lately),
            "end_at": rfc3339(lately + 2.5),
            "job": {**job, "tags": ["nightly"]},
        }
        everything = {
            "cron": "0 30 9 ? JAN-NOV MON#2,5L",
            "timezone": "Europe/Zurich",
            "start_at": "2001-02-03T04:05:06.789Z",
            "end_at": "2500-01-01T00:00:00Z",
            "jitter_ms": 999,
            "missed_after_ms": 86_400_000,
            "missed": "all",
            "missed_limit": 7,
            "overlap": "replace",
            "dst_gap": "skip",
            "dst_overlap": "twice",
            "managed_by": "deploy:7",
            "job": {
                **job,
                "priority": -5,
                "expires_in_ms": TEN_YEARS_MS,
                "max_attempts": 3,
                "retry": {"strategy": "list", "delays_ms": [1, 2]},
                "lease_ms": 5000,
                "timeout_ms": 70_000,
                "meta": {"k": "v"},
                "traceparent": TRACEPARENT,
                "tracestate": TRACESTATE,
            },
        }
        for name, members in {
            other_shard(self.MAIN): fired,
            "every:member/of-a.schedule_1": everything,
            "in-many-years": {"every_ms": TEN_YEARS_MS, "start_at": "2500-01-01T00:00:00Z", "job": job},
            "deleted": {"cron": "@yearly", "job": job},
        }.items():
            reply = self.api.put(sample.path_of_schedule(name), members)
            self.assertEqual(reply.status, 201, reply)
            self.schedules.add(name)
        every = sample.path_of_schedule("every:member/of-a.schedule_1")
        self.post(every + "/pause", {"reason": "for good"})
        self.delete(sample.path_of_schedule("deleted"))
        self.schedules.remove("deleted")
        triggered = self.api.post(every + "/trigger", {"scheduled_at": "2020-01-01T00:00:00Z"})
        self.assertEqual(triggered.status, 201, triggered)
        self.jobs["triggered"] = triggered.json["id"]
        path = sample.path_of_schedule(other_shard(self.MAIN))
        harness.eventually(lambda: self.api.get(path).json["state"] == "ended", what="its end")
        for n, run in enumerate(self.api.get(path + "/runs").json["items"]):
            self.jobs[f"by-schedule-{n}"] = made = run["job_id"]
            there = lambda made=made: self.api.get(f"/v1/jobs/{made}").status == 200  # noqa: E731
            harness.eventually(there, what="its job")

    def operators_set_up_queues(self):
        self.put_queue(
            self.EVERY,
            max_attempts=7,
            max_crashes=3,
            retry={"strategy": "list", "delays_ms": [0, 1000, TEN_YEARS_MS]},
            lease_ms=45_000,
            max_ready=1000,
            retention={
                "succeeded_ms": 0,
                "dead_ms": TEN_YEARS_MS,
                "cancelled_ms": None,
                "expired_ms": 5,
            },
        )
        self.make("ready-under-every-setting", queue=self.EVERY)
        self.put_queue(self.PAUSED, retry={"strategy": "linear", "base_ms": 7, "max_ms": 70, "jitter": 0.5})
        self.make("ready-in-a-paused-queue", queue=self.PAUSED)
        reason = {"reason": "until the Müller case is settled"}
        self.post(f"/v1/queues/{self.PAUSED}/pause", reason)
        self.put_queue("resumed")
        reply = self.api.patch("/v1/queues/resumed", {"max_ready": 17})
        self.assertEqual(reply.status, 200, reply)
        self.post("/v1/queues/resumed/pause")
        self.post("/v1/queues/resumed/resume")

    def jobs_wait(self):
        self.make(
            "scheduled",
            payload=PAYLOAD,
            run_at=FAR,
            expires_at="9998-12-31T23:59:59.999Z",
            priority=-32768,
            max_attempts=1000,
            retry={"strategy": "exponential", "base_ms": 1, "max_ms": TEN_YEARS_MS, "jitter": 0.25},
            lease_ms=1000,
            timeout_ms=1,
            unique={"key": "ключ", "for_ms": TEN_YEARS_MS, "on_conflict": "reject"},
            tags=["vip", "a:b/c.d_e-f"],
            meta={"": "", "k": 'v\n"ü"'},
            traceparent=TRACEPARENT,
            tracestate=TRACESTATE,
        )
        self.make("scheduled-with-delays", run_at=FAR, retry={"strategy": "list", "delays_ms": [5, 0, 7]})
        traced = {"traceparent": TRACEPARENT, "tracestate": TRACESTATE}
        self.make("ready", payload=PAYLOAD, priority=3, **traced)
        self.make("ready-for-an-empty-payload", payload='""')
        self.make("ready-after-a-delay", delay_ms=50)
        self.make("with-a-key", **WITH_A_KEY)
        self.jobs.update(self.batch())
        self.make("client-made-id", id=harness.uuid7(), payload="null")
        self.make("snoozed", max_attempts=1)
        self.begin("snoozed")
        self.end("snoozed", "snoozed", delay_ms=TEN_YEARS_MS)
        self.patch("snoozed", run_at=FAR)
        self.run_through("released", "released")

    def jobs_end(self):
        self.run_through("succeeded", result=RESULT, payload=PAYLOAD)
        self.run_through("succeeded-and-holds-its-key", **UNIQUE_FOR_LONG)
        self.make("third-time-lucky", retry=AT_ONCE, max_attempts=3)
        for number in (1, 2):
            self.begin("third-time-lucky", worker=f"worker-{number}")
            logs = [{"level": level, "message": f"{number}: {level} é"} for level in ("debug", "info", "warn", "error")]
            self.end("third-time-lucky", "failed", error=ERROR, logs=logs)
        self.begin("third-time-lucky")
        self.end(
            "third-time-lucky",
            result="null",
            logs=[{"at": "2001-02-03T04:05:06.789Z", "message": ""}],
        )
        # More lines than an attempt keeps.
        self.make("talkative")
        self.begin("talkative")
        self.end("talkative", logs=[{"message": chr(97 + n % 26) * 8192} for n in range(40)])
        self.run_through("dead", "failed", error={**ERROR, "retryable": False}, payload=PAYLOAD)
        self.run_through("dead-by-its-worker", "dead", error={"type": "E", "message": ""})
        self.make("cancelled")
        self.post(f"/v1/jobs/{self.jobs['cancelled']}/cancel", {"reason": "nobody wants it «any» more"})
        self.make("cancelled-while-it-ran")
        self.begin("cancelled-while-it-ran")
        self.post(f"/v1/jobs/{self.jobs['cancelled-while-it-ran']}/cancel")
        self.end("cancelled-while-it-ran", "cancelled")
        self.make("replaced", unique={"key": "seat", "on_conflict": "replace"})
        self.make("replaces", unique={"key": "seat", "on_conflict": "replace"})

    def time_passes(self):
        self.make("expired", delay_ms=60_000, expires_in_ms=50)
        self.make("timed-out", timeout_ms=50, max_attempts=1)
        self.begin("timed-out")
        self.make("lease-expired", max_attempts=9)
        self.begin("lease-expired", lease_ms=1000)
        self.put_queue("crashing", max_crashes=1)
        self.queues.add("crashing")
        self.make("worker-lost", queue="crashing")
        self.begin("worker-lost", "crashing", lease_ms=1000)
        for role, state in (
            ("expired", "expired"),
            ("timed-out", "dead"),
            ("worker-lost", "dead"),
            ("ready-after-a-delay", "ready"),
        ):
            self.await_state(self.jobs[role], state)
        harness.eventually(lambda: self.job(self.jobs["lease-expired"])["crashes"] == 1, what="a lease's end")
        self.patch("lease-expired", run_at=FAR)
        self.lost = {role: self.leases.pop(role) for role in ("timed-out", "worker-lost", "lease-expired")}

    def jobs_run(self):
        self.make("running", payload=PAYLOAD, retry=AT_ONCE, timeout_ms=TEN_YEARS_MS)
        self.begin("running")
        self.end("running", "failed", error=ERROR)
        job = self.begin("running", worker="a.worker:of/its-own_name")
        body = {"id": job["id"], "token": job["lease"]["token"], "extend_ms": DAY_MS}
        progress = f'{{"percent": 62.5, "message": "halbé", "checkpoint": {CHECKPOINT}}}'
        text = sample.json.dumps({"items": [body]})[:-3] + f', "progress": {progress}}}]}}'
        reply = self.api.post("/v1/heartbeat", raw=text.encode())
        self.assertEqual(reply.json["results"][0]["status"], 200, reply)
        line = {"id": job["id"], "token": job["lease"]["token"], "level": "warn", "message": "half"}
        self.post("/v1/workers/a.worker:of%2Fits-own_name/poll", {"logs": [line]})
        self.make("to-be-cancelled")
        self.begin("to-be-cancelled")
        self.post(f"/v1/jobs/{self.jobs['to-be-cancelled']}/cancel", {"reason": "stop, bitte"})
        self.make("retrying")
        self.begin("retrying")
        self.end("retrying", "failed", error=ERROR, delay_ms=TEN_YEARS_MS)
        self.patch("retrying", run_at=FAR)

    def operators_change_jobs(self):
        self.run_through("retried-by-hand", "dead", error=ERROR, payload=PAYLOAD)
        self.post(f"/v1/jobs/{self.jobs['retried-by-hand']}/retry")
        self.run_through("retried-for-later", "dead", error=ERROR)
        self.post(
            f"/v1/jobs/{self.jobs['retried-for-later']}/retry",
            {"run_at": FAR, "reset_attempts": False},
        )
        self.make("edited", run_at=FAR, tags=["old"])
        self.patch("edited", priority=-1, payload=[1, {"a": None}], max_attempts=99, tags=["new", "newer"])
        self.make("edited-to-no-tags", tags=["old"], run_at=FAR)
        self.patch("edited-to-no-tags", tags=[], run_at="2998-01-01T00:00:00Z")
        self.make("reprioritized")
        ids = [self.jobs["reprioritized"]]
        self.post("/v1/jobs/bulk", {"action": "reprioritize", "ids": ids, "priority": 77})
        self.make("deleted", unique={"key": "free again"})
        self.delete(f"/v1/jobs/{self.jobs.pop('deleted')}")

    def a_submission_waits_in_the_outbox(self):
        """The submission's queue is on another shard, and full."""
        full = other_shard(self.MAIN)
        self.queues.add(full)
        self.put_queue(full, max_ready=1)
        self.make("fills-a-queue", queue=full)
        self.outbox = {
            "id": harness.uuid7(),
            "type": "from-the-outbox",
            "queue": full,
            "payload": {"n": 123456789012345678901234567890},
            "priority": -7,
            "max_attempts": 4,
            "retry": {"strategy": "list", "delays_ms": [1, 2]},
            "lease_ms": 5000,
            "timeout_ms": TEN_YEARS_MS,
            "expires_at": FAR,
            "unique": {"key": "over there", "for_ms": 1000},
            "tags": ["far"],
            "meta": {"k": "v"},
            "traceparent": TRACEPARENT,
        }
        self.make("submits-to-another-shard")
        self.begin("submits-to-another-shard")
        self.end("submits-to-another-shard", enqueue=[self.outbox])

    def transactions_finish_jobs(self, database):
        """Finishes one job whose lease is live, and one whose lease is over."""
        for role, lease_ms in (
            ("finished-while-it-ran", DAY_MS),
            ("finished-after-its-lease", 1000),
        ):
            self.make(role, retry={"strategy": "fixed", "base_ms": TEN_YEARS_MS})
            self.begin(role, lease_ms=lease_ms)
        self.await_state(self.jobs["finished-after-its-lease"], "retrying")
        for role in ("finished-while-it-ran", "finished-after-its-lease"):
            database.sql(f"SELECT millrace.finish('{self.jobs[role]}', {self.leases.pop(role)}, '[1, 2]')")
            self.await_state(self.jobs[role], "succeeded")
        if "workflows" in self.parts:
            workflow_chapter.Chapter(self).one_succeeds_late(database)
            workflow_chapter.Chapter(self).a_transaction_begins_one(database)

    def jobs_for_the_inbox(self):
        """They run; what is asked for them comes when no server is there any more. The tables have
        them: a fence of an old id whose job they do not have is swept, or not raised.
        """
        self.put_queue(self.INBOX)
        for role in ("finished-in-the-inbox", "fenced-in-the-inbox"):
            self.make(role, queue=self.INBOX)
            self.begin(role, self.INBOX)
            self.inbox[role] = {
                "id": self.jobs.pop(role),
                "token": self.leases.pop(role),
                "asked": None,
            }
        sample.await_tables(self.api)

    def transactions_without_a_server(self, database):
        arguments = {
            "queue": f"'{self.INBOX}'",
            "priority": "-3",
            "max_attempts": "6",
            "lease": "'77 s'",
            "timeout": "'1 day'",
            "retry": """'{"strategy": "linear", "base_ms": 9}'""",
            "expires_at": "'2999-01-01Z'",
            "unique_key": "'u'",
            "unique_for": "'1 hour'",
            "on_conflict": "'reject'",
            "tags": "'{a,b}'",
            "meta": """'{"k": "v"}'""",
            "traceparent": f"'{TRACEPARENT}'",
            "tracestate": f"'{TRACESTATE}'",
            "idempotency_key": "'k'",
        }
        named = "".join(f", {name} => {value}" for name, value in arguments.items())
        payload = """'{"n": 123456789012345678901234567890}'"""
        enqueue = f"SELECT millrace.enqueue('from-the-inbox', {payload}{named})"
        self.inbox["enqueued"] = {"id": database.sql(enqueue)}
        for role, function in (
            ("finished-in-the-inbox", "finish"),
            ("fenced-in-the-inbox", "fence"),
        ):
            if function in self.parts:
                job = self.inbox[role]
                job["asked"] = function
                more = ", '[true]'" if function == "finish" else ""
                database.sql(f"SELECT millrace.{function}('{job['id']}', {job['token']}{more})")

    # The final answers.

    def say(self):
        self.queues &= {queue["name"] for queue in sample.pages(self.api, "/v1/queues")}
        return {
            "made_by": sample.get(self.api, "/v1/meta").json["version"],
            "made_at": sample.get(self.api, "/v1/meta").json["server_time"],
            "leases": self.leases,
            "lost": self.lost,
            "ended": self.ended,
            "inbox": self.inbox,
            "outbox": self.outbox,
            "roles": self.jobs,
            "jobs": {job: sample.say_job(self.api, job) for job in self.jobs.values()},
            "queues": {queue: sample.say_queue(self.api, queue) for queue in sorted(self.queues)},
            "schedules": {name: sample.say_schedule(self.api, name) for name in sorted(self.schedules)},
            "workflows": {role: sample.say_workflow(self.api, flow) for role, flow in self.workflows.items()},
            "settings": {path: sample.say_settings(self.api, path) for path in sorted(self.settings)},
            "events": sample.say_events(self.api),
            "statistics": sample.say_statistics(self.api),
        }

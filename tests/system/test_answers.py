"""Holds the server's encoders to openapi.yaml, member by member: each member of an answer is sent in some answer of this
test, or stands in a list with the reason. Every suite checks the other side: no answer has a member that is not
described.
"""

import json

import harness
import receiver
import test_auth
import test_streams

# Members of answers that this test does not make the server send, and why.
UNSENT = {
    "only a store of several shards has shares: test_flow.py": {"Blocking.have", "Blocking.wanted_since"},
    "only on PostgreSQL: test_doctor.py": {
        *(f"DatabaseState.{name}" for name in ("clock_ahead_ms", "connections", "max_connections")),
        *(f"DatabaseState.{name}" for name in ("oldest_transaction", "prepared_transactions")),
        *(f"OldestTransaction.{name}" for name in ("age_ms", "application", "pid", "state", "user")),
    },
    "a finding about it takes a fault of its own: test_findings.py, test_doctor.py": {
        *(f"FindingAbout.{name}" for name in ("check", "error_group", "job", "push_target", "token")),
        "FindingAbout.worker",
    },
    "takes a workflow that was left open for a day: service_test": {"FindingAbout.workflow"},
    "takes seconds without a server: test_schedule_firing.py": {"Run.count"},
    "takes a log that is trimmed before statistics have read it: api_test": {"StatsGap.from", "StatsGap.to"},
    "takes a minute without a worker": {"WhyNote.last_seen"},
    "only a store of several shards has jobs on the way: test_workflows.py": {"WorkflowBlocking.shard"},
    "takes a token that is limited to queues: test_workflows.py": {"WorkflowWhy.redacted"},
    "the job of a member has none": {"MemberJob.expires_at", "MemberJob.unique"},
}
EVERYTHING = {
    "payload": {"n": 1},
    "priority": 1,
    "expires_in_ms": 3_600_000,
    "max_attempts": 3,
    "retry": {"strategy": "exponential", "base_ms": 1, "max_ms": 2, "jitter": 0.1},
    "lease_ms": 30_000,
    "timeout_ms": 60_000,
    "unique": {"key": "k", "for_ms": 1000, "on_conflict": "debounce", "max_wait_ms": 1000},
    "tags": ["t"],
    "meta": {"m": "1"},
    "limits": [{"name": "api", "key": "a", "cost": 2}],
    "order_key": "o",
    "order_on_failure": "pass",
    "fair_key": "f",
    "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    "tracestate": "a=b",
}
RATE = {"limit": 1_000_000, "per_ms": 1000, "burst": 1_000_000}
BREAKER = {"failure_rate": 0.9, "min_attempts": 1000, "window_ms": 60_000, "open_ms": 1000, "probes": 1}
BOUNDS = {"concurrency": 10, "rate": RATE, "breaker": BREAKER, "retry_rate": RATE}


def described_members(described):
    """Every member of an answer, as SCHEMA.MEMBER."""
    found, seen = set(), set()
    todo = [response for _, _, operation in described.operations() for response in operation["responses"].values()]
    while todo:
        node = todo.pop()
        if isinstance(node, dict) and "$ref" in node:
            name = node["$ref"].split("/")[-1]
            if node["$ref"] in seen:
                continue
            seen.add(node["$ref"])
            node = described.resolve(node)
            found |= {f"{name}.{member}" for member in node.get("properties", ())}
        todo += node if isinstance(node, list) else node.values() if isinstance(node, dict) else ()
    return found


class Answers(harness.MillraceCase):
    @classmethod
    def setUpClass(cls):
        scopes = (f"--scope={scope}" for scope in test_auth.SCOPES)
        cls.token, config = test_auth.new_token("--name", "all", *scopes)
        push = ("--push-allow", "127.0.0.0/8", "--push-ports", "all", "--push-allow-http", "true")
        cls.server = harness.Server(*push, config=config, token=cls.token)
        cls.addClassCleanup(cls.server.close)
        cls.server.start()

    def test_every_described_member_is_sent(self):
        described = self.api.contract()
        described.sent = set()
        self.addCleanup(setattr, described, "sent", None)
        blind = self.done(self.api.post("/v1/tokens", {"name": "blind", "scopes": ["read"]}))["token"]
        self.blinded = self.new_client(token=blind)
        for part in (self.queues, self.jobs, self.schedules, self.workflows, self.gates, self.errors, self.operating):
            part()
        unsent = described_members(described) - described.sent
        excused = set().union(*UNSENT.values())
        self.assertEqual(sorted(unsent - excused), [], "described, but in no answer of this test")
        self.assertEqual(sorted(excused - unsent), [], "in UNSENT, but sent or not described")

    def get(self, path, api=None, **query):
        reply = (api or self.api).get(path, **query)
        self.assertEqual(reply.status, 200, reply)
        return reply.json

    def done(self, reply):
        self.assertIn(reply.status, (200, 201, 202), reply)
        return reply.json

    def queues(self):
        for name in ("each", "one", "api"):
            self.done(self.api.put(f"/v1/limits/{name}", {"per_key": True, "concurrency": 10}))
        settings = {
            "retry": {"strategy": "list", "delays_ms": [1]},
            "rate": RATE,
            "breaker": BREAKER,
            "limits": [{"name": "each", "key_from": "fair_key", "cost": 2}, {"name": "one", "key": "k"}],
            "fair": {"weights": {"f": 2}, "default_weight": 1, "by": "starts"},
        }
        self.done(self.api.put("/v1/queues/full", settings))
        self.get("/v1/queues")
        self.done(self.api.put("/v1/queues/bounded", {"max_ready": 0}))
        self.assertEqual(self.api.post("/v1/jobs", {"type": "t", "queue": "bounded"}).status, 429)
        self.assertEqual(self.api.put("/v1/queues/full", {}, headers={"If-Match": "x"}).status, 422)  # a header
        self.assertEqual(self.api.get("/v1/queues", limit=0).status, 422)  # a parameter
        self.assertEqual(self.api.put("/v1/queues/full", {"fair": 1}).status, 422)  # a member
        self.done(self.api.put(f"/v1/queues/{self.queue}", {"fair": {}}))

    def jobs(self):
        made = self.submit(**EVERYTHING)
        worker = {"id": "w9", "host": "h", "pid": 1, "sdk": "s", "version": "1.0", "labels": {"a": "b"}}
        claim = {"queues": [self.queue], "worker": worker}
        (job,) = self.done(self.api.post("/v1/claim", claim))["jobs"]
        beat = {"id": job["id"], "token": job["lease"]["token"]}
        progress = {"percent": 1, "message": "m", "checkpoint": 1}
        self.done(self.api.post("/v1/heartbeat", {"items": [{**beat, "progress": progress}, {**beat, "token": 1}]}))
        self.ack({**job, "lease": {"token": 1}})  # in vain
        self.get("/v1/workers")
        self.fail_attempt(job, logs=[{"message": "hello"}])
        for api in (self.api, self.blinded):
            self.get(f"/v1/jobs/{made['id']}", api, include="payload,result,attempts,logs,events")
            self.get(f"/v1/jobs/{made['id']}/logs", api)
        self.get(f"/v1/jobs/{made['id']}/attempts")
        self.get(f"/v1/jobs/{made['id']}/events")
        self.get("/v1/jobs", fresh="true")
        self.get(f"/v1/queues/{self.queue}/shares")
        self.finish(self.claim_within())
        self.get(f"/v1/queues/{self.queue}/scale")
        self.get("/v1/stats", window_ms=900_000, step_ms=60_000, by="queue")
        self.commands()
        self.pruned()

    def commands(self):
        """A poll's answer, with a command that names a job."""
        job = self.submit()
        claim = {"queues": [self.queue], "worker": {}}
        (lease,) = self.done(self.api.post("/v1/workers/w8/poll", {"claim": claim}))["jobs"]
        self.done(self.api.post(f"/v1/jobs/{job['id']}/cancel", {}))
        item = {"id": job["id"], "token": lease["lease"]["token"]}
        body = {"heartbeats": [item], "logs": [{**item, "message": "x"}]}
        self.assertTrue(self.done(self.api.post("/v1/workers/w8/poll", body))["commands"])
        self.done(self.api.post(f"/v1/jobs/{job['id']}/complete", {"token": item["token"]}))
        self.done(self.api.post("/v1/jobs/batch", {"jobs": [{"type": "t"}, {"type": ""}]}))
        self.done(self.api.post("/v1/jobs/bulk", {"action": "delete", "ids": [job["id"]]}))

    def pruned(self):
        """The rest of a job whose idempotency key outlives it."""
        self.done(self.api.put("/v1/queues/short", {"retention": {"succeeded_ms": 0}}))
        key = {"Idempotency-Key": "k"}
        job = self.done(self.api.post("/v1/jobs", {"type": "t", "queue": "short"}, headers=key))
        self.finish(self.claim_one(queues=["short"]))
        harness.eventually(lambda: self.api.get(f"/v1/jobs/{job['id']}").status == 404)
        self.done(self.api.post("/v1/jobs", {"type": "t", "queue": "short"}, headers=key))
        self.done(self.api.post("/v1/queues/short/purge", {}))

    def schedules(self):
        job = {"type": "t", "queue": "timed", **EVERYTHING}
        self.done(self.api.put("/v1/schedules/a", {"cron": "* * * * * *", "job": job}))
        expiring = {"type": "t", "queue": "timed", "expires_at": "2999-01-01T00:00:00Z"}
        often = {"every_ms": 1000, "job": expiring, "missed": "skip", "missed_after_ms": 1000}
        self.done(self.api.put("/v1/schedules/b", {**often, "cron": None}))
        self.get("/v1/schedules/a", self.blinded)
        self.get("/v1/schedules")
        members = [{"ref": "a", "job": {"type": "t"}}, {"needs": ["a"], "needs_any": True, "job": {"type": "t"}}]
        set_ones = {"name": "n", "tags": ["t"], "meta": {"m": "1"}, "max_active": 9, "timeout_ms": 60_000}
        set_ones |= {name: {"type": "t"} for name in ("on_success", "on_failure", "on_end")}
        workflow = {"queue": "timed", "members": members, "result_from": "a", **set_ones}
        self.done(self.api.put("/v1/schedules/w", {"cron": "@yearly", "workflow": workflow}))
        self.done(self.api.post("/v1/schedules/w/trigger", {}))
        self.get("/v1/schedules/w")
        self.get("/v1/schedules/w/runs")
        self.done(self.api.put("/v1/schedules", {"managed_by": "m", "schedules": {}}))
        preview = {"cron": "30 2 * * *", "timezone": "Europe/Berlin"}
        self.done(self.api.post("/v1/schedules/preview", preview))
        past = {"from": "2026-01-01T00:00:00Z", "to": "2026-01-01T00:00:02Z", "rerun": True}
        self.done(self.api.post("/v1/schedules/b/backfill", past))
        triggered = self.done(self.api.post("/v1/schedules/a/trigger", {}))
        self.get(f"/v1/jobs/{triggered['id']}")
        self.claim(queues=["timed"], limit=10)
        self.done(self.api.put("/v1/queues/none", {"max_ready": 0}))
        often["job"] = {"type": "t", "queue": "none"}
        self.done(self.api.put("/v1/schedules/c", often))
        harness.eventually(lambda: "error" in str(self.get("/v1/schedules/c/runs")))

    def workflows(self):
        queue = {"queue": "flows"}
        settings = {"meta": {"m": "1"}, "max_active": 9, "timeout_ms": 60_000, "unique": {"key": "k"}, "name": "n"}
        job = {"type": "t", **{name: value for name, value in EVERYTHING.items() if name != "unique"}}
        members = [{"ref": "a", "job": job}, {"ref": "b", "needs": ["a"], "job": {"type": "t"}}]
        body = {**queue, **settings, "members": members, "open": True, "result_from": "a"}
        body |= {name: {"type": "t"} for name in ("on_success", "on_failure", "on_end")}
        made = self.done(self.api.post("/v1/workflows", body))
        path = f"/v1/workflows/{made['id']}"
        self.done(self.api.post(f"{path}/members", {"members": members}))
        self.get(f"{path}/members/a")
        late, later = ({"type": "t", **due} for due in ({"run_at": "2999-01-01T00:00:00Z"}, {"delay_ms": 3_600_000}))
        more = [{"ref": "c", "job": late}, {"ref": "d", "needs": [{"ref": "b", "on": "failed"}], "job": later}]
        self.done(self.api.post(f"{path}/members", {"members": more}))
        self.get(f"{path}/members/c")
        self.get(f"{path}/members/d")
        self.finish(self.claim_within(queues=["flows"]), result=1)
        second = self.claim_within(queues=["flows"])
        self.assertEqual(second["parents"]["a"]["result"], 1)
        for api in (self.api, self.blinded):
            self.get(path, api, include="result")
            self.get(f"{path}/members", api, include="job,result")
            self.get(f"{path}/members/a", api, include="job,result")
        for call in ("graph", "why"):
            self.get(f"{path}/{call}")
        self.done(self.api.post(f"{path}/cancel", {"reason": "r"}))
        self.finish(second, "cancelled")
        self.get(path, wait_ms=20_000, until="final")
        callback = self.claim_within(queues=["flows"])
        self.assertEqual(callback["workflow"]["role"], "callback")
        self.get(f"/v1/jobs/{callback['id']}")
        self.get("/v1/workflows", fresh="true")
        self.large_results()

    def large_results(self):
        """A parent whose result is too large, and a callback after a success."""
        large = {"type": "t", "queue": "large"}
        members = [{"ref": "a", "job": large}, {"ref": "b", "job": large}, {"needs": ["a", "b"], "job": large}]
        made = self.done(self.api.post("/v1/workflows", {"members": members, "on_success": large}))
        for _ in range(2):
            self.finish(self.claim_within(queues=["large"]), result="x" * 700_000)
        last = self.claim_within(queues=["large"])
        self.assertIn("size", [parent.get("omitted") for parent in last["parents"].values()])
        self.finish(last)
        ended = self.get(f"/v1/workflows/{made['id']}", wait_ms=20_000, until="final")
        self.assertIn("on_success", ended["callbacks"])

    def gates(self):
        keys = {"b": {"concurrency": 1, "rate": RATE}}
        self.done(self.api.put("/v1/limits/api", {**BOUNDS, "per_key": True, "keys": keys}))
        self.get("/v1/limits")
        self.done(self.api.put("/v1/types/gated", BOUNDS))
        self.get("/v1/types")
        jobs = [self.submit("gated", limits=[{"name": "api", "key": "b"}]) for _ in range(3)]
        job = self.claim_one(types=["gated"])
        self.get("/v1/limits/api/keys")
        self.get("/v1/limits/api/holders")
        self.get(f"/v1/jobs/{jobs[1]['id']}/why")
        self.get(f"/v1/jobs/{job['id']}/why")
        self.get(f"/v1/queues/{self.queue}")
        self.done(self.api.post("/v1/limits/api/pause", {"reason": "r", "for_ms": 60_000}))
        self.get(f"/v1/jobs/{jobs[1]['id']}/why")
        ordered = [self.submit("nobody", order_key="o") for _ in range(2)]
        self.get(f"/v1/jobs/{ordered[1]['id']}/why")
        unasked = [self.submit(queue="unasked") for _ in range(2)]
        self.get(f"/v1/jobs/{unasked[1]['id']}/why")
        self.done(self.api.put("/v1/limits/seldom", {"rate": {"limit": 1, "per_ms": 3_600_000}}))
        seldom = [self.submit("gated", limits=[{"name": "seldom"}]) for _ in range(2)]
        self.claim(types=["gated"], limit=2)
        self.get(f"/v1/jobs/{seldom[1]['id']}/why")

    def errors(self):
        self.submit("failing", max_attempts=1, queue="errors")
        worker = {"id": "w7", "version": "2.0"}
        (job,) = self.done(self.api.post("/v1/claim", {"queues": ["errors"], "worker": worker}))["jobs"]
        self.fail_attempt(job, "it failed")
        groups = harness.eventually(lambda: self.get("/v1/error-groups")["items"])
        group = next(group for group in groups if group["types"] == ["failing"])
        self.done(self.api.post(f"/v1/error-groups/{group['id']}/retry", {"mode": "canary"}))
        self.get(f"/v1/error-groups/{group['id']}")

    def operating(self):
        for path in ("/livez", "/v1/meta", "/v1/session", "/v1/tokens", "/v1/events", "/v1/admin/config",
                     "/v1/admin/nodes", "/v1/admin/diagnosis", "/v1/admin/audit"):  # fmt: skip
            self.get(path)
        self.get("/readyz", verbose="true")
        self.done(self.api.post("/v1/admin/reproject", {}))
        self.done(self.api.post("/v1/admin/backup", {"path": str(self.server.home / "backup")}))
        bulk = {"action": "cancel", "filter": {"state": ["ready"]}, "operation": True}
        self.done(self.api.post("/v1/jobs/bulk", bulk))
        self.get("/v1/operations")
        many = [{"type": f"t.{n}", "queue": self.queue} for n in range(300)]
        self.done(self.api.post("/v1/jobs/batch", {"jobs": many}))
        query = {"window_ms": 900_000, "step_ms": 60_000, "by": "type"}
        harness.eventually(lambda: any("others" in group for group in self.get("/v1/stats", **query)["groups"]))
        for by in ("type", "fair_key", "tag"):
            self.get("/v1/stats", window_ms=900_000, step_ms=60_000, by=by)
        self.push()
        self.digest()
        self.findings()

    def findings(self):
        for queue in ("full", "pushed"):
            self.done(self.api.post(f"/v1/queues/{queue}/pause", {"reason": "for the findings"}))
            self.submit(queue=queue)
        self.get("/v1/findings", closely="true", limit=1)
        harness.eventually(lambda: '"schedule"' in json.dumps(self.get("/v1/findings", closely="true")["items"]))
        # No disk has that much room, so that the node has a finding, whatever the machine has.
        self.get("/v1/findings", free_percent=100, free_bytes=1 << 50)
        self.get("/v1/findings", api=self.blinded)

    def push(self):
        with_answer = receiver.Receiver(None)
        self.addCleanup(with_answer.close)
        target = {"url": with_answer.url, "queues": ["pushed"]}
        harness.eventually(lambda: self.api.put("/v1/push-targets/p", target).status == 201)
        self.done(self.api.post("/v1/push-targets/p/test", {}))
        self.submit(queue="pushed")
        harness.eventually(lambda: (self.get("/v1/push-targets/p")["health"] or {}).get("last"))
        self.get("/v1/push-targets")

    def digest(self):
        """A message of a stream, which is the body of no reply."""
        stream = test_streams.Stream(self.server, "?digest_ms=250", token=self.token)
        self.addCleanup(stream.close)
        self.submit()
        _, _, digest = stream.until(lambda message: message[0] == "digest")
        self.api.contract().check({"$ref": "#/components/schemas/Digest"}, digest)


if __name__ == "__main__":
    harness.main()

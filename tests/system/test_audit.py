"""Tests of the audit: each change leaves one entry, in the same commit, with its author, origin and
previous values.
"""

import json
import pathlib
import re
import threading
import time
import types

import harness
from test_auth import new_token

import nodes  # whose folder the harness has added

ROUTES = pathlib.Path(__file__).parents[2] / "src/http/routes.cc"
EVERY = ["submit", "work", "read", "operate", "admin"]
PERMITTED = ("--push-allow", "127.0.0.0/8", "--push-ports", "all", "--push-allow-http", "true")
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def configured(name):
    return new_token("--name", name, *[w for s in EVERY for w in ("--scope", s)])


def operator_routes():
    """(method, pattern) of every route that changes something and needs operate or admin."""
    rows = re.findall(r'\{k(\w+), "([^"]+)",\s*k(Operate|Admin),', ROUTES.read_text())
    return {(m.upper(), p) for m, p, _ in rows if m != "Get"}


class AuditCase(harness.MillraceCase):
    serve_args = ()

    @classmethod
    def setUpClass(cls):
        cls.admin, first = configured("setup")
        cls.ops, second = configured("ops")
        cls.reader, third = new_token("--name", "reader", "--scope", "read", "--scope", "operate")
        cls.server = harness.Server(*PERMITTED, *cls.serve_args, config=first + second + third, token=cls.admin)
        cls.addClassCleanup(cls.server.close)
        cls.server.start()

    def setUp(self):
        super().setUp()
        self.mine = self.new_client(token=self.ops)

    def audit(self, api=None, **query):
        """All entries that match, newest first."""
        found = []
        query = {"fresh": "true", **query}
        while True:
            reply = (api or self.api).get("/v1/admin/audit", **query)
            self.assertEqual(reply.status, 200, reply)
            found += reply.json["items"]
            if reply.json["next_cursor"] is None:
                return found
            query["cursor"] = reply.json["next_cursor"]

    def of_request(self, request_id):
        return [e for e in self.audit(limit=1000) if e["request_id"] == request_id]

    def lines(self, api=None, accept="application/jsonl", **query):
        api = api or self.api
        target = "/v1/admin/audit?" + "&".join(f"{k}={v}" for k, v in query.items())
        reply = api._exchange("GET", target, None, {"Authorization": f"Bearer {api.token}", "Accept": accept})
        self.assertEqual((reply.status, reply.headers["content-type"]), (200, accept))
        rows = [json.loads(line) for line in reply.body.decode().splitlines()]
        cursors = [row["next_cursor"] for row in rows if "next_cursor" in row]
        return [row for row in rows if "next_cursor" not in row], cursors[-1]


class WhoDidIt(AuditCase):
    def test_who_paused_this_queue(self):
        self.api.put(f"/v1/queues/{self.queue}", {"concurrency": 5})
        reply = self.mine.post(
            f"/v1/queues/{self.queue}/pause",
            {"reason": "the mail server is down"},
            headers={"X-Request-Id": "incident-7"},
        )
        self.assertEqual(reply.status, 200, reply)
        entry = self.audit(object=f"queue:{self.queue}")[0]
        self.assertLess(abs(harness.seconds(entry.pop("at")) - time.time()), 60)
        self.assertRegex(entry.pop("id"), r"^\d+-\d+$")
        self.assertEqual(
            entry,
            {
                "actor": {
                    "token": self.ops.split("_")[1],
                    "name": "ops",
                    "address": "127.0.0.1",
                    "via": "http",
                },
                "request_id": "incident-7",
                "action": "queue.paused",
                "object": {"kind": "queue", "name": self.queue},
                "summary": f"ops paused queue {self.queue}",
                "before": {"paused": False, "pause_reason": None},
                "after": {"paused": True, "pause_reason": "the mail server is down"},
                "reason": "the mail server is down",
            },
        )

    def test_only_what_changed(self):
        self.api.put(f"/v1/queues/{self.queue}", {"concurrency": 5, "max_ready": 100})
        self.api.patch(f"/v1/queues/{self.queue}", {"concurrency": 9})
        entry = self.audit(object=self.queue)[0]
        self.assertEqual((entry["before"], entry["after"]), ({"concurrency": 5}, {"concurrency": 9}))
        created = self.audit(object=self.queue)[1]
        self.assertEqual((created["before"], created["after"]["max_ready"]), (None, 100))
        self.api.put(f"/v1/limits/{self.queue}", {"concurrency": 3})
        self.api.put(f"/v1/limits/{self.queue}", {"concurrency": 4})
        entry = self.audit(object=f"limit:{self.queue}")[0]
        self.assertEqual((entry["before"], entry["after"]), ({"concurrency": 3}, {"concurrency": 4}))

    def test_what_was_refused_or_changed_nothing_is_no_entry(self):
        before = len(self.audit(limit=1000))
        self.assertEqual(self.mine.post("/v1/queues/nowhere/pause").status, 404)
        self.assertEqual(self.mine.post(f"/v1/jobs/{harness.uuid7()}/cancel").status, 404)
        self.api.put(f"/v1/queues/{self.queue}", {})
        self.assertEqual(self.mine.post(f"/v1/queues/{self.queue}/resume").status, 200)
        self.assertEqual(len(self.audit(limit=1000)), before + 1)

    def test_producers_and_workers_leave_none(self):
        before = len(self.audit(limit=1000))
        self.submit_many(10)
        for job in self.claim(limit=5):
            self.finish(job)
        self.fail_attempt(self.claim_one())
        self.assertEqual(len(self.audit(limit=1000)), before)

    def test_a_bulk_call_is_one_entry_with_its_count(self):
        self.submit_many(700, delay_ms=3_600_000)
        reply = self.mine.post(
            "/v1/jobs/bulk",
            {"action": "cancel", "filter": {"queue": self.queue}},
            headers={"X-Request-Id": "bulk-1"},
        )
        self.assertEqual(reply.json["changed"], 700, reply)
        (entry,) = self.of_request("bulk-1")
        self.assertEqual(entry["object"], {"kind": "jobs", "name": f"queue:{self.queue}"})
        self.assertEqual((entry["action"], entry["after"]), ("job.cancelled", {"jobs": 700}))
        self.assertIn("700 jobs", entry["summary"])
        purged = self.mine.post(
            f"/v1/queues/{self.queue}/purge",
            {"states": ["cancelled"]},
            headers={"X-Request-Id": "purge-1"},
        )
        self.assertEqual(purged.json["deleted"], 700, purged)
        (entry,) = self.of_request("purge-1")
        self.assertEqual((entry["action"], entry["after"]), ("queue.purged", {"jobs": 700}))

    def test_filters_and_pages(self):
        for number in range(7):
            self.mine.put(f"/v1/queues/{self.queue}", {"concurrency": number + 1})
        self.api.post(f"/v1/queues/{self.queue}/pause")
        name = f"queue:{self.queue}"
        self.assertEqual(len(self.audit(object=name)), 8)
        pages = self.audit(object=name, limit=3)
        self.assertEqual(pages, self.audit(object=name))
        self.assertEqual(len(self.audit(object=name, actor="ops")), 7)
        self.assertEqual(len(self.audit(object=name, actor=self.admin.split("_")[1])), 1)
        self.assertEqual(len(self.audit(object=name, action="queue.paused")), 1)
        self.assertEqual(len(self.audit(object=name, action="queue.*")), 8)
        third = pages[2]["at"]
        since = self.audit(object=name, since=third)
        until = self.audit(object=name, until=third)
        self.assertEqual(since + until, pages)
        self.assert_refused(self.api.get("/v1/admin/audit?cursor=xx"), 422, "validation_failed")
        self.assert_refused(self.api.get("/v1/admin/audit?who=ops"), 422, "validation_failed")

    def test_lines_oldest_first_that_go_on_by_cursor(self):
        name = f"queue:{self.queue}"
        for number in range(4):
            self.mine.put(f"/v1/queues/{self.queue}", {"concurrency": number + 1})
        found, cursor = self.lines(object=name, fresh="true")
        self.assertEqual(found, list(reversed(self.audit(object=name))))
        again, _ = self.lines(object=name, fresh="true", accept="application/x-ndjson")
        self.assertEqual(again, found)
        self.assertEqual(self.lines(object=name, cursor=cursor)[0], [])
        self.mine.post(f"/v1/queues/{self.queue}/pause")
        more, _ = self.lines(object=name, cursor=cursor, fresh="true")
        self.assertEqual([entry["action"] for entry in more], ["queue.paused"])

    def test_for_administrators_alone(self):
        reader = self.new_client(token=self.reader)
        self.assert_refused(reader.get("/v1/admin/audit"), 403, "forbidden")
        self.assertNotIn("audit", json.dumps(reader.get("/v1/events", limit=1000).json["items"]))

    def test_no_secret_gets_there(self):
        made = self.mine.post("/v1/tokens", {"name": f"t-{self.queue}", "scopes": ["read"]}).json
        self.mine.post(f"/v1/tokens/{made['id']}/rotate", {})
        self.mine.put(
            f"/v1/push-targets/{self.queue}",
            {
                "url": "http://127.0.0.1:1/hook",
                "queues": [self.queue],
                "secret": [SECRET],
                "headers": {"X-Key": "canary-header"},
            },
        )
        self.mine.delete(f"/v1/push-targets/{self.queue}")
        text = json.dumps(self.audit(limit=1000))
        for secret in (made["token"].split("_")[2], "sha256", SECRET, "canary-header"):
            self.assertNotIn(secret, text)
        rotated = self.audit(action="token.rotated")[0]
        self.assertEqual(rotated["object"], {"kind": "token", "name": made["id"]})

    def test_sign_in_and_failed_sign_in(self):
        good = self.mine.request("POST", "/v1/session", {"token": self.ops}, headers={"Authorization": None})
        self.assertEqual(good.status, 200, good)
        entry = self.audit(action="session.signed_in")[0]
        self.assertEqual((entry["actor"]["name"], entry["actor"]["via"]), ("ops", "dashboard"))
        bad = self.mine.request(
            "POST", "/v1/session", {"token": self.ops[:-8] + "00000000"}, headers={"Authorization": None}
        )
        self.assertEqual(bad.status, 401, bad)
        entry = self.audit(action="session.sign_in_failed")[0]
        self.assertEqual((entry["actor"]["token"], entry["actor"]["address"]), (None, "127.0.0.1"))

    def test_the_command_shows_it(self):
        self.mine.post("/v1/jobs", {"type": "t", "queue": self.queue})
        self.mine.post(f"/v1/queues/{self.queue}/pause", {"reason": "lunch"})
        shown = self.server.cli("admin", "audit", "--object", f"queue:{self.queue}", "--since", "1h")
        self.assertEqual(shown.returncode, 0, shown)
        self.assertRegex(shown.stdout, rf"ops +127\.0\.0\.1 +queue\.paused +queue {self.queue} +lunch")
        rows = self.server.cli("admin", "audit", "--object", self.queue, "-o", "jsonl")
        self.assertEqual([json.loads(r)["reason"] for r in rows.stdout.splitlines()], ["lunch"])


class EachRoute(AuditCase):
    """Every route of an operator, from the server's own table, so that a new route without an entry
    fails here.
    """

    def prepare(self):
        """Makes what the calls act on, and returns what they need of it."""
        made = types.SimpleNamespace()
        q = self.queue
        self.submit(queue=f"{q}-full", delay_ms=3_600_000)
        for name in (q, f"{q}-empty"):
            self.api.put(f"/v1/queues/{name}", {})
        made.dead = self.submit(queue=f"{q}-dead", max_attempts=1)["id"]
        self.fail_attempt(self.claim_one(queues=[f"{q}-dead"]))
        self.assertEqual(self.state(made.dead), "dead")
        self.submit(queue=f"{q}-failing", max_attempts=1)
        self.fail_attempt(self.claim_one(queues=[f"{q}-failing"]), "of a group of its own")
        groups = lambda: self.api.get("/v1/error-groups", queue=f"{q}-failing").json["items"]  # noqa: E731
        made.group = harness.eventually(groups, what="the group of errors")[0]["id"]
        self.api.post(f"/v1/workers/w-{q}/poll", {"claim": {"queues": [q], "limit": 1}})
        for name in (q, f"{q}-old"):
            self.api.put(f"/v1/limits/{name}", {"concurrency": 2})
            self.api.put(f"/v1/types/{name}", {"concurrency": 2})
            spec = {"every_ms": 86_400_000, "job": {"type": "t", "queue": q}}
            self.assertEqual(self.api.put(f"/v1/schedules/{name}", spec).status, 201)
            target = {"url": "http://127.0.0.1:1/hook", "queues": [f"{q}-x"]}
            self.assertEqual(self.api.put(f"/v1/push-targets/{name}", target).status, 201)
        made.tokens = [
            self.api.post("/v1/tokens", {"name": f"{q}-{n}", "scopes": ["read"]}).json["id"] for n in range(2)
        ]
        # Enough jobs for the operations to run until their calls have been made.
        self.submit_many(1000, queue=f"{q}-slow", delay_ms=3_600_000)
        slowly = {"action": "cancel", "filter": {"queue": f"{q}-slow"}, "rate_per_s": 1}
        made.operations = [self.api.post("/v1/jobs/bulk", slowly).json["id"] for _ in range(2)]
        self.assertEqual(self.audit(action="operation.started")[0]["object"]["name"], made.operations[1])
        made.node = self.api.get("/v1/admin/nodes").json["nodes"][0]["id"]
        made.backup = self.server.home / f"copy-{q}"
        return made

    def calls(self):
        """{(method, pattern): (path, body, action, kind)}, with everything needed for success."""
        made = self.prepare()
        return {**self.calls_on_work(made), **self.calls_on_settings(made)}

    def calls_on_work(self, made):
        q = self.queue
        job = lambda **m: self.submit(delay_ms=3_600_000, **m)["id"]  # noqa: E731
        return {
            ("POST", "/v1/admin/backup"): ("", {"path": str(made.backup)}, "store.backed_up"),
            ("POST", "/v1/admin/nodes/{id}/drain"): (made.node, None, "node.drained"),
            ("POST", "/v1/admin/nodes/{id}/undrain"): (made.node, None, "node.undrained"),
            ("POST", "/v1/tokens"): ("", {"name": f"{q}-new", "scopes": ["read"]}, "token.created"),
            ("DELETE", "/v1/tokens/{id}"): (made.tokens[0], None, "token.revoked"),
            ("POST", "/v1/tokens/{id}/rotate"): (made.tokens[1], {}, "token.rotated"),
            ("POST", "/v1/jobs/bulk"): ("", {"action": "retry", "ids": [made.dead]}, "job.retried"),
            ("PATCH", "/v1/jobs/{id}"): (job(), {"priority": 3}, "job.edited"),
            ("DELETE", "/v1/jobs/{id}"): (job(), None, "job.deleted"),
            ("POST", "/v1/jobs/{id}/cancel"): (job(), None, "job.cancelled"),
            ("POST", "/v1/jobs/{id}/retry"): (self.cancelled(), None, "job.retried"),
            ("POST", "/v1/workers/{id}/quiet"): (f"w-{q}", None, "worker.quieted"),
            ("POST", "/v1/workers/{id}/stop"): (f"w-{q}", None, "worker.stopped"),
            ("PUT", "/v1/queues/{name}"): (q, {"concurrency": 3}, "queue.set"),
            ("PATCH", "/v1/queues/{name}"): (q, {"concurrency": 4}, "queue.set"),
            ("DELETE", "/v1/queues/{name}"): (f"{q}-empty", None, "queue.deleted"),
            ("POST", "/v1/queues/{name}/pause"): (q, None, "queue.paused"),
            ("POST", "/v1/queues/{name}/resume"): (self.paused(), None, "queue.resumed"),
            ("POST", "/v1/queues/{name}/purge"): (f"{q}-full", None, "queue.purged"),
            ("POST", "/v1/workflows/{id}/cancel"): (self.workflow(), None, "workflow.cancelled"),
            ("POST", "/v1/workflows/{id}/retry"): (self.workflow("cancelled"), None, "workflow.retried"),
            ("DELETE", "/v1/workflows/{id}"): (self.workflow("cancelled"), None, "workflow.deleted"),
            ("POST", "/v1/workflows/{id}/members/{ref}/skip"): (
                self.workflow(),
                None,
                "workflow.skipped",
            ),
            ("POST", "/v1/operations/{id}/pause"): (made.operations[0], None, "operation.paused"),
            ("POST", "/v1/operations/{id}/resume"): (made.operations[0], None, "operation.resumed"),
            ("POST", "/v1/operations/{id}/cancel"): (made.operations[0], None, "operation.cancelled"),
            ("PATCH", "/v1/operations/{id}"): (made.operations[1], {"rate_per_s": 2}, "operation.rate_changed"),
        }

    def calls_on_settings(self, made):
        q = self.queue
        day = 86_400
        now = time.time() // day * day
        return {
            ("PUT", "/v1/limits/{name}"): (q, {"concurrency": 5}, "limit.set"),
            ("PATCH", "/v1/limits/{name}"): (q, {"concurrency": 6}, "limit.set"),
            ("DELETE", "/v1/limits/{name}"): (f"{q}-old", None, "limit.deleted"),
            ("POST", "/v1/limits/{name}/pause"): (q, {}, "limit.paused"),
            ("POST", "/v1/limits/{name}/resume"): (q, {}, "limit.resumed"),
            ("PUT", "/v1/types/{name}"): (q, {"concurrency": 5}, "type.set"),
            ("DELETE", "/v1/types/{name}"): (f"{q}-old", None, "type.deleted"),
            ("PUT", "/v1/schedules"): (
                "",
                {
                    "managed_by": q,
                    "schedules": {f"{q}-set": {"every_ms": day * 1000, "job": {"type": "t", "queue": q}}},
                },
                "schedule.set",
            ),
            ("PUT", "/v1/schedules/{name}"): (
                q,
                {"every_ms": 2 * day * 1000, "job": {"type": "t", "queue": q}},
                "schedule.set",
            ),
            ("DELETE", "/v1/schedules/{name}"): (f"{q}-old", None, "schedule.deleted"),
            ("POST", "/v1/schedules/{name}/pause"): (q, {}, "schedule.paused"),
            ("POST", "/v1/schedules/{name}/resume"): (q, {}, "schedule.resumed"),
            ("POST", "/v1/schedules/{name}/trigger"): (q, None, "schedule.triggered"),
            ("POST", "/v1/schedules/{name}/backfill"): (
                q,
                {
                    "from": harness.rfc3339(now - 10 * day),
                    "to": harness.rfc3339(now),
                    "rerun": True,
                },
                "schedule.backfilled",
            ),
            ("PUT", "/v1/push-targets/{name}"): (
                q,
                {"url": "http://127.0.0.1:1/other", "queues": [f"{q}-x"]},
                "push_target.set",
            ),
            ("DELETE", "/v1/push-targets/{name}"): (f"{q}-old", None, "push_target.deleted"),
            ("POST", "/v1/push-targets/{name}/pause"): (q, {}, "push_target.paused"),
            ("POST", "/v1/push-targets/{name}/resume"): (q, {}, "push_target.resumed"),
            ("POST", "/v1/push-targets/{name}/test"): (q, None, "push_target.tested"),
            ("PATCH", "/v1/error-groups/{id}"): (made.group, {"status": "muted"}, "error_group.muted"),
            ("POST", "/v1/error-groups/{id}/retry"): (made.group, {"mode": "canary"}, "job.retried"),
            ("POST", "/v1/error-groups/{id}/delete"): (made.group, None, "operation.started"),
            ("POST", "/v1/admin/reproject"): ("", None, "store.reprojected"),
        }

    def cancelled(self):
        job = self.submit(delay_ms=3_600_000)["id"]
        self.assertEqual(self.api.post(f"/v1/jobs/{job}/cancel").status, 200)
        return job

    def workflow(self, state="running"):
        """The id of a workflow with a member `waits` that is blocked or, in a cancelled one, skipped."""
        job = {"type": "t", "queue": self.queue, "delay_ms": 3_600_000}
        members = [{"ref": "first", "job": job}, {"ref": "waits", "needs": ["first"], "job": job}]
        made = self.api.post("/v1/workflows", {"queue": self.queue, "members": members})
        self.assertEqual(made.status, 201, made)
        path = f"/v1/workflows/{made.json['id']}"
        if state == "cancelled":
            self.assertEqual(self.api.post(f"{path}/cancel").status, 200)
            self.api.get(path, wait_ms=30_000, until="final")
        return made.json["id"]

    def paused(self):
        self.api.post(f"/v1/queues/{self.queue}-paused/pause", create="true")
        return f"{self.queue}-paused"

    # A server on SQLite is alone, so no other could take its shard.
    ALONE = {("POST", "/v1/admin/nodes/{id}/drain"), ("POST", "/v1/admin/nodes/{id}/undrain")}

    def test_each_operator_route_leaves_exactly_one_entry(self):
        calls = self.calls()
        self.assertEqual(operator_routes() ^ calls.keys(), set(), "a route without a row here")
        for number, ((method, pattern), (name, body, action)) in enumerate(calls.items()):
            with self.subTest(method=method, pattern=pattern):
                request_id = f"{self.queue}-{number}"
                reply = self.mine.request(
                    method,
                    re.sub(r"\{\w+\}", name, pattern.replace("{ref}", "waits")),
                    body,
                    headers={"X-Request-Id": request_id},
                )
                entries = harness.eventually(
                    lambda: self.of_request(request_id) or reply.status >= 400,  # noqa: B023
                    what="the entry",
                )
                if (method, pattern) in self.ALONE and reply.status >= 400:
                    continue
                self.assertLess(reply.status, 300, reply)
                self.assertEqual([e["action"] for e in entries], [action], entries)
                self.assertEqual(entries[0]["actor"]["name"], "ops")


class SameCommit(AuditCase):
    def test_a_change_is_there_exactly_if_its_entry_is(self):
        """The server is killed while operators change queues, again and again."""
        names = [f"{self.queue}-{n}" for n in range(4)]
        for name in names:
            self.api.put(f"/v1/queues/{name}", {"concurrency": 1})
        next_value = {name: 2 for name in names}
        for _ in range(3):
            stop = threading.Event()

            def work(name):
                api = self.server.client(self.ops)
                try:
                    while not stop.is_set():  # noqa: B023
                        value = next_value[name]
                        next_value[name] = value + 1
                        api.patch(f"/v1/queues/{name}", {"concurrency": value})
                except (OSError, AssertionError, ValueError):
                    pass  # the server is gone
                except Exception:  # noqa: BLE001 (what http.client makes of that)
                    pass
                finally:
                    api.close()

            threads = [threading.Thread(target=work, args=(name,)) for name in names]
            for thread in threads:
                thread.start()
            time.sleep(0.7)
            self.server.kill()
            stop.set()
            for thread in threads:
                thread.join()
            self.server.start()
            self.api = self.new_client()
            for name in names:
                now = self.api.get(f"/v1/queues/{name}").json["settings"]["concurrency"]
                entries = self.audit(object=f"queue:{name}", limit=1000)
                values = [e["after"]["concurrency"] for e in reversed(entries)]
                self.assertEqual(values[-1], now)
                # No entry is missing or duplicated.
                befores = [e["before"]["concurrency"] for e in reversed(entries) if e["before"]]
                self.assertEqual(befores, values[:-1])
                next_value[name] = max(next_value[name], now + 1)


class OnAllNodes(harness.MillraceCase):
    """Three nodes on PostgreSQL, regardless of the store of the other tests."""

    patience_s = harness.PATIENCE_S

    @classmethod
    def setUpClass(cls):
        cls.ops, lines = configured("ops")
        cls.nodes = nodes.Nodes(3, config=lines, token=cls.ops)
        cls.addClassCleanup(cls.nodes.close)
        cls.nodes.start()
        cls.queues = cls.nodes.queue_on_each_shard()

    def audit(self, server, **query):
        found = []
        query = {"fresh": "true", "limit": 7, **query}
        api = self.new_client(server)
        while True:
            reply = harness.eventually(lambda: (r := api.get("/v1/admin/audit", **query)).status != 503 and r, 20)
            self.assertEqual(reply.status, 200, reply)
            found += reply.json["items"]
            if reply.json["next_cursor"] is None:
                return found
            query["cursor"] = reply.json["next_cursor"]

    def test_one_entry_whichever_node_is_asked_and_after_a_takeover(self):
        expected = []
        for number, server in enumerate(self.nodes.servers):
            api = self.new_client(server)
            for shard, queue in self.queues.items():
                request_id = f"set-{number}-{shard}"
                reply = api.request(
                    "PUT",
                    f"/v1/queues/{queue}",
                    {"concurrency": number + 1},
                    headers={"X-Request-Id": request_id},
                )
                self.assertEqual(reply.status, 200, reply)
                expected.append((request_id, queue, "ops"))

        def told(server):
            return sorted(
                (e["request_id"], e["object"]["name"], e["actor"]["name"])
                for e in self.audit(server, action="queue.set")
                if e["request_id"].startswith("set-")
            )

        for server in self.nodes.servers:
            self.assertEqual(told(server), sorted(expected))
        times = [e["at"] for e in self.audit(self.nodes[0])]
        self.assertEqual(times, sorted(times, reverse=True))
        self.nodes[1].kill()
        self.nodes.settle()
        self.assertEqual(told(self.nodes[0]), sorted(expected))
        # Later entries continue the chain of the former leader.
        api = self.new_client(self.nodes[2])
        for shard, queue in self.queues.items():
            reply = api.post(f"/v1/queues/{queue}/pause", headers={"X-Request-Id": f"pause-{shard}"})
            self.assertEqual(reply.status, 200, reply)
        paused = self.audit(self.nodes[0], action="queue.paused")
        self.assertEqual({e["request_id"] for e in paused}, {f"pause-{shard}" for shard in self.queues})
        ids = [e["id"] for e in self.audit(self.nodes[0])]
        self.assertEqual(len(ids), len(set(ids)))


class Kept(harness.MillraceCase):
    def test_retention(self):
        server = self.new_server("--retention-audit", "10s").start()
        self.use(server)
        self.api.put(f"/v1/queues/{self.queue}", {})
        look = lambda: self.api.get("/v1/admin/audit?fresh=true").json["items"]  # noqa: E731
        self.assertEqual(len(look()), 1)
        harness.eventually(lambda: look() == [], what="an end of the entry")

    def test_none_kept(self):
        server = self.new_server("--retention-audit", "0s").start()
        self.use(server)
        for n in range(3):
            self.api.put(f"/v1/queues/{self.queue}", {"concurrency": n + 1})
        self.assertEqual(self.api.get("/v1/admin/audit?fresh=true").json["items"], [])
        # The numbers go on after a restart.
        server.restart()
        self.use(server)
        self.assertEqual(self.api.put(f"/v1/queues/{self.queue}", {}).status, 200)

    def test_without_tokens_the_address_tells(self):
        server = self.new_server().start()
        self.use(server)
        self.api.put(f"/v1/queues/{self.queue}", {})
        (entry,) = self.api.get("/v1/admin/audit?fresh=true").json["items"]
        self.assertEqual((entry["actor"]["token"], entry["actor"]["address"]), (None, "127.0.0.1"))
        self.assertEqual(entry["summary"], f"somebody set queue {self.queue}")

    @harness.sqlite_only
    def test_verify_finds_an_entry_that_was_altered_or_removed(self):
        server = self.new_server().start()
        self.use(server)
        for n in range(5):
            self.api.put(f"/v1/queues/{self.queue}", {"concurrency": n + 1})
        self.api.get("/v1/admin/audit?fresh=true")
        server.stop()
        verify = lambda: harness.run("admin", "verify", "--data", server.data)  # noqa: E731
        self.assertEqual(verify().returncode, 0, verify())
        self.assertEqual(
            harness.change_database(server.data / "jobs.db", "UPDATE audit SET at = at + 1 WHERE n = 3"), 1
        )
        altered = verify()
        self.assertNotEqual(altered.returncode, 0)
        self.assertIn("audit", altered.stdout + altered.stderr)
        harness.change_database(server.data / "jobs.db", "DELETE FROM audit WHERE n = 3")
        removed = verify()
        self.assertNotEqual(removed.returncode, 0)
        self.assertIn("entry 3 is missing", removed.stdout + removed.stderr)


if __name__ == "__main__":
    harness.main()

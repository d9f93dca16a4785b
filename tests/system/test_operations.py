"""Tests of operations: begin, progress, pause, resume, cancel and rate, also across kill -9 and a
takeover. Each job is changed once, which the events of the log count.
"""

import collections
import json
import os
import time
import unittest

import harness
import nodes  # whose folder the harness has added

IS_POSTGRES = os.environ.get("MILLRACE_STORE") == "postgres"
KEYS = {
    "id", "kind", "action", "query", "queue", "error_group", "state", "matched", "done", "changed",
    "failed", "rate_per_s", "created_at", "created_by", "updated_at", "ended_at",
    "estimated_end_at", "reason",
}  # fmt: skip
ENDED = ("completed", "cancelled", "failed")
# A part's burst, plus the difference between the clocks of an event and of a test.
BURST_S = 0.3


class OperationsCase(harness.MillraceCase):
    def begin(self, action="retry", queue=None, api=None, **members):
        """Begins an operation by filter; it must be accepted."""
        body = {"action": action, "filter": {"queue": queue or self.queue}, **members}
        reply = (api or self.api).post("/v1/jobs/bulk", body)
        self.assertEqual(reply.status, 202, reply)
        self.assertEqual(set(reply.json), KEYS)
        self.assertEqual(reply.headers["location"], f"/v1/operations/{reply.json['id']}")
        return reply.json

    def operation(self, op, api=None):
        reply = (api or self.api).get(f"/v1/operations/{op['id']}")
        self.assertEqual(reply.status, 200, reply)
        return reply.json

    def order(self, op, what, api=None):
        reply = (api or self.api).post(f"/v1/operations/{op['id']}/{what}")
        self.assertEqual(reply.status, 200, reply)
        return reply.json

    def await_end(self, op, timeout_s=60, api=None):
        def ended():
            reply = (api or self.api).get(f"/v1/operations/{op['id']}")
            if reply.status == 503:  # while a shard has no leader
                return None
            self.assertEqual(reply.status, 200, reply)
            return reply.json if reply.json["state"] in ENDED else None

        return harness.eventually(ended, timeout_s, 0.05, what="the operation's end")

    def make_dead(self, count, queue=None):
        """Jobs that have died."""
        queue = queue or self.queue
        ids = set(self.submit_many(count, queue=queue, max_attempts=1))
        left = count
        while left:
            jobs = self.claim(min(left, 1000), [queue], wait_ms=5000)
            if not jobs:
                continue
            items = [
                {
                    "id": job["id"],
                    "token": job["lease"]["token"],
                    "outcome": "failed",
                    "error": {"type": "Bug", "message": "no luck"},
                }
                for job in jobs
            ]
            reply = self.api.post("/v1/ack", {"items": items})
            self.assertEqual({result["status"] for result in reply.json["results"]}, {200})
            left -= len(jobs)
        return ids

    def events(self, kind, queue=None, api=None):
        """All events of a type, of this test's queue, oldest first."""
        found, query = [], {"types": kind, "limit": 1000}
        if queue != "":
            query["queues"] = queue or self.queue
        while True:
            reply = (api or self.api).get("/v1/events", **query)
            self.assertEqual(reply.status, 200, reply)
            found += reply.json["items"]
            # A page looks at some thousand rows at most, so an empty one may come before the end.
            if not reply.json["items"] and reply.json["next_cursor"] == query.get("cursor"):
                return found
            query["cursor"] = reply.json["next_cursor"]

    def times_touched(self, kind="job.retried", queue=None, api=None):
        return collections.Counter(event["job_id"] for event in self.events(kind, queue, api))

    def assert_once(self, ids, kind="job.retried", queue=None, api=None):
        touched = self.times_touched(kind, queue, api)
        self.assertEqual(set(touched), set(ids))
        self.assertEqual(set(touched.values()), {1})

    def assert_rate_held(self, rate, kind="job.retried", queue=None, window_s=1.0):
        at = sorted(harness.seconds(event["at"]) for event in self.events(kind, queue))
        first = 0
        for last in range(len(at)):
            while at[last] - at[first] > window_s:
                first += 1
            self.assertLessEqual(last - first + 1, rate * (window_s + BURST_S) + 1)
        return at


class OneServer(harness.ServerCase, OperationsCase):
    def test_a_rate_is_held(self):
        ids = self.make_dead(300)
        op = self.begin(rate_per_s=100)
        self.assertEqual((op["kind"], op["action"], op["state"]), ("bulk", "retry", "running"))
        self.assertEqual((op["queue"], op["query"]), (self.queue, f"queue:{self.queue}"))
        self.assertEqual((op["matched"], op["rate_per_s"]), (300, 100))
        self.assertIsNotNone(op["estimated_end_at"])
        ended = self.await_end(op)
        self.assertEqual((ended["state"], ended["done"], ended["changed"]), ("completed", 300, 300))
        self.assertIsNotNone(ended["ended_at"])
        self.assertIsNone(ended["estimated_end_at"])
        at = self.assert_rate_held(100)
        self.assertGreater(at[-1] - at[0], 2.0)
        self.assert_once(ids)

    def test_what_dies_again_is_not_retried_again(self):
        ids = self.make_dead(40)
        op = self.begin(rate_per_s=40)
        while self.operation(op)["state"] == "running":
            for job in self.claim(100):
                self.fail_attempt(job)
            time.sleep(0.05)
        for job in self.claim(100):
            self.fail_attempt(job)
        self.assertEqual(self.operation(op)["changed"], 40)
        self.assert_once(ids)
        self.assertEqual(self.counts(), {"dead": 40})

    def test_jobs_that_come_later_are_not_touched(self):
        old = set(self.submit_many(50))
        op = self.begin("cancel", rate_per_s=50)
        new = set(self.submit_many(50))
        ended = self.await_end(op)
        self.assertEqual((ended["changed"], ended["failed"]), (50, 0))
        cancelled = {job["id"] for job in self.list_jobs(state="cancelled")}
        self.assertEqual(cancelled, old)
        self.assertEqual({job["id"] for job in self.list_jobs(state="ready")}, new)

    def test_without_a_rate_it_goes_as_fast_as_it_can(self):
        ids = self.submit_many(3000)
        op = self.begin("reprioritize", priority=7, operation=True)
        self.assertIsNone(op["rate_per_s"])
        ended = self.await_end(op)
        self.assertEqual((ended["state"], ended["changed"]), ("completed", 3000))
        self.assert_once(ids, "job.edited")
        self.assertEqual({job["priority"] for job in self.list_jobs()}, {7})

    def test_a_pause_holds_and_is_not_caught_up_on(self):
        ids = self.make_dead(200)
        op = self.begin(rate_per_s=20)
        harness.eventually(lambda: self.operation(op)["done"] >= 10, what="a beginning")
        paused = self.order(op, "pause")
        self.assertEqual((paused["state"], paused["estimated_end_at"]), ("paused", None))
        self.assertEqual(self.order(op, "pause")["state"], "paused")
        done = self.operation(op)["done"]
        time.sleep(1.5)
        self.assertEqual(self.operation(op)["done"], done)
        self.assertEqual(self.order(op, "resume")["state"], "running")
        self.assertEqual(self.await_end(op)["changed"], 200)
        self.assert_rate_held(20)
        self.assert_once(ids)
        kinds = [
            event["type"]
            for kind in ("started", "paused", "resumed", "ended")
            for event in self.events(f"operation.{kind}", "")
            if event["data"]["operation"] == op["id"]
        ]
        self.assertEqual(
            kinds,
            ["operation.started", "operation.paused", "operation.resumed", "operation.ended"],
        )

    def test_the_rate_can_be_changed(self):
        self.make_dead(500)
        op = self.begin(rate_per_s=1)
        reply = self.api.patch(f"/v1/operations/{op['id']}", {"rate_per_s": 250})
        self.assertEqual((reply.status, reply.json["rate_per_s"]), (200, 250), reply)
        harness.eventually(lambda: self.operation(op)["done"] > 20, what="a higher rate")
        reply = self.api.patch(f"/v1/operations/{op['id']}", {"rate_per_s": None})
        self.assertEqual((reply.status, reply.json["rate_per_s"]), (200, None), reply)
        self.assertEqual(self.await_end(op)["changed"], 500)
        changes = [e["data"] for e in self.events("operation.rate_changed", "")]
        self.assertIn(250, [c.get("rate_per_s") for c in changes if c["operation"] == op["id"]])

    def test_a_cancelled_one_stops(self):
        ids = self.make_dead(200)
        op = self.begin(rate_per_s=10)
        harness.eventually(lambda: self.operation(op)["done"] > 0, what="a beginning")
        ended = self.order(op, "cancel")
        self.assertEqual(ended["state"], "cancelled")
        self.assertIsNotNone(ended["ended_at"])
        time.sleep(0.5)
        touched = self.times_touched()
        self.assertLess(len(touched), 200)
        self.assertEqual(len(touched), self.operation(op)["changed"])
        self.assertLessEqual(set(touched), ids)
        for what in ("pause", "resume", "cancel"):
            reply = self.api.post(f"/v1/operations/{op['id']}/{what}")
            self.assert_refused(reply, 409, "invalid_state")
            self.assertIn("has ended (cancelled)", reply.json["detail"])
        reply = self.api.patch(f"/v1/operations/{op['id']}", {"rate_per_s": 1})
        self.assert_refused(reply, 409, "invalid_state")

    def test_what_has_left_its_state_is_left_alone(self):
        self.submit_many(30)
        op = self.begin("delete", filter={"queue": self.queue, "state": "ready"}, rate_per_s=4)
        taken = self.claim(5)
        ended = self.await_end(op)
        self.assertEqual(ended["query"], f"state:ready queue:{self.queue}")
        self.assertEqual(ended["changed"] + ended["failed"], ended["done"])
        self.assertEqual(self.counts(), {"running": len(taken)})

    def test_what_reaches_its_state_later_is_left_alone(self):
        later = self.submit_many(40)  # it comes to the oldest last
        sooner = self.submit_many(30)
        self.api.post("/v1/jobs/bulk", {"action": "cancel", "ids": sooner})
        op = self.begin("delete", filter={"queue": self.queue, "state": "cancelled"}, rate_per_s=20)
        self.assertEqual(op["matched"], 30)
        reply = self.api.post("/v1/jobs/bulk", {"action": "cancel", "ids": later})
        self.assertEqual(reply.json["changed"], 40)
        ended = self.await_end(op)
        self.assertEqual((ended["changed"], ended["failed"]), (30, 0))
        self.assertEqual(self.counts(), {"cancelled": 40})

    def test_a_purge_can_be_one(self):
        self.submit_many(20)
        reply = self.api.post(f"/v1/queues/{self.queue}/purge", {"operation": True})
        self.assertEqual(reply.status, 202, reply)
        op = self.await_end(reply.json)
        self.assertEqual((op["kind"], op["action"], op["changed"]), ("purge", "delete", 20))
        self.assertEqual((op["queue"], op["matched"]), (self.queue, 20))
        self.assertEqual(self.counts(), {})
        purged = self.events("queue.purged")
        self.assertEqual([event["data"]["deleted"] for event in purged], [20])
        small = self.api.post(f"/v1/queues/{self.queue}/purge", {})
        self.assertEqual((small.status, small.json), (200, {"deleted": 0}))

    def test_the_list_is_by_page_and_by_state(self):
        begun = [self.begin("cancel", operation=True)["id"] for _ in range(5)]
        for op in begun:
            self.await_end({"id": op})
        found, query = [], {"limit": 2}
        while True:
            reply = self.api.get("/v1/operations", **query)
            self.assertEqual(reply.status, 200, reply)
            self.assertLessEqual(len(reply.json["items"]), 2)
            found += [item["id"] for item in reply.json["items"]]
            if reply.json["next_cursor"] is None:
                break
            query["cursor"] = reply.json["next_cursor"]
        # Events of the same millisecond are in any order.
        self.assertEqual(set(found[:5]), set(begun))
        self.assertEqual(found, sorted(found, reverse=True))
        self.assertEqual(len(set(found)), len(found))
        running = self.api.get("/v1/operations", state="running").json["items"]
        self.assertFalse(set(begun) & {item["id"] for item in running})
        completed = self.api.get("/v1/operations", state="completed", limit=1000).json["items"]
        self.assertLessEqual(set(begun), {item["id"] for item in completed})

    def test_each_bound_passed_by_one(self):
        path = "/v1/jobs/bulk"
        body = {"action": "cancel", "filter": {"queue": self.queue}}
        for rate in (1, 100_000):
            self.await_end(self.begin("cancel", rate_per_s=rate))
        for wrong in (0, 100_001, -1, 1.5, "1", True):
            self.assert_fault({**body, "rate_per_s": wrong}, "/rate_per_s", path)
        self.assert_fault({**body, "rate_per_s": 1, "dry_run": True}, "/rate_per_s", path)
        self.assert_fault({**body, "operation": True, "dry_run": True}, "/operation", path)
        self.assert_fault({**body, "operation": 1}, "/operation", path)
        ids = {"action": "cancel", "ids": [harness.uuid7()], "rate_per_s": 1}
        self.assert_fault(ids, "/rate_per_s", path)
        op = self.begin("cancel", operation=True)
        for wrong in (0, 100_001, "1"):
            place = f"/v1/operations/{op['id']}"
            self.assert_fault({"rate_per_s": wrong}, "/rate_per_s", place, "PATCH")
        self.assert_refused(self.api.get("/v1/operations", state="done"), 422, "validation_failed", "state")
        self.assert_refused(self.api.get("/v1/operations", cursor="nonsense"), 422, "validation_failed", "cursor")
        for unknown in (harness.uuid7(), "nonsense"):
            for method, rest in (("GET", ""), ("PATCH", ""), ("POST", "/cancel")):
                reply = self.api.request(
                    method,
                    f"/v1/operations/{unknown}{rest}",
                    {"rate_per_s": 1} if method == "PATCH" else None,
                )
                self.assertEqual(reply.status, 404, reply)

    def test_so_many_go_on_at_once_and_no_more(self):
        # More jobs than they cancel until the last one has begun.
        self.submit_many(12_000)
        begun = [self.begin("cancel", rate_per_s=1) for _ in range(100)]
        body = {"action": "cancel", "filter": {"queue": self.queue}, "rate_per_s": 1}
        reply = self.api.post("/v1/jobs/bulk", body)
        self.assertEqual((reply.status, reply.code), (409, "too_many_entries"), reply)
        self.assertIn("100 operations go on already", reply.json["detail"])
        for op in begun:
            self.order(op, "cancel")
        self.await_end(self.begin("cancel", operation=True))

    def test_metrics_count_them(self):
        self.submit_many(10)
        before = self.metric('operation_jobs_total{outcome="changed"}')
        self.await_end(self.begin("cancel", operation=True))
        harness.eventually(
            lambda: self.metric('operation_jobs_total{outcome="changed"}') >= before + 10,
            what="the metric",
        )
        harness.eventually(lambda: self.metric('operations{state="completed"}') > 0, what="the completed ones")

    def metric(self, name):
        for line in self.api.get("/metrics").body.decode().splitlines():
            if line.startswith(f"millrace_{name} "):
                return float(line.split()[-1])
        return self.fail(f"no metric {name}")

    def test_the_command_line(self):
        self.make_dead(60)
        begun = self.server.cli("job", "retry", "--query", f"queue:{self.queue}", "--rate", "4", "--yes", "-o", "json")
        self.assertEqual(begun.returncode, 0, begun.stderr)
        op = json.loads(begun.stdout)
        listed = self.server.cli("operation", "list")
        self.assertIn(op["id"], listed.stdout)
        paused = self.server.cli("operation", "pause", op["id"])
        self.assertIn("paused", paused.stdout)
        self.assertIn("4 jobs a second", paused.stdout)
        rate = self.server.cli("operation", "rate", op["id"], "none", "-o", "json")
        self.assertIsNone(json.loads(rate.stdout)["rate_per_s"])
        self.assertEqual(self.server.cli("operation", "rate", op["id"], "fast").returncode, 2)
        self.assertEqual(self.server.cli("operation", "resume", op["id"]).returncode, 0)
        watched = self.server.cli("operation", "watch", op["id"])
        self.assertEqual(watched.returncode, 0, watched.stderr)
        self.assertIn("completed: 60 jobs changed, 0 left alone", watched.stdout)
        shown = self.server.cli("operation", "get", op["id"])
        self.assertIn("60 of 60", shown.stdout)
        self.assertEqual(self.server.cli("operation", "cancel", op["id"]).returncode, 5)
        self.assertEqual(self.server.cli("operation", "get", harness.uuid7()).returncode, 3)
        followed = self.server.cli(
            "job", "cancel", "--query", f"queue:{self.queue}", "--rate", "100000", "--watch",
            "--yes",
        )  # fmt: skip
        self.assertIn("completed: 60 jobs changed", followed.stdout)


class ThroughCrashes(OperationsCase):
    def test_it_goes_on_where_it_stood(self):
        server = self.new_server()
        server.start()
        self.use(server)
        ids = self.make_dead(1200)
        op = self.begin(rate_per_s=400)
        for done in (100, 400, 700):
            harness.eventually(lambda d=done: self.operation(op)["done"] >= d, what="progress")
            server.restart(kill=True)
            self.use(server)
        before = self.operation(op)
        self.assertGreaterEqual(before["done"], 700)
        ended = self.await_end(op)
        self.assertEqual((ended["state"], ended["done"], ended["changed"]), ("completed", 1200, 1200))
        self.assertEqual((ended["created_at"], ended["matched"]), (op["created_at"], 1200))
        self.assert_once(ids)
        self.assert_rate_held(400)

    def test_a_paused_one_is_paused_after_a_restart(self):
        server = self.new_server()
        server.start()
        self.use(server)
        self.make_dead(100)
        op = self.begin(rate_per_s=10)
        self.order(op, "pause")
        server.restart(kill=True)
        self.use(server)
        done = self.operation(op)["done"]
        time.sleep(0.7)
        again = self.operation(op)
        self.assertEqual((again["state"], again["done"]), ("paused", done))
        reply = self.api.patch(f"/v1/operations/{op['id']}", {"rate_per_s": None})
        self.assertEqual(reply.json["state"], "paused")
        self.order(op, "resume")
        self.assertEqual(self.await_end(op)["changed"], 100)

    def test_one_at_full_speed_is_killed(self):
        server = self.new_server()
        server.start()
        self.use(server)
        ids = self.submit_many(20_000)
        op = self.begin("cancel", operation=True)
        server.restart(kill=True)
        self.use(server)
        self.assertEqual(self.await_end(op, 150)["changed"], 20_000)
        self.assert_once(ids, "job.cancelled")


class Reprojecting(OperationsCase):
    """Tests of rebuilding the read models."""

    def counted(self, api=None):
        """The counts of the test's queues: dead jobs by type, and in groups of errors."""
        api = api or self.api
        query = {"by": "type", "window_ms": 3_600_000, "step_ms": 60_000}
        stats = api.get("/v1/stats", **query).json["groups"]
        groups = api.get("/v1/error-groups", limit=1000).json["items"]
        return (
            {group["type"]: sum(group["dead"]) for group in stats if sum(group["dead"])},
            {group["message"]: group["dead"] for group in groups},
        )

    def await_counted(self, wanted, api=None):
        """Waits until this many jobs are counted everywhere, and no others."""
        figures = None
        end = time.monotonic() + 120
        while time.monotonic() < end:
            figures = self.counted(api)
            if all(sum(each.values()) == wanted for each in figures):
                return figures
            time.sleep(0.2)
        self.assertEqual([sum(each.values()) for each in figures], [wanted] * 2)
        return None

    def reproject(self, api=None):
        reply = (api or self.api).post("/v1/admin/reproject")
        self.assertEqual(reply.status, 202, reply)
        self.assertEqual(set(reply.json), {"shards", "requested_at", "operation"})
        op = reply.json["operation"]
        self.assertEqual(set(op), KEYS)
        self.assertEqual((op["kind"], op["action"], op["query"]), ("reproject", None, None))
        self.assertEqual(reply.headers["location"], f"/v1/operations/{op['id']}")
        return op

    def check_end(self, op, api=None):
        ended = self.await_end(op, 60, api)
        self.assertEqual((ended["state"], ended["failed"]), ("completed", 0), ended)
        self.assertGreaterEqual(ended["matched"], 1)
        self.assertGreaterEqual(ended["changed"], 1)
        self.assertEqual(ended["done"], ended["changed"])

    def test_it_is_an_operation_which_a_kill_does_not_end(self):
        server = self.new_server()
        server.start()
        self.use(server)
        self.make_dead(60)
        before = self.await_counted(60)
        op = self.reproject()
        for order in ("pause", "cancel"):
            reply = self.api.post(f"/v1/operations/{op['id']}/{order}")
            self.assertEqual((reply.status, reply.code), (409, "invalid_state"), reply)
            # It may have ended before the order arrived.
            self.assertRegex(reply.json["detail"], r"wait until it has ended|has ended \(completed\)")
        reply = self.api.patch(f"/v1/operations/{op['id']}", {"rate_per_s": 1})
        self.assertEqual(reply.status, 409, reply)
        server.restart(kill=True)
        self.use(server)
        listed = self.api.get("/v1/operations").json["items"]
        self.assertEqual([each["id"] for each in listed], [op["id"]])
        self.check_end(op)
        self.assertEqual(self.counted(), before)
        told = [e["type"] for e in self.events("operation.started", "")]
        told += [e["type"] for e in self.events("operation.ended", "")]
        self.assertEqual(told, ["operation.started", "operation.ended"])
        # After its end everything has been read, so no reader has to wait.
        self.check_end(self.reproject())
        self.assertEqual(self.counted(), before)

    def test_the_command_line(self):
        server = self.new_server()
        server.start()
        self.use(server)
        self.make_dead(3)
        done = self.server.cli("admin", "reproject")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("shard(s) are made anew: millrace operation watch ", done.stdout)
        watched = self.server.cli("operation", "watch", done.stdout.split()[-1])
        self.assertEqual(watched.returncode, 0, watched.stderr)
        self.assertRegex(watched.stdout, r"completed: \d+ rows of the log read")
        listed = self.server.cli("operation", "list")
        self.assertIn("reproject", listed.stdout)

    @unittest.skipUnless(IS_POSTGRES, "several nodes need PostgreSQL")
    def test_three_nodes_and_a_takeover(self):
        cluster = nodes.Nodes(3)
        self.addCleanup(cluster.close)
        cluster.start()
        queues = cluster.queue_on_each_shard()
        self.use(cluster[0])
        for queue in queues.values():
            self.make_dead(20, queue)
        wanted = 20 * len(queues)
        self.await_counted(wanted)
        op = self.reproject()
        cluster[1].kill()
        self.check_end(op)
        for server in (cluster[0], cluster[2]):
            self.await_counted(wanted, self.new_client(server))


@unittest.skipUnless(IS_POSTGRES, "several nodes need PostgreSQL")
class ThreeNodes(OperationsCase):
    def test_a_takeover_loses_nothing_and_repeats_nothing(self):
        cluster = nodes.Nodes(3)
        self.addCleanup(cluster.close)
        cluster.start()
        queues = cluster.queue_on_each_shard()
        self.use(cluster[0])
        by_queue = {queue: self.make_dead(300, queue) for queue in queues.values()}
        ids = set().union(*by_queue.values())
        rate = 100 * len(queues)
        op = self.begin(filter={"state": "dead"}, rate_per_s=rate)
        self.assertEqual(op["matched"], len(ids))
        harness.eventually(lambda: self.operation(op)["done"] > len(ids) // 10, what="progress")
        victim = cluster[1]
        victim.kill()
        ended = self.await_end(op, 60)
        self.assertEqual((ended["state"], ended["changed"]), ("completed", len(ids)))
        for queue, own in by_queue.items():
            self.assert_once(own, queue=queue)
        at = []
        for queue in queues.values():
            at += [harness.seconds(event["at"]) for event in self.events("job.retried", queue)]
        at.sort()
        first = 0
        for last in range(len(at)):
            while at[last] - at[first] > 1.0:
                first += 1
            self.assertLessEqual(last - first + 1, rate * (1 + BURST_S) + len(queues))

    def test_the_rate_goes_to_the_shards_that_have_jobs(self):
        cluster = nodes.Nodes(3)
        self.addCleanup(cluster.close)
        cluster.start()
        queue = list(cluster.queue_on_each_shard().values())[-1]
        self.use(cluster[2])
        ids = self.make_dead(4000, queue)
        op = self.begin(queue=queue, rate_per_s=200)
        began = time.monotonic()
        # Its own part alone would take eighty seconds or more.
        ended = self.await_end(op, 240)
        self.assertLess(time.monotonic() - began, 60)
        self.assertEqual(ended["changed"], 4000)
        self.assert_once(ids, queue=queue)
        self.assert_rate_held(200, queue=queue)
        self.await_end(op, api=self.new_client(cluster[0]))
        events = self.events("operation.ended", "")
        self.assertEqual([e["data"]["operation"] for e in events], [op["id"]])


if __name__ == "__main__":
    harness.main()

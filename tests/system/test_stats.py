"""Tests of statistics: columns of counts, and percentiles of waiting and running times."""

import time

import harness

COUNTS = ("submitted", "started", "succeeded", "failed", "dead")


class Stats(harness.ServerCase):
    def stats(self, **query):
        reply = self.api.get("/v1/stats", **{"window_ms": 600_000, "step_ms": 1000, **query})
        self.assertEqual(reply.status, 200, reply)
        return reply.json

    def group(self, **wanted):
        by = next(iter(wanted))
        groups = [g for g in self.stats(by=by)["groups"] if g[by] == wanted[by]]
        self.assertEqual(len(groups), 1, groups)
        return groups[0]

    def counted(self, name, count, **wanted):
        """The group, once it counts this many, which may be a second late."""
        ((by, own),) = wanted.items()

        def found():
            groups = [g for g in self.stats(by=by)["groups"] if g[by] == own]
            return groups and sum(groups[0][name]) == count and groups[0]

        return harness.eventually(found, what=f"{count} {name} of {own}")

    def test_what_happened_is_counted_by_queue_and_type(self):
        kind = f"type-{self.queue}"
        self.submit_many(10, type=kind)
        jobs = self.claim(limit=6)
        for job in jobs[:3]:
            self.finish(job)
        self.fail_attempt(jobs[3], delay_ms=60000)
        self.finish(jobs[4], "dead", error={"type": "E", "message": "m"})

        expected = {"submitted": 10, "started": 6, "succeeded": 3, "failed": 2, "dead": 1}
        for wanted in ({"queue": self.queue}, {"type": kind}):
            self.counted("dead", 1, **wanted)  # what came last
            group = self.group(**wanted)
            self.assertEqual({name: sum(group[name]) for name in COUNTS}, expected)

    def test_columns_are_as_long_as_the_window(self):
        self.submit()
        self.counted("submitted", 1, queue=self.queue)
        stats = self.stats(window_ms=60000, step_ms=5000)
        self.assertEqual(stats["step_ms"], 5000)
        (group,) = stats["groups"]
        lengths = {len(group[name]) for name in COUNTS}
        lengths |= {len(column) for name in ("wait_ms", "run_ms") for column in group[name].values()}
        self.assertEqual(len(lengths), 1)
        self.assertIn(lengths.pop(), (12, 13))
        self.assertNotIn("queue", group)
        self.assertLess(stats["from"], self.api.get("/v1/meta").json["server_time"])

    def test_percentiles_show_waiting_and_running(self):
        self.submit_many(20)
        time.sleep(0.4)
        jobs = self.claim(limit=20)
        time.sleep(0.2)
        for job in jobs:
            self.finish(job)
        group = self.counted("succeeded", 20, queue=self.queue)
        for name, least, most in (("wait_ms", 300, 30_000), ("run_ms", 150, 30_000)):
            for percentile in ("p50", "p95", "p99"):
                values = [value for value in group[name][percentile] if value is not None]
                self.assertTrue(values, (name, group))
                self.assertTrue(all(least <= value <= most for value in values), (name, percentile, values))
        self.assertIn(None, group["wait_ms"]["p50"], "null where nothing ran")

    def test_a_restart_does_not_forget(self):
        self.submit_many(5)
        self.stats()
        self.list_jobs()
        self.server.restart()
        self.use(self.server)
        self.counted("submitted", 5, queue=self.queue)

    def test_no_kill_makes_it_count_twice_or_lose(self):
        """At any point between two writes of what is counted, which come every two seconds."""
        submitted = 0
        for pause in (0.0, 0.4, 1.9, 2.1, 2.6):
            submitted += 7
            self.submit_many(7)
            time.sleep(pause)
            self.server.restart(kill=True)
            self.use(self.server)
            self.counted("submitted", submitted, queue=self.queue)
            self.group(type="work")
        long = self.stats(window_ms=90 * 86_400_000, step_ms=3 * 3_600_000, by="queue")
        (group,) = [g for g in long["groups"] if g["queue"] == self.queue]
        self.assertEqual(sum(group["submitted"]), submitted)
        self.assertEqual(len(group["submitted"]), 720)

    def test_keys_and_tags_have_series_of_their_own(self):
        self.submit_many(6, fair_key=f"a-{self.queue}", tags=[f"vip-{self.queue}"])
        self.submit_many(3, fair_key=f"b-{self.queue}")
        jobs = self.claim(limit=9)
        for job in jobs:
            self.finish(job)
        self.counted("succeeded", 9, queue=self.queue)
        for by, name, count in (
            ("fair_key", f"a-{self.queue}", 6),
            ("fair_key", f"b-{self.queue}", 3),
            ("tag", f"vip-{self.queue}", 6),
        ):
            stats = self.stats(by=by, name=name)
            (group,) = stats["groups"]
            self.assertEqual(group[by], name)
            for column in ("submitted", "started", "succeeded"):
                self.assertEqual(sum(group[column]), count, (by, name, column))
            self.assertTrue([value for value in group["run_ms"]["p50"] if value is not None])

    def test_a_new_version_of_the_workers_is_marked(self):
        kind = f"marked-{self.queue}"
        for version in ("1.0", "1.1", "1.1"):
            self.submit(type=kind)
            worker = {"id": f"w-{self.queue}", "version": version, "sdk": "curl"}
            reply = self.api.post("/v1/claim", {"queues": [self.queue], "limit": 1, "worker": worker})
            self.assertEqual(len(reply.json["jobs"]), 1, reply)

        def marked(**query):
            stats = self.stats(**query)
            return [d["version"] for d in stats["deploys"] if d["type"] in (None, kind)]

        harness.eventually(lambda: marked(by="type", name=kind) == ["1.0", "1.1"], what="marks")
        self.assertEqual([v for v in marked() if v in ("1.0", "1.1")], ["1.0", "1.1"])

    def test_made_anew_from_the_log_it_is_what_it_was(self):
        self.submit_many(12, tags=[f"t-{self.queue}"])
        for job in self.claim(limit=8):
            self.finish(job)
        self.counted("succeeded", 8, queue=self.queue)
        before = {
            by: self.stats(window_ms=3_600_000, step_ms=60_000, by=by)["groups"] for by in ("queue", "type", "tag")
        }
        reply = self.api.post("/v1/admin/reproject")
        self.assertEqual(reply.status, 202, reply)
        self.submit()  # the log goes on meanwhile

        def anew():
            now = self.stats(window_ms=3_600_000, step_ms=60_000, by="tag")["groups"]
            return [sum(g["submitted"]) for g in now] == [sum(g["submitted"]) for g in before["tag"]]

        path = f"/v1/operations/{reply.json['operation']['id']}"
        harness.eventually(lambda: self.api.get(path).json["state"] == "completed", 60, what="the operation's end")
        harness.eventually(anew, what="the read models")
        for by in ("queue", "type"):
            now = self.stats(window_ms=3_600_000, step_ms=60_000, by=by)["groups"]
            total = sum(sum(g["succeeded"]) for g in now)
            self.assertEqual(total, sum(sum(g["succeeded"]) for g in before[by]))

    def test_what_it_refuses(self):
        for query, name in (
            ({"by": "colour"}, "by"),
            ({"window_ms": 0}, "window_ms"),
            ({"window_ms": 90 * 86_400_000 + 1}, "window_ms"),
            ({"step_ms": 999}, "step_ms"),
            ({"window_ms": "1h"}, "window_ms"),
            ({"window_ms": 86_400_000, "step_ms": 1000}, None),
            ({"colour": 1}, "colour"),
            ({"by": "queue,type"}, "by"),
            ({"name": "mail"}, "name"),
            ({"by": "queue", "name": ""}, "name"),
        ):
            reply = self.api.get("/v1/stats", **query)
            self.assert_refused(reply, 422, "validation_failed", *([name] if name else []))


class Others(harness.MillraceCase):
    def test_what_has_no_group_of_its_own_has_no_name(self):
        self.use(self.new_server().start())
        jobs = [{"type": f"t.{n}", "queue": f"many.{n}"} for n in range(300)]
        self.api.post("/v1/jobs/batch", {"jobs": jobs})
        for by in ("queue", "type"):

            def all_counted():
                reply = self.api.get("/v1/stats", by=by, window_ms=600_000, step_ms=5000)  # noqa: B023
                total = sum(sum(group["submitted"]) for group in reply.json["groups"])
                return total == 300 and reply

            reply = harness.eventually(all_counted, what="all submissions")
            others = [group for group in reply.json["groups"] if group.get("others")]
            self.assertEqual([group[by] for group in others], [None])
            self.assertGreater(sum(others[0]["submitted"]), 0)
            named = [group for group in reply.json["groups"] if "others" not in group]
            self.assertTrue(all(group[by] for group in named))


if __name__ == "__main__":
    harness.main()

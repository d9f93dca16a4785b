"""Tests of the event log: all events, in order, from any position."""

import threading
import time

import harness


class Events(harness.ServerCase):
    def page(self, api=None, **query):
        reply = (api or self.api).get("/v1/events", **query)
        self.assertEqual(reply.status, 200, reply)
        return reply.json

    def end(self):
        """The position after the last event."""
        cursor, query = None, {"limit": 1000}
        while True:
            page = self.page(**query)
            cursor = page["next_cursor"]
            if not page["items"]:
                return cursor
            query["cursor"] = cursor

    def test_a_life_in_events(self):
        start = self.end()
        self.submit("mail", retry={"strategy": "fixed", "base_ms": 0})
        self.fail_attempt(self.claim_one(worker="ann"))
        self.finish(self.claim_within(worker="bob"))
        items = [e for e in self.page(cursor=start)["items"] if e["job_id"]]
        self.assertEqual(
            [(e["type"], e["attempt"], e["worker"]) for e in items[1:]],
            [
                ("job.started", 1, "ann"),
                ("job.retrying", 1, "ann"),
                ("job.started", 2, "bob"),
                ("job.succeeded", 2, "bob"),
            ],
        )
        self.assertEqual(items[0]["type"], "job.submitted")
        self.assertEqual({(e["queue"], e["job_type"]) for e in items}, {(self.queue, "mail")})
        self.assertEqual(len({e["job_id"] for e in items}), 1)
        self.assertEqual(len({e["id"] for e in items}), len(items))
        self.assertEqual([e["at"] for e in items], sorted(e["at"] for e in items))

    def test_every_type_of_event(self):
        start = self.end()
        q = f"/v1/queues/{self.queue}"
        self.api.put(q, {"retry": {"strategy": "fixed", "base_ms": 0}})
        self.api.post(q + "/pause")
        self.api.post(q + "/resume")
        schedule = f"/v1/schedules/{self.queue}"
        job = {"type": "t", "queue": self.queue}
        self.api.put(schedule, {"cron": "@yearly", "job": job})
        self.api.post(schedule + "/pause")
        self.api.post(schedule + "/resume")
        self.api.delete(schedule)
        self.submit(expires_in_ms=1)
        cancelled = self.submit(priority=1, delay_ms=60000)["id"]
        self.api.patch(f"/v1/jobs/{cancelled}", {"priority": 2})
        self.api.post(f"/v1/jobs/{cancelled}/cancel")
        self.api.post(f"/v1/jobs/{cancelled}/retry")
        self.api.delete(f"/v1/jobs/{cancelled}")
        self.submit(timeout_ms=1, max_attempts=1)
        self.claim_one()
        self.submit()
        self.finish(self.claim_within(), "released")
        self.finish(self.claim_within(), "snoozed", delay_ms=0)
        self.fail_attempt(self.claim_within())
        job = self.claim_within()
        self.api.post(f"/v1/jobs/{job['id']}/cancel")
        self.finish(job)
        self.submit(max_attempts=1)
        self.claim_one(lease_ms=1000)
        self.submit(delay_ms=60000)
        self.api.post(q + "/purge")
        harness.eventually(lambda: self.counts().get("running", 0) == 0)
        self.assertEqual(self.api.delete(q, force="true").status, 204)
        seen = {e["type"] for e in self.page(cursor=start, limit=1000)["items"]}
        self.assertEqual(
            seen - {"error_group.opened"},  # logged only when the read models are up to date
            {
                "job.submitted",
                "job.started",
                "job.succeeded",
                "job.retrying",
                "job.snoozed",
                "job.released",
                "job.lease_expired",
                "job.timed_out",
                "job.dead",
                "job.expired",
                "job.cancel_requested",
                "job.cancelled",
                "job.retried",
                "job.edited",
                "job.deleted",
                "queue.updated",
                "queue.paused",
                "queue.resumed",
                "queue.purged",
                "queue.deleted",
                "schedule.updated",
                "schedule.paused",
                "schedule.resumed",
                "schedule.deleted",
            },
        )

    def test_a_cancelled_job_that_is_given_back_says_so(self):
        for outcome, members in (("released", {}), ("snoozed", {"delay_ms": 60000})):
            start = self.end()
            job_id = self.submit()["id"]
            job = self.claim_one()
            self.api.post(f"/v1/jobs/{job_id}/cancel", {"reason": "late"})
            self.assertEqual(self.finish(job, outcome, **members), "cancelled")
            wanted = ["job.started", "job.cancel_requested", f"job.{outcome}", "job.cancelled"]
            told = [e["type"] for e in self.page(cursor=start)["items"] if e["job_id"] == job_id]
            self.assertEqual(told[1:], wanted)
            of_job = self.api.get(f"/v1/jobs/{job_id}/events").json["items"]
            self.assertEqual([e["type"] for e in of_job][1:], wanted)

    def test_pages_make_up_the_whole(self):
        start = self.end()
        ids = self.submit_many(25)
        found, cursor = [], start
        while True:
            page = self.page(cursor=cursor, limit=10)
            if not page["items"]:
                break
            self.assertLessEqual(len(page["items"]), 10)
            found += [e["job_id"] for e in page["items"] if e["type"] == "job.submitted"]
            cursor = page["next_cursor"]
        self.assertEqual(found, ids)

    def test_filters(self):
        start = self.end()
        other = self.queue + "-other"
        self.submit()
        self.submit(queue=other)
        self.finish(self.claim_one())
        self.assertEqual(
            [e["type"] for e in self.page(cursor=start, queues=other, types="job.submitted")["items"]],
            ["job.submitted"],
        )
        types = [e["type"] for e in self.page(cursor=start, types="job.started,job.succeeded")["items"]]
        self.assertEqual(types, ["job.started", "job.succeeded"])
        queues = {e["queue"] for e in self.page(cursor=start, queues=f"{self.queue},{other}")["items"]}
        self.assertEqual(queues, {self.queue, other})

    def test_a_filter_that_finds_nothing_still_moves_on(self):
        start = self.end()
        self.submit_many(50)
        page = self.page(cursor=start, queues="nothing-here", limit=10)
        self.assertEqual(page["items"], [])
        self.submit(queue="nothing-here")
        cursor, found = page["next_cursor"], []
        for _ in range(20):
            page = self.page(cursor=cursor, queues="nothing-here", types="job.submitted", limit=10)
            found += page["items"]
            cursor = page["next_cursor"]
        self.assertEqual(len(found), 1)

    def test_waiting_for_the_next_event(self):
        start = self.end()
        box = []
        started = time.monotonic()
        waiter = threading.Thread(
            # Groups of errors of other tests open a little later, in no queue.
            target=lambda: box.append(self.page(self.new_client(), cursor=start, wait_ms=60000, queues=self.queue))
        )
        waiter.start()
        time.sleep(0.3)
        job = self.submit()
        waiter.join()
        self.assertLess(time.monotonic() - started, 30)
        self.assertEqual(box[0]["items"][-1]["job_id"], job["id"])

    def test_the_wait_ends_with_the_time(self):
        start = self.end()
        started = time.monotonic()
        page = self.page(cursor=start, wait_ms=300, queues=self.queue)
        self.assertEqual(page["items"], [])
        self.assertTrue(0.29 <= time.monotonic() - started < 30)

    def test_waiting_passes_over_what_the_filter_holds_back(self):
        start = self.end()
        box = []
        waiter = threading.Thread(
            target=lambda: box.append(self.page(self.new_client(), cursor=start, wait_ms=60000, types="job.succeeded"))
        )
        waiter.start()
        self.submit()
        self.finish(self.claim_one())
        waiter.join()
        self.assertEqual([e["type"] for e in box[0]["items"]], ["job.succeeded"])

    def test_what_is_no_position(self):
        for cursor in ("!!", "AAAA", "zz" * 300, ""):
            reply = self.api.get("/v1/events", cursor=cursor)
            if cursor or reply.status != 200:  # an empty one may stand for none
                self.assert_refused(reply, 422, "validation_failed", "cursor")
        for query, name in (
            ({"types": "job.exploded"}, "types"),
            ({"wait_ms": 60001}, "wait_ms"),
            ({"wait_ms": -1}, "wait_ms"),
            ({"limit": 0}, "limit"),
            ({"queues": "a b"}, "queues"),
        ):
            self.assert_refused(self.api.get("/v1/events", **query), 422, "validation_failed", name)


class Positions(harness.MillraceCase):
    def test_they_survive_a_restart(self):
        server = self.new_server().start()
        self.use(server)
        first = self.submit()["id"]
        page = self.api.get("/v1/events", limit=1000).json
        server.restart(kill=True)
        self.use(server)
        second = self.submit()["id"]
        items = self.api.get("/v1/events", cursor=page["next_cursor"], types="job.submitted").json["items"]
        self.assertEqual([e["job_id"] for e in items], [second])
        items = self.api.get("/v1/events", types="job.submitted").json["items"]
        self.assertEqual([e["job_id"] for e in items], [first, second])

    @harness.sqlite_only  # PostgreSQL keeps every event for a minute, and goes by whole tables
    def test_one_that_is_gone_is_410(self):
        server = self.new_server(config='[retention]\nevents = "1s"\n').start()
        self.use(server)
        self.submit()
        start = self.api.get("/v1/events", limit=1).json["next_cursor"]

        def gone():
            self.submit()
            return self.api.get("/v1/events", cursor=start).status == 410

        harness.eventually(gone, every_s=0.3, what="the end of the retention")
        self.assert_refused(self.api.get("/v1/events", cursor=start), 410, "gone")
        self.assertEqual(self.api.get("/v1/events").status, 200)


if __name__ == "__main__":
    harness.main()

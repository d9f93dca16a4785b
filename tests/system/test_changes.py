"""Tests of the operators' actions on jobs: cancel, retry, edit, delete, singly and in bulk."""

import threading
import time

import harness


class Cancelling(harness.ServerCase):
    def test_a_waiting_job_is_cancelled_at_once(self):
        for members in ({}, {"delay_ms": 60000}):
            job = self.submit(**members)
            reply = self.api.post(f"/v1/jobs/{job['id']}/cancel", {"reason": "not wanted"})
            self.assertEqual((reply.status, reply.json["state"]), (200, "cancelled"))
            self.assertIsNotNone(reply.json["finished_at"])
        self.assertEqual(self.claim(), [])

    def test_a_retrying_job_too(self):
        job = self.submit()
        self.assertEqual(self.fail_attempt(self.claim_one(), delay_ms=60000), "retrying")
        self.assertEqual(self.api.post(f"/v1/jobs/{job['id']}/cancel").json["state"], "cancelled")

    def test_a_running_job_is_flagged_and_its_worker_told(self):
        job = self.submit()
        claimed = self.claim_one()
        flagged = self.api.post(f"/v1/jobs/{job['id']}/cancel").json
        self.assertEqual((flagged["state"], flagged["cancel_requested"]), ("running", True))
        beat = self.api.post("/v1/heartbeat", {"items": [{"id": job["id"], "token": claimed["lease"]["token"]}]})
        self.assertTrue(beat.json["results"][0]["cancel_requested"])
        self.assertEqual(self.finish(claimed, "cancelled"), "cancelled")

    def test_a_flagged_job_that_fails_is_cancelled(self):
        job = self.submit(max_attempts=5)
        claimed = self.claim_one()
        self.api.post(f"/v1/jobs/{job['id']}/cancel")
        self.assertEqual(self.fail_attempt(claimed), "cancelled")

    def test_a_flagged_job_that_succeeds_has_succeeded(self):
        job = self.submit()
        claimed = self.claim_one()
        self.api.post(f"/v1/jobs/{job['id']}/cancel")
        self.assertEqual(self.finish(claimed, result="made it"), "succeeded")
        self.assertEqual(self.job(job["id"], include="result")["result"], "made it")

    def test_a_flagged_job_whose_lease_expires_is_cancelled(self):
        job = self.submit()
        self.claim_one(lease_ms=1000)
        self.api.post(f"/v1/jobs/{job['id']}/cancel")
        self.assertEqual(self.final(job["id"])["state"], "cancelled")

    def test_a_finished_job_cannot_be_cancelled(self):
        job = self.submit()
        self.finish(self.claim_one())
        self.assert_refused(self.api.post(f"/v1/jobs/{job['id']}/cancel"), 409, "invalid_state")
        job = self.submit()
        self.api.post(f"/v1/jobs/{job['id']}/cancel")
        self.assert_refused(self.api.post(f"/v1/jobs/{job['id']}/cancel"), 409, "invalid_state")


class Retrying(harness.ServerCase):
    def dead_job(self, **members):
        job = self.submit(**members)
        self.finish(self.claim_one(), "dead", error={"type": "Oops", "message": "gone"})
        return job["id"]

    def test_a_dead_job_is_ready_again_as_a_new_generation(self):
        job_id = self.dead_job(payload={"keep": "me"})
        before = self.job(job_id)
        after = self.api.post(f"/v1/jobs/{job_id}/retry").json
        self.assertEqual((after["state"], after["attempt"]), ("ready", 0))
        self.assertEqual(after["generation"], before["generation"] + 1)
        self.assertGreater(after["version"], before["version"])
        claimed = self.claim_one()
        self.assertEqual((claimed["id"], claimed["attempt"], claimed["payload"]), (job_id, 1, {"keep": "me"}))
        self.assertEqual(self.finish(claimed), "succeeded")

    def test_long_after_it_left_memory(self):
        job_id = self.dead_job(payload=[1, 2])
        self.list_jobs()
        time.sleep(1.2)
        self.assertEqual(self.api.post(f"/v1/jobs/{job_id}/retry").json["state"], "ready")
        self.assertEqual(self.claim_one()["payload"], [1, 2])

    def test_attempts_can_go_on_counting(self):
        job_id = self.dead_job(max_attempts=2)
        kept = self.api.post(f"/v1/jobs/{job_id}/retry", {"reset_attempts": False}).json
        self.assertEqual(kept["attempt"], 1)
        self.assertEqual(self.claim_one()["attempt"], 2)

    def test_it_can_be_put_off(self):
        job_id = self.dead_job()
        later = self.api.post(f"/v1/jobs/{job_id}/retry", {"run_at": "2099-01-01T00:00:00Z"}).json
        self.assertEqual((later["state"], later["run_at"]), ("scheduled", "2099-01-01T00:00:00.000Z"))

    def test_every_terminal_state_can_be_retried(self):
        done = self.submit()
        self.finish(self.claim_one())
        cancelled = self.submit()
        self.api.post(f"/v1/jobs/{cancelled['id']}/cancel")
        expired = self.submit(expires_in_ms=1)
        self.await_state(expired["id"], "expired")
        for job in (done, cancelled, expired):
            after = self.api.post(f"/v1/jobs/{job['id']}/retry").json
            self.assertEqual((after["state"], after["expires_at"], after["finished_at"]), ("ready", None, None))

    def test_a_live_job_cannot_be_retried(self):
        job = self.submit()
        self.assert_refused(self.api.post(f"/v1/jobs/{job['id']}/retry"), 409, "invalid_state")
        self.claim_one()
        self.assert_refused(self.api.post(f"/v1/jobs/{job['id']}/retry"), 409, "invalid_state")


class Editing(harness.ServerCase):
    def test_every_member_that_can_change(self):
        job = self.submit(payload=1, delay_ms=60000)
        reply = self.api.patch(
            f"/v1/jobs/{job['id']}",
            {
                "priority": -7,
                "payload": {"new": True},
                "max_attempts": 9,
                "tags": ["x"],
                "run_at": "2099-01-01T00:00:00Z",
            },
        )
        self.assertEqual(reply.status, 200, reply)
        after = self.job(job["id"], include="payload")
        self.assertEqual((after["priority"], after["max_attempts"], after["tags"]), (-7, 9, ["x"]))
        self.assertEqual((after["payload"], after["run_at"]), ({"new": True}, "2099-01-01T00:00:00.000Z"))

    def test_a_past_time_makes_it_ready(self):
        job = self.submit(delay_ms=60000)
        after = self.api.patch(f"/v1/jobs/{job['id']}", {"run_at": "2001-01-01T00:00:00Z"}).json
        self.assertEqual(after["state"], "ready")
        self.assertEqual(self.claim_one()["id"], job["id"])

    def test_a_new_priority_changes_the_order(self):
        first, second = self.submit(), self.submit()
        self.api.patch(f"/v1/jobs/{second['id']}", {"priority": -1})
        self.assertEqual([job["id"] for job in self.claim(limit=2)], [second["id"], first["id"]])

    def test_only_the_version_expected(self):
        job = self.submit()
        path = f"/v1/jobs/{job['id']}"
        for etag in (f'"{job["version"]}"', str(job["version"] + 1)):
            version = self.job(job["id"])["version"]
            reply = self.api.patch(path, {"priority": 1}, headers={"If-Match": etag})
            if etag.strip('"') == str(version):
                self.assertEqual(reply.status, 200, reply)
            else:
                self.assert_refused(reply, 412, "version_conflict")
        current = self.job(job["id"])["version"]
        self.assertEqual(self.api.patch(path, {"priority": 2}, headers={"If-Match": str(current)}).status, 200)
        self.assert_refused(
            self.api.patch(path, {"priority": 3}, headers={"If-Match": str(current)}),
            412,
            "version_conflict",
        )
        self.assertEqual(self.job(job["id"])["priority"], 2)

    def test_running_and_finished_jobs_cannot_be_edited(self):
        job = self.submit()
        claimed = self.claim_one()
        self.assert_refused(self.api.patch(f"/v1/jobs/{job['id']}", {"priority": 1}), 409, "invalid_state")
        self.finish(claimed)
        self.assert_refused(self.api.patch(f"/v1/jobs/{job['id']}", {"priority": 1}), 409, "invalid_state")

    def test_deleting(self):
        job = self.submit()
        self.assertEqual(self.api.delete(f"/v1/jobs/{job['id']}").status, 204)
        self.assertEqual(self.api.get(f"/v1/jobs/{job['id']}").status, 404)
        self.assertEqual(self.api.delete(f"/v1/jobs/{job['id']}").status, 404)
        self.assertEqual((self.claim(), self.list_jobs()), ([], []))
        job = self.submit()
        claimed = self.claim_one()
        self.assert_refused(self.api.delete(f"/v1/jobs/{job['id']}"), 409, "invalid_state")
        self.finish(claimed)
        self.assertEqual(self.api.delete(f"/v1/jobs/{job['id']}").status, 204)
        self.assertEqual((self.counts(), self.list_jobs()), ({}, []))


class Bulk(harness.ServerCase):
    def bulk(self, action, **members):
        reply = self.api.post("/v1/jobs/bulk", {"action": action, **members})
        self.assertEqual(reply.status, 200, reply)
        return reply.json

    def test_by_ids_each_gets_its_result(self):
        ids = self.submit_many(3)
        running = self.claim_one()["id"]
        self.assertEqual(running, ids[0])
        nobody = "0190a0a0-0000-7000-8000-000000000000"
        answer = self.bulk("delete", ids=[ids[1], running, nobody])
        self.assertEqual((answer["changed"], answer["failed"]), (1, 2))
        self.assertEqual([result["status"] for result in answer["results"]], [200, 409, 404])
        self.assertEqual([result["id"] for result in answer["results"]], [ids[1], running, nobody])
        self.assertEqual(answer["results"][1]["error"]["code"], "invalid_state")
        self.assertEqual(self.counts(), {"running": 1, "ready": 1})

    def test_by_filter(self):
        self.submit_many(30, tags=["odd"])
        self.submit_many(10)
        answer = self.bulk("cancel", filter={"queue": self.queue, "tag": "odd", "state": ["ready"]})
        self.assertEqual(answer, {"matched": 30, "changed": 30, "failed": 0, "more": False})
        self.assertEqual(self.counts(), {"cancelled": 30, "ready": 10})

    def test_what_has_changed_since_it_was_found_is_left_alone(self):
        """Of jobs that come due while they are reprioritised, only those that still wait are."""
        self.submit(queue=self.queue)  # what was sent before is in the tables sooner
        start = self.api.get("/v1/events", limit=1000, queues=self.queue).json["next_cursor"]
        over = threading.Event()
        worker = threading.Thread(target=self.fail_all_until, args=(over,))
        worker.start()
        failed, lead = 0, 1.2
        try:
            # If the submissions take so long that the jobs are due, tries again with later jobs.
            while not failed:
                self.assertLess(lead, 40, "none had changed")
                due_from = time.time() + lead
                lead *= 2
                for first in range(0, 12_000, 1000):
                    jobs = [
                        {"type": "t", "run_at": harness.rfc3339(due_from + n / 12_000)}
                        for n in range(first, first + 1000)
                    ]
                    self.api.post("/v1/jobs/batch", {"defaults": {"queue": self.queue}, "jobs": jobs})
                while time.time() < due_from + 1:
                    answer = self.bulk(
                        "reprioritize",
                        priority=7,
                        filter={"queue": self.queue, "state": ["scheduled"]},
                    )
                    failed += answer["failed"]
        finally:
            over.set()
            worker.join()
        # A busy server notices later that a job is due. A job that was started certainly was due.
        late, started, cursor = 0, set(), start
        while True:
            page = self.api.get("/v1/events", limit=1000, cursor=cursor, queues=self.queue).json
            for event in page["items"]:
                if event["type"] == "job.started":
                    started.add(event["job_id"])
                elif event["type"] == "job.edited":
                    late += event["job_id"] in started
            if not page["items"]:
                break
            cursor = page["next_cursor"]
        self.assertEqual(late, 0)
        self.assertGreater(len(started), 0)

    def fail_all_until(self, over):
        """Starts ready jobs and lets them wait for a retry, so that they can still be edited."""
        api = self.new_client()
        outcome = {
            "outcome": "failed", "delay_ms": 3_600_000, "error": {"type": "E", "message": "m"}
        }  # fmt: skip
        while not over.is_set():
            jobs = self.claim(1000, api=api, wait_ms=100)
            items = [{"id": job["id"], "token": job["lease"]["token"], **outcome} for job in jobs]
            if items:
                api.post("/v1/ack", {"items": items})

    def test_by_search(self):
        for n in range(5):
            self.submit(payload={"n": n})
        answer = self.bulk("reprioritize", priority=-3, filter={"q": f"queue:{self.queue} payload.n:3"})
        self.assertEqual((answer["matched"], answer["changed"]), (1, 1))
        self.assertEqual(self.claim_one()["payload"], {"n": 3})

    def test_a_dry_run_counts_and_changes_nothing(self):
        ids = self.submit_many(4)
        answer = self.bulk("delete", filter={"queue": self.queue}, dry_run=True)
        self.assertEqual((answer["matched"], answer["changed"]), (4, 0))
        answer = self.bulk("delete", ids=ids[:2], dry_run=True)
        self.assertEqual((answer["matched"], answer["changed"]), (2, 0))
        self.assertEqual(self.counts(), {"ready": 4})

    def test_retrying_all_the_dead(self):
        self.submit_many(20)
        for claimed in self.claim(limit=20):
            self.finish(claimed, "dead", error={"type": "E", "message": "m"})
        answer = self.bulk("retry", filter={"queue": self.queue, "state": ["dead"]})
        self.assertEqual((answer["changed"], answer["failed"]), (20, 0))
        self.assertEqual(self.counts(), {"ready": 20})
        self.assertEqual(len(self.claim(limit=100)), 20)

    def test_thousands_by_filter(self):
        self.submit_many(5000)
        answer = self.bulk("delete", filter={"queue": self.queue})
        self.assertEqual((answer["changed"], answer["more"]), (5000, False))
        self.assertEqual(self.counts(), {})

    def test_what_bulk_refuses(self):
        for body, place in (
            ({"action": "explode", "ids": ["x"]}, None),
            ({"action": "cancel"}, None),
            ({"action": "cancel", "filter": {}}, "/filter"),
            ({"action": "cancel", "ids": []}, "/ids"),
            ({"action": "reprioritize", "filter": {"queue": "a"}}, "/priority"),
            ({"action": "cancel", "filter": {"colour": 1}}, "/filter/colour"),
            ({"action": "cancel", "ids": ["0190a0a0-0000-7000-8000-000000000000"] * 1001}, "/ids"),
        ):
            with self.subTest(body=str(body)[:80]):
                reply = self.api.post("/v1/jobs/bulk", body)
                self.assert_refused(reply, 422, "validation_failed")
                self.assertTrue(place is None or place in reply.places, reply)


if __name__ == "__main__":
    harness.main()

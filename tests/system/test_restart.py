"""Tests that acknowledged changes survive SIGKILL exactly, and that promises are kept."""

import random
import threading
import time

import harness
from harness import seconds


class Killed(harness.MillraceCase):
    def setUp(self):
        super().setUp()
        self.use(self.new_server().start())

    def kill_and_restart(self):
        self.server.restart(kill=True)
        self.use(self.server)

    def produce(self, number, submitted, stop):
        """Submits until `stop`; `submitted` gets the id of each key that was answered for."""
        api, serial = None, 0
        while not stop.is_set():
            key = f"{number}-{serial}"
            body = {"type": "t", "queue": self.queue, "payload": key}
            try:
                api = api or self.server.client()
                reply = api.post("/v1/jobs", body, headers={"Idempotency-Key": key})
            except (OSError, harness.client.http.client.HTTPException):
                api = None
                time.sleep(0.02)
                continue  # maybe: the same key again
            if reply.status in (200, 201):
                submitted[key] = reply.json["id"]
                serial += 1

    def work(self, number, ended, stop):
        """Finishes jobs until `stop`; `ended` gets the result of each ack that was answered."""
        api, pending = None, []
        claim = {"queues": [self.queue], "limit": 5, "wait_ms": 100, "worker": {"id": f"w{number}"}}
        while not stop.is_set():
            try:
                api = api or self.server.client()
                if not pending:
                    reply = api.post("/v1/claim", claim)
                    pending = reply.json["jobs"] if reply.status == 200 else []
                if pending:
                    items = [
                        {"id": j["id"], "token": j["lease"]["token"], "outcome": "succeeded", "result": j["payload"]}
                        for j in pending
                    ]
                    reply = api.post("/v1/ack", {"items": items})
                    if reply.status == 200:
                        ended.update({result["id"]: result for result in reply.json["results"]})
                        pending = []
            except (OSError, harness.client.http.client.HTTPException):
                api = None
                time.sleep(0.02)

    def test_everything_answered_under_load_is_there(self):
        """Producers and workers at full speed while the server is killed again and again: a job
        that was answered for exists exactly once, one whose end was answered has that end, and the
        counts add up.
        """
        submitted, ended = {}, {}
        stop = threading.Event()
        self.api.contract()
        threads = [threading.Thread(target=self.produce, args=(n, submitted, stop)) for n in range(4)]
        threads += [threading.Thread(target=self.work, args=(n, ended, stop)) for n in range(3)]
        for thread in threads:
            thread.start()
        dice = random.Random(7)
        for _ in range(5):
            time.sleep(dice.uniform(0.3, 0.8))
            self.server.restart(kill=True)
        try:
            harness.eventually(lambda: len(submitted) > 50 and len(ended) > 20, 60, what="jobs that were worked on")
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        self.use(self.server)

        lost_leases = [result for result in ended.values() if result["status"] != 200]
        self.assertEqual(lost_leases, [], "leases outlive the server")
        jobs = {job["id"]: job for job in self.list_jobs(include="payload,result")}
        by_key = {}
        for job in jobs.values():
            self.assertNotIn(job["payload"], by_key, "two jobs for one key")
            by_key[job["payload"]] = job["id"]
        missing = {key: job_id for key, job_id in submitted.items() if by_key.get(key) != job_id}
        self.assertEqual(missing, {})
        undone = [
            job_id
            for job_id in ended
            if jobs[job_id]["state"] != "succeeded" or jobs[job_id]["result"] != jobs[job_id]["payload"]
        ]
        self.assertEqual(undone, [])
        states = [job["state"] for job in jobs.values()]
        self.assertEqual(self.counts(), {state: states.count(state) for state in set(states)})
        self.assertTrue(all(job["attempt"] <= 1 for job in jobs.values()))

    def test_an_answer_is_never_ahead_of_the_disk(self):
        for _ in range(12):
            job = self.submit()
            claimed = self.claim_one()
            self.finish(claimed)
            self.kill_and_restart()
            self.assertEqual(self.state(job["id"]), "succeeded")

    def test_every_kind_of_thing_survives(self):
        plain = self.submit(
            payload={"a": [1]},
            tags=["t"],
            meta={"k": "v"},
            priority=3,
            expires_in_ms=3_600_000,
            unique={"key": "u", "for_ms": 60000},
            timeout_ms=1000,
            retry={"strategy": "list", "delays_ms": [1, 2]},
        )
        scheduled = self.submit(delay_ms=3_600_000)
        self.submit(priority=-5)
        running = self.claim_one(worker="w", lease_ms=60000)
        self.api.post(
            "/v1/heartbeat",
            {
                "items": [
                    {
                        "id": running["id"],
                        "token": running["lease"]["token"],
                        "progress": {"percent": 3, "checkpoint": [1, "x"]},
                    }
                ]
            },
        )
        self.api.post(f"/v1/jobs/{running['id']}/cancel")
        ends = {}
        for outcome in ("succeeded", "dead", "cancelled", "failed"):
            self.submit(priority=-6)
            job = self.claim_one()
            members = (
                {"result": {"r": 1}}
                if outcome == "succeeded"
                else (
                    {
                        "error": {"type": "E", "message": "m", "stack": "s"},
                        **({"delay_ms": 3_600_000} if outcome == "failed" else {}),
                    }
                    if outcome in ("dead", "failed")
                    else {}
                )
            )
            ends[outcome] = job["id"]
            self.finish(job, outcome, logs=[{"message": outcome}], **members)
        ids = [plain["id"], scheduled["id"], running["id"], *ends.values()]
        everything = "payload,result,attempts,logs,events"
        before = [self.job(job_id, include=everything) for job_id in ids]
        counts = self.counts()
        self.kill_and_restart()
        after = [self.job(job_id, include=everything) for job_id in ids]
        for old, new in zip(before, after):
            if old["state"] == "running":  # its lease was given grace
                self.assertGreaterEqual(new["lease_expires_at"], old["lease_expires_at"])
                new["lease_expires_at"], new["version"] = old["lease_expires_at"], old["version"]
            self.assertEqual(new, old)
        self.assertEqual(self.counts(), counts)
        self.assertEqual(self.finish(running, "cancelled"), "cancelled")

    def test_leases_get_grace_for_the_time_that_the_server_was_away(self):
        self.submit(retry={"strategy": "fixed", "base_ms": 0})
        job = self.claim_one(lease_ms=8000)
        self.server.kill()
        time.sleep(9)
        self.server.start()
        self.use(self.server)
        self.assertEqual(self.state(job["id"]), "running")
        self.assertEqual(self.finish(job), "succeeded")

    def test_a_lease_still_ends(self):
        self.submit(retry={"strategy": "fixed", "base_ms": 0})
        job = self.claim_one(lease_ms=1000)
        self.kill_and_restart()
        again = self.claim_within(wait_ms=30000)
        self.assertEqual((again["id"], again["attempt"]), (job["id"], 2))
        self.assertGreater(again["lease"]["token"], job["lease"]["token"])
        self.assertEqual(self.ack(job)["error"]["code"], "lease_lost")

    def test_a_repeated_ack_is_known(self):
        self.submit_many(2)
        first, second = self.claim(limit=2)
        answers = [
            self.ack(first),
            self.ack(second, "failed", error={"type": "E", "message": "m"}, delay_ms=60000),
        ]
        self.kill_and_restart()
        self.assertEqual(
            [
                self.ack(first),
                self.ack(second, "failed", error={"type": "E", "message": "m"}, delay_ms=60000),
            ],
            answers,
        )

    def test_a_deleted_queue_stays_deleted(self):
        path = f"/v1/queues/{self.queue}"
        self.submit_many(3)
        harness.eventually(lambda: len(self.list_jobs()) == 3, what="the tables to have them")
        self.assertEqual(self.api.delete(path, force="true").status, 204)
        self.api.put(path + ".again")
        self.assertEqual(self.api.delete(path + ".again").status, 204)
        self.submit(queue=self.queue + ".again")
        self.kill_and_restart()
        self.assertEqual(self.api.get(path).status, 404)
        self.assertEqual(self.list_jobs(), [])
        again = self.api.get(path + ".again").json
        self.assertEqual((again["counts"]["ready"], again["version"]), (1, 1))

    def test_paused_queues_and_settings_survive(self):
        path = f"/v1/queues/{self.queue}"
        self.api.put(path, {"max_attempts": 7, "max_ready": 100, "retention": {"dead_ms": None}})
        self.submit()
        self.api.post(path + "/pause", {"reason": "night"})
        before = self.api.get(path).json
        self.kill_and_restart()
        after = self.api.get(path).json
        for member in ("paused", "pause_reason", "settings", "counts", "version"):
            self.assertEqual(after[member], before[member], member)
        self.assertEqual(self.claim(wait_ms=200), [])

    def test_delayed_jobs_fire(self):
        overdue, soon = self.submit(delay_ms=200), self.submit(delay_ms=2500)
        expiring = self.submit(expires_in_ms=200, priority=9)
        self.server.kill()
        time.sleep(0.4)
        self.server.start()
        self.use(self.server)
        self.assertEqual(self.claim_within()["id"], overdue["id"])
        self.await_state(expiring["id"], "expired")
        # At once if the restart took longer than the delay, but never early.
        (claimed,) = self.claim() or [self.claim_within()]
        self.assertEqual(claimed["id"], soon["id"])
        job = self.job(soon["id"])
        self.assertGreaterEqual(seconds(job["started_at"]), seconds(job["run_at"]))

    def test_order_survives(self):
        for payload, priority in enumerate([5, 0, -5] * 100):
            self.submit(payload=[priority, payload], priority=priority)
        self.kill_and_restart()
        payloads = [job["payload"] for job in self.claim(limit=1000)]
        self.assertEqual(payloads, sorted(payloads))

    def test_retention_goes_on(self):
        # Longer than a restart takes, which on PostgreSQL waits for the former lease.
        kept_ms = 6000 if harness.STORE == "sqlite" else 15_000
        self.api.put(f"/v1/queues/{self.queue}", {"retention": {"succeeded_ms": kept_ms}})
        self.submit()
        job = self.claim_one()
        self.finish(job)
        self.kill_and_restart()
        self.assertEqual(self.state(job["id"]), "succeeded")
        harness.eventually(lambda: self.api.get(f"/v1/jobs/{job['id']}").status == 404, 60)
        self.assertEqual(self.counts(), {})

    def test_what_was_deleted_stays_so(self):
        ids = self.submit_many(50)
        self.list_jobs()
        self.api.post("/v1/jobs/bulk", {"action": "delete", "ids": ids[:25]})
        self.kill_and_restart()
        self.assertEqual(self.counts(), {"ready": 25})
        self.assertEqual([job["id"] for job in self.list_jobs()], ids[:24:-1])

    def test_killed_while_it_starts(self):
        ids = self.submit_many(3000)
        for pause_s in (0, 0.01, 0.02, 0.05, 0.1):
            self.server.kill()
            self.server.spawn()
            time.sleep(pause_s)
        self.kill_and_restart()
        self.assertEqual(self.counts(), {"ready": 3000})
        self.assertEqual(self.claim_one()["id"], ids[0])


if __name__ == "__main__":
    harness.main()

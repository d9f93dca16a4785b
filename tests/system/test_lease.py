"""Leases: kept by heartbeats, ended by acks, lost by silence."""

import signal
import threading
import time

import harness
from harness import seconds


class Heartbeats(harness.ServerCase):
    def beat(self, job, **members):
        item = {"id": job["id"], "token": job["lease"]["token"], **members}
        reply = self.api.post("/v1/heartbeat", {"items": [item]})
        self.assertEqual(reply.status, 200, reply)
        return reply.json["results"][0]

    def test_it_extends_the_lease_from_now(self):
        self.submit()
        job = self.claim_one(lease_ms=8000)
        result = self.beat(job, extend_ms=60000)
        self.assertEqual((result["status"], result["cancel_requested"]), (200, False))
        self.assertGreater(seconds(result["expires_at"]) - seconds(job["lease"]["expires_at"]), 50)
        self.assertEqual(self.job(job["id"])["lease_expires_at"], result["expires_at"])

    def test_by_the_leases_length_where_it_does_not_say(self):
        self.submit()
        job = self.claim_one(lease_ms=40000)
        time.sleep(0.3)
        gained = seconds(self.beat(job)["expires_at"]) - seconds(job["lease"]["expires_at"])
        self.assertTrue(0.25 <= gained < 30, gained)

    def test_it_never_shortens(self):
        self.submit()
        job = self.claim_one(lease_ms=60000)
        self.assertEqual(self.beat(job, extend_ms=1000)["expires_at"], job["lease"]["expires_at"])

    def test_kept_alive_a_job_runs_longer_than_its_lease(self):
        self.submit()
        job = self.claim_one(lease_ms=5000)
        for _ in range(4):
            time.sleep(1.6)
            self.assertEqual(self.beat(job)["status"], 200)
        self.assertEqual(self.finish(job), "succeeded")
        self.assertEqual(self.job(job["id"])["attempt"], 1)

    def test_progress_is_kept_and_handed_to_the_next_attempt(self):
        self.submit(retry={"strategy": "fixed", "base_ms": 0})
        job = self.claim_one()
        self.beat(job, progress={"percent": 12.5, "message": "rendering"})
        self.beat(job, progress={"percent": 50, "message": "half", "checkpoint": {"page": 7}})
        progress = {"percent": 50, "message": "half", "checkpoint": {"page": 7}}
        self.assertEqual(self.job(job["id"])["progress"], progress)
        self.fail_attempt(job)
        self.assertEqual(self.claim_within()["progress"], progress)

    def test_a_stale_token_is_lost_and_changes_nothing(self):
        self.submit()
        job = self.claim_one()
        before = self.job(job["id"])
        stale = {**job, "lease": {"token": job["lease"]["token"] - 1}}
        result = self.beat(stale, extend_ms=80000, progress={"percent": 1})
        self.assertEqual((result["status"], result["error"]["code"]), (409, "lease_lost"))
        self.assertEqual(self.job(job["id"]), before)

    def test_each_item_gets_its_result(self):
        self.submit_many(2)
        first, second = self.claim(limit=2)
        reply = self.api.post(
            "/v1/heartbeat",
            {
                "items": [
                    {"id": first["id"], "token": first["lease"]["token"]},
                    {"id": first["id"], "token": second["lease"]["token"]},
                    {"id": "0190a0a0-0000-7000-8000-000000000000", "token": 1},
                    {"id": second["id"], "token": second["lease"]["token"]},
                ]
            },
        )
        self.assertEqual([result["status"] for result in reply.json["results"]], [200, 409, 409, 200])


class Outcomes(harness.ServerCase):
    def claimed(self, **members):
        self.submit(**members)
        return self.claim_one()

    def test_succeeded_keeps_the_result(self):
        job = self.claimed()
        self.assertEqual(self.finish(job, result={"sent": 3}), "succeeded")
        after = self.job(job["id"], include="result")
        self.assertEqual((after["result"], after["last_error"]), ({"sent": 3}, None))

    def test_failed_is_retried_after_its_own_delay(self):
        job = self.claimed(retry={"strategy": "fixed", "base_ms": 4000, "jitter": 0})
        self.assertEqual(self.fail_attempt(job), "retrying")
        after = self.job(job["id"])
        self.assertEqual(self.claim(), [])
        self.assertEqual((after["last_error"]["type"], after["last_error"]["message"]), ("Oops", "no luck"))
        again = self.claim_within()
        self.assertEqual(again["attempt"], 2)
        self.assertGreaterEqual(seconds(self.job(job["id"])["started_at"]), seconds(after["run_at"]))

    def test_the_delays_of_every_policy(self):
        for retry, delays_ms in (
            (
                {"strategy": "exponential", "base_ms": 100_000, "max_ms": 250_000, "jitter": 0},
                [100_000, 200_000, 250_000],
            ),
            (
                {"strategy": "linear", "base_ms": 100_000, "max_ms": 250_000, "jitter": 0},
                [100_000, 200_000, 250_000],
            ),
            ({"strategy": "fixed", "base_ms": 100_000, "jitter": 0}, [100_000] * 3),
            ({"strategy": "list", "delays_ms": [100_000, 500_000]}, [100_000, 500_000, 500_000]),
        ):
            with self.subTest(retry=retry):
                job_id = self.submit(retry=retry)["id"]
                for delay_ms in delays_ms:
                    self.fail_attempt(self.claim_one())
                    job = self.job(job_id, include="attempts")
                    delay = seconds(job["run_at"]) - seconds(job["attempts"][-1]["finished_at"])
                    self.assertAlmostEqual(delay, delay_ms / 1000, places=3)
                    self.api.patch(f"/v1/jobs/{job_id}", {"run_at": "2020-01-01T00:00:00Z"})
                self.api.delete(f"/v1/jobs/{job_id}")

    def test_jitter_spreads(self):
        self.submit_many(40, retry={"strategy": "fixed", "base_ms": 100_000, "jitter": 0.5})
        delays = []
        for job in self.claim(limit=40):
            self.fail_attempt(job)
            after = self.job(job["id"], include="attempts")
            delays.append(seconds(after["run_at"]) - seconds(after["attempts"][-1]["finished_at"]))
        self.assertTrue(all(49.9 <= delay <= 150.1 for delay in delays), delays)
        self.assertGreater(max(delays) - min(delays), 20)

    def test_the_worker_can_name_the_delay(self):
        job = self.claimed()
        self.fail_attempt(job, delay_ms=500_000)
        after = self.job(job["id"], include="attempts")
        self.assertAlmostEqual(seconds(after["run_at"]) - seconds(after["attempts"][-1]["finished_at"]), 500, places=3)

    def test_failed_with_no_attempts_left_is_dead(self):
        job = self.claimed(max_attempts=2, retry={"strategy": "fixed", "base_ms": 0})
        self.assertEqual(self.fail_attempt(job), "retrying")
        self.assertEqual(self.fail_attempt(self.claim_within()), "dead")
        self.assertEqual(self.job(job["id"])["attempt"], 2)

    def test_failed_for_good_is_dead(self):
        job = self.claimed()
        state = self.finish(job, "failed", error={"type": "Bad", "message": "m", "retryable": False})
        self.assertEqual(state, "dead")

    def test_snoozed_waits_and_costs_no_attempt(self):
        job = self.claimed(max_attempts=1)
        self.assertEqual(self.finish(job, "snoozed", delay_ms=4000), "scheduled")
        self.assertEqual(self.job(job["id"])["attempt"], 0)
        self.assertEqual(self.claim(), [])
        again = self.claim_within()
        self.assertEqual(again["attempt"], 1)
        self.assertEqual(self.finish(again), "succeeded")
        attempts = self.job(job["id"], include="attempts")["attempts"]
        self.assertEqual(
            [(a["n"], a["attempt"], a["outcome"]) for a in attempts],
            [(1, 1, "snoozed"), (2, 1, "succeeded")],
        )

    def test_released_goes_back_to_its_old_place_and_costs_no_attempt(self):
        first = self.submit(max_attempts=1)
        second = self.submit()
        job = self.claim_one()
        self.assertEqual(self.finish(job, "released"), "ready")
        self.assertEqual(self.job(first["id"])["attempt"], 0)
        self.assertEqual([claimed["id"] for claimed in self.claim(limit=2)], [first["id"], second["id"]])

    def test_cancelled_and_dead_by_the_worker(self):
        self.assertEqual(self.finish(self.claimed(), "cancelled"), "cancelled")
        job = self.claimed()
        self.assertEqual(self.finish(job, "dead", error={"type": "T", "message": "hopeless"}), "dead")
        self.assertEqual(self.job(job["id"])["last_error"]["message"], "hopeless")

    def test_snoozed_needs_a_delay(self):
        job = self.claimed()
        result = self.ack(job, "snoozed")
        self.assertEqual((result["status"], result["error"]["code"]), (422, "validation_failed"))
        self.assertEqual(result["error"]["errors"][0]["pointer"], "/delay_ms")
        self.assertEqual(self.state(job["id"]), "running")

    def test_a_repeated_ack_is_answered_as_the_first_was(self):
        job = self.claimed()
        first = self.ack(job, result=1)
        self.assertEqual(self.ack(job, result=1), first)
        changed = self.ack(job, "failed", error={"type": "E", "message": "changed my mind"})
        self.assertEqual((changed["status"], changed["error"]["code"]), (409, "lease_lost"))
        after = self.job(job["id"], include="result,attempts")
        self.assertEqual((after["state"], after["result"], len(after["attempts"])), ("succeeded", 1, 1))

    def test_a_stale_token_changes_nothing(self):
        self.submit(retry={"strategy": "fixed", "base_ms": 0})
        old = self.claim_one(lease_ms=1000)
        new = self.claim_within()
        self.assertEqual(new["attempt"], 2)
        result = self.ack(old, result="late")
        self.assertEqual((result["status"], result["error"]["code"]), (409, "lease_lost"))
        self.assertEqual(self.job(new["id"])["state"], "running")
        self.assertEqual(self.finish(new, result="right"), "succeeded")
        self.assertEqual(self.job(new["id"], include="result")["result"], "right")

    def test_a_token_of_another_job_is_foreign(self):
        self.submit_many(2)
        first, second = self.claim(limit=2)
        crossed = {"id": first["id"], "lease": second["lease"]}
        self.assertEqual(self.ack(crossed)["error"]["code"], "lease_lost")
        nobody = {"id": "0190a0a0-0000-7000-8000-000000000000", "lease": first["lease"]}
        self.assertEqual(self.ack(nobody)["error"]["code"], "lease_lost")
        self.assertEqual(self.counts(), {"running": 2})

    def test_jobs_under_enqueue_come_with_the_outcome(self):
        job = self.claimed()
        self.finish(job, enqueue=[{"type": "next", "queue": self.queue, "payload": n} for n in range(3)])
        self.assertEqual([follower["payload"] for follower in self.claim(limit=9)], [0, 1, 2])
        repeated = self.ack(job, enqueue=[{"type": "next", "queue": self.queue}])
        self.assertEqual(repeated["status"], 200)
        self.assertEqual(self.counts(), {"succeeded": 1, "running": 3})

    def test_not_with_an_outcome_that_is_refused(self):
        job = self.claimed()
        stale = {**job, "lease": {"token": 1}}
        self.ack(stale, enqueue=[{"type": "next", "queue": self.queue}])
        self.assertEqual(self.counts(), {"running": 1})

    def test_many_at_once(self):
        self.submit_many(1000)
        items = [
            {"id": job["id"], "token": job["lease"]["token"], "outcome": "succeeded"} for job in self.claim(limit=1000)
        ]
        results = self.api.post("/v1/ack", {"items": items}).json["results"]
        self.assertEqual([result["id"] for result in results], [item["id"] for item in items])
        self.assertEqual({(result["status"], result["state"]) for result in results}, {(200, "succeeded")})
        self.assertEqual(self.counts(), {"succeeded": 1000})


class Silence(harness.ServerCase):
    def test_an_expired_lease_is_a_failed_attempt(self):
        self.submit(retry={"strategy": "fixed", "base_ms": 60000, "jitter": 0})
        job = self.claim_one(lease_ms=1000)
        self.await_state(job["id"], "retrying")
        after = self.job(job["id"], include="attempts")
        self.assertEqual(
            (after["last_error"]["type"], after["crashes"], after["attempt"]),
            ("lease_expired", 1, 1),
        )
        self.assertEqual(after["attempts"][0]["outcome"], "lease_expired")
        self.assertGreaterEqual(seconds(after["attempts"][0]["finished_at"]), seconds(job["lease"]["expires_at"]))

    def test_at_the_last_attempt_it_is_dead(self):
        self.submit(max_attempts=1)
        job = self.claim_one(lease_ms=1000)
        self.assertEqual(self.final(job["id"])["state"], "dead")

    def test_after_max_crashes_it_is_not_handed_out_again(self):
        self.api.put(f"/v1/queues/{self.queue}", {"max_crashes": 2})
        job = self.submit(max_attempts=100, retry={"strategy": "fixed", "base_ms": 0})
        for _ in range(2):
            self.claim_within(lease_ms=1000)
        end = self.final(job["id"])
        self.assertEqual((end["state"], end["crashes"], end["last_error"]["type"]), ("dead", 2, "worker_lost"))
        self.assertEqual(self.claim(), [])

    def test_a_timeout_ends_the_attempt_however_often_extended(self):
        self.submit(timeout_ms=5000, retry={"strategy": "fixed", "base_ms": 60000})
        job = self.claim_one(lease_ms=4000)

        def beat():
            item = {"id": job["id"], "token": job["lease"]["token"], "extend_ms": 30000}
            return self.api.post("/v1/heartbeat", {"items": [item]}).json["results"][0]["status"]

        statuses = [beat()]
        harness.eventually(lambda: statuses.append(beat()) or statuses[-1] != 200, every_s=0.25)
        after = self.job(job["id"], include="attempts")
        self.assertEqual((after["state"], after["last_error"]["type"]), ("retrying", "timeout"))
        self.assertEqual(after["attempts"][0]["outcome"], "timed_out")
        self.assertEqual((statuses[0], statuses[-1]), (200, 409))
        self.assertEqual(self.ack(job)["error"]["code"], "lease_lost")


class SingleForms(harness.ServerCase):
    def call(self, job, verb, **members):
        reply = self.api.post(f"/v1/jobs/{job['id']}/{verb}", {"token": job["lease"]["token"], **members})
        self.assertEqual(reply.status, 200, reply)
        return reply.json

    def test_each_does_what_its_name_says(self):
        job_id = self.submit()["id"]
        job = self.claim_one(lease_ms=10_000)
        beaten = self.call(job, "heartbeat", extend_ms=60000, progress={"percent": 5})
        self.assertGreater(beaten["lease_expires_at"], job["lease"]["expires_at"])
        self.assertEqual(beaten["progress"]["percent"], 5)
        self.assertEqual(self.call(job, "release")["state"], "ready")
        self.assertEqual(self.call(self.claim_one(), "snooze", delay_ms=10)["state"], "scheduled")
        failed = self.call(self.claim_within(), "fail", error={"type": "E", "message": "m"}, delay_ms=0)
        self.assertIn(failed["state"], ("retrying", "ready"))
        done = self.call(self.claim_within(), "complete", result={"ok": 1}, logs=[{"message": "bye"}])
        self.assertEqual((done["id"], done["state"], done["attempt"]), (job_id, "succeeded", 2))
        self.assertEqual(self.job(job_id, include="result")["result"], {"ok": 1})

    def test_each_submits_what_comes_with_it(self):
        follow_up = {"enqueue": [{"type": "next", "queue": self.queue + "-next"}]}
        self.submit()
        self.call(self.claim_one(), "release", **follow_up)
        self.call(self.claim_one(), "snooze", delay_ms=1, **follow_up)
        self.call(self.claim_within(), "fail", error={"type": "E", "message": "m"}, delay_ms=1, **follow_up)
        self.call(self.claim_within(), "complete", **follow_up)
        self.assertEqual(self.counts(), {"succeeded": 1})
        # The other queue may be on another shard, to which jobs are passed on after the answer.
        harness.eventually(
            lambda: self.counts(self.queue + "-next", made=False) == {"ready": 4},
            what="four follow-ups",
        )

    def test_a_heartbeat_waits_for_a_cancellation(self):
        self.submit()
        job = self.claim_one(lease_ms=120_000)
        started = time.monotonic()
        self.assertFalse(self.call(job, "heartbeat", wait_ms=300)["cancel_requested"])
        self.assertGreaterEqual(time.monotonic() - started, 0.29)
        started = time.monotonic()
        waiting = self.in_background(job, wait_ms=60000)
        self.api.post(f"/v1/jobs/{job['id']}/cancel")
        reply = waiting()
        self.assertTrue(reply.json["cancel_requested"])
        self.assertEqual(reply.json["state"], "running")
        # It is not held if that was requested before.
        self.assertTrue(self.call(job, "heartbeat", wait_ms=60000)["cancel_requested"])
        self.assertLess(time.monotonic() - started, 50)

    def test_a_heartbeat_does_not_wait_for_a_lease_that_is_over(self):
        started = time.monotonic()
        for end in ("complete", "release", None):
            with self.subTest(end=end):
                self.submit()
                job = self.claim_one(lease_ms=120_000 if end else 1000)
                waiting = self.in_background(job, wait_ms=60000)
                if end:
                    self.call(job, end)
                self.assert_refused(waiting(), 409, "lease_lost")
                for left in self.claim(limit=10):
                    self.finish(left)
        stale = {"token": job["lease"]["token"] + 1, "wait_ms": 60000}
        reply = self.api.post(f"/v1/jobs/{job['id']}/heartbeat", stale)
        self.assert_refused(reply, 409, "lease_lost")
        self.assertLess(time.monotonic() - started, 50)
        self.assert_fault({"token": 1, "wait_ms": 60001}, "/wait_ms", path=f"/v1/jobs/{job['id']}/heartbeat")

    def test_a_heartbeat_that_waits_ends_at_a_stop(self):
        server = self.new_server("--drain", "60s").start()
        self.use(server)
        self.submit()
        job = self.claim_one(lease_ms=120_000)
        waiting = self.in_background(job, wait_ms=60000)
        started = time.monotonic()
        server.signal(signal.SIGTERM)
        self.assertEqual(waiting().status, 200)
        self.assertEqual(server.wait(), 0)
        self.assertLess(time.monotonic() - started, 50)

    def in_background(self, job, **members):
        """Waits for the answer to a heartbeat when it is called."""
        api, box = self.new_client(), []
        body = {"token": job["lease"]["token"], **members}
        thread = threading.Thread(target=lambda: box.append(api.post(f"/v1/jobs/{job['id']}/heartbeat", body)))
        thread.start()
        time.sleep(0.2)

        def answer():
            thread.join()
            return box[0]

        return answer

    def test_each_refuses_a_stale_token(self):
        self.submit()
        job = self.claim_one()
        for verb, members in (
            ("complete", {}),
            ("fail", {"error": {"type": "E", "message": "m"}}),
            ("snooze", {"delay_ms": 1}),
            ("release", {}),
            ("heartbeat", {}),
        ):
            reply = self.api.post(f"/v1/jobs/{job['id']}/{verb}", {"token": job["lease"]["token"] + 1, **members})
            self.assert_refused(reply, 409, "lease_lost")
        self.assertEqual(self.state(job["id"]), "running")

    def test_a_repetition_is_answered_with_the_job(self):
        self.submit()
        job = self.claim_one()
        self.assertEqual(self.call(job, "complete"), self.call(job, "complete"))


if __name__ == "__main__":
    harness.main()

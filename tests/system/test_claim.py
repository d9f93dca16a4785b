"""Tests of claims: which worker gets which job, in which order, and when."""

import re
import threading
import time

import harness


class Order(harness.ServerCase):
    def payloads(self, **members):
        return [job["payload"] for job in self.claim(**{"limit": 1000, **members})]

    def test_in_order_of_submission(self):
        self.submit_many(100)
        self.assertEqual(self.payloads(), list(range(100)))

    def test_by_priority_first(self):
        for priority in (5, -5, 0, 32767, -32768):
            self.submit(payload=priority, priority=priority)
        self.assertEqual(self.payloads(), [-32768, -5, 0, 5, 32767])

    def test_then_by_the_time_they_became_due(self):
        # Instants, so that it does not matter how long a submission takes.
        self.submit(payload="now")
        due = time.time() + 0.5
        self.submit(payload="later", run_at=harness.rfc3339(due + 0.2))
        self.submit(payload="sooner", run_at=harness.rfc3339(due))
        harness.eventually(lambda: self.counts() == {"ready": 3}, what="all of them ready")
        self.assertEqual(self.payloads(), ["now", "sooner", "later"])

    def test_an_earlier_due_time_goes_before_an_earlier_submission(self):
        self.submit(payload="second", run_at="2020-01-02T00:00:00Z")
        self.submit(payload="first", run_at="2020-01-01T00:00:00Z")
        self.submit(payload="third")
        self.assertEqual(self.payloads(), ["first", "second", "third"])

    def test_queues_in_the_order_given(self):
        a, b = self.queue + "a", self.queue + "b"
        self.submit(payload="a", queue=a)
        self.submit(payload="b", queue=b, priority=-100)
        self.assertEqual(self.payloads(queues=[a, b]), ["a", "b"])
        self.submit(payload="a", queue=a)
        self.submit(payload="b", queue=b)
        self.assertEqual(self.payloads(queues=[b, a], limit=1), ["b"])
        self.assertEqual(self.payloads(queues=[b, a], limit=1), ["a"])

    def test_a_type_not_named_is_never_handed_out(self):
        self.submit("mail", payload=1)
        self.submit("image", payload=2)
        self.submit("mail", payload=3)
        self.assertEqual(self.payloads(types=["video"]), [])
        self.assertEqual(self.payloads(types=["image"]), [2])
        self.assertEqual(self.payloads(types=["video", "mail"]), [1, 3])

    def test_a_rare_type_behind_a_long_backlog_is_found(self):
        self.submit_many(5000, type="common")
        self.submit("rare", payload="me")
        self.assertEqual(self.payloads(types=["rare"]), ["me"])

    def test_as_many_as_are_ready_up_to_the_limit(self):
        self.submit_many(7)
        self.assertEqual(len(self.claim(limit=5)), 5)
        self.assertEqual(len(self.claim(limit=5, wait_ms=5000)), 2)
        self.assertEqual(self.claim(limit=5), [])

    def test_a_thousand_at_once(self):
        self.submit_many(1200)
        self.assertEqual(len(self.claim(limit=1000)), 1000)

    def test_what_a_claimed_job_carries(self):
        self.submit("t", payload={"a": 1}, meta={"k": "v"}, timeout_ms=5000, max_attempts=3)
        job = self.claim_one(lease_ms=20000)
        self.assertEqual((job["type"], job["payload"], job["meta"]), ("t", {"a": 1}, {"k": "v"}))
        self.assertEqual((job["attempt"], job["max_attempts"], job["queue"]), (1, 3, self.queue))
        self.assertLess(job["lease"]["token"], 2**53)
        self.assertEqual(job["lease"]["lease_ms"], 20000)
        self.assertIsNotNone(job["deadline"])
        self.assertEqual(job["timeout_ms"], 5000)

    def test_tokens_rise(self):
        self.submit_many(20)
        tokens = [self.claim_one()["lease"]["token"] for _ in range(20)]
        self.assertEqual(tokens, sorted(set(tokens)))

    def test_never_two_workers_with_one_job(self):
        ids = self.submit_many(400)
        got, lock = [], threading.Lock()

        def work(name):
            api = self.new_client()
            while jobs := self.claim(limit=7, api=api, worker=name):
                with lock:
                    got.extend(job["id"] for job in jobs)

        threads = [threading.Thread(target=work, args=(f"w{n}",)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(got), sorted(ids))


class LongPoll(harness.ServerCase):
    def claim_in_background(self, **members):
        """Starts a claim; returns (thread, box): the box has (jobs, seconds) once the thread has
        ended.
        """
        box = []

        def work():
            started = time.monotonic()
            jobs = self.claim(api=self.new_client(), **members)
            box.append((jobs, time.monotonic() - started))

        thread = threading.Thread(target=work)
        thread.start()
        time.sleep(0.15)
        return thread, box

    def test_an_empty_list_when_the_wait_ran_out(self):
        started = time.monotonic()
        self.assertEqual(self.claim(wait_ms=300), [])
        self.assertTrue(0.29 <= time.monotonic() - started < 20)

    def test_without_a_wait_at_once(self):
        started = time.monotonic()
        self.assertEqual(self.claim(wait_ms=0), [])
        self.assertLess(time.monotonic() - started, 10)

    def test_a_submission_wakes_it(self):
        thread, box = self.claim_in_background(wait_ms=60000)
        job = self.submit()
        thread.join()
        ((jobs, seconds),) = box
        self.assertEqual([claimed["id"] for claimed in jobs], [job["id"]])
        self.assertLess(seconds, 30)

    def test_a_delay_that_ends_wakes_it_and_never_early(self):
        job = self.submit(delay_ms=500)
        claimed = self.claim_within()
        running = self.job(job["id"])
        self.assertEqual(claimed["id"], job["id"])
        self.assertGreaterEqual(running["started_at"], running["run_at"])

    def test_a_release_a_retry_and_a_resume_wake_it(self):
        job = self.submit()
        claimed = self.claim_one()
        thread, box = self.claim_in_background(wait_ms=30000)
        self.finish(claimed, "released")
        thread.join()
        self.finish(box[0][0][0], "dead", error={"type": "E", "message": "m"})

        thread, box = self.claim_in_background(wait_ms=30000)
        self.api.post(f"/v1/jobs/{job['id']}/retry")
        thread.join()
        self.finish(box[0][0][0])

        self.api.post(f"/v1/queues/{self.queue}/pause")
        self.submit()
        thread, box = self.claim_in_background(wait_ms=30000)
        self.assertEqual(box, [])
        self.api.post(f"/v1/queues/{self.queue}/resume")
        thread.join()
        self.assertEqual(len(box[0][0]), 1)

    def test_one_job_wakes_one_of_many(self):
        waits = [self.claim_in_background(wait_ms=5000, worker=f"w{n}") for n in range(6)]
        self.submit()
        for thread, _ in waits:
            thread.join()
        self.assertEqual(sorted(len(box[0][0]) for _, box in waits), [0, 0, 0, 0, 0, 1])

    def test_a_job_of_another_type_wakes_nobody(self):
        thread, box = self.claim_in_background(wait_ms=600, types=["mine"])
        self.submit("other")
        thread.join()
        self.assertEqual(box[0][0], [])
        self.assertEqual(len(self.claim(types=["other"])), 1)

    def test_a_waiter_that_left_gets_nothing(self):
        with self.server.connect() as gone:
            body = ('{"queues":["%s"],"limit":1,"wait_ms":60000,"worker":{"id":"gone"}}' % self.queue).encode()
            gone.send(b"POST /v1/claim HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            harness.eventually(
                lambda: "gone" in [w["id"] for w in self.api.get("/v1/workers").json["items"]],
                what="the claim",
            )
        harness.eventually(lambda: self.connections() == 1, what="the end of its connection")
        time.sleep(0.2)  # the shard has heard of it
        self.submit()
        self.assertEqual(self.claim_within(worker="here")["attempt"], 1)

    def test_a_waiter_does_not_hold_up_others(self):
        thread, box = self.claim_in_background(wait_ms=60000, queues=[self.queue + "empty"])
        for _ in range(8):
            self.submit()
            self.finish(self.claim_one())
        self.assertEqual(box, [], "it waits still")
        self.submit(queue=self.queue + "empty")
        thread.join()
        self.assertEqual(len(box[0][0]), 1)

    def connections(self):
        """The number of clients with a connection."""
        text = self.api.get("/metrics").body.decode()
        return int(re.search(r"(?m)^millrace_http_connections (\d+)$", text)[1])


class NotNow(harness.ServerCase):
    def test_a_delayed_job_is_not_handed_out_early(self):
        self.submit(delay_ms=60000)
        self.assertEqual(self.claim(wait_ms=200), [])

    def test_an_expired_job_is_not_handed_out(self):
        job = self.submit(expires_at="2020-01-01T00:00:00Z")
        self.assertEqual(self.claim(), [])
        self.await_state(job["id"], "expired")

    def test_expiry_holds_only_until_the_first_start(self):
        job = self.submit(expires_in_ms=3000, retry={"strategy": "fixed", "base_ms": 0})
        claimed = self.claim_one()
        time.sleep(3.1)
        self.fail_attempt(claimed)
        self.assertEqual(self.claim_within()["id"], job["id"])

    def test_a_paused_queue_gives_nothing_and_takes_everything(self):
        self.api.post(f"/v1/queues/{self.queue}/pause", create="true")
        self.submit()
        self.assertEqual(self.claim(wait_ms=200), [])
        self.assertEqual(self.counts(), {"ready": 1})

    def test_a_queue_never_used_is_simply_empty(self):
        self.assertEqual(self.claim(queues=["never-" + self.queue]), [])
        self.assertEqual(self.api.get(f"/v1/queues/never-{self.queue}").status, 404)


if __name__ == "__main__":
    harness.main()

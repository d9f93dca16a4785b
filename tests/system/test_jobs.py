"""Tests of submitting a job and reading its members back."""

import re
import threading
import time
import uuid

import harness

# Payloads that a parser and writer in between would change.
DELICATE = [
    b'{ "b" : 1 ,\t"a" : [ 1,2 ,3 ] , "b2":null }',
    b"123456789012345678901234567890",
    b"1.0000000000000000000000000000001e-400",
    b'{"z":1,"y":2,"x":3,"z":4}',
    b'"\\ud800 \\u0041\\/ \\u00e9"',
    '"gr\u00fc\u00dfe \U0001f600 \u2028"'.encode(),
    b"-0.0",
    b'[[[[]]],{},""]',
    b"true",
    b'{\r\n  "multi": "line"\r\n}',
]


class Submitting(harness.ServerCase):
    def test_a_job_with_nothing_but_a_type_gets_the_defaults(self):
        reply = self.api.post("/v1/jobs", {"type": "email.send"})
        self.assertEqual(reply.status, 201)
        job = reply.json
        self.assertEqual(job["queue"], "default")
        self.assertEqual(job["state"], "ready")
        self.assertEqual((job["priority"], job["attempt"], job["max_attempts"]), (0, 0, 5))
        self.assertEqual((job["tags"], job["meta"]), ([], {}))
        for member in (
            "expires_at",
            "started_at",
            "finished_at",
            "lease_expires_at",
            "worker",
            "progress",
            "last_error",
            "timeout_ms",
            "unique",
        ):
            self.assertIsNone(job[member], member)
        self.assertFalse(job["cancel_requested"])
        self.assertEqual(uuid.UUID(job["id"]).version, 7)
        self.assertEqual(reply.headers["etag"], f'"{job["version"]}"')
        self.assertNotIn("payload", job)
        whole = self.job(job["id"], include="payload,result,attempts,logs,events")
        self.assertEqual(
            (whole["payload"], whole["result"], whole["attempts"], whole["logs"]),
            (None, None, [], []),
        )
        self.assertEqual([event["type"] for event in whole["events"]], ["job.submitted"])

    def test_every_member_comes_back(self):
        job = self.submit(
            type="a.B_9:/-z",
            priority=-32768,
            run_at="2099-03-01T11:30:00.1239+02:00",
            max_attempts=1000,
            expires_at="2100-01-01T00:00:00Z",
            lease_ms=86_400_000,
            timeout_ms=5000,
            retry={"strategy": "linear", "base_ms": 10, "max_ms": 20, "jitter": 0.5},
            unique={"key": "k\u00e9y", "for_ms": 1000, "on_conflict": "reject"},
            tags=["vip", "a/b"],
            meta={"tenant": '\u00e9\n"', "": "empty"},
            traceparent="00-" + "a" * 32 + "-" + "b" * 16 + "-01",
        )
        again = self.job(job["id"])
        self.assertEqual(again, job)
        self.assertEqual((job["type"], job["priority"], job["state"]), ("a.B_9:/-z", -32768, "scheduled"))
        self.assertEqual(job["run_at"], "2099-03-01T09:30:00.123Z")
        self.assertEqual(job["expires_at"], "2100-01-01T00:00:00.000Z")
        self.assertEqual((job["max_attempts"], job["lease_ms"], job["timeout_ms"]), (1000, 86_400_000, 5000))
        self.assertEqual(job["retry"], {"strategy": "linear", "base_ms": 10, "max_ms": 20, "jitter": 0.5})
        self.assertEqual(job["unique"], {"key": "k\u00e9y", "for_ms": 1000, "on_conflict": "reject"})
        self.assertEqual((job["tags"], job["meta"]), (["vip", "a/b"], {"tenant": '\u00e9\n"', "": "empty"}))
        self.assertEqual(job["traceparent"], "00-" + "a" * 32 + "-" + "b" * 16 + "-01")

    def test_a_list_of_delays_comes_back(self):
        retry = {"strategy": "list", "delays_ms": [0, 315_360_000_000, 7]}
        self.assertEqual(self.submit(retry=retry)["retry"], retry)

    def test_a_policy_gets_its_defaults(self):
        job = self.submit(retry={"strategy": "fixed"})
        self.assertEqual(job["retry"], {"strategy": "fixed", "base_ms": 5000, "max_ms": 300_000, "jitter": 0.2})

    def test_payload_and_result_are_kept_byte_for_byte(self):
        for raw in DELICATE:
            with self.subTest(raw=raw):
                reply = self.api.post(
                    "/v1/jobs",
                    raw=b'{"type":"t","queue":"%s","payload": %s }' % (self.queue.encode(), raw),
                )
                self.assertEqual(reply.status, 201, reply)
                job_id = reply.json["id"]
                self.assert_member(self.api.get(f"/v1/jobs/{job_id}", include="payload"), "payload", raw)
                claimed = self.api.post(
                    "/v1/claim",
                    {"queues": [self.queue], "limit": 1, "wait_ms": 0, "worker": {"id": "w"}},
                )
                self.assert_member(claimed, "payload", raw)
                token = claimed.json["jobs"][0]["lease"]["token"]
                done = self.api.post(f"/v1/jobs/{job_id}/complete", raw=b'{"token":%d,"result":%s}' % (token, raw))
                self.assertEqual(done.status, 200, done)
                self.assert_member(self.api.get(f"/v1/jobs/{job_id}", include="result"), "result", raw)

        def both_kept(reply):
            return all(raw in reply.body for raw in DELICATE)

        self.assertTrue(both_kept(self.api.get("/v1/jobs", queue=self.queue, fresh="true", include="payload")))
        self.assertTrue(both_kept(self.api.get("/v1/jobs", queue=self.queue, fresh="true", include="result")))

    def assert_member(self, reply, name, raw):
        pattern = b'"' + name.encode() + b'": ?' + re.escape(raw) + rb"\s*[,}]"
        self.assertRegex(reply.body, pattern)

    def test_the_answer_can_include_the_payload(self):
        reply = self.api.post("/v1/jobs", {"type": "t", "queue": self.queue, "payload": [1]}, include="payload")
        self.assertEqual(reply.json["payload"], [1])
        self.assert_refused(
            self.api.get(f"/v1/jobs/{reply.json['id']}", include="payload,secrets"),
            422,
            "validation_failed",
            "include",
        )

    def test_a_later_time_makes_it_scheduled(self):
        job = self.submit(delay_ms=3_600_000)
        self.assertEqual(job["state"], "scheduled")
        self.assertGreater(job["run_at"], job["created_at"])
        self.assertEqual(self.submit(run_at="2001-01-01T00:00:00Z")["state"], "ready")
        self.assertEqual(self.submit(delay_ms=0)["state"], "ready")

    def test_not_started_in_time_it_expires(self):
        job = self.submit(expires_in_ms=150)
        end = self.final(job["id"])
        self.assertEqual(end["state"], "expired")
        self.assertGreaterEqual(end["finished_at"], end["expires_at"])
        self.assertEqual(self.claim(), [])

    def test_a_trace_context_is_taken_from_the_header(self):
        parent = "00-" + "1" * 32 + "-" + "2" * 16 + "-00"
        reply = self.api.post(
            "/v1/jobs",
            {"type": "t", "queue": self.queue},
            headers={"traceparent": parent, "tracestate": "a=b"},
        )
        self.assertEqual(reply.json["traceparent"], parent)
        self.assertEqual(self.claim_one()["traceparent"], parent)

    def test_a_clients_id_is_kept_and_repeats_return_the_job(self):
        job_id = harness.uuid7()
        first = self.api.post("/v1/jobs", {"type": "t", "queue": self.queue, "id": job_id})
        self.assertEqual((first.status, first.json["id"]), (201, job_id))
        again = self.api.post("/v1/jobs", {"type": "t", "queue": self.queue, "id": job_id})
        self.assertEqual((again.status, again.json["type"]), (200, "t"))
        other = self.api.post("/v1/jobs", {"type": "other", "queue": self.queue, "id": job_id})
        self.assert_refused(other, 409, "id_mismatch")
        elsewhere = self.api.post("/v1/jobs", {"type": "t", "queue": harness.neighbour(self.queue), "id": job_id})
        self.assert_refused(elsewhere, 409, "duplicate_job")
        self.assertEqual(self.counts(), {"ready": 1})

    def test_a_clients_id_survives_its_jobs_end(self):
        job = self.submit(id=harness.uuid7())
        self.finish(self.claim_one())
        self.assertEqual(self.submit(id=job["id"])["state"], "succeeded")

    def test_ids_rise_and_carry_the_queue(self):
        ids = [self.submit()["id"] for _ in range(20)]
        times = [job_id[:13] for job_id in ids]
        self.assertEqual(times, sorted(times))
        self.assertEqual(len({job_id[15:18] for job_id in ids}), 1, "rand_a is of the queue's name")


class Looking(harness.ServerCase):
    def test_a_job_that_is_not_there_is_404(self):
        for job_id in (harness.uuid7(), "nonsense", "0", "%00", "a" * 36):
            self.assert_refused(self.api.get(f"/v1/jobs/{job_id}"), 404, "not_found")

    def test_waiting_for_the_end_returns_with_it(self):
        job = self.submit()
        claimed = self.claim_one()
        threading.Timer(
            0.3,
            lambda: self.new_client().post(
                f"/v1/jobs/{job['id']}/complete",
                {"token": claimed["lease"]["token"], "result": {"n": 1}},
            ),
        ).start()
        started = time.monotonic()
        end = self.final(job["id"], include="result")
        self.assertEqual((end["state"], end["result"]), ("succeeded", {"n": 1}))
        self.assertLess(time.monotonic() - started, 20)

    def test_waiting_ends_with_the_time(self):
        job = self.submit()
        started = time.monotonic()
        self.assertEqual(self.job(job["id"], wait_ms=300, until="final")["state"], "ready")
        self.assertGreaterEqual(time.monotonic() - started, 0.29)

    def test_a_finished_job_is_not_waited_for(self):
        job = self.submit()
        self.finish(self.claim_one())
        started = time.monotonic()
        self.assertEqual(self.final(job["id"], wait_ms=60000)["state"], "succeeded")
        self.assertLess(time.monotonic() - started, 30)

    def test_many_can_wait_for_one_job(self):
        job = self.submit()
        claimed = self.claim_one()
        ends = []
        waiters = [
            threading.Thread(
                target=lambda: ends.append(
                    self.new_client().get(f"/v1/jobs/{job['id']}", wait_ms=30000, until="final").json["state"]
                )
            )
            for _ in range(8)
        ]
        for waiter in waiters:
            waiter.start()
        time.sleep(0.2)
        self.finish(claimed)
        for waiter in waiters:
            waiter.join()
        self.assertEqual(ends, ["succeeded"] * 8)

    def test_attempts_logs_and_events_tell_the_story(self):
        job = self.submit(max_attempts=2, retry={"strategy": "fixed", "base_ms": 0})
        first = self.claim_one(worker="alice")
        self.fail_attempt(
            first,
            "first",
            logs=[
                {"message": "one"},
                {"message": "two", "level": "error", "at": "2026-01-01T00:00:00Z"},
            ],
        )
        second = self.claim_within(worker="bob")
        self.finish(second, result=7, logs=[{"message": "three"}])

        attempts = self.api.get(f"/v1/jobs/{job['id']}/attempts").json["items"]
        self.assertEqual(
            [(a["n"], a["attempt"], a["worker"], a["outcome"]) for a in attempts],
            [(1, 1, "alice", "failed"), (2, 2, "bob", "succeeded")],
        )
        self.assertEqual(attempts[0]["error"]["message"], "first")
        self.assertIsNone(attempts[1]["error"])

        logs = self.api.get(f"/v1/jobs/{job['id']}/logs").json["items"]
        self.assertEqual(
            [(l["attempt"], l["level"], l["message"]) for l in logs],
            [(1, "info", "one"), (1, "error", "two"), (2, "info", "three")],
        )
        self.assertEqual(logs[1]["at"], "2026-01-01T00:00:00.000Z")
        self.assertEqual([l["seq"] for l in logs], sorted({l["seq"] for l in logs}))

        events = [e["type"] for e in self.api.get(f"/v1/jobs/{job['id']}/events").json["items"]]
        self.assertEqual(events, ["job.submitted", "job.started", "job.retrying", "job.started", "job.succeeded"])

        whole = self.job(job["id"], include="attempts,logs,events,result")
        self.assertEqual((whole["attempts"], whole["logs"]), (attempts, logs))
        self.assertEqual([e["type"] for e in whole["events"]], events)
        self.assertEqual((whole["attempt"], whole["last_error"]["message"]), (2, "first"))

    def test_times_and_worker_follow_the_state(self):
        job = self.submit()
        claimed = self.claim_one(worker="me")
        running = self.job(job["id"])
        self.assertEqual((running["state"], running["worker"]), ("running", "me"))
        self.assertEqual(running["lease_expires_at"], claimed["lease"]["expires_at"])
        self.assertIsNotNone(running["started_at"])
        self.finish(claimed)
        done = self.job(job["id"])
        self.assertEqual((done["worker"], done["lease_expires_at"]), (None, None))
        self.assertLessEqual(done["started_at"], done["finished_at"])
        self.assertGreater(done["version"], running["version"])

    def test_errors_are_cut_not_refused(self):
        job = self.submit()
        self.finish(
            self.claim_one(),
            "dead",
            error={"type": "E", "message": "m" * 5000, "stack": "s" * 40000},
        )
        error = self.job(job["id"])["last_error"]
        self.assertEqual((len(error["message"]), len(error["stack"])), (4096, 32768))
        self.assertEqual(error["attempt"], 1)

    def test_equal_errors_have_equal_fingerprints(self):
        marks = []
        for message in ("cannot reach host 10", "cannot reach host 11", "something else entirely"):
            job = self.submit()
            self.finish(self.claim_one(), "dead", error={"type": "Net", "message": message})
            marks.append(self.job(job["id"])["last_error"]["fingerprint"])
        self.assertEqual(marks[0], marks[1])
        self.assertNotEqual(marks[0], marks[2])


if __name__ == "__main__":
    harness.main()

"""The worker's round trip, the commands that come back on it, and the list of workers."""

import json
import socket
import threading
import time

import harness


class Polls(harness.ServerCase):
    def setUp(self):
        super().setUp()
        self.worker = f"worker/{self.queue}"

    def poll(self, api=None, **members):
        reply = (api or self.api).post(f"/v1/workers/{self.worker.replace('/', '%2F')}/poll", members)
        self.assertEqual(reply.status, 200, reply)
        return reply.json

    def claim_part(self, limit=10, wait_ms=0, **members):
        return {"queues": [self.queue], "limit": limit, "wait_ms": wait_ms, **members}

    def command(self, verb):
        return self.api.post(f"/v1/workers/{self.worker.replace('/', '%2F')}/{verb}")

    def listed(self):
        workers = {worker["id"]: worker for worker in self.api.get("/v1/workers", limit=1000).json["items"]}
        return workers.get(self.worker)

    def test_everything_in_one_round_trip(self):
        self.submit_many(3)
        first, second = self.poll(claim=self.claim_part(limit=2))["jobs"]
        token = {"id": second["id"], "token": second["lease"]["token"]}
        answer = self.poll(
            acks=[{"id": first["id"], "token": first["lease"]["token"], "outcome": "succeeded"}],
            heartbeats=[{**token, "extend_ms": 60000}],
            logs=[
                {**token, "message": "half way"},
                {**token, "level": "warn", "message": "slowly"},
            ],
            claim=self.claim_part(),
        )
        self.assertEqual(answer["acks"], [{"status": 200, "id": first["id"], "state": "succeeded"}])
        self.assertEqual([(b["status"], b["cancel_requested"]) for b in answer["heartbeats"]], [(200, False)])
        self.assertEqual([log["status"] for log in answer["logs"]], [200, 200])
        self.assertEqual([job["payload"] for job in answer["jobs"]], [2])
        self.assertEqual(answer["commands"], [])
        logs = self.job(second["id"], include="logs")["logs"]
        self.assertEqual(
            [(line["level"], line["message"]) for line in logs],
            [("info", "half way"), ("warn", "slowly")],
        )

    def test_who_closes_its_side_is_not_told_that_nothing_was_done(self):
        self.submit()
        (job,) = self.poll(claim=self.claim_part())["jobs"]
        ack = {"id": job["id"], "token": job["lease"]["token"], "outcome": "succeeded"}
        body = json.dumps({"acks": [ack], "claim": self.claim_part(wait_ms=20000)}).encode()
        with self.server.connect() as raw:
            raw.send(
                b"POST /v1/workers/%s/poll HTTP/1.1\r\nHost: localhost\r\n"
                b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
                % (self.worker.replace("/", "%2F").encode(), len(body), body)
            )
            harness.eventually(lambda: self.state(job["id"]) == "succeeded")
            raw.socket.shutdown(socket.SHUT_WR)
            reply = raw.read_reply()
        self.assertIsNotNone(reply)
        self.assertEqual((reply.status, reply.code), (503, "storage_unavailable"))
        self.assertIn("may have taken effect", reply.json["detail"])

    def test_an_empty_poll_answers_at_once(self):
        empty = {"acks": [], "heartbeats": [], "logs": [], "jobs": [], "commands": []}
        self.assertEqual(self.poll(), empty)
        self.assertEqual(self.poll(acks=[], heartbeats=[], logs=[]), empty)

    def test_stale_tokens_are_told_one_by_one(self):
        self.submit()
        job = self.claim_one()
        stale = {"id": job["id"], "token": 1}
        answer = self.poll(
            acks=[{**stale, "outcome": "succeeded"}],
            heartbeats=[stale],
            logs=[{**stale, "message": "m"}],
        )
        for kind in ("acks", "heartbeats", "logs"):
            self.assertEqual([result["error"]["code"] for result in answer[kind]], ["lease_lost"], kind)
        self.assertEqual(self.job(job["id"], include="logs")["logs"], [])

    def test_acks_are_committed_before_the_claim_waits(self):
        job_id = self.submit()["id"]
        (job,) = self.poll(claim=self.claim_part())["jobs"]
        waiting = threading.Thread(
            target=lambda: self.poll(
                api=self.new_client(),
                claim=self.claim_part(wait_ms=60000),
                acks=[{"id": job_id, "token": job["lease"]["token"], "outcome": "succeeded"}],
            )
        )
        waiting.start()
        self.await_state(job_id, "succeeded")
        self.assertTrue(waiting.is_alive(), "it waits still")
        self.submit()
        waiting.join()

    def poll_in_background(self, **members):
        box = []
        thread = threading.Thread(target=lambda: box.append(self.poll(api=self.new_client(), **members)))
        thread.start()
        time.sleep(0.2)
        return thread, box

    def test_a_cancellation_ends_the_wait(self):
        job_id = self.submit()["id"]
        (job,) = self.poll(claim=self.claim_part())["jobs"]
        started = time.monotonic()
        thread, box = self.poll_in_background(claim=self.claim_part(wait_ms=60000))
        self.api.post(f"/v1/jobs/{job_id}/cancel")
        thread.join()
        self.assertLess(time.monotonic() - started, 25)
        self.assertEqual(
            box[0]["commands"],
            [{"type": "cancel", "job_id": job_id, "token": job["lease"]["token"]}],
        )

    def test_a_cancellation_between_polls_is_told_at_the_next(self):
        job_id = self.submit()["id"]
        self.poll(claim=self.claim_part())
        self.api.post(f"/v1/jobs/{job_id}/cancel")
        self.assertEqual(
            [command["type"] for command in self.poll(claim=self.claim_part(wait_ms=5000))["commands"]],
            ["cancel"],
        )

    def test_quiet_is_told_and_ends_the_claims(self):
        self.poll(claim=self.claim_part())
        thread, box = self.poll_in_background(claim=self.claim_part(wait_ms=60000))
        self.assertEqual(self.command("quiet").json["state"], "quiet")
        thread.join()
        self.assertEqual(box[0]["commands"], [{"type": "quiet"}])
        self.submit()
        self.assertEqual(self.poll(claim=self.claim_part())["jobs"], [])
        self.assertEqual(self.claim(worker=self.worker), [])
        self.assertEqual(len(self.claim(worker="another")), 1)
        self.assertEqual(self.listed()["state"], "quiet")

    def test_stop_is_told(self):
        self.poll(claim=self.claim_part())
        self.assertEqual(self.command("stop").json["state"], "stopping")
        self.assertIn({"type": "stop"}, self.poll()["commands"])
        self.assertEqual(self.listed()["state"], "stopping")

    def test_nobody_to_tell(self):
        self.assertEqual(self.command("quiet").status, 404)

    def test_workers_show_who_they_are_and_what_they_run(self):
        job = self.submit("mail")
        particulars = {
            "host": "box7",
            "pid": 4242,
            "sdk": "python",
            "version": "1.2",
            "labels": {"zone": "a"},
        }
        self.poll(claim=self.claim_part(types=["mail"], worker=particulars))
        worker = self.listed()
        for member, value in particulars.items():
            self.assertEqual(worker[member], value)
        self.assertEqual((worker["queues"], worker["types"], worker["state"]), ([self.queue], ["mail"], "active"))
        (running,) = worker["running"]
        self.assertEqual((running["id"], running["type"], running["attempt"]), (job["id"], "mail", 1))
        self.assertEqual(running["lease_expires_at"], self.job(job["id"])["lease_expires_at"])

    def test_a_worker_keeps_its_particulars_through_a_poll_without_a_claim(self):
        self.poll(claim=self.claim_part(worker={"host": "box7"}))
        self.poll()
        self.assertEqual(self.listed()["host"], "box7")

    def test_a_worker_that_says_goodbye_is_gone(self):
        self.poll(claim=self.claim_part())
        self.poll(goodbye=True)
        self.assertIsNone(self.listed())
        # Until it comes again.
        self.submit()
        (job,) = self.poll(claim=self.claim_part())["jobs"]
        self.assertEqual(self.listed()["state"], "active")
        # While it holds a lease, it is listed in any case.
        self.poll(goodbye=True)
        self.assertEqual([run["id"] for run in self.listed()["running"]], [job["id"]])
        done = {"id": job["id"], "token": job["lease"]["token"], "outcome": "succeeded"}
        answer = self.poll(acks=[done], goodbye=True)
        self.assertEqual([ack["status"] for ack in answer["acks"]], [200])
        self.assertIsNone(self.listed())
        body = {"goodbye": True, "claim": self.claim_part()}
        self.assert_fault(body, "/goodbye", path="/v1/workers/w/poll")

    def test_a_command_that_works_says_goodbye(self):
        self.submit()
        name = f"work-{self.queue}"
        done = self.server.cli("work", "-q", self.queue, "--id", name, "--until-empty", "--", "true")
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(self.counts(), {"succeeded": 1})
        listed = [worker["id"] for worker in self.api.get("/v1/workers", limit=1000).json["items"]]
        self.assertNotIn(name, listed)

    def test_a_finished_job_is_no_longer_running(self):
        self.submit()
        (job,) = self.poll(claim=self.claim_part())["jobs"]
        self.poll(acks=[{"id": job["id"], "token": job["lease"]["token"], "outcome": "succeeded"}])
        self.assertEqual(self.listed()["running"], [])

    def test_log_lines_have_their_bounds(self):
        self.submit()
        (job,) = self.poll(claim=self.claim_part())["jobs"]
        token = {"id": job["id"], "token": job["lease"]["token"]}
        self.poll(logs=[{**token, "message": "x" * 9000}])
        (line,) = self.job(job["id"], include="logs")["logs"]
        self.assertEqual(len(line["message"]), 8192)
        self.poll(logs=[{**token, "message": str(n) * 8000} for n in range(10)] * 5)
        lines = self.job(job["id"], include="logs")["logs"]
        self.assertLessEqual(sum(len(line["message"]) for line in lines), 256 * 1024)
        self.assertGreater(len(lines), 25)
        self.assertEqual(lines[-1]["message"][0], "9", "the oldest go")

    def test_of_a_job_that_is_given_back_for_ever_the_last_logs_are_kept(self):
        job_id = self.submit()["id"]
        for n in range(40):
            (job,) = self.poll(claim=self.claim_part())["jobs"]
            token = {"id": job["id"], "token": job["lease"]["token"]}
            logs = [{"message": f"{n} " + "x" * 8000} for _ in range(32)]
            self.poll(acks=[{**token, "outcome": "released", "logs": logs}])
        found, query = [], {"limit": 100}
        while True:
            page = self.api.get(f"/v1/jobs/{job_id}/logs", **query).json
            self.assertLessEqual(len(page["items"]), 100)
            found += page["items"]
            if page["next_cursor"] is None:
                break
            query["cursor"] = page["next_cursor"]
        seqs = [line["seq"] for line in found]
        self.assertEqual(seqs, list(range(seqs[0], seqs[-1] + 1)))
        # The last 16 starts, of which the newest may have begun to push the oldest out.
        kept = sorted({int(line["message"].split()[0]) for line in found})
        self.assertIn(len(kept), (15, 16))
        self.assertEqual(kept[-1], 39)
        self.assertLessEqual(sum(len(line["message"]) for line in found), 16 * 256 * 1024)
        self.assertEqual(len(self.job(job_id, include="logs")["logs"]), len(found))


if __name__ == "__main__":
    harness.main()

"""Tests that reads do not slow work down: searches, large answers and clients that disconnect do
not noticeably delay other requests.
"""

import json
import os
import pathlib
import statistics
import threading
import time
import unittest

import harness

MIB = 1024 * 1024


def request(path):
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


class Many:
    """Clients that request one page repeatedly until they are stopped."""

    def __init__(self, server, path, count):
        self.server, self.path = server, path
        self.over = threading.Event()
        self.took = []
        self.threads = [threading.Thread(target=self.ask) for _ in range(count)]

    def ask(self):
        with self.server.connect(timeout=60) as connection:
            while not self.over.is_set():
                asked = time.monotonic()
                connection.send(request(self.path))
                if connection.read_reply() is None:
                    return
                self.took.append(time.monotonic() - asked)

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        for thread in self.threads:
            thread.join()


class Searching(harness.MillraceCase):
    def fill(self, count, filling, **members):
        for start in range(0, count, 100):
            jobs = [
                {"type": "t", "queue": self.queue, "payload": {"n": n, "f": filling}, **members}
                for n in range(start, start + 100)
            ]
            harness.eventually(
                lambda jobs=jobs: self.api.post("/v1/jobs/batch", {"jobs": jobs}).json["results"][-1]["status"] == 201,
                timeout_s=30,
                what="room for more",
            )

    @unittest.skipIf(harness.is_sanitized(), "resident memory fills such a budget at once")
    def test_a_claim_waits_for_no_search(self):
        """With payloads on disk: they come on threads of their own."""
        self.use(self.new_server("--memory", "128MiB").start())
        self.fill(6_000, "x" * 10_000, max_attempts=1, lease_ms=60_000)
        claims = []
        with Many(self.server, "/v1/jobs?q=payload.z:2", 24) as many:
            harness.eventually(lambda: len(many.took) >= 24, 120, what="searches")
            for number in range(20):
                asked = time.monotonic()
                jobs = self.claim(limit=5)
                claims.append(time.monotonic() - asked)
                self.assertEqual([job["payload"]["n"] for job in jobs], list(range(number * 5, number * 5 + 5)))
                for job in jobs:
                    self.finish(job)
        # Behind a search it would take as long as the search; benches measure the speed.
        self.assertLess(statistics.median(claims), statistics.median(many.took) / 2)
        self.assertEqual(self.counts().get("dead", 0), 0)

    def test_reads_of_clients_that_left_stop(self):
        self.use(self.new_server().start())
        for _ in range(40):
            jobs = [{"type": "t", "queue": self.queue}] * 1000
            self.assertEqual(self.api.post("/v1/jobs/batch", {"jobs": jobs}).status, 200)

        def descriptors():
            return len(os.listdir(f"/proc/{self.server.process.pid}/fd"))

        self.api.get("/v1/jobs", limit=1)
        before = descriptors()
        gone = [self.server.connect() for _ in range(400)]
        for connection in gone:
            connection.send(request("/v1/events?queues=none"))
        for connection in gone:
            connection.close()
        asked = time.monotonic()
        self.assertEqual(self.api.get("/v1/jobs", limit=1).status, 200)
        self.assertLess(time.monotonic() - asked, 20)
        harness.eventually(lambda: descriptors() <= before + 5, what="closed connections are closed")


class Large(harness.MillraceCase):
    """Tests of the bounds on one answer, and on all answers together."""

    def fill(self, count, size):
        job = {"type": "t", "queue": self.queue, "payload": "x" * size}
        for _ in range(count):
            harness.eventually(lambda: self.api.post("/v1/jobs", job).status == 201, what="room for one more")

    def test_a_claim_and_a_poll_are_bounded_in_bytes(self):
        self.use(self.new_server().start())
        self.fill(40, 1_000_000)
        self.assertEqual(len(self.claim(limit=100)), 16)  # 16 MiB
        polled = self.api.post("/v1/workers/w2/poll", {"claim": {"queues": [self.queue], "limit": 100}})
        self.assertEqual(len(polled.json["jobs"]), 16)
        self.assertEqual(len(self.claim(limit=100)), 8)

    @unittest.skipIf(harness.is_sanitized(), "resident memory fills such a budget at once")
    def test_a_small_budget_makes_small_claims_of_at_least_one_job(self):
        self.use(self.new_server("--memory", "128MiB").start())
        self.fill(4, 1_000_000)  # a claim may have 2 MiB
        self.assertEqual(len(self.claim(limit=100)), 2)
        self.assertEqual(len(self.claim(limit=1)), 1)
        self.assertEqual(len(self.claim(limit=100)), 1)

    def test_a_page_is_bounded_in_whatever_a_job_carries(self):
        self.use(self.new_server().start())
        checkpoint = "x" * 60_000
        self.submit_many(400)
        jobs = self.claim(limit=400)
        for start in range(0, 400, 100):
            items = [
                {
                    "id": job["id"],
                    "token": job["lease"]["token"],
                    "progress": {"checkpoint": checkpoint},
                }
                for job in jobs[start : start + 100]
            ]
            self.assertEqual(self.api.post("/v1/heartbeat", {"items": items}).status, 200)
        page = self.api.get("/v1/jobs", limit=1000, fresh="true", queue=self.queue)
        self.assertLess(len(page.body), 18 * MIB)
        self.assertIsNotNone(page.json["next_cursor"])
        self.assertEqual(len(self.list_jobs()), 400)

    @unittest.skipIf(harness.is_sanitized(), "resident memory says nothing under a sanitizer")
    def test_clients_that_do_not_read_are_closed_and_cost_little(self):
        server = self.new_server("--memory", "256MiB").start()
        self.use(server)
        self.fill(30, 900_000)
        self.assertEqual(self.api.get("/v1/jobs", limit=1, fresh="true").status, 200)
        silent = [server.connect(timeout=30) for _ in range(150)]
        for connection in silent:
            connection.send(request("/v1/jobs?limit=1000&include=payload"))
        time.sleep(3)
        # On a busy machine the answers under way may fill the budget for a moment.
        harness.eventually(
            lambda: self.api.post("/v1/jobs", {"type": "t", "queue": "another"}).status == 201,
            what="a submission beside them",
        )
        status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
        peak = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
        self.assertLess(int(peak.split()[1]) / 1024, 256)
        # Some got an answer, some were told to retry; ten seconds later neither uses memory.
        deadline = time.monotonic() + 60
        for connection in silent:
            connection.socket.settimeout(max(1, deadline - time.monotonic()))
            reply = connection.read_reply()
            self.assertTrue(reply is None or reply.status in (200, 503), reply)
            connection.close()
        harness.eventually(
            lambda: self.api.get("/v1/jobs", limit=10, include="payload").status == 200,
            what="room for answers",
        )


class Stopping(harness.MillraceCase):
    def test_a_wait_for_events_ends_at_a_stop(self):
        server = self.new_server("--drain", "60s").start()
        self.use(server)
        self.submit()
        cursor = self.api.get("/v1/events", limit=1000).json["next_cursor"]
        waiting = [server.connect(timeout=90) for _ in range(3)]
        for connection in waiting:
            connection.send(request(f"/v1/events?wait_ms=60000&cursor={cursor}"))
        time.sleep(0.3)
        stopped = time.monotonic()
        self.assertEqual(server.stop(), 0)
        self.assertLess(time.monotonic() - stopped, 40, "the drain has sixty seconds")
        for connection in waiting:
            reply = connection.read_reply()
            self.assertEqual((reply.status, json.loads(reply.body)["items"]), (200, []))
            connection.close()


if __name__ == "__main__":
    harness.main()

"""Tests of the memory budget: first payloads leave memory, then new jobs are refused, and nothing
is lost. The server never exceeds its budget.
"""

import os
import pathlib
import resource
import socket
import unittest

import harness

MIB = 1024 * 1024
os.environ["MALLOC_PERTURB_"] = "0"  # it would touch memory that a server reserves and does not use


class BudgetCase(harness.MillraceCase):
    def serve(self, budget_mib):
        server = self.new_server("--memory", f"{budget_mib}MiB").start()
        self.use(server)
        return server

    def peak_mib(self, server):
        """The peak of its resident memory, including the pages of its files."""
        status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) / 1024

    def submit_batch(self, numbers, filling):
        jobs = [{"type": "work", "queue": self.queue, "payload": {"n": n, "filling": filling}} for n in numbers]
        return self.api.post("/v1/jobs/batch", {"jobs": jobs})


@unittest.skipIf(harness.is_sanitized(), "resident memory says nothing under a sanitizer")
class Budget(BudgetCase):
    def takes(self, numbers, filling):
        """Submits a batch. Returns False if all of it was refused for lack of memory."""
        reply = self.submit_batch(numbers, filling)
        statuses = {result["status"] for result in reply.json["results"]}
        self.assertIn(statuses, ({201}, {503}))
        return statuses == {201}

    def take_all(self, limit=100):
        """Claims and completes until nothing is left; yields the jobs."""
        while jobs := self.claim(limit=limit):
            items = [{"id": job["id"], "token": job["lease"]["token"], "outcome": "succeeded"} for job in jobs]
            self.assertEqual(self.api.post("/v1/ack", {"items": items}).status, 200)
            yield from jobs

    def test_a_backlog_larger_than_the_budget(self):
        server = self.serve(192)
        count, filling = 30_000, "x" * 10_000  # 300 MB of payloads
        for start in range(0, count, 100):
            # A client faster than the disk may be told to wait.
            harness.eventually(lambda start=start: self.takes(range(start, start + 100), filling), what="room for more")
        self.assertLess(self.peak_mib(server), 192)

        first = self.claim_one(lease_ms=3_600_000)  # until all the others are done
        self.assertEqual(first["payload"], {"n": 0, "filling": filling})
        self.assertEqual(self.job(first["id"], include="payload")["payload"]["n"], 0)
        server.restart(kill=True)
        self.use(server)
        numbers = [job["payload"]["n"] for job in self.take_all()]
        self.assertEqual(numbers, list(range(1, count)))
        self.assertLess(self.peak_mib(server), 192)

    def fill(self, first):
        """Submits until a job of a batch is refused. Returns how many were stored."""
        stored = 0
        for _ in range(1_000):
            results = self.submit_batch(range(first + stored, first + stored + 1000), "").json["results"]
            refused = [result for result in results if result["status"] != 201]
            stored += len(results) - len(refused)
            if refused:
                self.assertEqual({result["error"]["code"] for result in refused}, {"overloaded"})
                return stored
        self.fail(f"{stored} jobs fit into 128 MiB")

    def test_more_jobs_than_fit(self):
        server = self.serve(128)
        stored = 0
        # There may be room again when the tables catch up, so repeats until they have.
        for _ in range(100):
            stored += self.fill(stored)
            one = self.api.post("/v1/jobs", {"type": "work", "queue": self.queue})
            if one.status != 201:
                break
            stored += 1
        self.assert_refused(one, 503, "overloaded")
        self.assertGreater(int(one.headers["retry-after"]), 0)
        self.assertLess(self.peak_mib(server), 128)

        done = sum(1 for _ in self.take_all(limit=1000))
        self.assertEqual(done, stored)
        # And all is well again.
        harness.eventually(
            lambda: self.api.post("/v1/jobs", {"type": "work", "queue": self.queue}).status == 201,
            timeout_s=60,
            what="new jobs are taken again",
        )


@unittest.skipIf(harness.is_sanitized(), "resident memory says nothing under a sanitizer")
class Streams(BudgetCase):
    def test_streams_that_read_nothing(self):
        """Their pages count, others get theirs meanwhile, and work goes on."""
        count, events = 1_500, 6_000
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 2 * count)), hard))
        server = self.serve(128)
        begin = self.api.get("/v1/events", cursor="end").json["next_cursor"]
        for start in range(0, events, 1_000):
            self.submit_batch(range(start, start + 1_000), "")
        request = f"GET /v1/events?cursor={begin} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n"
        silent = []
        for _ in range(count):
            link = socket.socket()
            self.addCleanup(link.close)
            link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            link.connect(("127.0.0.1", server.port))
            link.sendall(request.encode())
            silent.append(link)
        with server.connect(timeout=120) as reading:
            reading.send(request.encode())
            told = 0
            while told < events:
                self.assertTrue(reading._read_more(), "the stream has ended")
                *lines, reading._buffer = reading._buffer.split(b"\n")
                told += sum(line.startswith(b"data: ") and b"job.submitted" in line for line in lines)
        self.assertEqual(self.submit_batch(range(10), "").status, 200)
        self.assertLess(self.peak_mib(server), 128)


class LimitKeys(harness.MillraceCase):
    """Each key of a limit takes memory until its bucket is full again."""

    def submit_keys(self, limit, numbers):
        jobs = [{"type": "t", "queue": self.queue, "limits": [{"name": limit, "key": f"k{n}"}]} for n in numbers]
        return self.api.post("/v1/jobs/batch", {"jobs": jobs}).json["results"]

    def test_a_limit_refuses_new_keys_of_its_own_alone(self):
        self.use(self.new_server("--memory", "128MiB").start())
        daily = {"per_key": True, "rate": {"limit": 1, "per_ms": 86_400_000}}
        for limit in ("daily", "other"):
            self.assertEqual(self.api.put(f"/v1/limits/{limit}", daily).status, 201)
        allowed = 128 * MIB // 1024 // 2
        taken = 0
        while taken < allowed:
            results = self.submit_keys("daily", range(taken, min(taken + 1000, allowed)))
            self.assertEqual({result["status"] for result in results}, {201})
            taken += len(results)
            items = [
                {"id": job["id"], "token": job["lease"]["token"], "outcome": "succeeded"}
                for job in self.claim(limit=1000)
            ]  # so that the keys remain, not their jobs
            self.assertEqual(self.api.post("/v1/ack", {"items": items}).status, 200)
        (refused,) = self.submit_keys("daily", [allowed])
        self.assertEqual((refused["status"], refused["error"]["code"]), (503, "overloaded"))
        self.assertIn("a limit of the job remembers as many keys", refused["error"]["detail"])
        (known,) = self.submit_keys("daily", [0])  # waits for its rate
        (other,) = self.submit_keys("other", [0])
        self.assertEqual((known["status"], other["status"]), (201, 201))
        self.submit()
        self.assertEqual(len(self.claim(limit=10)), 2)


class Setting(harness.MillraceCase):
    def test_too_little(self):
        done = harness.run("serve", "--memory", "1MiB")
        self.assertEqual(done.returncode, 78, done)
        self.assertIn("memory must be at least 128MiB", done.stderr)


if __name__ == "__main__":
    harness.main()

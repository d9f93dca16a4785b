"""Short runs of the load generators: their figures add up, and they leave nothing behind."""

import json
import pathlib
import re
import signal
import socket
import subprocess
import tempfile
import time

import harness

PERCENTILES = ["p50", "p90", "p95", "p99", "p999", "max"]


class BenchCase(harness.ServerCase):
    def bench(self, *args, code=0):
        """The report of a bench against this test's server."""
        done = harness.run("bench", *args, "--url", self.server.url, "-o", "json", timeout=60)
        self.assertEqual(done.returncode, code, f"{args}: {done.stdout}{done.stderr}")
        report = json.loads(done.stdout)
        self.assertEqual((report["bench"], report["own_server"]), (args[0], False))
        self.assertEqual(report["url"], self.server.url)
        return report

    def assert_latencies(self, report, *names):
        self.assertEqual(list(report["latency_ms"]), list(names))
        for name in names:
            self.assertEqual(list(report["latency_ms"][name]), PERCENTILES)
            values = list(report["latency_ms"][name].values())
            self.assertEqual(values, sorted(values), name)
            self.assertGreater(values[-1], 0, name)

    def bench_queues(self):
        return [
            queue
            for queue in self.api.get("/v1/queues", limit=1000).json["items"]
            if queue["name"].startswith("bench-")
        ]

    def assert_nothing_is_left(self, name):
        self.assertEqual([q["name"] for q in self.bench_queues() if q["name"].startswith(f"bench-{name}-")], [])
        workers = self.api.get("/v1/workers", limit=1000).json["items"]
        self.assertEqual([w["id"] for w in workers if w["id"].startswith("bench-")], [])


class Benches(BenchCase):
    def test_roundtrip(self):
        report = self.bench(
            "roundtrip",
            "--jobs",
            2050,
            "--producers",
            2,
            "--workers",
            3,
            "--batch",
            100,
            "--payload",
            50,
            "--queues",
            2,
        )
        self.assertEqual((report["jobs"], report["producers"], report["workers"]), (2050, 2, 3))
        self.assertEqual((report["batch"], report["payload"], report["queues"]), (100, 50, 2))
        self.assertEqual((report["retention_ms"], report["submissions_refused"]), (0, 0))
        self.assertAlmostEqual(report["lifecycles_per_s"] * report["seconds"], 2050, delta=500)
        self.assert_latencies(report, "submit", "hand_out", "claim_to_ack", "end_to_end")
        self.assertGreater(report["server"]["resident_bytes"], 1 << 20)
        self.assertGreaterEqual(report["server"]["cpu_seconds"], 0)
        self.assert_nothing_is_left("roundtrip")

    def test_roundtrip_for_a_duration_over_a_backlog(self):
        report = self.bench("roundtrip", "--duration", "3s", "--workers", 2, "--producers", 2, "--backlog", 3000)
        self.assertGreaterEqual(report["seconds"], 0.3)
        self.assertGreater(report["jobs"], 0)
        self.assertEqual(report["backlog"], 3000)
        self.assert_nothing_is_left("roundtrip")
        # The backlog existed, and no worker touched it.
        harness.eventually(lambda: self.purged("roundtrip") == 3000, what="the purge's event")

    def test_roundtrip_with_workers_of_the_sdk(self):
        report = self.bench("roundtrip", "--sdk", "--jobs", 2050, "--workers", 2, "--batch", 20, "--queues", 2)
        self.assertEqual((report["sdk"], report["jobs"]), (True, 2050))
        self.assert_latencies(report, "submit", "hand_out", "claim_to_ack", "end_to_end")
        self.assert_nothing_is_left("roundtrip")

        # Behind a backlog, for the given time.
        report = self.bench("roundtrip", "--sdk", "--duration", "3s", "--backlog", 500)
        self.assertGreater(report["jobs"], 0)

    def purged(self, name):
        """How many jobs were purged from the queues of such benches."""
        jobs, cursor = 0, ""
        while True:
            page = self.api.get(
                "/v1/events", types="queue.purged", limit=1000, **({"cursor": cursor} if cursor else {})
            ).json
            jobs += sum(
                event["data"]["deleted"] for event in page["items"] if event["queue"].startswith(f"bench-{name}-")
            )
            if page["next_cursor"] == cursor:
                return jobs
            cursor = page["next_cursor"]

    def test_roundtrip_keeps_ended_jobs_if_told_so(self):
        before = {queue["name"] for queue in self.bench_queues()}
        self.bench("roundtrip", "--jobs", 70, "--batch", 7, "--retention", "1h")
        kept = [queue for queue in self.bench_queues() if queue["name"] not in before]
        self.assertEqual([queue["counts"]["succeeded"] for queue in kept], [70])
        self.assertEqual(self.api.delete(f"/v1/queues/{kept[0]['name']}?force=true").status, 204)

    def test_submit(self):
        report = self.bench("submit", "--jobs", 300, "--connections", 8)
        self.assertEqual((report["jobs"], report["requests"]), (300, 300))
        self.assertEqual((report["connections"], report["batch"]), (8, 1))
        self.assertAlmostEqual(report["requests_per_s"] * report["seconds"], 300, delta=100)
        self.assert_latencies(report, "submit")
        self.assert_nothing_is_left("submit")

        report = self.bench("submit", "--jobs", 2500, "--batch", 1000, "--connections", 2)
        self.assertEqual((report["jobs"], report["requests"]), (2500, 3))
        self.assert_nothing_is_left("submit")

    def test_latency(self):
        report = self.bench("latency", "--rate", 200, "--duration", "1s")
        self.assertEqual((report["jobs"], report["not_submitted"]), (200, 0))
        self.assertEqual(report["rate"], 200)
        # An open loop: the time is that of the plan, never less, but for what the first one was late.
        late = report["latency_ms"]["submit"]["max"] / 1000
        self.assertGreaterEqual(report["seconds"] + late, 0.8)
        self.assertGreaterEqual(200 / report["rate_reached"] + late, 0.8)
        self.assert_latencies(report, "submit", "hand_out")
        self.assert_nothing_is_left("latency")

    def test_latency_counts_from_intended_instants(self):
        """One connection can't keep up with the rate: the time that jobs waited for it counts."""
        report = self.bench("latency", "--rate", 20000, "--duration", "100ms", "--producers", 1, "--workers", 1)
        self.assertEqual(report["jobs"] + report["not_submitted"], 2000)
        submitted = 2000 - report["not_submitted"]
        behind_ms = (submitted / report["rate_reached"] - 0.1) * 1000
        self.assertGreater(behind_ms, 0)
        self.assertGreater(report["latency_ms"]["submit"]["max"], behind_ms / 2)

    def test_latency_and_delayed_with_workers_of_the_sdk(self):
        report = self.bench("latency", "--sdk", "--rate", 200, "--duration", "500ms")
        self.assertEqual((report["sdk"], report["jobs"]), (True, 100))
        self.assert_latencies(report, "submit", "hand_out")
        self.assert_nothing_is_left("latency")
        report = self.bench("delayed", "--sdk", "--jobs", 500, "--span", "500ms", "--lead", "500ms")
        self.assertEqual((report["sdk"], report["jobs"], report["early"]), (True, 500, 0))
        self.assert_nothing_is_left("delayed")

    def test_delayed(self):
        report = self.bench("delayed", "--jobs", 1500, "--span", "1s", "--lead", "6s")
        self.assertEqual((report["jobs"], report["early"]), (1500, 0))
        self.assertEqual((report["span_ms"], report["lead_ms"]), (1000, 6000))
        self.assertGreaterEqual(report["seconds"], 1)
        self.assertEqual(report["submitted_late"], 0)
        self.assert_latencies(report, "late", "submit")
        self.assert_nothing_is_left("delayed")

    def test_idle(self):
        report = self.bench("idle", "--connections", 150, "--duration", "1s", "--queues", 4)
        self.assertEqual((report["connections"], report["alive"], report["lost"]), (150, 150, 0))
        self.assertGreaterEqual(report["seconds"], 1)
        self.assert_latencies(report, "hand_out")
        server = report["server"]
        self.assertGreaterEqual(server["cpu_percent_of_a_core"], 0)
        self.assertGreater(server["resident_bytes"], 1 << 20)
        self.assertGreater(server["resident_bytes_before"], 1 << 20)
        self.assert_nothing_is_left("idle")

    def test_tables_are_for_people(self):
        for args, words in (
            (("roundtrip", "--jobs", 500), ("500 jobs", "lifecycles/s", "P99.9", "resident")),
            (("roundtrip", "--jobs", 500, "--sdk"), ("500 jobs", "end to end, a job")),
            (("submit", "--jobs", 500), ("requests/s", "P99.9")),
            (("latency", "--duration", "200ms"), ("20 jobs", "to the worker")),
            (("delayed", "--jobs", 9, "--span", "100ms"), ("9 jobs", "handed out 0 early")),
            (("idle", "--connections", 9, "--duration", "100ms"), ("9 alive", "0 lost")),
        ):
            done = harness.run("bench", *args, "--url", self.server.url)
            self.assertEqual((done.returncode, done.stderr), (0, ""), args)
            for word in words:
                self.assertIn(word, done.stdout)

    def test_what_is_refused(self):
        self.assertEqual(self.server.cli("bench").returncode, 2)
        self.assertEqual(self.server.cli("bench", "submit", "--batch", 1001).returncode, 2)
        self.assertEqual(self.server.cli("bench", "latency", "--rate", 0).returncode, 2)
        tls = harness.run("bench", "submit", "--url", "https://127.0.0.1:1")
        self.assertEqual(tls.returncode, 2)
        self.assertIn("plain HTTP only", tls.stderr)
        nobody = harness.run("bench", "submit", "--url", "http://127.0.0.1:1")
        self.assertEqual(nobody.returncode, 6)

    def test_a_signal_ends_it_and_what_waits_is_purged(self):
        bench = subprocess.Popen(
            [harness.BINARY, "bench", "submit", "--duration", "60s", "--url", self.server.url],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            env=harness.environment(),
            text=True,
        )
        harness.eventually(
            lambda: any(queue["counts"].get("ready") for queue in self.bench_queues()),
            what="jobs of the bench",
        )
        bench.send_signal(signal.SIGINT)
        _, errors = bench.communicate(timeout=20)
        self.assertEqual(bench.returncode, 130, errors)
        self.assertIn("interrupted", errors)
        self.assert_nothing_is_left("submit")


class OwnServer(harness.MillraceCase):
    """Without an address, a bench measures its own server and removes it."""

    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory(prefix="millrace-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_it_is_started_said_and_removed(self):
        done = harness.run(
            "bench",
            "roundtrip",
            "--jobs",
            1000,
            "--data",
            self.folder,
            "-o",
            "json",
            env=harness.environment(MILLRACE_DATA="/nowhere", MILLRACE_LISTEN="nonsense"),
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual((report["own_server"], report["jobs"]), (True, 1000))
        self.assertIn("its own server at " + report["url"], done.stderr)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_it_is_not_the_server_that_the_environment_names(self):
        live = self.new_server().start()
        done = live.cli("bench", "submit", "--jobs", 100, "--data", self.folder, "-o", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(json.loads(done.stdout)["own_server"])
        self.assertIn(f"the bench ignores MILLRACE_URL ({live.url})", done.stderr)
        self.assertEqual(self.new_client(live).get("/v1/queues").json["items"], [])

    def test_a_folder_that_is_not_there(self):
        done = harness.run("bench", "roundtrip", "--data", self.folder / "none")
        self.assertEqual(done.returncode, 1)
        self.assertIn("name another folder with --data", done.stderr)

    def test_it_goes_with_a_bench_that_is_killed(self):
        bench = subprocess.Popen(
            [harness.BINARY, "bench", "idle", "--duration", "60s", "--data", str(self.folder)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=harness.environment(),
        )
        log = harness.eventually(
            lambda: next((path for path in self.folder.glob("*/log") if path.read_text()), None),
            what="the server's log",
        )
        url = harness.eventually(
            lambda: re.search(r"listening url=http://([\d.]+):(\d+)\n", log.read_text()),
            what="a server that listens",
        )
        address = (url.group(1), int(url.group(2)))
        self.assertTrue(self.is_reached(address))
        time.sleep(0.2)  # polls are open
        bench.kill()
        bench.wait(10)
        harness.eventually(lambda: not self.is_reached(address), what="the end of its server")
        # It writes to its folder until the end; only then may the folder be removed.
        harness.eventually(lambda: not self.is_used(), what="the end of its process")

    def is_used(self):
        """A process has the folder among its arguments."""
        for entry in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                if str(self.folder).encode() in entry.read_bytes():
                    return True
            except OSError:
                pass  # it ended
        return False

    def is_reached(self, address):
        try:
            socket.create_connection(address, 5).close()
        except ConnectionError:
            return False
        return True


if __name__ == "__main__":
    harness.main()

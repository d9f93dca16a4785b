"""Tests of the operator's tools: health, metrics, meta, backup and verify."""

import re
import threading

import harness

SAMPLE = re.compile(
    r'^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\n"])*",?)*\})? '
    r"([+-]?(?:\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|Inf)|NaN)$"
)


def parse_metrics(text):
    """{'name{labels}': value}. Raises AssertionError if the text is not in Prometheus's
    format.
    """
    samples, kinds = {}, {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name not in kinds, f"two types for {name}"
            kinds[name] = kind
        elif line and not line.startswith("#"):
            match = SAMPLE.match(line)
            assert match, f"no sample: {line!r}"
            name = match[1]
            family = re.sub(r"_(bucket|sum|count)$", "", name)
            assert name in kinds or kinds.get(family) in (
                "histogram",
                "summary",
            ), f"{name} has no type"
            key = name + (match[2] or "")
            assert key not in samples, f"{key} twice"
            samples[key] = float(match[3])
    return samples


class Health(harness.ServerCase):
    serve_args = ("--log-level", "debug")

    def test_it_lives_and_is_ready(self):
        self.assertEqual(self.api.get("/livez").json["status"], "ok")
        ready = self.api.get("/readyz").json
        self.assertEqual((ready["status"], "checks" in ready), ("ready", False))
        for query in ("?verbose", "?verbose=true"):
            verbose = self.api.get("/readyz" + query).json
            self.assertGreaterEqual(len(verbose["checks"]), 1)
            self.assertTrue(all(check["ok"] for check in verbose["checks"]), verbose)

    def test_meta_says_what_this_is(self):
        meta = self.api.get("/v1/meta").json
        self.assertEqual((meta["store"], meta["shards"]), (harness.STORE, harness.SHARDS))
        self.assertLessEqual(meta["started_at"], meta["server_time"])
        self.assertTrue(meta["limits"] and all(isinstance(v, int) for v in meta["limits"].values()), meta)
        self.assertTrue(harness.run("version").stdout.strip().find(meta["version"]) >= 0)

    def test_request_ids_are_taken_made_and_logged(self):
        mine = self.api.get("/v1/meta", headers={"X-Request-Id": "my-request-7"})
        self.assertEqual(mine.headers["x-request-id"], "my-request-7")
        made = [self.api.get("/v1/meta").headers["x-request-id"] for _ in range(2)]
        self.assertNotEqual(made[0], made[1])
        for bad in ("x" * 129, "two words", "caf\u00e9".encode()):
            self.assertNotEqual(self.api.get("/v1/meta", headers={"X-Request-Id": bad}).headers["x-request-id"], bad)
        problem = self.api.get("/v1/nowhere", headers={"X-Request-Id": "lost"})
        self.assertEqual(problem.json["request_id"], "lost")
        harness.eventually(lambda: "my-request-7" in self.server.log, what="the request's line in the log")

    def test_nothing_secret_and_nothing_forged_in_the_log(self):
        self.api.post(
            "/v1/jobs",
            {"type": "t", "payload": {"card": "canary-4711"}},
            headers={"Authorization": "Bearer canary-token"},
        )
        self.api.get("/v1/jobs/x%0A2026-01-01%20forged%1b%5b31m")
        self.api.post("/v1/queues/logged/pause", {"reason": "line\nforged \u001b[31m"})
        harness.eventually(lambda: "logged" in self.server.log)
        self.assertNotIn("canary", self.server.log)
        self.assertNotIn("\x1b", self.server.log)
        self.assertFalse(any(line.startswith(("2026-01-01", "forged")) for line in self.server.log.splitlines()))


class Metrics(harness.ServerCase):
    def metrics(self):
        reply = self.api.get("/metrics")
        self.assertEqual(reply.status, 200)
        return parse_metrics(reply.body.decode())

    def test_they_parse_and_are_ours(self):
        self.submit()
        self.finish(self.claim_one())
        samples = harness.eventually(lambda: (m := self.metrics()) and any(self.queue in key for key in m) and m)
        strangers = [key for key in samples if not key.startswith("millrace_")]
        self.assertEqual(strangers, [])

    def test_they_count_what_happens(self):
        def total(prefix):
            return sum(
                value for key, value in self.metrics().items() if key.startswith(prefix) and f'"{self.queue}"' in key
            )

        def gauge(state):
            return self.metrics()[f'millrace_jobs{{state="{state}"}}']

        def counted(state):
            queues = self.api.get("/v1/queues", limit=1000).json["items"]
            return sum(queue["counts"][state] for queue in queues)

        before = counted("ready"), counted("succeeded")
        self.submit_many(7)
        for job in self.claim(limit=3):
            self.finish(job)
        # A scrape may repeat the figures of an earlier one for a while.
        harness.eventually(lambda: total("millrace_jobs_submitted_total") == 7, what="the counter")
        names = {key.split("{")[0] for key in self.metrics() if f'"{self.queue}"' in key}
        submitted = [name for name in names if re.search(r"(submitted|enqueued).*_total$", name)]
        self.assertEqual(len(submitted), 1, names)
        after = before[0] + 4, before[1] + 3
        harness.eventually(lambda: (gauge("ready"), gauge("succeeded")) == after, what="the gauges")

    def test_histograms_add_up(self):
        self.submit()
        self.finish(self.claim_one())
        samples = self.metrics()
        buckets = {}
        for key, value in samples.items():
            match = re.match(r'(.*)_bucket\{(.*?),?le="([^"]+)"\}$', key)
            if match:
                buckets.setdefault((match[1], match[2].strip(",")), []).append((float(match[3]), value))
        self.assertTrue(buckets)
        for (name, labels), steps in buckets.items():
            counts = [count for _, count in sorted(steps)]
            self.assertEqual(counts, sorted(counts), name)
            self.assertEqual(sorted(steps)[-1][0], float("inf"))
            key = f"{name}_count" + ("{" + labels + "}" if labels else "")
            self.assertEqual(samples[key], counts[-1], key)


class ManyNames(harness.ServerCase):
    def test_queues_from_outside_do_not_swell_them(self):
        jobs = [{"type": f"t{n}", "queue": f"swell-{n}"} for n in range(1000)]
        for _ in range(2):
            self.api.post("/v1/jobs/batch", {"jobs": jobs})
            jobs = [{"type": job["type"] + "x", "queue": job["queue"] + "x"} for job in jobs]
        self.assertLess(len(parse_metrics(self.api.get("/metrics").body.decode())), 20000)


@harness.sqlite_only  # a database is backed up with its own tools
class BackupAndVerify(harness.MillraceCase):
    def test_a_server_on_the_copy_has_everything(self):
        server = self.new_server().start()
        self.use(server)
        self.submit_many(500, payload={"keep": "this"})
        finished = self.claim(limit=100, lease_ms=600_000)
        for job in finished[:50]:
            self.finish(job, result="kept")
        self.api.post(f"/v1/queues/{self.queue}/pause", {"reason": "kept too"})
        before = self.counts()
        copy = server.home / "copy"
        reply = self.api.post("/v1/admin/backup", {"path": str(copy)})
        self.assertEqual((reply.status, reply.json["path"]), (200, str(copy)), reply)
        self.assertGreater(reply.json["bytes"], 0)
        self.submit_many(10)  # not in the copy
        newest = self.claim(limit=1, queues=["none"])

        self.assertEqual(harness.run("admin", "verify", "--data", copy).returncode, 0)
        restored = self.new_server(data=copy).start()
        self.use(restored)
        self.assertEqual(newest, [])
        self.assertEqual(self.counts(), before)
        self.assertEqual(len(self.list_jobs()), 500)
        self.assertEqual(self.job(finished[0]["id"], include="result")["result"], "kept")
        self.assertEqual(self.api.get(f"/v1/queues/{self.queue}").json["pause_reason"], "kept too")
        self.assertEqual(self.finish(finished[60]), "succeeded", "its lease is in the copy")
        self.api.post(f"/v1/queues/{self.queue}/resume")
        fresh = self.claim_one()
        self.assertGreater(fresh["lease"]["token"], max(job["lease"]["token"] for job in finished))

    def test_a_copy_made_under_load_is_a_prefix(self):
        """DU8: all that was answered before it was asked for, and no batch in part."""
        server = self.new_server().start()
        self.use(server)
        done, answered = threading.Event(), []

        def produce(number):
            api = server.client()
            while not done.is_set():
                jobs = [{"type": "t", "queue": f"q{number}"} for _ in range(20)]
                reply = api.post("/v1/jobs/batch", {"jobs": jobs, "atomic": True})
                answered.append([result["id"] for result in reply.json["results"]])
            api.close()

        producers = [threading.Thread(target=produce, args=(number,)) for number in range(3)]
        for producer in producers:
            producer.start()
        copies = []
        try:
            for number in range(3):
                harness.eventually(lambda: len(answered) > 50 * len(copies) + 20)
                copy, before = server.home / f"copy-{number}", list(answered)
                reply = self.api.post("/v1/admin/backup", {"path": str(copy)})
                self.assertEqual(reply.status, 200, reply)
                copies.append((copy, before))
        finally:
            done.set()
            for producer in producers:
                producer.join()
        sent = {job_id for batch in answered for job_id in batch}
        for copy, before in copies:
            with self.subTest(copy=copy.name):
                self.assertEqual(harness.run("admin", "verify", "--data", copy).returncode, 0)
                restored = self.new_server(data=copy).start()
                self.use(restored)
                there = {job["id"] for job in self.search()}
                self.assertEqual([batch for batch in before if not there.issuperset(batch)], [])
                self.assertEqual(there - sent, set())
                parts = [batch for batch in answered if not there.isdisjoint(batch)]
                self.assertEqual([batch for batch in parts if not there.issuperset(batch)], [])
                self.assertEqual(restored.stop(), 0)

    def test_a_backup_never_writes_over_anything(self):
        server = self.new_server().start()
        self.use(server)
        occupied = server.home / "occupied"
        occupied.mkdir()
        (occupied / "precious").write_text("mine")
        for path in (str(occupied), "relative", str(server.data), ""):
            with self.subTest(path=path):
                reply = self.api.post("/v1/admin/backup", {"path": path})
                self.assertIn(reply.status, (409, 422), reply)
        self.assertEqual([p.name for p in occupied.iterdir()], ["precious"])

    def test_an_unusable_path_is_the_callers_fault(self):
        server = self.new_server().start()
        self.use(server)
        (server.home / "file").write_text("")
        for path in (str(server.home / "file" / "below"), "/proc/none/such", "/" + "x" * 300):
            with self.subTest(path=path[:40]):
                reply = self.api.post("/v1/admin/backup", {"path": path})
                self.assert_refused(reply, 422, "validation_failed", "/path")

    def test_verify_accepts_a_good_store_and_finds_a_bad_one(self):
        server = self.new_server().start()
        self.use(server)
        self.submit_many(200)
        self.assertEqual(server.stop(), 0)
        good = harness.run("admin", "verify", "--data", server.data)
        self.assertEqual(good.returncode, 0, good)
        journal = server.data / "journal.db"
        content = bytearray(journal.read_bytes())
        at = content.rfind(b"work")
        self.assertGreater(at, 0)
        content[at] ^= 0x20
        journal.write_bytes(content)
        bad = harness.run("admin", "verify", "--data", server.data)
        self.assertEqual(bad.returncode, 1, bad)
        self.assertIn("journal", bad.stdout + bad.stderr)


if __name__ == "__main__":
    harness.main()

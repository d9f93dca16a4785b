"""Tests of millrace doctor: causes each fault that the doctor knows. The doctor must name it, say
what to do, and exit with 1. On either store.
"""

import json
import pathlib
import re
import shutil
import signal
import ssl
import subprocess
import tempfile
import time
import unittest

import harness
import nodes  # whose folder the harness has added
import postgres
import receiver
import test_push
import test_tls

PATIENCE = "1s"
PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/reference/findings.md"


def titles():
    """{code: a pattern of its title in the reference, in which words in capitals stand for others}"""
    rows = re.findall(r"^\| `(\w+)` \| [a-z ]+ \| (.+) \|$", PAGE.read_text(), re.M)
    parts = {code: re.split(r"\b[A-Z]{2,}\b", title) for code, title in rows}
    return {code: re.compile(".+".join(re.escape(part) for part in found)) for code, found in parts.items()}


TITLES = titles()
# Findings about the machine, not about a test.
OF_THE_MACHINE = {"disk_full", "slow_syncs"}


class DoctorCase(harness.MillraceCase):
    def doctor(self, *args, code=None, patience=PATIENCE, server=None, **options):
        """The findings, by code: the first of each."""
        done = (server or self.server).cli("doctor", "--patience", patience, "-o", "json", *args, timeout=60, **options)
        self.assertIn(done.returncode, (0, 1) if code is None else (code,), done.stderr)
        answer = json.loads(done.stdout)
        for finding in answer["findings"]:
            self.assertIn(finding["severity"], ("bad", "warn", "note"))
            self.assertFalse(finding["what"].endswith("."), finding)
            self.assertTrue(finding["why"] and finding["next"], finding)
            self.assertRegex(finding["what"], TITLES[finding["code"]])
        faults = [f for f in answer["findings"] if f["severity"] != "note"]
        self.assertEqual(done.returncode, 1 if faults else 0, answer)
        found = {}
        for finding in answer["findings"]:
            found.setdefault(finding["code"], finding)
        return found

    def find(self, kind, *args, severity=None, timeout_s=60, **options):
        """The finding of that kind, waited for."""
        found = harness.eventually(
            lambda: self.doctor(*args, **options).get(kind), timeout_s, 0.3, what=f"finding {kind}"
        )
        if severity:
            self.assertEqual(found["severity"], severity, found)
        return found

    def keep_worker(self, queues, types=None, worker="w"):
        """A worker that polls, and is listed for a while."""
        body = {"types": types} if types else {}
        return self.claim(queues=queues, worker=worker, **body)


class Shared(harness.ServerCase, DoctorCase):
    """Each test has its own queue, and looks for findings that name it."""

    def named(self, kind, name, why=""):
        """The finding with this name, once its reason has these words, as counts are late."""

        def look():
            done = self.server.cli("doctor", "--patience", PATIENCE, "-o", "json", timeout=60)
            found = json.loads(done.stdout)["findings"]
            found = [f for f in found if f["code"] == kind and name in f["what"]]
            return next((f for f in found if why in f["why"]), None)

        return harness.eventually(look, 60, 0.3, what=f"{kind} of {name}")

    def test_no_worker_for_a_queue_with_ready_jobs(self):
        self.submit()
        found = self.named("queue_without_workers", self.queue)
        self.assertEqual(found["what"], f"No worker takes jobs from {self.queue}")
        self.assertIn(f"millrace work -q {self.queue}", found["next"])
        self.assertEqual(found["severity"], "bad")

    def test_a_paused_queue(self):
        self.submit()
        self.api.post(f"/v1/queues/{self.queue}/pause", {"reason": "the bank is down"})
        found = self.named("queue_paused", self.queue)
        self.assertIn("the bank is down", found["why"])
        self.assertIn(f"millrace queue resume {self.queue}", found["next"])

    def test_a_full_queue(self):
        self.api.put(f"/v1/queues/{self.queue}", {"max_ready": 2})
        self.submit_many(2)
        self.assertEqual(self.named("queue_full", self.queue)["severity"], "bad")

    def test_a_queue_that_is_behind(self):
        self.submit()
        self.keep_worker([self.queue], worker=f"w-{self.queue}")  # takes it
        self.submit()
        self.named("queue_behind", self.queue)

    def test_a_type_that_nobody_takes(self):
        self.submit("charge")
        self.keep_worker([self.queue], ["mail", "sms"], worker=f"w-{self.queue}")
        found = self.named("type_untaken", self.queue)
        self.assertIn("of type charge", found["what"])
        self.assertIn(f"millrace work -q {self.queue} -t charge", found["next"])
        why = self.api.get(f"/v1/jobs/{self.list_jobs()[0]['id']}/why").json["summary"]
        self.assertTrue(why.startswith("Workers ask for the job's queue, but for other types"), why)

    def test_a_limit_whose_holders_make_no_progress(self):
        name = f"slots-{self.queue}"
        self.api.put(f"/v1/limits/{name}", {"concurrency": 1})
        for _ in range(2):
            self.submit(limits=[{"name": name}])
        held = self.claim_within(worker="hangs", lease_ms=300_000)
        found = self.named("gate_full", name)
        self.assertIn(f"millrace limit holders {name}", found["next"])
        found = self.find("limit_stuck", patience="100ms")
        self.assertIn(held["id"], found["why"])
        self.assertIn("hangs", found["why"])
        self.assertEqual(found["severity"], "bad")

    def test_a_paused_limit(self):
        name = f"limit-{self.queue}"
        self.api.put(f"/v1/limits/{name}", {"concurrency": 1})
        self.api.post(f"/v1/limits/{name}/pause", {"reason": "maintenance"})
        self.submit(limits=[{"name": name}])
        found = self.named("gate_paused", name)
        self.assertIn("maintenance", found["why"])

    def test_a_cost_above_the_burst(self):
        name = f"cost-{self.queue}"
        self.api.put(f"/v1/limits/{name}", {"rate": {"limit": 100, "per_ms": 1000}})
        self.submit(limits=[{"name": name, "cost": 50}])
        self.api.put(f"/v1/limits/{name}", {"rate": {"limit": 10, "per_ms": 1000}})
        found = self.named("limit_cost", name)
        self.assertIn("costs up to 50, and the burst is 10", found["why"])
        self.assertIn("--burst 50", found["next"])

    def test_jobs_that_fail_of_one_error_again_and_again(self):
        self.submit(self.queue, retry={"strategy": "fixed", "base_ms": 0}, max_attempts=99)
        for _ in range(6):
            self.fail_attempt(self.claim_within(), "card declined")
        found = self.named("poison_retries", self.queue, why="is at attempt 6")
        self.assertIn("card declined", found["why"])
        self.assertIn(f"millrace error get {self.error_group('card declined')['id']}", found["next"])

    def test_jobs_that_lose_their_workers(self):
        self.submit(self.queue, lease_ms=1000, retry={"strategy": "fixed", "base_ms": 0})
        for n in range(3):
            self.claim_within(worker=f"dies-{n}")
            time.sleep(1.1)
        self.named("poison_crashes", self.queue)

    def test_jobs_that_died_of_one_error(self):
        self.submit_many(3, type=self.queue, max_attempts=1)
        for job in self.claim(limit=3):
            self.fail_attempt(job, "no such user")
        found = self.named("poison_dead", f"3 jobs of type {self.queue}")
        self.assertIn("no such user", found["why"])
        self.assertIn(f"millrace error retry {self.error_group('no such user')['id']}", found["next"])
        self.named("type_dies", f"3 jobs of type {self.queue} died")

    def error_group(self, message):
        """The group of errors with this message, in any queue."""
        items = self.api.get("/v1/error-groups", limit=1000, type=self.queue).json["items"]
        (group,) = [item for item in items if item["message"] == message]
        return group

    def test_old_poison_behind_many_newer_jobs_and_what_was_muted(self):
        old, muted = f"old-{self.queue}", f"muted-{self.queue}"
        # Before, only the newest 500 dead jobs were looked at.
        for job_type, message in ((old, f"old {self.queue}"), (muted, f"muted {self.queue}")):
            self.submit_many(3, type=job_type, max_attempts=1)
            for job in self.claim(limit=3):
                self.fail_attempt(job, message)
        self.submit_many(600, type=f"new-{self.queue}", max_attempts=1)
        left = 600
        while left:
            for job in self.claim(limit=100):
                self.fail_attempt(job, "newer")
                left -= 1
        self.named("poison_dead", old)
        self.named("poison_dead", muted)
        items = self.api.get("/v1/error-groups", limit=1000, type=muted).json["items"]
        (group,) = [item for item in items if muted in item["types"]]
        reply = self.api.patch(f"/v1/error-groups/{group['id']}", {"status": "muted"})
        self.assertEqual(reply.status, 200, reply)
        done = self.server.cli("doctor", "--patience", PATIENCE, "-o", "json", timeout=60)
        dead = [f["what"] for f in json.loads(done.stdout)["findings"] if f["code"] == "poison_dead"]
        self.assertTrue(any(old in what for what in dead), dead)
        self.assertFalse(any(muted in what for what in dead), dead)

    def test_a_worker_that_is_silent_and_holds_jobs(self):
        self.submit(lease_ms=600_000)
        self.claim_one(worker=f"silent-{self.queue}")
        found = self.named("worker_silent", f"silent-{self.queue}")
        self.assertIn("It holds 1 job", found["why"])
        done = self.server.cli("doctor", "--patience", "1h", "-o", "json")
        self.assertNotIn(f"silent-{self.queue}", done.stdout)

    def test_a_type_whose_gate_is_full_or_paused(self):
        self.api.put(f"/v1/types/{self.queue}", {"concurrency": 1})
        for _ in range(2):
            self.submit(self.queue)
        self.claim_within()
        self.assertEqual(self.named("gate_full", self.queue)["what"], f"Type {self.queue} is full")
        self.api.put(f"/v1/types/{self.queue}", {"concurrency": 1, "paused": True})
        self.named("gate_paused", self.queue)

    def test_a_type_whose_attempts_fail(self):
        self.submit_many(30, type=self.queue, max_attempts=9)
        for number, job in enumerate(self.claim(limit=30)):
            if number % 2:
                self.fail_attempt(job)
            else:
                self.finish(job)
        self.named("type_fails", self.queue, why="50 %")

    def schedule(self, **members):
        body = {"every_ms": 3_600_000, "job": {"type": "t", "queue": self.queue}, **members}
        reply = self.api.put(f"/v1/schedules/{self.queue}", body)
        self.assertIn(reply.status, (200, 201), reply)

    def test_a_paused_schedule(self):
        self.schedule()
        self.api.post(f"/v1/schedules/{self.queue}/pause", {"reason": "holidays"})
        self.assertIn("holidays", self.named("schedule_paused", self.queue)["why"])

    def test_a_schedule_without_a_next_instant(self):
        self.schedule(end_at="2020-01-01T00:00:00Z")
        self.assertEqual(self.named("schedule_ended", self.queue)["severity"], "note")

    def test_a_schedule_whose_jobs_are_refused(self):
        self.api.put(f"/v1/queues/{self.queue}", {"max_ready": 1})
        self.submit()
        self.schedule(every_ms=1000, overlap="allow")
        found = self.named("schedule_refused", self.queue)
        self.assertIn(f"millrace schedule runs {self.queue}", found["next"])

    def test_a_schedule_that_skips(self):
        self.schedule(every_ms=1000, overlap="skip")
        self.named("schedule_skips", self.queue)

    def test_a_push_target_that_is_paused(self):
        target = {"url": "https://receiver.example/x", "queues": [self.queue]}
        reply = self.api.put(f"/v1/push-targets/{self.queue}", target)
        self.assertIn(reply.status, (200, 201), reply)
        self.api.post(f"/v1/push-targets/{self.queue}/pause", {"reason": "moving"})
        self.assertIn("moving", self.named("push_paused", self.queue)["why"])

    def test_what_a_person_reads(self):
        self.submit()
        self.named("queue_without_workers", self.queue)
        done = self.server.cli("doctor", "--patience", PATIENCE)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, rf"(?m)^bad   No worker takes jobs from {self.queue}$")
        self.assertIn(f"Next: start a worker: millrace work -q {self.queue} -- COMMAND", done.stdout)
        self.assertLessEqual(max(map(len, done.stdout.splitlines())), 120)


class Alone(DoctorCase):
    """Faults of a server as a whole."""

    def start(self, *args, **settings):
        self.use(self.new_server(*args, **settings).start())
        return self.server

    def test_nothing_is_wrong(self):
        self.start()
        self.submit()
        self.finish(self.claim_one())
        self.list_jobs()  # the tables are up to date
        found = self.doctor().keys()
        self.assertLessEqual(found, OF_THE_MACHINE)
        if not found:
            done = self.server.cli("doctor")
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertIn("nothing is wrong", done.stdout)

    def test_it_says_that_it_could_not_look(self):
        self.start()
        url = self.server.url
        self.server.stop()
        done = harness.run("doctor", "--url", url)
        self.assertEqual(done.returncode, 2)
        self.assertIn("start `millrace serve`", done.stderr)

    def test_many_of_a_kind_are_counted(self):
        self.start()
        for n in range(12):
            self.submit(queue=f"{self.queue}-{n}")
        time.sleep(1.1)
        done = self.server.cli("doctor", "--patience", PATIENCE, "-o", "json")
        answer = json.loads(done.stdout)
        kind = [f for f in answer["findings"] if f["code"] == "queue_without_workers"]
        self.assertEqual(len(kind), 10)
        self.assertEqual(answer["more"], [{"code": "queue_without_workers", "severity": "bad", "count": 2}])
        self.assertIn(
            "2 more like these (queue_without_workers)", self.server.cli("doctor", "--patience", PATIENCE).stdout
        )

    def with_token(self, *scopes):
        flags = [word for scope in scopes for word in ("--scope", scope)]
        made = json.loads(harness.run("token", "new", "--name", "t", *flags, "-o", "json").stdout)
        self.start(config=made["toml"], token=made["token"])

    def test_a_token_that_is_about_to_expire(self):
        self.with_token("admin", "read")
        soon = harness.rfc3339(time.time() + 86_400)
        reply = self.api.post("/v1/tokens", {"name": "ci", "scopes": ["read"], "expires_at": soon})
        self.assertEqual(reply.status, 201, reply)
        self.assertIn("Token ci expires in", self.doctor()["token_expires"]["what"])

    def test_what_a_token_does_not_show_is_named(self):
        self.with_token("read")
        done = self.server.cli("doctor", "-o", "json")
        self.assertEqual(done.returncode, 0, done.stdout)
        missing = " ".join(json.loads(done.stdout)["not_looked_at"])
        self.assertIn("cluster: the token lacks the scope admin", missing)
        self.assertIn("tokens: the token lacks the scope admin", missing)

    def test_all_is_paused(self):
        self.start()
        for name in ("a", "b"):
            self.submit(queue=name)
            self.api.post(f"/v1/queues/{name}/pause")
        self.assertIn("2 queues", self.find("all_paused", severity="bad")["why"])
        self.api.post("/v1/queues/a/resume")
        self.assertNotIn("all_paused", self.doctor())

    @harness.sqlite_only
    def test_the_disk_is_nearly_full(self):
        where = pathlib.Path(tempfile.mkdtemp(prefix="millrace-disk-"))
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=64m,mode=700", "millrace", str(where)],
            capture_output=True,
            check=False,
        )
        if mounted.returncode != 0:
            self.skipTest("a small disk is root's to make")
        self.addCleanup(shutil.rmtree, where, True)
        self.addCleanup(subprocess.run, ["umount", "-l", str(where)], check=False)
        self.start(data=where / "data")
        found = self.doctor()["disk_full"]
        self.assertEqual(found["severity"], "bad")
        self.assertIn(str(where), found["why"])

    @harness.sqlite_only
    @unittest.skipUnless(shutil.which("strace"), "needs strace")
    def test_slow_syncs(self):
        self.start()
        tracer = subprocess.Popen(
            [
                *("strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fdatasync,fsync"),
                *("-e", "inject=fdatasync,fsync:delay_enter=150ms"),
                *("-p", str(self.server.process.pid)),
            ],
            stderr=subprocess.DEVNULL,
        )
        try:
            if tracer.poll() is not None:
                self.skipTest("this process can't be traced")

            def slow():
                for _ in range(12):
                    self.submit()
                return self.doctor().get("slow_syncs")

            found = harness.eventually(slow, 60, what="slow syncs")
            self.assertIn("appends to the journal", found["why"])
        finally:
            tracer.send_signal(signal.SIGINT)
            tracer.wait()

    @unittest.skipUnless(shutil.which("faketime"), "needs faketime")
    @unittest.skipIf(harness.is_sanitized(), "faketime and a sanitizer's library don't go together")
    def test_the_clocks_differ(self):
        self.start()
        done = subprocess.run(
            ["faketime", "-f", "-90s", harness.BINARY, "doctor", "-o", "json"],
            env=harness.environment(MILLRACE_URL=self.server.url),
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        if "libfaketime" in done.stderr or harness.is_sanitized():
            self.skipTest("faketime does not work here")
        found = {f["code"]: f for f in json.loads(done.stdout)["findings"]}
        # At least this much: the answer may have taken a while.
        self.assertRegex(found["clock_apart"]["what"], r"1m(2\d|30)s ahead")
        self.assertEqual(found["clock_apart"]["severity"], "bad")

    def test_a_certificate_that_is_about_to_expire(self):
        files = test_tls.Certificates()
        self.addCleanup(files.close)
        cert, key = files.path("soon.pem"), files.path("soon.key")
        done = subprocess.run(
            [
                *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
                *("-nodes", "-subj", "/CN=soon", "-addext", "subjectAltName=IP:127.0.0.1"),
                *("-days", "3", "-keyout", key, "-out", cert),
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        context = ssl.create_default_context(cafile=cert)
        self.use(self.new_server("--tls-cert", cert, "--tls-key", key, tls=context).start())
        env = {"MILLRACE_CA_FILE": cert}
        found = self.doctor(**env)["certificate_expires"]
        self.assertRegex(found["what"], "expires in (2d|3d|7[12]h)")

    @harness.sqlite_only
    def test_memory_is_short(self):
        self.start("--memory", "128MiB")
        jobs = [{"type": "t", "queue": self.queue}] * 1000

        def look():
            # Jobs stay in memory; payloads leave it once the tables have them.
            for _ in range(20):
                reply = self.api.post("/v1/jobs/batch", {"jobs": jobs})
                if any(result["status"] != 201 for result in reply.json["results"]):
                    break
            return self.doctor().get("memory_short")

        harness.eventually(look, 120, what="finding memory_short")

    def test_a_receiver_of_pushes_that_fails(self):
        self.start(*test_push.PERMITTED)
        target = {"url": receiver.nobody(), "queues": [self.queue]}
        self.api.put("/v1/push-targets/hook", target)
        self.submit_many(30)
        found = self.find("push_failing", severity="bad", timeout_s=40)
        self.assertEqual(found["what"], "The receiver of push target hook fails")
        self.assertIn("millrace push-target get hook", found["next"])

    def test_a_schedule_whose_zone_is_gone(self):
        zones = pathlib.Path(tempfile.mkdtemp(prefix="millrace-zones-"))
        self.addCleanup(shutil.rmtree, zones, True)
        (zones / "Europe").mkdir()
        for name in ("Europe/Zurich", "tzdata.zi"):
            shutil.copy(f"/usr/share/zoneinfo/{name}", zones / name)
        self.start("--zoneinfo", zones)
        body = {"cron": "* * * * *", "timezone": "Europe/Zurich", "job": {"type": "t"}}
        reply = self.api.put("/v1/schedules/swiss", body)
        self.assertEqual(reply.status, 201, reply)
        (zones / "Europe/Zurich").unlink()
        self.server.restart()
        self.use(self.server)
        found = self.find("schedule_broken", severity="bad", timeout_s=90)
        self.assertIn("Schedule swiss is broken", found["what"])

    @unittest.skipUnless(shutil.which("faketime"), "needs faketime")
    def test_a_server_whose_clock_was_changed(self):
        library = next(pathlib.Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)
        if library is None or harness.is_sanitized():
            self.skipTest("faketime does not work here")
        home = pathlib.Path(tempfile.mkdtemp(prefix="millrace-clock-"))
        self.addCleanup(shutil.rmtree, home, True)
        clock = home / "clock"
        clock.write_text("+0\n")
        self.start(
            env={
                "LD_PRELOAD": library,
                "FAKETIME_TIMESTAMP_FILE": clock,
                "FAKETIME_DONT_FAKE_MONOTONIC": "1",
                "FAKETIME_CACHE_DURATION": "1",
            }
        )
        self.assertNotIn("clock_changed", self.doctor())
        clock.write_text("-200\n")  # forward, the shard follows

        def changed():
            self.submit()  # an idle shard looks at no clock
            return self.doctor().get("clock_changed")

        found = harness.eventually(changed, 60, 0.3, what="the clock's change")
        self.assertIn("behind its shards' time", found["what"])

    def test_files_of_a_store(self):
        where = pathlib.Path(tempfile.mkdtemp(prefix="millrace-files-"))
        self.addCleanup(shutil.rmtree, where, True)

        def look(code=1):
            done = harness.run("doctor", "--data", where, "--url", "http://127.0.0.1:9", "-o", "json")
            answer = json.loads(done.stdout)
            self.assertIn("the server", answer["not_looked_at"][0])
            found = {f["code"]: f["what"] for f in answer["findings"]}
            full = found.pop("disk_full", None)
            self.assertEqual(done.returncode, 1 if full and code == 0 else code, done.stderr)
            return found

        self.assertIn("store_missing", look(code=2))
        for name in ("journal.db", "jobs.db", "millrace.store"):
            (where / name).touch(mode=0o600)
        self.assertEqual(look(code=0), {})
        (where / "jobs.db").chmod(0o644)
        self.assertEqual(look()["file_open_to_others"], "Other users may open jobs.db")
        (where / "jobs.db").unlink()
        self.assertEqual(look()["file_missing"], "jobs.db is missing from the store")
        (where / "journal.db.suspect").touch()
        self.assertIn("file_suspect", look())
        (where / "restoring").mkdir()
        self.assertIn("restore_broken_off", look())
        with (where / "journal.db-wal").open("wb") as log:
            log.truncate(2 << 30)  # sparse
        self.assertIn("log_long", look())

    def test_a_running_server_and_its_files(self):
        self.start()
        if harness.STORE == "sqlite":
            found = self.doctor("--data", self.server.data).keys()
            self.assertLessEqual(found, OF_THE_MACHINE)


@unittest.skipUnless(harness.STORE == "postgres", "a story of PostgreSQL")
class OnPostgres(DoctorCase):
    def test_a_database_that_holds_a_transaction_open(self):
        self.use(self.new_server().start())
        session = postgres.Session(self.server.database)
        self.addCleanup(session.close)
        session.sql("BEGIN")
        session.sql("SELECT 1")

        def oldest():
            age = self.api.get("/v1/admin/diagnosis").json["database"]["oldest_transaction"]
            self.assertGreaterEqual(age["age_ms"], 0)
            return age["state"] == "idle in transaction" and age

        # A transaction of the server's that began before it may not have ended yet.
        age = harness.eventually(oldest, what="the session's transaction as the oldest")
        # A minute is long: the transaction's start is in the past for a server whose clock is ahead.
        found = self.wait_for_age()
        self.assertIn("idle in transaction", found["why"])
        self.assertIn(f"pg_terminate_backend({age['pid']})", found["next"])

    def wait_for_age(self):
        return self.find("transaction_open", timeout_s=90)

    def test_tables_that_are_behind(self):
        self.use(self.new_server().start())
        self.submit()
        session = postgres.Session(self.server.database)
        self.addCleanup(session.close)
        session.sql("BEGIN")
        session.sql("LOCK TABLE millrace.job_rows IN EXCLUSIVE MODE")
        self.submit()
        found = self.find("tables_behind", timeout_s=40)
        self.assertIn("tables are behind by", found["what"])
        session.sql("ROLLBACK")

    def test_a_prepared_transaction(self):
        cluster = postgres.Cluster(max_prepared_transactions="4")
        self.addCleanup(cluster.close)
        server = self.new_server()
        server.database = cluster.new_database()
        self.use(server.start())
        session = postgres.Session(server.database)
        self.addCleanup(session.close)
        for statement in ("BEGIN", "CREATE TABLE t(x int)", "PREPARE TRANSACTION 'left'"):
            session.sql(statement)
        self.find("transaction_prepared", severity="warn")

    def test_a_node_that_is_gone_and_a_database_that_is_away(self):
        cluster = postgres.Cluster()
        self.addCleanup(cluster.close)
        several = nodes.Nodes(2, cluster=cluster)
        self.addCleanup(several.close)
        several.start()
        self.use(several[0])
        several[1].kill()
        found = self.find("node_gone", timeout_s=40)
        self.assertEqual(found["severity"], "note")
        cluster.stop()
        found = self.find("database_silent", severity="bad", timeout_s=40)
        self.assertTrue(found["why"])
        cluster.start()

    def test_the_databases_connections_are_used_up(self):
        cluster = postgres.Cluster(max_connections="16", superuser_reserved_connections="1")
        self.addCleanup(cluster.close)
        server = self.new_server()
        server.database = cluster.new_database()
        self.use(server.start())
        for _ in range(9):
            session = postgres.Session(server.database)
            self.addCleanup(session.close)
            session.sql("SELECT 1")
        self.find("database_connections", severity="warn")

    def test_nodes_of_two_versions(self):
        several = nodes.Nodes(2)
        self.addCleanup(several.close)
        several.start()
        self.use(several[0])
        self.assertNotIn("versions_differ", self.doctor())
        session = postgres.Session(several.database)
        self.addCleanup(session.close)
        session.sql(
            "INSERT INTO millrace.nodes(node, url, name, version, newest_format, started_at, "
            "renewed_at, expires_at) SELECT '00000000000000aa', 'http://127.0.0.1:9', 'old', "
            "'0.0.1', newest_format, clock_timestamp(), clock_timestamp(), "
            "clock_timestamp() + interval '1 hour' FROM millrace.nodes LIMIT 1"
        )
        found = self.find("versions_differ", severity="warn")
        self.assertIn("0.0.1", found["why"])
        self.assertIn("could not be looked at closely", self.doctor()["node_not_seen"]["what"])


if __name__ == "__main__":
    harness.main()

"""Tests of the operators' command line: many jobs at once, workers, events, statistics, and the
output on a terminal of 80 columns.
"""

import json
import pathlib
import re
import subprocess

import harness
from terminal import Terminal

LONG_NAME = "a-queue-with-a-name-as-long-as-people-make-them.production"


class OperatingCase(harness.ServerCase):
    def cli(self, *args, code=0, **options):
        done = self.server.cli(*args, **options)
        self.assertEqual(done.returncode, code, f"{args}: {done.stdout}{done.stderr}")
        return done

    def on_terminal(self, *args, **options):
        """The output on a terminal of 80 columns."""
        shown, status = Terminal(*args, MILLRACE_URL=self.server.url, **options).finish()
        self.assertEqual(status, 0, shown)
        return shown

    def make_dead(self, count, message="550 no such user"):
        ids = self.submit_many(count, max_attempts=1)
        for job in self.claim(limit=count):
            self.fail_attempt(job, message)
        return ids


class ManyJobs(OperatingCase):
    def filter(self, rest=""):
        return ("--filter", f"queue:{self.queue} {rest}".strip())

    def test_retry_what_a_filter_finds(self):
        ids = self.make_dead(7)
        other = self.make_dead(1, "timeout")[0]
        done = self.cli("job", "retry", *self.filter("state:dead error~550"), "--yes")
        self.assertEqual(done.stdout, "7 jobs retried\n")
        self.assertEqual({self.state(job) for job in ids}, {"ready"})
        self.assertEqual(self.state(other), "dead")

    def test_a_dry_run_shows_and_does_nothing(self):
        ids = self.make_dead(7)
        done = self.cli("job", "delete", *self.filter("error~550"), "--dry-run")
        self.assertIn("7 jobs would be deleted.", done.stdout)
        self.assertEqual(sum(job in done.stdout for job in ids), 5)
        counted = self.cli("job", "delete", *self.filter(), "--dry-run", "-o", "json")
        self.assertEqual(json.loads(counted.stdout)["matched"], 7)
        self.assertEqual({self.state(job) for job in ids}, {"dead"})

    def test_a_person_sees_what_it_is_and_is_asked(self):
        ids = self.make_dead(2)
        for answer, state in (("n", "dead"), ("y", "ready")):
            shown, status = Terminal(
                "job", "retry", *self.filter(), typed=answer + "\n", MILLRACE_URL=self.server.url
            ).finish()
            self.assertIn("Retry 2 jobs? [y/N]", shown)
            self.assertEqual(sum(job in shown for job in ids), 2)
            self.assertEqual((status, self.state(ids[0])), (1 if answer == "n" else 0, state), shown)

    def test_without_a_state_only_what_it_can_be_done_to(self):
        dead = self.make_dead(2)
        self.submit_many(1)
        self.finish(self.claim_one())
        running = self.submit()["id"]
        self.claim_one()
        waiting = self.submit_many(3)
        self.assertEqual(self.cli("job", "retry", *self.filter(), "--yes").stdout, "2 jobs retried\n")
        self.assertEqual(
            self.cli("job", "cancel", *self.filter("-state:running"), "--yes").stdout,
            "5 jobs cancelled\n",
        )
        self.assertEqual({self.state(job) for job in dead + waiting}, {"cancelled"})
        self.assertEqual(self.cli("job", "delete", *self.filter(), "--yes").stdout, "6 jobs deleted\n")
        self.assertEqual(self.state(running), "running")
        answer = self.cli("job", "delete", *self.filter(), "--yes", "-o", "json").stdout
        self.assertEqual(json.loads(answer), {"matched": 0, "changed": 0, "failed": 0, "more": False})

    def test_what_is_refused(self):
        job = self.submit()["id"]
        for command in (
            ("job", "retry"),
            ("job", "retry", "--yes"),
            ("job", "delete", "--filter", "", "--yes"),
            ("job", "cancel", job, *self.filter(), "--yes"),
            ("job", "cancel", *self.filter(), "--reason", "none", "--yes"),
            ("job", "retry", *self.filter(), "--keep-attempts", "--yes"),
            ("job", "delete", job, "--dry-run"),
            ("job", "cancel", "--filter", "colour:red", "--yes"),
        ):
            self.cli(*command, code=2)
        self.assertEqual(self.state(job), "ready")


class Queues(OperatingCase):
    def test_a_name_never_used_is_an_error(self):
        for command in (
            ("queue", "pause", self.queue),
            ("queue", "set", self.queue, "--max-attempts", "3"),
            ("queue", "set", self.queue, "--replace", "--max-attempts", "3"),
        ):
            self.assertIn("--create creates one", self.cli(*command, code=3).stderr)
            self.cli("queue", "get", self.queue, code=3)
        self.cli("queue", "pause", self.queue, "--create", "--reason", "soon")
        self.assertEqual(self.api.get(f"/v1/queues/{self.queue}").json["pause_reason"], "soon")
        for extra in ((), ("--replace",)):
            name = f"{self.queue}{len(extra)}"
            self.cli("queue", "set", name, "--create", "--max-attempts", "3", *extra)
            self.assertEqual(self.api.get(f"/v1/queues/{name}").json["settings"]["max_attempts"], 3)

    def test_delete(self):
        self.submit()
        self.assertIn("--force", self.cli("queue", "delete", self.queue, "--yes", code=5).stderr)
        self.assertEqual(self.counts(), {"ready": 1})
        done = self.cli("queue", "delete", self.queue, "--force", "--yes")
        self.assertEqual(done.stdout, f"{self.queue}  deleted\n")
        self.cli("queue", "get", self.queue, code=3)
        self.cli("queue", "delete", self.queue, "--yes", code=3)

    @harness.sqlite_only
    def test_a_backup_to_a_path_that_cannot_be_is_no_matter_of_time(self):
        (self.server.home / "file").write_text("")
        for path in (self.server.home / "file" / "copy", "/proc/nowhere/copy"):
            done = self.cli("admin", "backup", path, code=2)
            self.assertIn(f"{path} on the server's machine ", done.stderr)


class OneJob(OperatingCase):
    def shown(self, job_id):
        text = self.cli("job", "get", job_id).stdout
        return dict(re.findall(r"^([a-z ]+): +(.*)$", text, re.MULTILINE)), text

    def test_all_that_one_asks_for(self):
        job = self.submit(priority=-7, tags=["vip", "eu"], max_attempts=2, retry={"strategy": "fixed", "base_ms": 0})
        self.fail_attempt(self.claim_within(), "first")
        self.fail_attempt(self.claim_within(), "second")
        fields, text = self.shown(job["id"])
        self.assertEqual(
            (fields["state"], fields["priority"], fields["attempt"], fields["generation"], fields["tags"]),
            ("dead", "-7", "2 of 2", "1", "vip, eu"),
        )
        self.assertRegex(text, r"(?m)^1 +1 +failed .* Oops: first$")
        self.assertRegex(text, r"(?m)^2 +2 +(dead|failed) .* Oops: second$")

    def test_after_a_retry_nothing_of_the_attempt_before_is_told_as_if_it_were_now(self):
        job_id = self.make_dead_job()
        self.cli("job", "retry", job_id)
        fields, text = self.shown(job_id)
        self.assertEqual((fields["state"], fields["attempt"]), ("ready", "0 of 1"))
        self.assertEqual(fields["generation"], "2 (retried manually once)")
        for told_as_now in ("started", "finished", "progress", "worker", "result"):
            self.assertNotIn(told_as_now, fields, text)
        if "last error" in fields:
            self.assertIn("(attempt 1, before the last manual retry)", fields["last error"])
        claimed = self.claim_one()
        fields, text = self.shown(job_id)
        self.assertEqual((fields["state"], fields["attempt"]), ("running", "1 of 1"))
        self.assertNotIn("finished", fields)
        self.assertNotIn("progress", fields)
        self.finish(claimed, result={"ok": True})
        fields, text = self.shown(job_id)
        self.assertEqual((fields["state"], fields["result"]), ("succeeded", '{"ok": true}'))

    def make_dead_job(self):
        job = self.submit(max_attempts=1)
        claimed = self.claim_one()
        item = {"id": job["id"], "token": claimed["lease"]["token"], "progress": {"percent": 40}}
        self.api.post("/v1/heartbeat", {"items": [item]})
        self.fail_attempt(claimed)
        return job["id"]


class Workers(OperatingCase):
    def test_list_quiet_and_stop(self):
        self.submit("resize")
        self.claim_one(worker="box7-1")
        table = self.cli("worker", "list").stdout
        self.assertRegex(table, rf"(?m)^box7-1 +active +{self.queue} +1 .*resize for ")
        quiet = self.cli("worker", "quiet", "box7-1").stdout
        self.assertEqual(quiet, "box7-1  will claim no more, 1 running\n")
        self.assertRegex(self.cli("worker", "list").stdout, r"(?m)^box7-1 +quiet ")
        self.cli("worker", "stop", "box7-1")
        workers = json.loads(self.cli("worker", "list", "-o", "json").stdout)["items"]
        self.assertEqual([w["state"] for w in workers if w["id"] == "box7-1"], ["stopping"])
        self.cli("worker", "stop", "nobody", code=3)
        self.cli("worker", "quiet", "box7-1", "nobody", code=7)

    def test_stop_ends_a_worker(self):
        worker = subprocess.Popen(
            [harness.BINARY, "work", "-q", self.queue, "--id", "to-stop", "--", "cat"],
            stderr=subprocess.DEVNULL,
            env=harness.environment(MILLRACE_URL=self.server.url),
        )
        self.addCleanup(worker.kill)
        harness.eventually(lambda: "to-stop" in self.cli("worker", "list").stdout)
        self.cli("worker", "stop", "to-stop")
        self.assertEqual(worker.wait(harness.PATIENCE_S), 0)


class Events(OperatingCase):
    def test_what_was(self):
        job = self.make_dead(1)[0]
        lines = self.cli("events", "-q", self.queue).stdout.splitlines()
        self.assertEqual(
            [line.split()[1] for line in lines if job in line],
            ["job.submitted", "job.started", "job.dead"],
        )
        dead = self.cli("events", "-q", self.queue, "-t", "job.dead", "-o", "json").stdout
        self.assertEqual([json.loads(line)["job_id"] for line in dead.splitlines()], [job])
        self.assertEqual(len(self.cli("events", "-n", "2").stdout.splitlines()), 2)
        self.cli("events", "-t", "job.exploded", code=2)

    def test_follow_begins_now_and_goes_on_through_a_restart(self):
        self.submit()  # before, so not shown
        log = pathlib.Path(self.server.home) / "followed"
        with log.open("wb") as out:
            follower = subprocess.Popen(
                [harness.BINARY, "events", "--follow", "-q", self.queue, "-o", "json"],
                stdout=out,
                stderr=subprocess.DEVNULL,
                env=harness.environment(MILLRACE_URL=self.server.url),
            )
        self.addCleanup(follower.wait)
        self.addCleanup(follower.kill)

        def seen():
            return [json.loads(line)["job_id"] for line in log.read_text().splitlines()]

        ids = []

        def submit_until_seen():
            ids.append(self.submit()["id"])
            return seen()

        harness.eventually(submit_until_seen, every_s=0.2, what="the first event that is followed")
        first = seen()[0]
        harness.eventually(lambda: seen() == ids[ids.index(first) :])
        self.server.restart()
        self.use(self.server)
        after = self.submit()["id"]
        harness.eventually(lambda: seen()[-1] == after)
        self.assertEqual(seen(), ids[ids.index(first) :] + [after])
        self.assertIsNone(follower.poll())


class Statistics(OperatingCase):
    def test_of_queues(self):
        self.make_dead(3)
        self.submit()
        self.finish(self.claim_one())

        def row():
            found = re.search(rf"(?m)^{self.queue} .*$", self.cli("stats", "--by", "queue").stdout)
            return found and found.group(0).split()[1:6]

        harness.eventually(lambda: row() == ["4", "4", "1", "3", "3"], what="the statistics")
        self.assertEqual(len(self.cli("stats").stdout.splitlines()), 2)
        rows = self.cli("stats", "--window", "10m", "--step", "1m").stdout.splitlines()
        self.assertRegex(rows[0], r"^UTC +IN +STARTED +DONE +FAILED +DEAD ")
        self.assertIn(len(rows), (11, 12))
        answer = json.loads(self.cli("stats", "--by", "type", "-o", "json").stdout)
        self.assertIn("work", [group["type"] for group in answer["groups"]])


class EightyColumns(OperatingCase):
    """Names are shortened, numbers never."""

    def setUp(self):
        super().setUp()
        self.queue = LONG_NAME
        if LONG_NAME not in self.cli("queue", "list").stdout:
            self.submit_many(12_345, delay_ms=3_600_000)
            self.submit_many(10_001)
            self.submit("a-type-of-no-short-name-either", max_attempts=1, priority=-10)
            # It runs until the last test is done.
            self.claim_one(worker="a-worker-with-a-long-name.example.org-4711", lease_ms=3_600_000)
            self.api.post(f"/v1/queues/{LONG_NAME}/pause", {"reason": "because"})

    def assert_fits(self, shown):
        for line in shown.splitlines():
            self.assertLessEqual(len(line), 80, line)

    def row(self, shown, begin="a-queue"):
        return next(line for line in shown.splitlines() if line.startswith(begin))

    def test_top(self):
        harness.eventually(lambda: self.list_jobs(state="running"))
        shown = self.on_terminal("top", "--once")
        self.assert_fits(shown)
        for title in ("READY", "SCHED", "OLDEST", "IN/S", "DONE/S", "FAIL/S"):
            self.assertIn(title, shown)
        row = self.row(shown).split()
        self.assertRegex(row[0], r"^a-queue-.*\.\.\.$")
        self.assertEqual(row[1:5], ["paused", "10.0k", "1", "12.3k"])
        self.assertTrue(re.search(r"^[0-9a-f-]{36} .* running ", shown, re.MULTILINE), shown)
        self.assertRegex(shown, r"(?m)^ready 10\.0k, oldest \S+  running 1  later 12\.3k  dead 0$")
        self.assertRegex(shown, r"(?m)^wait p50 \S+  p95 \S+  p99 \S+   run p50 ")
        # The words of the doctor, and the next step.
        self.assertRegex(
            shown, r"(?m)^bad   Every queue with ready jobs is paused\n      resume them: millrace queue resume NAME$"
        )
        self.assertRegex(
            shown, r"(?m)^warn  Queue a-queue\S+ is paused\n      resume it: millrace queue resume a-queue"
        )
        wide = self.on_terminal("top", "--once", columns=220)
        self.assertIn("paused: because", wide)
        self.assertIn(LONG_NAME, wide)
        self.assertIn("on a-worker-with-a-long-name.example.org-4711", wide)

    def test_live_top_shows_both_and_leaves_at_q(self):
        top = Terminal("top", "--every", "100ms", MILLRACE_URL=self.server.url)
        top.read_until(lambda shown: "paused" in shown and " running " in shown)
        top.type("q")
        _, status = top.finish()
        self.assertEqual(status, 0)

    def test_lists(self):
        for command in (
            ("queue", "list"),
            ("job", "list", "-s", "running,ready"),
            ("worker", "list"),
            ("stats", "--by", "queue"),
            ("stats", "--window", "10m", "--step", "1m"),
        ):
            self.assert_fits(self.on_terminal(*command))
        # Without a terminal, nothing is cut.
        self.assertIn(LONG_NAME, self.cli("queue", "list").stdout)
        self.assertIn("12345", self.cli("queue", "list").stdout)

    def test_no_help_is_wider(self):
        for command in ((), ("job", "retry"), ("events",), ("stats",), ("worker", "stop"), ("top",)):
            self.assert_fits("\n".join(self.cli(*command, "--help").stdout.splitlines()))


if __name__ == "__main__":
    harness.main()

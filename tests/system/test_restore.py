"""Tests of restoring backups and archives, to the end and to a time, as clients saw it then. An
impossible restore is refused with advice, and leaves nothing behind.
"""

import datetime
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import unittest

import harness
import postgres

ARCHIVE = ("--archive-every", "1s", "--retention-events", "0s")
# The largest difference between the server's clock and this process's, on one machine.
SLACK_S = 0.05


def rfc3339(instant):
    when = datetime.datetime.fromtimestamp(instant, datetime.timezone.utc)
    return when.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def restore(backup, to, archive=None, until=None, **options):
    arguments = ["--backup", backup, "--to", to]
    if archive:
        arguments += ["--archive", archive]
    if until:
        arguments += ["--until", until if isinstance(until, str) else rfc3339(until)]
    return harness.run("admin", "restore", *arguments, timeout=120, **options)


class Load:
    """Clients that record their acknowledged requests, with times."""

    def __init__(self, server, queue):
        self.server, self.queue = server, queue
        self.submitted = {}  # id: (asked, answered)
        self.finished = {}  # id: (asked, answered)
        self.tokens = []  # (answered, token)
        self.lock = threading.Lock()
        self.over = threading.Event()
        self.threads = [threading.Thread(target=self.produce) for _ in range(2)]
        self.threads += [threading.Thread(target=self.work, args=(n,)) for n in range(2)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        for thread in self.threads:
            thread.join()

    def claimed_since(self, instant):
        """How many of the jobs submitted by then."""
        with self.lock:
            return sum(
                at > instant + SLACK_S and job in self.submitted and self.submitted[job][1] < instant - SLACK_S
                for at, job, _ in self.tokens
            )

    def produce(self):
        api = self.server.client()
        while not self.over.is_set():
            asked = time.time()
            jobs = [{"type": "work", "queue": self.queue, "payload": n} for n in range(20)]
            reply = api.post("/v1/jobs/batch", {"jobs": jobs})
            with self.lock:
                for result in reply.json["results"]:
                    self.submitted[result["id"]] = (asked, time.time())
        api.close()

    def work(self, number):
        api = self.server.client()
        while not self.over.is_set():
            claim = {"queues": [self.queue], "limit": 10, "wait_ms": 100, "worker": {"id": f"w{number}"}}
            jobs = api.post("/v1/claim", claim).json["jobs"]
            if not jobs:
                continue
            asked = time.time()
            with self.lock:
                self.tokens += [(asked, job["id"], job["lease"]["token"]) for job in jobs]
            items = [{"id": job["id"], "token": job["lease"]["token"], "outcome": "succeeded"} for job in jobs]
            results = api.post("/v1/ack", {"items": items}).json["results"]
            with self.lock:
                for job, result in zip(jobs, results):
                    if result["status"] == 200:
                        self.finished[job["id"]] = (asked, time.time())
        api.close()


@harness.sqlite_only
class Drill(harness.MillraceCase):
    """A backup under load, more load, and a restore to a time in it."""

    def start_on(self, directory, *arguments):
        server = self.new_server(*arguments, data=directory).start()
        self.use(server)
        return server

    def states(self):
        return {job["id"]: job["state"] for job in self.search(queue=self.queue)}

    def test_the_state_is_what_was_acknowledged_by_then(self):
        server = self.new_server()
        archive, backup = server.home / "archive", server.home / "backup"
        server.args += ["--archive", str(archive), *ARCHIVE]
        server.start()
        self.use(server)
        with Load(server, self.queue) as load:
            time.sleep(0.7)
            reply = self.api.post("/v1/admin/backup", {"path": str(backup)})
            self.assertEqual(reply.status, 200, reply)
            time.sleep(1)
            first = time.time()
            time.sleep(2)
            second = time.time()
            harness.eventually(lambda: load.claimed_since(second) >= 20, what="more claims")
        # The journal has dropped records that only the archive still has.
        self.await_trim(server, backup)
        at_the_end = self.states()
        self.assertEqual(server.stop(), 0)

        for until in (first, second):
            with self.subTest(until=until - first):
                target = server.home / f"restored-{until}"
                done = restore(backup, target, archive, until)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.check(load, until, target)
        target = server.home / "restored-to-the-end"
        done = restore(backup, target, archive)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.start_on(target)
        self.assertEqual(self.states(), at_the_end)

    def await_trim(self, server, backup):
        """The running journal begins after the backup's end."""
        report = harness.run("admin", "verify", backup).stdout
        newest = int(report.split(" to ")[1].split(")")[0])
        program = (
            "import sqlite3, sys\n"
            "journal = sqlite3.connect('file:' + sys.argv[1] + '?mode=ro', uri=True)\n"
            "print(journal.execute('SELECT min(seq) FROM journal').fetchone()[0])\n"
        )

        def oldest():
            command = [sys.executable, "-c", program, str(server.data / "journal.db")]
            return int(subprocess.run(command, capture_output=True, check=True).stdout)

        harness.eventually(lambda: oldest() > newest, 90, 0.2, "a trim beyond the backup")

    def check(self, load, until, target):
        """Checks that `target` has the state that the clients knew at `until`."""
        server = self.start_on(target)
        states = self.states()
        early, late = until - SLACK_S, until + SLACK_S
        lost = [job for job, (_, at) in load.submitted.items() if at < early and job not in states]
        self.assertEqual(lost, [], "acknowledged before, and not there")
        invented = [job for job in states if load.submitted[job][0] > late]
        self.assertEqual(invented, [], "asked for later, and there")
        undone = [job for job, (_, at) in load.finished.items() if at < early and states[job] != "succeeded"]
        self.assertEqual(undone, [], "finished before, and not finished")
        done = [job for job, (at, _) in load.finished.items() if at > late and states.get(job) == "succeeded"]
        self.assertEqual(done, [], "finished later, and finished")
        self.assertGreater(len(states), 100)
        self.assertLess(len(states), len(load.submitted))
        # Leases of the abandoned history are lost, and none of their tokens is reused.
        later = [(job, token) for at, job, token in load.tokens if at > late and job in states][:20]
        self.assertTrue(later)
        for job, token in later:
            result = self.ack({"id": job, "lease": {"token": token}})
            self.assertEqual(result["status"], 409, result)
        highest = max(token for _, _, token in load.tokens)
        self.submit()
        self.assertGreater(self.claim_one()["lease"]["token"], highest)
        self.assertEqual(server.stop(), 0)
        self.assertEqual(harness.run("admin", "verify", target).returncode, 0)

    def test_a_server_that_is_killed_leaves_no_gap(self):
        server = self.new_server()
        archive, backup = server.home / "archive", server.home / "backup"
        server.args += ["--archive", str(archive), *ARCHIVE]
        server.start()
        self.use(server)
        self.assertEqual(self.api.post("/v1/admin/backup", {"path": str(backup)}).status, 200)
        for _ in range(4):
            with Load(server, self.queue):
                time.sleep(0.6)
            server.restart(kill=True)
            self.use(server)
        states = self.states()
        self.assertEqual(server.stop(), 0)
        self.assertGreaterEqual(len(list(archive.glob("*.rows"))), 4)
        target = server.home / "restored"
        done = restore(backup, target, archive)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.start_on(target)
        self.assertEqual(self.states(), states)

    def test_nothing_is_trimmed_that_the_archive_lacks(self):
        server = self.new_server()
        archive, backup = server.home / "archive", server.home / "backup"
        server.args += ["--archive", str(archive), *ARCHIVE]
        server.start()
        self.use(server)
        self.assertEqual(self.api.post("/v1/admin/backup", {"path": str(backup)}).status, 200)
        self.submit_many(50)
        harness.eventually(lambda: list(archive.glob("*.rows")), what="a file of the archive")
        elsewhere = server.home / "elsewhere"
        archive.rename(elsewhere)

        def metric(name):
            text = self.api.get("/metrics").body.decode()
            return int(re.search(rf"^millrace_{name} (\d+)", text, re.MULTILINE)[1])

        def failing():
            return metric("archive_failing") == 1

        for _ in range(10):
            self.submit_many(50)
        harness.eventually(failing, what="word that the archive can't be written")
        self.submit_many(50)
        newest = metric("journal_seq")
        harness.eventually(lambda: metric("synced_seq") >= newest, 60, what="tables that have it all")
        time.sleep(3)  # a trim would have come
        elsewhere.rename(archive)
        harness.eventually(lambda: not failing(), what="an archive that can be written again")
        self.assertIn("can't write its archive", server.log)
        states = self.states()
        self.assertEqual(server.stop(), 0)
        target = server.home / "restored"
        done = restore(backup, target, archive)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.start_on(target)
        self.assertEqual(self.states(), states)

    def test_an_archive_takes_one_history(self):
        server = self.new_server()
        archive, backup = server.home / "archive", server.home / "backup"
        server.args += ["--archive", str(archive), *ARCHIVE]
        server.start()
        self.use(server)
        self.submit_many(10)
        self.assertEqual(self.api.post("/v1/admin/backup", {"path": str(backup)}).status, 200)
        self.submit_many(10)
        self.assertEqual(server.stop(), 0)
        target = server.home / "restored"
        self.assertEqual(restore(backup, target).returncode, 0)
        stranger = self.new_server("--archive", str(archive), data=target).spawn()
        self.assertEqual(stranger.wait(), 1)
        self.assertIn("another history", stranger.log)
        other = self.new_server("--archive", str(archive)).spawn()
        self.assertEqual(other.wait(), 1)
        self.assertIn("name another directory", other.log)
        new = self.new_server("--archive", str(server.home / "new"), data=target).start()
        self.assertEqual(new.stop(), 0)


@harness.sqlite_only
class Refusals(harness.MillraceCase):
    """One store with a backup in the middle, and an archive of several files."""

    @classmethod
    def setUpClass(cls):
        cls.source = harness.Server()
        cls.addClassCleanup(cls.source.close)
        home = cls.source.home
        cls.archive, cls.backup, cls.early = home / "archive", home / "backup", home / "early"
        cls.source.args += ["--archive", str(cls.archive), *ARCHIVE]
        cls.source.start()
        api = cls.source.client()
        assert api.post("/v1/admin/backup", {"path": str(cls.early)}).status == 200
        for round_ in range(4):
            if round_ == 1:
                cls.before_backup = time.time()
                time.sleep(0.1)
                assert api.post("/v1/jobs", {"type": "t"}).status == 201
                assert api.post("/v1/admin/backup", {"path": str(cls.backup)}).status == 200
                time.sleep(0.1)
            jobs = [{"type": "t", "payload": "x" * 100} for _ in range(200)]
            assert api.post("/v1/jobs/batch", {"jobs": jobs}).status == 200
            files = len(list(cls.archive.glob("*.rows")))
            harness.eventually(lambda: len(list(cls.archive.glob("*.rows"))) > files, what="the next file")
        api.close()
        assert cls.source.stop() == 0

    def setUp(self):
        super().setUp()
        self.home = self.source.home / self.id().rsplit(".", 1)[1]
        self.home.mkdir()
        self.target = self.home / "target"
        self.copy = self.home / "archive"
        shutil.copytree(self.archive, self.copy)
        self.files = sorted(self.copy.glob("*.rows"))

    def refused(self, words, code=1, there=False, **options):
        done = restore(
            options.pop("backup", self.early),
            options.pop("to", self.target),
            options.pop("archive", self.copy),
            options.pop("until", None),
        )
        self.assertEqual(done.returncode, code, done)
        self.assertIn(words, done.stderr)
        self.assertEqual(done.stdout, "")
        if not there:
            self.assertFalse(self.target.exists(), "what was not restored is there")

    def test_what_is_whole_is_restored(self):
        done = restore(self.early, self.target, self.copy)
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("jobs, up to row", done.stdout)
        self.assertEqual(oct(self.target.stat().st_mode & 0o777), "0o700")
        self.assertEqual(
            sorted(path.name for path in self.target.iterdir()),
            ["jobs.db", "journal.db", "millrace.store"],
        )

    def test_a_backup_alone_is_restored(self):
        done = restore(self.backup, self.target)
        self.assertEqual(done.returncode, 0, done)
        # The tables may be behind the journal.
        said = r"tables   \d+ jobs, up to row \d+"
        verified = harness.run("admin", "verify", self.backup).stdout
        self.assertEqual(re.search(said, done.stdout)[0], re.search(said, verified)[0])
        self.use(self.new_server(data=self.target).start())
        self.assertEqual(len(self.search()), 201)

    def test_each_altered_byte_is_noticed(self):
        for file in (self.files[0], self.files[-1]):
            content = file.read_bytes()
            for place in (3, 40, 100, len(content) // 2, len(content) - 1):
                with self.subTest(file=file.name, place=place):
                    altered = bytearray(content)
                    altered[place] ^= 4
                    file.write_bytes(altered)
                    self.refused(str(file))
            file.write_bytes(content)

    def test_a_cut_file_is_noticed(self):
        file = self.files[-1]
        content = file.read_bytes()
        for size in (0, 50, 200, len(content) - 1):
            with self.subTest(size=size):
                file.write_bytes(content[:size])
                self.refused("is damaged")

    def test_verify_reads_an_archive(self):
        sound = harness.run("admin", "verify", self.copy)
        self.assertEqual(sound.returncode, 0, sound)
        self.assertRegex(sound.stdout, r"archive  \d+ rows \(1 to \d+\), up to 2")
        altered = bytearray(self.files[1].read_bytes())
        altered[-1] ^= 1
        self.files[1].write_bytes(altered)
        damaged = harness.run("admin", "verify", self.copy)
        self.assertEqual(damaged.returncode, 1, damaged)
        self.assertIn(str(self.files[1]), damaged.stderr)

    def test_a_missing_file_is_named(self):
        self.files[1].unlink()
        self.refused(f"none lies between {self.files[0].name} and {self.files[2].name}")

    def test_an_archive_that_begins_too_late(self):
        self.files[0].unlink()
        self.refused(f"it begins with {self.files[1].name}")
        # A newer backup solves it.
        self.assertEqual(restore(self.backup, self.target, self.copy).returncode, 0)

    def test_files_under_each_others_names(self):
        one, other = self.files[0], self.files[1]
        one.rename(self.copy / "aside")
        other.rename(one)
        (self.copy / "aside").rename(other)
        self.refused("give it its name back")

    def test_two_histories_in_one_archive(self):
        # The same store, restored, went on in another way.
        middle = self.home / "middle"
        self.assertEqual(restore(self.backup, middle).returncode, 0)
        second = self.home / "second"
        server = self.new_server("--archive", str(second), *ARCHIVE, data=middle).start()
        self.use(server)
        self.submit_many(10)
        self.assertEqual(server.stop(), 0)
        for file in second.glob("*.rows"):
            shutil.copy(file, self.copy)
        self.refused("hold the same rows")

    def test_another_stores_archive(self):
        server = self.new_server("--archive", str(self.home / "other"), *ARCHIVE).start()
        self.use(server)
        self.submit()
        self.assertEqual(server.stop(), 0)
        self.refused("of store", archive=self.home / "other")
        shutil.copy(next((self.home / "other").glob("*.rows")), self.copy)
        self.refused("store")

    def test_no_archive(self):
        self.refused("there is no archive", archive=self.home / "none")

    def test_a_time_before_the_backup(self):
        self.refused("take an older backup", backup=self.backup, until=self.before_backup)

    def test_a_time_that_the_archive_does_not_reach(self):
        self.refused("take an earlier --until", until=time.time() + 3600)

    def test_a_damaged_backup(self):
        backup = self.home / "backup"
        shutil.copytree(self.early, backup)
        content = bytearray((backup / "jobs.db").read_bytes())
        content[20000] ^= 1
        (backup / "jobs.db").write_bytes(content)
        self.refused("the backup", backup=backup)
        (backup / "millrace.store").unlink()
        self.refused("does not hold a store", backup=backup)

    def test_a_target_that_is_there_stays_as_it_is(self):
        self.target.mkdir()
        (self.target / "precious").write_text("mine")
        self.refused("is not empty", code=2, there=True)
        self.assertEqual([path.name for path in self.target.iterdir()], ["precious"])
        self.refused("is not a directory", code=2, there=True, to=self.target / "precious")

    def test_an_empty_target_keeps_its_owner(self):
        self.target.mkdir(mode=0o750)
        if os.geteuid() == 0:
            os.chown(self.target, 12345, 12345)
        self.assertEqual(restore(self.early, self.target, self.copy).returncode, 0)
        owner = self.target.stat().st_uid
        self.assertEqual({path.stat().st_uid for path in self.target.iterdir()}, {owner})

    def test_the_directory_of_a_running_server(self):
        server = self.new_server().start()
        self.refused("is in use by process", code=5, backup=server.data)

    def test_wrong_words(self):
        for arguments in (
            ["--until", "yesterday", "--archive", self.copy],
            ["--until", "2026-01-01T00:00:00Z"],
        ):
            done = harness.run("admin", "restore", "--backup", self.early, "--to", self.target, *arguments)
            self.assertEqual(done.returncode, 2, done)
            self.assertIn("--until", done.stderr)

    def test_an_interrupted_restore_is_no_store(self):
        """Killed at many moments: the target is empty but for its mark, which a server refuses."""
        refused = 0
        for step in range(12):
            target = self.home / f"target-{step}"
            command = [harness.BINARY, "admin", "restore", "--backup", str(self.early)]
            command += ["--archive", str(self.copy), "--to", str(target)]
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if step % 2:  # it has begun, however long that takes
                harness.eventually(
                    lambda: process.poll() is not None or list(target.glob("*")),  # noqa: B023
                    every_s=0.001,
                    what="a restore that has begun",
                )
                time.sleep(0.001 * step)
            else:
                time.sleep(0.01 * step)
            process.send_signal(signal.SIGKILL)
            if process.wait() == 0:
                continue
            names = {path.name for path in target.iterdir()} if target.exists() else set()
            if names and "millrace.store" not in names:
                server = self.new_server(data=target).spawn()
                self.assertEqual(server.wait(), 1)
                self.assertIn("interrupted restore", server.log)
                self.assertIn("interrupted restore", restore(self.early, target, self.copy).stderr)
                refused += 1
        self.assertGreater(refused, 0)

    @unittest.skipUnless(os.geteuid() == 0, "skipped: only root makes a small disk")
    def test_a_full_disk(self):
        disk = self.home / "disk"
        disk.mkdir()
        script = 'mount -t tmpfs -o size=300k tmpfs "$DISK" || exit 77\n"$@"; code=$?; ls -A "$DISK"; exit $code'
        command = ["unshare", "--mount", "sh", "-c", script, "sh", harness.BINARY]
        command += ["admin", "restore", "--backup", str(self.early), "--archive", str(self.copy)]
        command += ["--to", str(disk / "target")]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            env=harness.environment(DISK=str(disk)),
            timeout=60,
        )
        self.assertEqual(done.returncode, 1, done)
        self.assertIn(str(disk / "target"), done.stderr)
        self.assertRegex(done.stderr, "full|space")
        self.assertEqual(done.stdout, "", "what was not restored is there")


@harness.sqlite_only  # once is enough: it makes databases of its own
class OnPostgres(harness.MillraceCase):
    """The same command, with PostgreSQL's own tools behind it."""

    def setUp(self):
        super().setUp()
        self.databases = postgres.shared()

    def start_on(self, database):
        server = self.new_server()
        server.database = database
        server.start()
        self.use(server)
        return server

    def restore(self, backup, database):
        return harness.run("admin", "restore", "--backup", backup, "--postgres", database, timeout=120)

    def test_a_backup_under_load_has_all_that_was_acknowledged(self):
        server = self.start_on(self.databases.new_database())
        backup = server.home / "backup"
        with Load(server, self.queue) as load:
            time.sleep(1)
            asked = time.time()
            reply = self.api.post("/v1/admin/backup", {"path": str(backup)})
            answered = time.time()
            self.assertEqual(reply.status, 200, reply)
            harness.eventually(lambda: load.claimed_since(answered) >= 20, what="more claims")
        self.assertEqual(server.stop(), 0)
        self.assertEqual(
            sorted(path.name for path in backup.iterdir()),
            ["millrace.dump", "millrace.dump.sha256"],
        )
        subprocess.run(["sha256sum", "-c", "millrace.dump.sha256"], cwd=backup, check=True, capture_output=True)
        self.assertEqual(harness.run("admin", "verify", backup).returncode, 0)
        self.assertEqual(oct((backup / "millrace.dump").stat().st_mode & 0o777), "0o600")

        database = self.databases.new_database()
        done = self.restore(backup, database)
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("shards   8", done.stdout)
        self.start_on(database)
        states = {job["id"]: job["state"] for job in self.search(queue=self.queue)}
        lost = [job for job, (_, at) in load.submitted.items() if at < asked and job not in states]
        self.assertEqual(lost, [])
        self.assertEqual([job for job in states if load.submitted[job][0] > answered], [])
        undone = [job for job, (_, at) in load.finished.items() if at < asked and states[job] != "succeeded"]
        self.assertEqual(undone, [])
        later = [(job, token) for at, job, token in load.tokens if at > answered and job in states]
        self.assertTrue(later)
        for job, token in later[:20]:
            self.assertEqual(self.ack({"id": job, "lease": {"token": token}})["status"], 409)
        self.submit()
        highest = max(token for _, _, token in load.tokens)
        self.assertGreater(self.claim_within()["lease"]["token"], highest)

    def test_what_is_refused(self):
        database = self.databases.new_database()
        server = self.start_on(database)
        backup = server.home / "backup"
        self.assertEqual(self.api.post("/v1/admin/backup", {"path": str(backup)}).status, 200)
        taken = self.restore(backup, database)
        self.assertEqual(taken.returncode, 2, taken)
        self.assertIn("name a new database", taken.stderr)
        other = self.databases.new_database()
        missing = self.restore(server.home, other)
        self.assertEqual(missing.returncode, 1, missing)
        self.assertIn("millrace.dump is missing", missing.stderr)
        whole = (backup / "millrace.dump").read_bytes()
        (backup / "millrace.dump").write_bytes(whole[: len(whole) // 2])
        cut = self.restore(backup, other)
        self.assertEqual(cut.returncode, 1, cut)
        self.assertIn("has another SHA-256", cut.stderr)
        for place in (0, len(whole) // 2, len(whole) - 1):
            altered = bytearray(whole)
            altered[place] ^= 1
            (backup / "millrace.dump").write_bytes(altered)
            done = harness.run("admin", "verify", backup)
            self.assertEqual(done.returncode, 1, done)
            self.assertIn("has another SHA-256", done.stderr)
        # The restore left nothing behind.
        (backup / "millrace.dump").write_bytes(whole)
        self.assertEqual(self.restore(backup, other).returncode, 0)
        both = harness.run("admin", "restore", "--backup", backup, "--postgres", other, "--to", server.home / "x")
        self.assertEqual(both.returncode, 2, both)

    def test_without_postgresqls_tools(self):
        server = self.new_server(env={"PATH": "/nowhere"})
        server.database = self.databases.new_database()
        server.start()
        self.use(server)
        reply = self.api.post("/v1/admin/backup", {"path": str(server.home / "backup")})
        self.assertEqual(reply.status, 503, reply)
        self.assertIn("postgresql-client", reply.json["detail"])
        self.assertFalse((server.home / "backup").exists())


if __name__ == "__main__":
    harness.main()

"""Tests of stops and refused starts: the promises of a stop, and the stores on which a server
refuses to start.
"""

import os
import shutil
import signal
import subprocess
import threading
import time

import harness


class Stopping(harness.MillraceCase):
    def setUp(self):
        super().setUp()
        self.use(self.new_server().start())

    @harness.sqlite_only
    def test_a_terminal_that_closes_ends_it(self):
        """To a server that has one; to any other, SIGHUP says to read the configuration again."""
        self.server.signal(signal.SIGHUP)
        harness.eventually(lambda: "read its configuration again" in self.server.log)
        self.assertEqual(self.server.stop(), 0)
        screen, terminal = os.openpty()
        self.addCleanup(os.close, screen)
        address = f"{self.server.host}:{self.server.port}"
        process = subprocess.Popen(
            [harness.BINARY, "serve", "--listen", address, "--data", str(self.server.data)],
            stdin=terminal,
            stderr=subprocess.DEVNULL,
            env=harness.environment(),
        )
        os.close(terminal)
        self.server.process = process
        harness.eventually(self.server._ready, what="readiness")
        process.send_signal(signal.SIGHUP)
        self.assertEqual(self.server.wait(), 0)

    def test_sigterm_and_sigint_end_it_with_zero(self):
        self.use(self.new_server("--drain", "60s").start())
        for number in (signal.SIGTERM, signal.SIGINT):
            ids = self.submit_many(100)
            self.server.signal(number)
            started = time.monotonic()
            self.assertEqual(self.server.wait(), 0)
            self.assertLess(time.monotonic() - started, 40)
            self.use(self.server.start())
            self.assertEqual(self.job(ids[-1])["state"], "ready")

    @harness.sqlite_only
    def test_it_ends_when_its_files_are_removed(self):
        self.submit_many(10)
        shutil.rmtree(self.server.data)
        self.assertEqual(self.server.wait(), 1)
        self.assertIn("removed a file of the running store", self.server.log)

    def test_waiting_polls_are_answered(self):
        self.use(self.new_server("--drain", "60s").start())
        answers = []

        def waiting(call):
            answers.append(call(self.new_client()))

        job = self.submit(queue="elsewhere")
        calls = [
            lambda api: api.post(
                "/v1/claim",
                {"queues": [self.queue], "limit": 1, "wait_ms": 60000, "worker": {"id": "w"}},
            ),
            lambda api: api.post("/v1/workers/v/poll", {"claim": {"queues": [self.queue], "wait_ms": 60000}}),
            lambda api: api.get(f"/v1/jobs/{job['id']}", wait_ms=60000, until="final"),
        ]
        threads = [threading.Thread(target=waiting, args=(call,)) for call in calls[::-1]]
        for thread in threads:
            thread.start()
        harness.eventually(
            lambda: {"v", "w"} <= {w["id"] for w in self.api.get("/v1/workers").json["items"]},
            what="both claims",
        )
        time.sleep(0.4)  # by then the other waits, too
        started = time.monotonic()
        self.assertEqual(self.server.stop(), 0)
        for thread in threads:
            thread.join()
        self.assertLess(time.monotonic() - started, 40)
        self.assertEqual(len(answers), 3)
        for reply in answers:
            self.assertIn((reply.status, reply.code), ((200, None), (503, "draining")), reply)

    def await_drain(self):
        harness.eventually(lambda: "stopping drain=" in self.server.log, what="the drain")

    def test_new_work_is_refused_while_it_drains(self):
        """A request that is half sent keeps the drain going; what comes meanwhile on open
        connections is refused.
        """
        api = self.new_client()
        api.get("/livez")
        body = b'{"type":"late","queue":"late"}'
        with self.server.connect() as half:
            half.send(b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body) + body[:5])
            time.sleep(0.2)
            self.server.signal(signal.SIGTERM)
            self.await_drain()
            time.sleep(0.3)
            statuses = []
            try:
                reply = api.post("/v1/jobs", {"type": "t", "queue": self.queue})
                statuses.append((reply.status, reply.code))
                half.send(body[5:])
                reply = half.read_reply()
                statuses.append((reply and reply.status, reply and reply.code))
            except OSError:
                pass
            for status in statuses:
                self.assertIn(status, ((503, "draining"), (201, None), (None, None)))
            self.assertEqual(self.server.wait(), 0)
        self.assertTrue(statuses == [] or statuses[0] == (503, "draining"), statuses)
        self.use(self.server.start())
        self.assertEqual(self.api.get(f"/v1/queues/{self.queue}").status, 404)

    def test_it_is_not_ready_while_it_drains(self):
        with self.server.connect() as half, self.server.connect() as probe:
            half.send(b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
            probe.send(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.assertEqual(probe.read_reply().status, 200)
            self.server.signal(signal.SIGTERM)
            self.await_drain()
            time.sleep(0.3)
            try:
                probe.send(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n")
                reply = probe.read_reply()
            except OSError:
                reply = None
            self.assertTrue(reply is None or reply.status == 503, reply)
        self.assertEqual(self.server.wait(), 0)

    def test_a_clean_stop_loses_nothing_under_load(self):
        accepted, stop = [], threading.Event()

        def producing():
            api = self.server.client()
            while not stop.is_set():
                try:
                    reply = api.post("/v1/jobs", {"type": "t", "queue": self.queue})
                except (OSError, harness.client.http.client.HTTPException):
                    return
                if reply.status == 201:
                    accepted.append(reply.json["id"])

        threads = [threading.Thread(target=producing) for _ in range(4)]
        for thread in threads:
            thread.start()
        harness.eventually(lambda: len(accepted) > 20, what="accepted jobs")
        self.assertEqual(self.server.stop(), 0)
        stop.set()
        for thread in threads:
            thread.join()
        self.use(self.server.start())
        self.assertEqual(set(accepted) - {job["id"] for job in self.list_jobs()}, set())


class StoppingSlowly(harness.MillraceCase):
    def half_sent(self, server):
        half = server.connect()
        self.addCleanup(half.close)
        half.send(b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
        time.sleep(0.2)

    def test_within_the_drain_time(self):
        server = self.new_server("--drain", "1s").start()
        self.use(server)
        self.submit()
        self.half_sent(server)
        started = time.monotonic()
        self.assertEqual(server.stop(), 0)
        self.assertLess(time.monotonic() - started, 8)

    def test_a_second_signal_ends_it_at_once(self):
        server = self.new_server("--drain", "60s").start()
        self.use(server)
        job = self.submit()
        self.half_sent(server)
        server.signal(signal.SIGTERM)
        harness.eventually(lambda: "stopping drain=" in server.log, what="the drain")
        if server.process.poll() is None:
            started = time.monotonic()
            server.signal(signal.SIGTERM)
            server.wait()
            self.assertLess(time.monotonic() - started, 30)
        self.use(server.start())
        self.assertEqual(self.state(job["id"]), "ready")


class NotStarting(harness.MillraceCase):
    def refusal(self, server, *words):
        """Checks that the server soon refuses to start, with a message that has these words."""
        server.spawn()
        self.assertNotIn(server.wait(), (0, -signal.SIGABRT, -signal.SIGSEGV), server.log)
        for word in words:
            self.assertIn(str(word).lower(), server.log.lower())

    def status_or_service(self, server):
        """The exit status of a spawned server; None if it serves."""

        def known():
            return server.process.poll() is not None or server._ready()

        harness.eventually(known, harness.START_TIMEOUT_S, what="an end, or readiness")
        return server.process.poll()

    def stopped_server_with_jobs(self):
        server = self.new_server().start()
        self.use(server)
        self.submit_many(300)
        self.list_jobs()
        self.assertEqual(server.stop(), 0)
        return server

    @harness.sqlite_only
    def test_a_directory_in_use_names_who_uses_it(self):
        first = self.new_server().start()
        second = self.new_server(data=first.data)
        self.refusal(second, "use", first.process.pid)
        self.use(first)
        self.assertEqual(self.submit()["state"], "ready")

    def test_a_port_in_use_is_named(self):
        first = self.new_server().start()
        second = self.new_server()
        second.port = first.port
        self.refusal(second, "in use", first.port)
        self.assertFalse(second.data.exists(), "nothing is made that nobody can reach")
        self.use(first)
        self.assertEqual(self.submit()["state"], "ready")

    @harness.sqlite_only
    def test_a_directory_that_cannot_be_written(self):
        if os.geteuid() == 0:
            target = "/proc/millrace-data"  # root can write everywhere else
        else:
            locked = self.new_server().home / "locked"
            locked.mkdir(mode=0o500)
            target = locked / "data"
        self.refusal(self.new_server(data=target), str(target))

    @harness.sqlite_only
    def test_a_file_in_the_place_of_the_directory(self):
        server = self.new_server()
        server.data.write_text("not a directory")
        self.refusal(server, str(server.data))
        self.assertEqual(server.data.read_text(), "not a directory")

    def test_foreign_files_are_left_alone(self):
        server = self.new_server()
        server.data.mkdir()
        (server.data / "README").write_text("mine")
        server.start()
        self.assertEqual(server.stop(), 0)
        self.assertEqual((server.data / "README").read_text(), "mine")

    @harness.sqlite_only
    def test_a_journal_that_is_no_database(self):
        server = self.stopped_server_with_jobs()
        (server.data / "journal.db").write_bytes(b"this is no database at all" * 1000)
        self.refusal(server, "journal")
        self.assertTrue((server.data / "journal.db").read_bytes().startswith(b"this is no"))

    @harness.sqlite_only
    def test_a_journal_that_is_gone_while_the_jobs_are_there(self):
        server = self.stopped_server_with_jobs()
        for path in server.data.glob("journal.db*"):
            path.unlink()
        self.refusal(server, "journal")

    def test_jobs_that_are_gone_while_the_journal_goes_on(self):
        server = self.stopped_server_with_jobs()
        for path in server.data.glob("jobs.db*"):
            path.unlink()
        status = self.status_or_service(server.spawn())
        if status is not None:
            self.assertNotEqual(status, 0)
            self.assertIn("jobs.db", server.log)
        else:
            # The journal still had everything, so nothing may be missing.
            self.use(server)
            self.assertEqual(self.counts(), {"ready": 300})

    @harness.sqlite_only
    def test_a_damaged_journal_names_the_place(self):
        server = self.new_server().start()
        self.use(server)
        for _ in range(20):
            self.submit(payload="canary-canary")
        server.kill()
        seq = harness.read_database(server.data / "journal.db", "select max(seq) from journal")
        body = harness.read_database(server.data / "journal.db", f"select hex(body) from journal where seq = {seq}")
        broken = bytearray.fromhex(body)
        broken[len(broken) // 2] ^= 1
        harness.change_database(
            server.data / "journal.db",
            f"update journal set body = x'{broken.hex()}' where seq = {seq}",
        )
        self.refusal(server, "journal", seq)

    @harness.sqlite_only
    def test_an_altered_page_is_named(self):
        for name, size in (("journal.db", 8192), ("jobs.db", 16384)):
            server = self.stopped_server_with_jobs()
            content = bytearray((server.data / name).read_bytes())
            content[size + 100] ^= 1
            (server.data / name).write_bytes(content)
            named = f"{name}, page 2: its checksum does not match"
            self.refusal(server, named)
            verified = harness.run("admin", "verify", "--data", server.data)
            self.assertEqual(verified.returncode, 1, verified)
            self.assertIn(named, verified.stderr)

    @harness.sqlite_only
    def test_a_journal_with_a_gap(self):
        server = self.new_server().start()
        self.use(server)
        for _ in range(20):
            self.submit()
        server.kill()
        last = harness.read_database(server.data / "journal.db", "select max(seq) from journal")
        harness.change_database(server.data / "journal.db", f"delete from journal where seq = {last - 3}")
        status = self.status_or_service(server.spawn())
        if status is not None:
            self.assertNotEqual(status, 0)
            self.assertIn("journal", server.log)
        else:
            # The row was projected already, so nothing is missing.
            self.use(server)
            self.assertEqual(self.counts(), {"ready": 20})

    @harness.sqlite_only
    def test_the_journal_of_another_store(self):
        one, other = self.stopped_server_with_jobs(), self.stopped_server_with_jobs()
        for path in one.data.glob("journal.db*"):
            path.unlink()
        shutil.copy(other.data / "journal.db", one.data / "journal.db")
        self.refusal(one, "store")

    @harness.sqlite_only
    def test_a_truncated_journal(self):
        server = self.stopped_server_with_jobs()
        path = server.data / "journal.db"
        os.truncate(path, max(4096, path.stat().st_size // 2 // 4096 * 4096))
        status = self.status_or_service(server.spawn())
        if status is not None:
            self.assertNotEqual(status, 0)
            self.assertIn("journal", server.log)
        else:
            self.use(server)
            self.assertEqual(self.counts(), {"ready": 300}, "it started, so nothing may be missing")

    @harness.sqlite_only
    def test_the_data_directory_is_its_owners_alone(self):
        server = self.new_server().start()
        self.assertEqual(server.data.stat().st_mode & 0o077, 0)
        for path in server.data.iterdir():
            self.assertEqual(path.stat().st_mode & 0o077, 0, path)


if __name__ == "__main__":
    harness.main()

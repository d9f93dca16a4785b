"""Paths that a person names: a FIFO is refused at once, and a stream that the caller opened is read."""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import unittest

import harness
from test_tls import Certificates

REFUSAL = "it is not a regular file"


class Files(harness.MillraceCase):
    def setUp(self):
        super().setUp()
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="millrace-files-"))
        self.addCleanup(shutil.rmtree, self.home)
        self.fifo = self.home / "fifo"
        os.mkfifo(self.fifo)

    def replaced(self, path):
        """Puts a FIFO in the place of a file."""
        path.unlink(missing_ok=True)
        os.mkfifo(path)

    def refused(self, *args, code, **options):
        """The command ends by itself, with this exit code, and names the FIFO."""
        done = harness.run(*args, timeout=20, **options)
        self.assertEqual(done.returncode, code, done)
        self.assertIn(REFUSAL, done.stderr)
        return done.stderr


class Named(Files):
    """With a client or an offline command."""

    def test_the_configuration_and_certificates(self):
        self.assertIn(str(self.fifo), self.refused("serve", "--config", self.fifo, code=78))
        self.refused("config", "show", "--config", self.fifo, code=78)
        certificates = Certificates()
        self.addCleanup(certificates.close)
        cert, key = certificates.files()
        data = self.home / "data"
        for flags in (
            ("--tls-cert", self.fifo, "--tls-key", key),
            ("--tls-cert", cert, "--tls-key", self.fifo),
            ("--tls-cert", cert, "--tls-key", key, "--tls-ca", self.fifo),
        ):
            with self.subTest(flags=flags):
                self.refused("serve", "--listen", "127.0.0.1:0", "--data", data, *flags, code=1)

    def test_what_a_client_reads(self):
        for args in (
            ("queue", "list", "--token-file", self.fifo),
            ("queue", "list", "--ca-file", self.fifo),
            ("queue", "list", "--cert-file", self.fifo, "--key-file", self.fifo),
        ):
            with self.subTest(args=args):
                self.refused(*args, code=78)
        self.refused("schedule", "apply", self.fifo, code=2)
        self.refused(
            "push-target", "set", "t", "--target-url", "https://a.example", "--queue", "q",
            "--secret-file", self.fifo, code=2,
        )  # fmt: skip

    def test_a_stream_that_the_caller_opened_is_read(self):
        text = 'log_level = "debug"\n'
        shown = harness.run("config", "show", "--config", "/dev/stdin", stdin=text)
        self.assertIn("debug", shown.stdout, shown)
        # As the shell's <(...) does.
        reader, writer = os.pipe()
        with os.fdopen(writer, "w") as into:
            into.write(text)
        shown = subprocess.run(
            [harness.BINARY, "config", "show", "--config", f"/dev/fd/{reader}"],
            pass_fds=[reader],
            env=harness.environment(),
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
        os.close(reader)
        self.assertIn(f"file /dev/fd/{reader}:1", shown.stdout, shown)


@harness.sqlite_only
class OfAStore(Files):
    def setUp(self):
        super().setUp()
        self.archive = self.home / "archive"
        server = self.new_server("--archive", str(self.archive), "--archive-every", "1s").start()
        self.use(server)
        self.backup = self.home / "backup"
        reply = self.api.post("/v1/admin/backup", {"path": str(self.backup)})
        self.assertEqual(reply.status, 200, reply)
        self.submit()
        self.assertEqual(server.stop(), 0)

    def test_of_an_archive(self):
        for path in (next(self.archive.glob("*.rows")), self.archive / "archive"):
            with self.subTest(path=path.name):
                content = path.read_bytes()
                self.replaced(path)
                self.assertIn(str(path), self.refused("admin", "verify", self.archive, code=1))
                self.refused("admin", "restore", "--backup", self.backup,
                             "--archive", self.archive, "--to", self.home / "to", code=1)  # fmt: skip
                path.unlink()
                path.write_bytes(content)
        self.assertEqual(harness.run("admin", "verify", self.archive).returncode, 0)

    def test_of_a_backup(self):
        for name in ("millrace.store", "jobs.db", "journal.db"):
            with self.subTest(name=name):
                path = self.backup / name
                content = path.read_bytes()
                self.replaced(path)
                self.assertIn(name, self.refused("admin", "verify", self.backup, code=1))
                self.refused("admin", "restore", "--backup", self.backup,
                             "--to", self.home / "to", code=1)  # fmt: skip
                path.unlink()
                path.write_bytes(content)
        # The lock of nobody.
        os.mkfifo(self.backup / "millrace.lock")
        self.assertEqual(harness.run("admin", "verify", self.backup, timeout=20).returncode, 0)


class WhileTheServerRuns(Files):
    def test_a_certificate_that_becomes_a_fifo_is_refused_and_the_server_stops(self):
        certificates = Certificates()
        self.addCleanup(certificates.close)
        server = self.new_server(*certificates.flags(), tls=certificates.client()).start()
        self.use(server)
        self.replaced(pathlib.Path(certificates.files()[0]))
        harness.eventually(lambda: REFUSAL in server.log, what="the refusal")
        self.submit()  # with the certificate that it has
        self.assertEqual(server.stop(), 0)

    def test_a_configuration_from_a_stream_is_read_once(self):
        server = self.new_server("--config", "/dev/fd/9")
        server.within = ("bash", "-c", 'exec 9< <(echo "drain = \'7s\'"); exec "$0" "$@"')
        self.use(server.start())
        settings = {one["key"]: one for one in self.api.get("/v1/admin/config").json["settings"]}
        self.assertEqual(settings["drain"]["value"], "7s")
        server.signal(signal.SIGHUP)
        harness.eventually(lambda: "can be read once" in server.log, what="the refusal")
        self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    unittest.main()

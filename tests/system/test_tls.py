"""Tests of TLS: the server's certificate, accepted clients, and TLS between nodes."""

import json
import os
import pathlib
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import unittest

import client
import harness

sys.path.append(str(pathlib.Path(__file__).parents[1]))
import nodes  # noqa: E402 (its folder is on the path only now)


class Certificates:
    """Authorities and their certificates, made by `millrace admin ca`, in a directory that `close`
    removes.
    """

    def __init__(self):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="millrace-tls-"))
        self.make("new", "ca")
        self.issue("server", "localhost", "127.0.0.1")

    def make(self, *args):
        done = harness.run("admin", "ca", *args, cwd=self.home, env=harness.environment())
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        return done.stdout

    def issue(self, out, *names, ca="ca"):
        return self.make("issue", *names, "--ca", ca, "--out", out)

    def path(self, name):
        return str(self.home / name)

    def files(self, out="server", name="localhost"):
        return self.path(f"{out}/{name}.pem"), self.path(f"{out}/{name}.key")

    def flags(self, *more, ca=True):
        cert, key = self.files()
        return [
            "--tls-cert",
            cert,
            "--tls-key",
            key,
            *(["--tls-ca", self.path("ca/ca.pem")] if ca else []),
            *more,
        ]

    def client(self, shown=None, ca="ca"):
        """A client's SSL context, with its trusted CA and the (certificate, key) that it shows."""
        context = ssl.create_default_context(cafile=self.path(f"{ca}/ca.pem"))
        if shown:
            context.load_cert_chain(*shown)
        return context

    def close(self):
        shutil.rmtree(self.home)


class TlsCase(harness.MillraceCase):
    def certified(self, name, ca="ca"):
        self.certificates.issue("clients", name, ca=ca)
        shown = self.certificates.files("clients", name)
        return self.certificates.client(shown)

    def setUp(self):
        super().setUp()
        self.certificates = Certificates()
        self.addCleanup(self.certificates.close)

    def secure_server(self, *args, ca=True, **settings):
        return self.new_server(*self.certificates.flags(*args, ca=ca), tls=self.certificates.client(), **settings)

    def reply_as(self, server, context, path="/v1/jobs"):
        api = client.Client(server.host, server.port, tls=context)
        api.contract = client.AnyContract
        try:
            return api.get(path)
        finally:
            api.close()


class Server(TlsCase):
    def test_a_job_and_a_long_answer(self):
        self.use(self.secure_server().start())
        sent = self.submit_many(1000, payload="x" * 5000)
        page = self.api.get("/v1/jobs", limit=1000, include="payload", fresh="true").json
        self.assertEqual({job["id"] for job in page["items"]}, set(sent))
        self.assertIn("listening url=https://", self.server.log)

    def test_a_claim_waits_and_ends_with_its_client(self):
        server = self.secure_server().start()
        self.use(server)
        waiting = server.connect(timeout=60)
        wanted = {"queues": [self.queue], "worker": {"id": "w1"}, "wait_ms": 60000}
        body = json.dumps(wanted).encode()
        head = b"POST /v1/claim HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        waiting.send(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        job = self.submit()
        self.assertEqual(waiting.read_reply().json["jobs"][0]["id"], job["id"])
        gone = server.connect(timeout=60)
        gone.send(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        waits = [b"millrace_claims_waiting 1", b"millrace_claims_waiting 0"]
        for line in waits:
            harness.eventually(lambda: line in self.api.get("/metrics").body, what=line)
            gone.close()
        left = self.submit()
        self.assertEqual(self.claim_within()["id"], left["id"])

    def test_plain_http_is_told(self):
        server = self.secure_server().start()
        with socket.create_connection((server.host, server.port), timeout=60) as plain:
            plain.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
            answer = plain.recv(4096)
        self.assertTrue(answer.startswith(b"HTTP/1.1 400 "), answer)
        self.assertIn(b"https://", answer)

    def test_only_todays_versions_and_ciphers(self):
        server = self.secure_server().start()
        authority = self.certificates.path("ca/ca.pem")

        def speaks(*flags):
            done = subprocess.run(
                ["openssl", "s_client", "-connect", f"{server.host}:{server.port}", "-CAfile"]
                + [authority, "-verify_return_error", *flags],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=60,
            )
            return done.returncode == 0 and "Verify return code: 0 (ok)" in done.stdout

        good = [
            ["-tls1_3"],
            ["-tls1_2"],
            ["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-GCM-SHA256"],
            ["-tls1_2", "-cipher", "ECDHE-ECDSA-CHACHA20-POLY1305"],
            ["-alpn", "http/1.1"],
            ["-alpn", "h2,http/1.1"],
        ]
        bad = [
            ["-tls1_1", "-cipher", "ALL:@SECLEVEL=0"],
            ["-tls1", "-cipher", "ALL:@SECLEVEL=0"],
            ["-tls1_2", "-cipher", "AES128-SHA"],
            ["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-SHA"],
            ["-tls1_2", "-cipher", "NULL:aNULL:@SECLEVEL=0"],
            ["-alpn", "h2"],
        ]
        for flags in good:
            self.assertTrue(speaks(*flags), flags)
        for flags in bad:
            self.assertFalse(speaks(*flags), flags)

    def test_no_renegotiation(self):
        server = self.secure_server().start()
        done = subprocess.run(
            ["openssl", "s_client", "-connect", f"{server.host}:{server.port}", "-tls1_2"],
            input="R\n",
            capture_output=True,
            text=True,
            timeout=60,
        )
        self.assertIn("no renegotiation", done.stdout + done.stderr)

    def test_renewed_files_are_read(self):
        server = self.secure_server().start()
        self.certificates.make("new", "other")
        trusting = self.certificates.client(ca="other")
        with self.assertRaises(ssl.SSLError):
            self.reply_as(server, trusting)
        kept = server.client()
        self.addCleanup(kept.close)
        self.assertEqual(kept.get("/livez").status, 200)
        self.certificates.issue("server", "localhost", "127.0.0.1", ca="other")

        def renewed():
            try:
                return self.reply_as(server, trusting).status == 200
            except ssl.SSLError:
                return False

        harness.eventually(renewed, what="the new certificate")
        self.assertEqual(kept.get("/livez").status, 200, "a connection keeps what it began with")
        pathlib.Path(self.certificates.files()[0]).write_text("no certificate\n")
        harness.eventually(lambda: "keeps its former certificates" in server.log)
        self.assertEqual(self.reply_as(server, trusting).status, 200)

    def test_a_handshake_that_never_ends_costs_its_time_alone(self):
        server = self.secure_server("--limits-header-timeout", "1s", "--limits-idle-timeout", "1s")
        self.use(server.start())
        with socket.create_connection((server.host, server.port), timeout=60) as silent:
            silent.sendall(b"\x16\x03\x01\x02")  # a record begins
            self.assertEqual(silent.recv(100), b"")
        self.submit()

    def test_a_stop_answers_what_is_under_way(self):
        server = self.secure_server().start()
        self.use(server)
        self.submit()
        self.assertEqual(server.stop(), 0)

    def test_wrong_files_are_named_at_the_start(self):
        cert, key = self.certificates.files()
        self.certificates.issue("elsewhere", "elsewhere.example")
        other = self.certificates.path("elsewhere/elsewhere.example.key")
        for flags, said in (
            (["--tls-cert", cert], "tls.cert and tls.key belong together"),
            (["--tls-ca", cert], "tls.ca needs tls.cert and tls.key"),
            (["--tls-cert", cert, "--tls-key", other], "is not that of the certificate"),
            (["--tls-cert", cert + "x", "--tls-key", key], "No such file"),
        ):
            serve = ["serve", "--data", self.certificates.path("d"), "--listen", "127.0.0.1:0"]
            for command in (["config", "check"], serve):
                done = harness.run(*command, *flags, env=harness.environment())
                self.assertNotEqual(done.returncode, 0, flags)
                self.assertIn(said, done.stderr)
        done = harness.run("config", "check", *self.certificates.flags(), env=harness.environment())
        self.assertEqual((done.returncode, done.stderr), (0, ""))


class Clients(TlsCase):
    """Certificates as identities."""

    CONFIG = """
[[tokens]]
name = "mailer"
certificate = "mailer.example"
scopes = ["submit", "read"]
queues = ["mail.*"]

[[tokens]]
name = "late"
certificate = "late.example"
scopes = ["read"]
expires_at = 2020-01-01T00:00:00Z
"""

    def status_as(self, server, context):
        return self.reply_as(server, context).status

    def test_a_certificate_stands_for_a_token(self):
        server = self.secure_server(config=self.CONFIG).start()
        mailer = self.certified("mailer.example")
        self.assertEqual(self.status_as(server, mailer), 200)
        self.assertEqual(self.status_as(server, self.certificates.client()), 401)
        self.assertEqual(self.status_as(server, self.certified("stranger.example")), 401)
        self.assertEqual(self.status_as(server, self.certified("late.example")), 401)
        api = client.Client(server.host, server.port, tls=mailer)
        self.addCleanup(api.close)
        api.contract = client.AnyContract
        self.assertEqual(api.post("/v1/jobs", {"type": "t", "queue": "mail.a"}).status, 201)
        self.assertEqual(api.post("/v1/jobs", {"type": "t", "queue": "other"}).status, 404)
        self.assertEqual(api.post("/v1/queues/mail.a/pause", {}).status, 403)

    def test_another_authoritys_word_counts_for_nothing(self):
        server = self.secure_server(config=self.CONFIG).start()
        self.certificates.make("new", "other")
        forged = self.certified("mailer.example", ca="other")
        with self.assertRaises((ssl.SSLError, OSError)):
            self.status_as(server, forged)
        # A server without an authority accepts no certificate.
        alone = self.secure_server(config=self.CONFIG, ca=False).start()
        self.assertEqual(self.status_as(alone, self.certified("mailer.example")), 401)

    def test_a_certificates_name_is_no_bearer(self):
        server = self.secure_server(config=self.CONFIG).start()
        api = client.Client(server.host, server.port, "mailer.example", tls=self.certificates.client())
        self.addCleanup(api.close)
        api.contract = client.AnyContract
        self.assertEqual(api.get("/v1/jobs").status, 401)
        self.assertEqual(api.get("/v1/jobs", {"Authorization": "Bearer mlr_mailer.example__"}).status, 401)

    def test_token_new_prints_its_lines(self):
        done = harness.run(
            *["token", "new", "--name", "mailer", "--certificate", "mailer.example"],
            *["--scope", "submit", "--scope", "read", "--queue", "mail.*"],
            env=harness.environment(),
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        server = self.secure_server(config=done.stdout).start()
        self.assertEqual(self.status_as(server, self.certified("mailer.example")), 200)


class Authority(TlsCase):
    def test_its_key_is_for_its_owner_alone(self):
        for name in ("ca/ca.key", "server/localhost.key"):
            mode = pathlib.Path(self.certificates.path(name)).stat().st_mode & 0o777
            self.assertEqual(mode, 0o600, name)

    def test_it_is_never_overwritten(self):
        with self.assertRaisesRegex(AssertionError, "is there already"):
            self.certificates.make("new", "ca")

    def test_openssl_agrees(self):
        done = subprocess.run(
            ["openssl", "verify", "-x509_strict", "-CAfile", self.certificates.path("ca/ca.pem")]
            + [self.certificates.files()[0]],
            capture_output=True,
            text=True,
        )
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_names_that_are_none(self):
        for name in ("a,DNS:evil.example", "", "a b", "x" * 300, "../../up"):
            with self.assertRaises(AssertionError, msg=name):
                self.certificates.issue("out", name)


@unittest.skipIf(os.environ.get("MILLRACE_STORE"), "its nodes are on PostgreSQL already")
class Nodes(TlsCase):
    """Several nodes on one database, with encrypted calls between them."""

    def nodes(self, count, **settings):
        settings.setdefault("tls", self.certificates.client())
        made = nodes.Nodes(count, *self.certificates.flags(), **settings)
        self.addCleanup(made.close)
        return made

    def test_calls_go_from_node_to_node(self):
        three = self.nodes(3)
        three.start()
        for server in three.servers:
            self.assertTrue(all(node["url"].startswith("https://") for node in three.view(server)["nodes"]))
        for queue in three.queue_on_each_shard().values():
            for server in three.servers:
                api = server.client()
                reply = api.post("/v1/jobs", {"type": "t", "queue": queue})
                self.assertEqual(reply.status, 201, reply)
                api.close()

    def test_a_clients_certificate_counts_on_every_node(self):
        """The node that leads the shard believes the one that the client speaks to."""
        operator = """
[[tokens]]
name = "operator"
certificate = "operator.example"
scopes = ["submit", "work", "read", "operate", "admin"]
"""
        three = self.nodes(3, config=operator, tls=self.certified("operator.example"))
        three.start()
        for queue in three.queue_on_each_shard().values():
            for server in three.servers:
                api = server.client()
                reply = api.post("/v1/jobs", {"type": "t", "queue": queue})
                self.assertEqual(reply.status, 201, reply)
                api.close()

    def test_a_node_without_a_certificate_is_not_let_in(self):
        two = self.nodes(1)
        two.start()
        server = two[0]
        upgrade = (
            b"GET /internal/v1/peer HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n"
            b"Upgrade: millrace-peer/1\r\nMillrace-Peer-Level: 1\r\n\r\n"
        )
        with server.connect() as stranger:
            stranger.send(upgrade)
            reply = stranger.read_reply()
            self.assertEqual((reply.status, reply.code), (403, "forbidden"))
        shown = self.certificates.client(self.certificates.files())
        with client.RawConnection(server.host, server.port, tls=shown) as node:
            node.send(upgrade)
            self.assertEqual(node.read_reply(head_only=True).status, 101)


if __name__ == "__main__":
    harness.main()

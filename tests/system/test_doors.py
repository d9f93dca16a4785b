"""Tests of connections other than plain TCP: Unix sockets, and proxies that name the client of a
connection or request. Also the bound on TLS handshakes.
"""

import http.client
import os
import pathlib
import re
import signal
import socket
import stat
import struct
import subprocess
import time

import client
import harness
from test_auth import new_token
from test_tls import TlsCase

SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"


def proxy_header(address, command=0x21, extra=0):
    """A version 2 header that names an IPv4 client."""
    addresses = socket.inet_aton(address) + socket.inet_aton("10.0.0.1") + struct.pack("!HH", 7, 443)
    length = struct.pack("!H", len(addresses) + extra)
    return SIGNATURE + bytes([command, 0x11]) + length + addresses + b"\0" * extra


class LocalConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=10)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(10)
        self.sock.connect(self.path)


class LocalServer:
    """A server that listens at a path."""

    def __init__(self, home, *args, name="socket", data="data"):
        self.path = home / name
        self.url = f"unix:{self.path}"
        self.log = home / f"{data}.log"
        self.command = [harness.BINARY, "serve", "--listen", self.url, "--data", str(home / data), *args]
        self.process = None

    def spawn(self):
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stderr=log, env=harness.environment()
            )
        return self

    def start(self):
        self.spawn()
        harness.eventually(lambda: self.get("/readyz")[0] == 200, what=f"readiness of {self.url}")
        return self

    def get(self, path, **headers):
        connection = LocalConnection(self.path)
        try:
            connection.request("GET", path, headers=headers)
            reply = connection.getresponse()
            return reply.status, reply.read()
        except OSError:
            return 0, b""
        finally:
            connection.close()

    def cli(self, *args, **env):
        return harness.run(*args, env=harness.environment(MILLRACE_URL=self.url, **env))

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.process.wait(20)

    def close(self):
        if self.process is not None and self.process.poll() is None:
            self.end(signal.SIGKILL)


class LocalSocket(harness.MillraceCase):
    def setUp(self):
        super().setUp()
        self.home = pathlib.Path(self.new_server().home)

    def local(self, *args, **settings):
        made = LocalServer(self.home, *args, **settings)
        self.addCleanup(made.close)
        return made

    def mode(self, server):
        return stat.S_IMODE(os.stat(server.path).st_mode)

    def test_it_serves_its_machine(self):
        server = self.local().start()
        self.assertEqual(self.mode(server), 0o600)
        done = server.cli("enqueue", "greet", '{"name": "Ada"}', "-o", "json")
        self.assertEqual(done.returncode, 0, done)
        worked = server.cli("work", "--once", "--", "cat")
        if worked.returncode == 2:  # no such option here; only the connection matters
            worked = server.cli("job", "list")
        self.assertEqual(worked.returncode, 0, worked)
        self.assertEqual(server.get("/v1/meta", Host="evil.example")[0], 403, "as on loopback")
        self.assertEqual(server.end(), 0)
        self.assertFalse(server.path.exists(), "it takes its file along")

    def test_what_a_killed_server_left_is_replaced(self):
        server = self.local().start()
        server.end(signal.SIGKILL)
        self.assertTrue(server.path.exists())
        self.assertEqual(server.cli("health").returncode, 6)
        server.start()
        self.assertEqual(server.get("/livez")[0], 200)

    def test_a_live_server_is_not_pushed_aside(self):
        server = self.local().start()
        second = self.local(data="other").spawn()
        self.assertEqual(second.process.wait(harness.PATIENCE_S), 1)
        self.assertIn("another process listens there", second.log.read_text())
        self.assertFalse((self.home / "other").exists(), "nor is a store made")
        self.assertEqual(server.get("/livez")[0], 200)

    def test_another_file_is_left_alone(self):
        path = self.home / "socket"
        path.write_text("precious")
        server = self.local().spawn()
        self.assertEqual(server.process.wait(harness.PATIENCE_S), 1)
        self.assertEqual(path.read_text(), "precious")

    def test_its_permissions_are_a_setting(self):
        for mode in ("0660", "0666"):
            server = self.local("--socket-mode", mode, name=f"s{mode}", data=f"d{mode}").start()
            self.assertEqual(self.mode(server), int(mode, 8))

    def test_with_tokens_they_are_asked_for(self):
        token, lines = new_token("--name", "t", "--scope", "read")
        config = self.home / "local.toml"
        config.write_text(lines)
        config.chmod(0o600)
        server = self.local("--config", str(config)).start()
        self.assertEqual(server.get("/v1/meta")[0], 401)
        self.assertEqual(server.get("/v1/meta", Authorization=f"Bearer {token}")[0], 200)
        self.assertEqual(server.cli("queue", "list", MILLRACE_TOKEN=token).returncode, 0)
        harness.eventually(
            lambda: re.search(rf"peer=unix:{os.getuid()}\b", server.log.read_text()),
            what="the log line",
        )

    def test_what_does_not_go_with_it_is_refused(self):
        for args, told in (
            (["--listen", "unix:relative"], "absolute path"),
            (["--listen", "unix:/x", "--postgres", "postgres://u@h/d"], "listen on an address"),
            (["--listen", "unix:/x", "--tls-cert", "a", "--tls-key", "b"], "needs no TLS"),
            (["--listen", "unix:/x", "--socket-mode", "0777"], "0600, 0660 or 0666"),
        ):
            done = harness.run("config", "check", *args)
            self.assertEqual(done.returncode, 78, done)
            self.assertIn(told, done.stderr)
        done = harness.run("serve", "--listen", "unix:/tmp/" + "x" * 120, "--data", self.home / "d")
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("107 bytes", done.stderr)


class Proxies(harness.MillraceCase):
    @classmethod
    def setUpClass(cls):
        cls.token, lines = new_token("--name", "t", "--scope", "read")
        cls.server = harness.Server(
            "--log-level",
            "debug",
            config='proxies = ["127.0.0.1", "203.0.113.0/24"]\n' + lines,
            token=cls.token,
        )
        cls.addClassCleanup(cls.server.close)
        cls.server.start()

    def ask(self, connection, path="/v1/meta", *fields, token=None):
        lines = [f"GET {path} HTTP/1.1", "Host: localhost", f"X-Request-Id: {self.new_id()}"]
        lines.append(f"Authorization: Bearer {token or self.token}")
        connection.send("\r\n".join([*lines, *fields, "", ""]).encode())
        return connection.read_reply()

    def new_id(self):
        self.request_id = f"{self.queue}-{next(self._names)}"
        return self.request_id

    def logged_peer(self):
        pattern = rf"request_id={self.request_id} .* peer=(\S+)"
        found = harness.eventually(lambda: re.search(pattern, self.server.log), what="the log line")
        return found[1]

    def test_a_header_names_the_client_of_the_connection(self):
        with self.server.connect() as connection:
            connection.send(proxy_header("192.0.2.7", extra=20))
            for _ in range(2):
                self.assertEqual(self.ask(connection).status, 200)
                self.assertEqual(self.logged_peer(), "192.0.2.7")

    def test_it_may_come_in_pieces(self):
        with self.server.connect() as connection:
            header = proxy_header("192.0.2.8")
            connection.send(header, pause_s=0.03, pieces=[1, 12, 14, 16, 20])
            self.assertEqual(self.ask(connection).status, 200)
            self.assertEqual(self.logged_peer(), "192.0.2.8")

    def test_a_proxy_may_speak_for_itself_or_without_a_header(self):
        for first in (proxy_header("192.0.2.7", command=0x20), b""):
            with self.server.connect() as connection:
                connection.send(first)
                self.assertEqual(self.ask(connection).status, 200)
                self.assertEqual(self.logged_peer(), "127.0.0.1")

    def test_a_proxy_that_waits_is_served_when_it_speaks(self):
        with self.server.connect() as connection:
            time.sleep(5.3)
            self.assertEqual(self.ask(connection).status, 200)

    def test_version_one_is_refused_by_name(self):
        with self.server.connect() as connection:
            connection.send(b"PROXY TCP4 192.0.2.7 10.0.0.1 4711 443\r\n")
            reply = connection.read_reply()
            self.assertEqual(reply.status, 400)
            self.assertIn(b"version 2", reply.body)
            self.assertTrue(connection.closed_by_server())

    def test_a_bad_header_ends_the_connection(self):
        longest = 1024 - 16 - 12
        for header in (
            proxy_header("192.0.2.7", command=0x31),
            proxy_header("192.0.2.7", extra=longest + 1),
            SIGNATURE + b"\x21\x12\x00\x0c" + b"\0" * 12,
        ):
            with self.server.connect() as connection:
                connection.send(header)
                self.assertEqual(connection.read_reply().status, 400)
                self.assertTrue(connection.closed_by_server())
        with self.server.connect() as connection:
            connection.send(proxy_header("192.0.2.9", extra=longest))
            self.assertEqual(self.ask(connection).status, 200)

    def test_a_header_that_never_ends_costs_its_time_alone(self):
        with self.server.connect(timeout=60) as connection:
            connection.send(proxy_header("192.0.2.7")[:14])
            start = time.monotonic()
            connection.read_reply()
            self.assertLess(time.monotonic() - start, 40)
        self.assertEqual(self.api.get("/livez").status, 200)

    def test_forwarded_for_names_the_client_of_the_request(self):
        with self.server.connect() as connection:
            for value, client_address in (
                ("192.0.2.20", "192.0.2.20"),
                ("1.2.3.4, 192.0.2.21", "192.0.2.21"),
                ("1.2.3.4, 192.0.2.22, 203.0.113.5", "192.0.2.22"),
                ("[2001:db8::1]:80", "2001:db8::1"),
                ("nobody", "127.0.0.1"),
            ):
                self.assertEqual(self.ask(connection, "/v1/meta", f"X-Forwarded-For: {value}").status, 200)
                self.assertEqual(self.logged_peer(), client_address)
            self.ask(connection)
            self.assertEqual(self.logged_peer(), "127.0.0.1", "of the next request nothing is left")

    def test_who_is_no_proxy_says_nothing(self):
        with self.server.connect() as connection:
            connection.send(proxy_header("192.0.2.30"))
            self.ask(connection, "/v1/meta", "X-Forwarded-For: 192.0.2.31")
            self.assertEqual(self.logged_peer(), "192.0.2.30")

    def test_failed_logins_are_the_clients(self):
        wrong = new_token("--name", "x", "--scope", "read")[0]
        with self.server.connect() as connection:
            # A hundred a minute: during the requests, a few more are allowed.
            for count in range(1000):
                reply = self.ask(connection, "/v1/meta", "X-Forwarded-For: 192.0.2.40", token=wrong)
                if reply.status != 401:
                    break
            self.assertEqual(reply.status, 429)
            self.assertGreaterEqual(count, 100)
            other = self.ask(connection, "/v1/meta", "X-Forwarded-For: 192.0.2.41", token=wrong)
            self.assertEqual(other.status, 401)


class WithoutProxies(harness.MillraceCase):
    def test_nobody_is_believed(self):
        server = self.new_server("--log-level", "debug")
        server.start()
        self.use(server)
        for header in (proxy_header("192.0.2.7"), b"PROXY TCP4 192.0.2.7 10.0.0.1 1 2\r\n\r\n"):
            with server.connect() as connection:
                connection.send(header)
                reply = connection.read_reply()
                self.assertEqual(reply.status, 400)
                self.assertIn(b"proxies", reply.body)
                self.assertTrue(connection.closed_by_server())
        reply = self.api.get("/v1/meta", headers={"X-Forwarded-For": "192.0.2.7", "X-Request-Id": "forged"})
        self.assertEqual(reply.status, 200)
        line = harness.eventually(lambda: re.search(r"request_id=forged .*", server.log))
        self.assertIn("peer=127.0.0.1", line[0])

    def test_what_is_no_network_is_named(self):
        for value in ("10.0.0.0/33", "example.org", "10.0.0.1,,10.0.0.2"):
            done = harness.run("config", "check", "--proxies", value)
            self.assertEqual(done.returncode, 78, done)
            self.assertIn("proxies", done.stderr)
        done = harness.run("config", "show", "--proxies", "10.0.0.0/8, fd00::1")
        self.assertRegex(done.stdout, r"proxies\s+10\.0\.0\.0/8,fd00::1")


class Handshakes(TlsCase):
    def test_handshakes_have_a_bound(self):
        # One address may use an eighth: one handshake of eight at a time.
        server = self.secure_server("--limits-tls-handshakes", "8")
        server.start()
        held = socket.create_connection((server.host, server.port), timeout=5)
        self.addCleanup(held.close)
        time.sleep(0.2)
        refused = socket.create_connection((server.host, server.port), timeout=5)
        with refused:
            try:
                self.assertEqual(refused.recv(1), b"", "closed at once")
            except ConnectionResetError:
                pass
        held.close()

        def served():
            try:
                return self.reply_as(server, self.certificates.client(), "/livez")
            except OSError:
                return None

        harness.eventually(served, what="the next handshake")

    def test_what_is_over_does_not_count(self):
        server = self.secure_server("--limits-tls-handshakes", "8")
        server.start()
        for _ in range(5):
            connection = client.RawConnection(server.host, server.port, tls=self.certificates.client())
            self.addCleanup(connection.close)
            connection.send(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.assertEqual(connection.read_reply().status, 200, "all of them stay open")

    def test_a_proxy_header_stands_before_the_handshake(self):
        server = self.secure_server("--proxies", "127.0.0.1", "--log-level", "debug")
        server.start()
        plain = socket.create_connection((server.host, server.port), timeout=5)
        plain.sendall(proxy_header("192.0.2.7"))
        with self.certificates.client().wrap_socket(plain, server_hostname="localhost") as secure:
            secure.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: proxied\r\n\r\n")
            self.assertIn(b"200 OK", secure.recv(4096))
        line = harness.eventually(lambda: re.search(r"request_id=proxied .*", server.log))
        self.assertIn("peer=192.0.2.7", line[0])


if __name__ == "__main__":
    harness.main()

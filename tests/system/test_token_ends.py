"""Tests of tokens that end while their clients wait: each wait ends, and nothing else does.

A wait ends on the I/O thread that serves its connection, and so may the connection itself.
"""

import json
import signal
import socket

import harness
from test_auth import new_token
from test_tokens import configured

SCOPES = ("submit", "work", "read")
# Of each kind of waiting client. Enough for several on each I/O thread.
EACH = 8
CLAIM = {"queues": ["idle"], "limit": 1, "wait_ms": 60_000, "worker": {"id": "w"}}


class Waiting:
    """A client that waits. Its request comes in two parts: the server has admitted the first once it
    asks for the second.
    """

    def __init__(self, server, credentials, method, target, body=None, close=False, stream=False):
        self.what = f"{method} {target}{' on a connection of its own' if close else ''}"
        self.stream = stream
        self.connection = server.connect()
        raw = json.dumps(body or {}).encode()
        lines = [
            f"{method} {target} HTTP/1.1",
            "Host: localhost",
            credentials,
            "Content-Type: application/json",
            f"Content-Length: {len(raw)}",
            "Expect: 100-continue",
            *(["Accept: text/event-stream"] if stream else []),
            *(["Connection: close"] if close else []),
        ]
        self.connection.send("".join(line + "\r\n" for line in lines).encode() + b"\r\n")
        admitted = self.connection.read_reply()
        assert admitted.status == 100, (self.what, admitted)
        self.connection.send(raw)

    def begun(self):
        """The client has read the first message of its stream."""
        while b"\n\n" not in self.connection._buffer.partition(b"\r\n\r\n")[2]:
            assert self.connection._read_more(), self.what

    def end(self):
        """The status of the answer, once it is there; of a stream, None once it has ended."""
        if not self.stream:
            reply = self.connection.read_reply()
            return reply and reply.status
        while self.connection._read_more():
            pass
        return None


class Ends(harness.MillraceCase):
    def setUp(self):
        super().setUp()
        self.made = 0
        self.admin, self.lines = configured("admin")
        server = self.new_server(config=self.lines, token=self.admin)
        server.start()
        self.use(server)

    def waiting(self, credentials):
        """Clients that wait in every way, all with these credentials (a line of the head)."""
        job = self.submit(queue="idle.job", delay_ms=3_600_000)["id"]
        lease = self.lease()
        kinds = []
        for number in range(EACH):
            streams = ("", "?digest_ms=250", f"?queues=q{number}", f"?queues=q{number}&digest_ms=250")
            kinds += [("GET", "/v1/events" + query, None, False, True) for query in streams]
            for close in (False, True):
                kinds += [
                    ("POST", "/v1/claim", CLAIM, close, False),
                    ("POST", f"/v1/workers/w{number}/poll", {"claim": {**CLAIM, "worker": {}}}, close, False),
                    ("GET", f"/v1/jobs/{job}?wait_ms=60000&until=final", None, close, False),
                    ("GET", "/v1/events?wait_ms=60000&queues=nobody", None, close, False),
                    (
                        "POST",
                        f"/v1/jobs/{lease['id']}/heartbeat",
                        {"token": lease["lease"]["token"], "wait_ms": 60_000},
                        close,
                        False,
                    ),
                ]
        clients = [Waiting(self.server, credentials, *kind) for kind in kinds]
        for client in clients:
            self.addCleanup(client.connection.close)
            if client.stream:
                client.begun()
        self.submit(queue="busy")  # the digests tell it, and rest
        return clients

    def lease(self):
        self.submit(queue="idle.lease")
        return self.claim_one(queues=["idle.lease"], lease_ms=3_600_000)

    def assert_all_end(self, clients):
        for client in clients:
            with self.subTest(client.what):
                self.assertEqual(client.end(), None if client.stream else 401)
        self.assert_alive()

    def assert_alive(self):
        self.assertIsNone(self.server.process.poll(), self.server.log[-2000:])
        self.assertEqual(self.api.get("/v1/meta").status, 200)
        job = self.submit(queue="idle")
        self.assertEqual(self.claim_one(queues=["idle"])["id"], job["id"])  # no ended claim took it

    def make(self, **members):
        self.made += 1
        name = f"{self.queue}-{self.made}"
        reply = self.api.post("/v1/tokens", {"name": name, "scopes": list(SCOPES), **members})
        self.assertEqual(reply.status, 201, reply)
        return reply.json

    def test_one_that_is_revoked(self):
        staying = self.make()
        with_other = Waiting(
            self.server, f"Authorization: Bearer {staying['token']}", "GET", "/v1/events", None, False, True
        )
        self.addCleanup(with_other.connection.close)
        with_other.begun()
        for _ in range(3):
            made = self.make()
            clients = self.waiting(f"Authorization: Bearer {made['token']}")
            self.assertEqual(self.api.delete(f"/v1/tokens/{made['id']}").status, 204)
            self.assert_all_end(clients)
        told = with_other.connection._buffer
        self.submit(queue="told-to-the-other")
        while b"told-to-the-other" not in told:
            self.assertTrue(with_other.connection._read_more())
            told = with_other.connection._buffer
        self.assertEqual(self.server.stop(), 0)

    def test_one_that_expires(self):
        made = self.make(expires_in_ms=20_000 if harness.is_slow() else 4_000)
        self.assert_all_end(self.waiting(f"Authorization: Bearer {made['token']}"))
        self.assertEqual(self.server.stop(), 0)

    def test_one_that_leaves_the_configuration(self):
        second, more = new_token("--name", "second", *[word for s in SCOPES for word in ("--scope", s)])
        path = self.server.home / "millrace.toml"
        again = "the server read its configuration again"
        for _ in range(2):
            for text, before in ((self.lines + more, None), (self.lines, second)):
                clients = self.waiting(f"Authorization: Bearer {second}") if before else []
                count = self.server.log.count(again)
                path.write_text(text)
                self.server.signal(signal.SIGHUP)
                harness.eventually(lambda count=count: self.server.log.count(again) > count, what=again)
                self.assert_all_end(clients)
        self.assertEqual(self.server.stop(), 0)

    def test_the_session_of_an_open_dashboard(self):
        made = self.make()
        reply = self.new_client(token=made["token"]).post(
            "/v1/session",
            {"token": made["token"]},
            headers={"Authorization": None, "Sec-Fetch-Site": "same-origin", "Origin": "http://127.0.0.1"},
        )
        cookie = reply.headers["set-cookie"].split(";")[0]
        clients = []
        for number in range(8 * EACH):
            query = ("", "?digest_ms=1000", "?queues=a", f"?queues=q{number}&digest_ms=1000")[number % 4]
            clients.append(Waiting(self.server, f"Cookie: {cookie}", "GET", "/v1/events" + query, stream=True))
            self.addCleanup(clients[-1].connection.close)
            clients[-1].begun()
        self.assertEqual(self.api.delete(f"/v1/tokens/{made['id']}").status, 204)
        self.assert_all_end(clients)
        self.assertEqual(self.server.stop(), 0)

    def test_clients_that_go_as_their_token_ends(self):
        """Both ends of a wait come at once, in either order."""
        made = self.make()
        clients = self.waiting(f"Authorization: Bearer {made['token']}")
        for number, client in enumerate(clients):
            if number == len(clients) // 2:
                self.assertEqual(self.api.delete(f"/v1/tokens/{made['id']}").status, 204)
            if number % 2:
                client.connection.socket.shutdown(socket.SHUT_RDWR)
            else:
                client.connection.close()
        self.assert_alive()
        self.assertEqual(self.server.stop(), 0)


if __name__ == "__main__":
    harness.main()

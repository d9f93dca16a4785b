"""Tests of answers that the server compresses, and of those that it never compresses."""

import gzip

import harness
from test_tokens import configured

GZIP = {"Accept-Encoding": "gzip, deflate, br"}


class Compression(harness.MillraceCase):
    @classmethod
    def setUpClass(cls):
        cls.token, lines = configured("admin")
        cls.server = harness.Server(config=lines, token=cls.token)
        cls.addClassCleanup(cls.server.close)
        cls.server.start()

    def exchange(self, path, method="GET", body=None, **headers):
        """A reply as sent, which the contract does not check."""
        sent = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json", **headers}
        return self.api._exchange(method, path, body, sent)

    def assert_compressed(self, path):
        plain, coded = self.exchange(path), self.exchange(path, **GZIP)
        self.assertEqual(coded.headers.get("content-encoding"), "gzip", path)
        self.assertNotIn("content-encoding", plain.headers)
        for reply in (plain, coded):
            self.assertEqual((reply.status, reply.headers["vary"]), (200, "Accept-Encoding"))
        self.assertEqual(int(coded.headers["content-length"]), len(coded.body))
        return plain, coded

    def assert_plain(self, path, **more):
        reply = self.exchange(path, **GZIP, **more)
        self.assertLess(reply.status, 300, reply)
        self.assertGreater(len(reply.body), 1024, path)
        self.assertNotIn("content-encoding", reply.headers, path)
        self.assertNotIn("vary", reply.headers, path)
        return reply

    def test_a_list_of_many_queues(self):
        for number in range(300):
            self.submit(queue=f"{self.queue}.{number}")
        plain, coded = self.assert_compressed("/v1/queues?limit=300")
        self.assertLess(4 * len(coded.body), len(plain.body))
        self.assertIn(b'"items"', gzip.decompress(coded.body))
        head = self.exchange("/v1/openapi.json", method="HEAD", **GZIP)
        self.assertEqual((head.headers["content-encoding"], head.body), ("gzip", b""))

    def test_the_same_bytes_as_without(self):
        for _ in range(20):
            self.submit(delay_ms=3_600_000)
        for path in ("/v1/openapi.json", f"/v1/jobs?queue={self.queue}&fresh=true"):
            with self.subTest(path):
                plain, coded = self.assert_compressed(path)
                self.assertEqual(gzip.decompress(coded.body), plain.body)

    def test_metrics(self):
        _, coded = self.assert_compressed("/metrics")
        self.assertIn(b"millrace_jobs_submitted_total", gzip.decompress(coded.body))

    def test_what_may_hold_a_secret_stays_plain(self):
        for number in range(20):
            self.api.post("/v1/tokens", {"name": f"{self.queue}-{number}", "scopes": ["read"]})
        job = self.submit(payload="x" * 2_000)
        self.assert_plain("/v1/tokens")
        self.assert_plain("/v1/admin/config")
        self.assert_plain(f"/v1/jobs?queue={self.queue}&include=payload&fresh=true")
        self.assert_plain(f"/v1/jobs/{job['id']}?include=payload")
        body = b'{"name": "%s", "scopes": ["read"], "description": "%s"}' % (b"n" * 60, b"d" * 500)
        made = self.exchange("/v1/tokens", method="POST", body=body, **GZIP)
        self.assertEqual(made.status, 201)
        self.assertNotIn("content-encoding", made.headers)
        claim = b'{"queues": ["%s"], "worker": {"id": "w"}}' % self.queue.encode()
        self.assert_plain("/v1/claim", method="POST", body=claim)

    def test_a_stream_stays_plain(self):
        with self.server.connect() as link:
            link.send(
                f"GET /v1/events HTTP/1.1\r\nHost: l\r\nAuthorization: Bearer {self.token}\r\n"
                "Accept: text/event-stream\r\nAccept-Encoding: gzip\r\n\r\n".encode()
            )
            while b"event: position" not in link._buffer:
                self.assertTrue(link._read_more())
            self.assertNotIn(b"Content-Encoding", link._buffer)


if __name__ == "__main__":
    harness.main()

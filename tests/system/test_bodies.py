"""Invalid bodies and unknown routes are refused clearly, and the next request is served."""

import json

import harness

NOBODY = "0190a0a0-0000-7000-8000-000000000000"
MALFORMED_JSON = [
    b"",
    b" ",
    b"{",
    b'{"type":"t"',
    b'{"type":"t",}',
    b"{'type':'t'}",
    b'{"type":t}',
    b'{"type":"t"} x',
    b'{"type":"t"}{}',
    b'{"type":"t","payload":NaN}',
    b'{"type":"t","payload":01}',
    b'{"type":"t","payload":1.}',
    b'{"type":"t","payload":+1}',
    b'{"type":"t","payload":.5}',
    b'{"type":"t","payload":"\n"}',
    b'{"type":"t","payload":"\x00"}',
    b'{"type":"t","payload":"\\x41"}',
    b'{"type":"t","payload":"\\u12"}',
    b'{"type":"t","payload":[1,]}',
    b'{"type":"t","payload":tru}',
    b'\xef\xbb\xbf{"type":"t"}',
    b'{"type":"t","payload":"\xff"}',
    b'{"type":"t","payload":"\xc0\xaf"}',
    b'{"type":"t","payload":"\xed\xa0\x80"}',
    b'{"type":"t","payload":"\xf5\x80\x80\x80"}',
    b'{"type":"t","payload":"\xe2\x82"}',
    b'{"type":"t","type":"u"}',
    b'{"type":"t","\\u0074ype":"u"}',
    b'{"type":"t","meta":{"a":"1","a":"2"}}',
    b'{"type":"\\ud800"}',
    b'{"type":"t","meta":{"k":"\\udc00"}}',
    b"{\x00}",
    b"\xff\xfe{\x00}\x00",
    b"nul",
    b"[1,2",
]


class OfTheBody(harness.ServerCase):
    def test_what_is_no_json(self):
        for raw in MALFORMED_JSON:
            with self.subTest(raw=raw):
                reply = self.api.post("/v1/jobs", raw=raw)
                self.assertIn(
                    (reply.status, reply.code),
                    [(400, "invalid_json")] + ([(422, "validation_failed")] if not raw.strip() else []),
                    reply,
                )
                self.submit()

    def test_what_is_kept_as_sent_inside_a_payload(self):
        for raw in (
            b'{"a":1,"a":2}',
            b'"\\ud800"',
            b'"\\udc00\\ud800"',
            b"1e400",
            b"-1E+999999",
            b"1" * 1000,
            b'{"\\ud834":"\\ud834"}',
        ):
            with self.subTest(raw=raw[:30]):
                reply = self.api.post("/v1/jobs", raw=b'{"type":"t","payload":%s}' % raw, include="payload")
                self.assertEqual(reply.status, 201, reply)
                self.assertIn(raw, reply.body)

    def test_what_is_no_object(self):
        for raw in (b"[]", b"null", b"1", b'"text"', b"true", b'[{"type":"t"}]'):
            with self.subTest(raw=raw):
                reply = self.api.post("/v1/jobs", raw=raw)
                self.assert_refused(reply, 422, "validation_failed", "")

    def test_depth(self):
        def nested(levels):
            return b'{"type":"t","payload":' + b"[" * levels + b"]" * levels + b"}"

        self.assertEqual(self.api.post("/v1/jobs", raw=nested(63)).status, 201)
        for levels in (64, 65, 1000, 1_000_000):
            self.assert_refused(self.api.post("/v1/jobs", raw=nested(levels)), 400, "invalid_json")
        self.assert_refused(
            self.api.post("/v1/jobs", raw=b'{"type":"t","payload":' + b'{"a":' * 500_000),
            400,
            "invalid_json",
        )
        self.submit()

    def test_content_types(self):
        body = json.dumps({"type": "t", "queue": self.queue}).encode()
        for good in (
            "application/json",
            "application/json; charset=utf-8",
            "APPLICATION/JSON",
            None,
        ):
            self.assertEqual(
                self.api.post("/v1/jobs", raw=body, headers={"Content-Type": good}).status,
                201,
                good,
            )
        for bad in (
            "text/plain",
            "application/x-www-form-urlencoded",
            "application/jsonp",
            "json",
            "*/*",
            "application/problem+json",
        ):
            self.assert_refused(
                self.api.post("/v1/jobs", raw=body, headers={"Content-Type": bad}),
                415,
                "unsupported_media_type",
            )

    def test_a_coded_body_is_refused(self):
        for coding in ("gzip", "br", "x-unknown", ""):
            reply = self.api.post("/v1/jobs", raw=b'{"type": "t"}', headers={"Content-Encoding": coding})
            self.assert_refused(reply, 415, "unsupported_media_type")
        plain = self.api.post("/v1/jobs", raw=b'{"type": "t"}', headers={"Content-Encoding": "identity"})
        self.assertEqual(plain.status, 201)

    def test_a_body_may_be_left_out_where_it_may(self):
        job = self.submit()
        self.assertEqual(self.api.post(f"/v1/jobs/{job['id']}/cancel").status, 200)
        self.assertEqual(self.api.post(f"/v1/jobs/{job['id']}/retry", {}).status, 200)
        self.assertEqual(self.api.put(f"/v1/queues/{self.queue}").status, 200)

    def test_huge(self):
        body = b'{"type":"t","payload":"' + b"x" * (17 * 1024 * 1024) + b'"}'
        with self.server.connect(timeout=20) as raw:
            try:
                raw.send(b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body))
                raw.send(body)
            except OSError:
                pass  # refused by the head alone, and closed
            reply = raw.read_reply()
            self.assertTrue(reply is None or reply.status == 413, reply)
        with self.server.connect() as raw:
            raw.send(b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body))
            self.assertEqual(raw.read_reply().code, "payload_too_large")
        self.submit()


class WhatComesLater(harness.ServerCase):
    def test_paths_that_are_not_there_yet(self):
        for method, path in (
            ("POST", f"/v1/workflows/{NOBODY}/signals/x"),
            ("GET", f"/v1/workflows/{NOBODY}/members/a/skip/x"),
            ("GET", "/assets/none.js"),
            ("GET", "/v1"),
            ("GET", "/v2/jobs"),
            ("GET", "/v1/jobs/"),
            ("GET", "//v1/jobs"),
            ("GET", "/v1/../v1/jobs"),
            ("GET", "/V1/jobs"),
        ):
            with self.subTest(path=path):
                self.assert_refused(self.api.request(method, path), 404, "not_found")

    def test_methods_that_a_path_does_not_have(self):
        for method, path, allowed in (
            ("PUT", "/v1/tokens", {"GET", "POST"}),
            ("DELETE", "/v1/tokens", {"GET", "POST"}),
            ("GET", "/v1/claim", {"POST"}),
            ("PUT", "/v1/jobs", {"GET", "POST"}),
            ("DELETE", "/v1/jobs", {"GET", "POST"}),
            ("GET", "/v1/jobs/batch", {"POST"}),
            ("POST", "/livez", {"GET"}),
            ("BREW", "/v1/queues", {"GET"}),
            ("POST", "/v1/queues/q", {"GET", "PUT", "PATCH", "DELETE"}),
        ):
            with self.subTest(method=method, path=path):
                reply = self.api.request(method, path)
                self.assert_refused(reply, 405, "method_not_allowed")
                self.assertEqual(
                    {word.strip() for word in reply.headers["allow"].split(",")} - {"HEAD", "OPTIONS"},
                    allowed,
                )


if __name__ == "__main__":
    harness.main()

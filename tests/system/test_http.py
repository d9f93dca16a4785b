"""Tests of HTTP itself, on raw sockets: ambiguous requests are refused, and no client is
blocked.
"""

import threading
import time

import harness

BODY = b'{"type":"smuggled","queue":"http"}'
POST = b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\n"
GET = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n"
CHUNKED = b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)
LENGTH = b"Content-Length: %d\r\n" % len(BODY)
TE = b"Transfer-Encoding: chunked\r\n"

# Requests whose framing different readers interpret differently.
SMUGGLING = {
    "length then chunked": POST + LENGTH + TE + b"\r\n" + CHUNKED,
    "chunked then length": POST + TE + LENGTH + b"\r\n" + CHUNKED,
    "gzip": POST + b"Transfer-Encoding: gzip\r\n" + LENGTH + b"\r\n" + BODY,
    "gzip without length": POST + b"Transfer-Encoding: gzip\r\n\r\n" + BODY,
    "xchunked": POST + b"Transfer-Encoding: xchunked\r\n" + LENGTH + b"\r\n" + BODY,
    "chunked, gzip": POST + b"Transfer-Encoding: chunked, gzip\r\n\r\n" + CHUNKED,
    "gzip, chunked": POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n" + CHUNKED,
    "identity": POST + b"Transfer-Encoding: identity\r\n" + LENGTH + b"\r\n" + BODY,
    "chunked twice": POST + TE + TE + b"\r\n" + CHUNKED,
    "chunked, chunked": POST + b"Transfer-Encoding: chunked, chunked\r\n\r\n" + CHUNKED,
    "Chunked": POST + b"Transfer-Encoding: Chunked\r\n\r\n" + CHUNKED,
    "a tab and chunked": POST + b"Transfer-Encoding:\tchunked\r\n\r\n" + CHUNKED,
    "chunked and a tab": POST + b"Transfer-Encoding: chunked\t\r\n\r\n" + CHUNKED,
    "chunked and a vertical tab": POST + b"Transfer-Encoding: \x0bchunked\r\n\r\n" + CHUNKED,
    "chunked in quotes": POST + b'Transfer-Encoding: "chunked"\r\n\r\n' + CHUNKED,
    "chunked with a parameter": POST + b"Transfer-Encoding: chunked;q=1\r\n\r\n" + CHUNKED,
    "chunked in HTTP/1.0": b"POST /v1/jobs HTTP/1.0\r\nHost: localhost\r\n" + TE + b"\r\n" + CHUNKED,
    "empty transfer encoding": POST + b"Transfer-Encoding:\r\n" + LENGTH + b"\r\n" + BODY,
    "space before the colon": POST + b"Transfer-Encoding : chunked\r\n\r\n" + CHUNKED,
    "space before the length's colon": POST + b"Content-Length : %d\r\n\r\n" % len(BODY) + BODY,
    "two lengths": POST + LENGTH + b"Content-Length: 5\r\n\r\n" + BODY,
    "two equal lengths": POST + LENGTH + LENGTH + b"\r\n" + BODY,
    "a list of lengths": POST + b"Content-Length: %d, %d\r\n\r\n" % (len(BODY), len(BODY)) + BODY,
    "a signed length": POST + b"Content-Length: +%d\r\n\r\n" % len(BODY) + BODY,
    "a negative length": POST + b"Content-Length: -1\r\n\r\n" + BODY,
    "a hexadecimal length": POST + b"Content-Length: 0x%x\r\n\r\n" % len(BODY) + BODY,
    "an empty length": POST + b"Content-Length:\r\n\r\n" + BODY,
    "a length with a space in it": POST + b"Content-Length: 3 5\r\n\r\n" + BODY,
    "a length in full-width digits": POST + "Content-Length: \uff13\r\n\r\n".encode() + BODY,
    "a length with a fraction": POST + b"Content-Length: %d.0\r\n\r\n" % len(BODY) + BODY,
    "an obs-fold": POST + b"X-A: b\r\n " + TE + b"\r\n" + CHUNKED,
    "an obs-fold with a tab": POST + b"Transfer-Encoding:\r\n\tchunked\r\n\r\n" + CHUNKED,
    "bare LF in the head": b"POST /v1/jobs HTTP/1.1\nHost: localhost\n" + LENGTH + b"\n" + BODY,
    "bare LF after one line": POST[:-2] + b"\n" + LENGTH + b"\r\n" + BODY,
    "bare LF at the end": POST + LENGTH[:-2] + b"\n\r\n" + BODY,
    "bare CR in a field": POST + b"X-A: b\rTransfer-Encoding: chunked\r\n" + LENGTH + b"\r\n" + BODY,
    "NUL in a field": POST + b"X-A: a\x00b\r\n" + LENGTH + b"\r\n" + BODY,
    "NUL in a name": POST + b"X\x00A: b\r\n" + LENGTH + b"\r\n" + BODY,
    "a control character": POST + b"X-A: a\x08b\r\n" + LENGTH + b"\r\n" + BODY,
    "DEL": POST + b"X-A: a\x7fb\r\n" + LENGTH + b"\r\n" + BODY,
    "no colon": POST + b"Transfer-Encoding chunked\r\n" + LENGTH + b"\r\n" + BODY,
    "no name": POST + b": chunked\r\n" + LENGTH + b"\r\n" + BODY,
    "a name in brackets": POST + b"X(A): b\r\n" + LENGTH + b"\r\n" + BODY,
    "space before the first field": b"POST /v1/jobs HTTP/1.1\r\n Host: localhost\r\n" + LENGTH + b"\r\n" + BODY,
    "two hosts": POST + b"Host: u\r\n" + LENGTH + b"\r\n" + BODY,
    "two keys": POST + b"Idempotency-Key: a\r\nX-A: b\r\nidempotency-key: b\r\n" + LENGTH + b"\r\n" + BODY,
    "two versions": POST + b'If-Match: "1"\r\nIf-Match: "2"\r\n' + LENGTH + b"\r\n" + BODY,
    "two tokens": POST + b"Authorization: Bearer a\r\nAuthorization: Bearer b\r\n" + LENGTH + b"\r\n" + BODY,
    "no host": b"POST /v1/jobs HTTP/1.1\r\n" + LENGTH + b"\r\n" + BODY,
    "two spaces in the first line": b"POST  /v1/jobs HTTP/1.1\r\nHost: localhost\r\n" + LENGTH + b"\r\n" + BODY,
    "a tab in the first line": b"POST\t/v1/jobs HTTP/1.1\r\nHost: localhost\r\n" + LENGTH + b"\r\n" + BODY,
    "a space in the target": b"POST /v1/jobs x HTTP/1.1\r\nHost: localhost\r\n" + LENGTH + b"\r\n" + BODY,
    "no version": b"POST /v1/jobs\r\nHost: localhost\r\n" + LENGTH + b"\r\n" + BODY,
    "the version in lower case": b"POST /v1/jobs http/1.1\r\nHost: localhost\r\n" + LENGTH + b"\r\n" + BODY,
    "HTTP/2": b"POST /v1/jobs HTTP/2.0\r\nHost: localhost\r\n" + LENGTH + b"\r\n" + BODY,
    "absolute form of another host": b"POST http://evil/v1/jobs HTTP/1.1\r\nHost: localhost\r\n"
    + LENGTH
    + b"\r\n"
    + BODY,
    "a byte above ASCII in the target": b"POST /v1/jobs\xff HTTP/1.1\r\nHost: localhost\r\n" + LENGTH + b"\r\n" + BODY,
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    "a chunk size that overflows": POST + TE + b"\r\nfffffffffffffffff\r\n" + BODY + b"\r\n0\r\n\r\n",
    "a chunk size that wraps to the right one": POST + TE + b"\r\n1%016x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY),
    "a negative chunk size": POST + TE + b"\r\n-1\r\n\r\n0\r\n\r\n",
    "a chunk size with 0x": POST + TE + b"\r\n0x%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY),
    "an empty chunk size": POST + TE + b"\r\n\r\n" + BODY + b"\r\n0\r\n\r\n",
    "a chunk size with a space before": POST + TE + b"\r\n %x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY),
    "a chunk that ends wrongly": POST + TE + b"\r\n%x\r\n%sXX0\r\n\r\n" % (len(BODY), BODY),
    "bare LF after a chunk size": POST + TE + b"\r\n%x\n%s\r\n0\r\n\r\n" % (len(BODY), BODY),
    "bare LF in a chunk extension": POST + TE + b"\r\n%x;a\nb\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY),
}
NEXT = b"GET /v1/smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"


class Smuggling(harness.ServerCase):
    def verdict(self, request, pieces=(), pause_s=0.0):
        """(status, whether the connection was closed after it without further data)."""
        with self.server.connect() as raw:
            try:
                raw.send(request + NEXT, pieces=pieces, pause_s=pause_s)
            except OSError:
                pass  # closed before all of it was sent
            reply = raw.read_reply()
            return (reply.status if reply else None), raw.closed_by_server()

    def test_each_is_400_and_the_connection_closed(self):
        for name, request in SMUGGLING.items():
            with self.subTest(name):
                self.assertEqual(self.verdict(request), (400, True))
        self.assertEqual(self.api.get("/v1/queues/http").status, 404, "one of them got through")

    def test_the_same_however_it_is_split(self):
        for number, (name, request) in enumerate(SMUGGLING.items()):
            # Together the requests cover every split point, each request a few.
            for at in range(1 + number % 7, len(request), 17):
                with self.subTest(name, at=at):
                    self.assertEqual(self.verdict(request, pieces=[at], pause_s=0.002), (400, True))
        self.assertEqual(self.api.get("/v1/queues/http").status, 404)

    def test_byte_by_byte(self):
        for name in (
            "length then chunked",
            "bare LF in the head",
            "a chunk size that overflows",
            "two lengths",
        ):
            request = SMUGGLING[name]
            with self.subTest(name):
                self.assertEqual(self.verdict(request, pieces=range(1, len(request))), (400, True))


class Bodies(harness.ServerCase):
    def test_a_good_chunked_body_however_it_is_split(self):
        chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (BODY[:1], BODY[1:10], BODY[10:]))
        request = POST + TE + b"\r\n" + chunks + b"0\r\n\r\n"
        for at in range(1, len(request), 5):
            with self.server.connect() as raw:
                raw.send(request, pieces=[at], pause_s=0.001)
                self.assertEqual(raw.read_reply().status, 201, at)
        with self.server.connect() as raw:
            raw.send(request, pieces=range(1, len(request)))
            self.assertEqual(raw.read_reply().status, 201)

    def test_expect_continue(self):
        with self.server.connect() as raw:
            raw.send(POST + LENGTH + b"Expect: 100-continue\r\n\r\n")
            self.assertEqual(raw.read_reply().status, 100)
            raw.send(BODY)
            self.assertEqual(raw.read_reply().status, 201)
        with self.server.connect() as raw:
            raw.send(POST + b"Content-Length: 99999999\r\nExpect: 100-continue\r\n\r\n")
            self.assertEqual(raw.read_reply().status, 413)

    def test_a_client_that_leaves_in_the_middle_changes_nothing(self):
        request = (
            b'POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{"type":"half","queue":"half"}'
        )
        for at in range(1, len(request), 7):
            with self.server.connect() as raw:
                raw.send(request[:at])
        self.submit()
        self.assertEqual(self.api.get("/v1/queues/half").status, 404)

    def test_no_body_where_one_is_needed(self):
        with self.server.connect() as raw:
            raw.send(POST + b"\r\n")
            self.assertIn(raw.read_reply().status, (400, 422))


class Connections(harness.ServerCase):
    def test_they_are_kept(self):
        with self.server.connect() as raw:
            for _ in range(50):
                raw.send(POST + LENGTH + b"\r\n" + BODY)
                self.assertEqual(raw.read_reply().status, 201)

    def test_also_after_a_refusal_that_was_well_framed(self):
        with self.server.connect() as raw:
            for request, status in (
                (b"GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
                (POST + b"Content-Length: 2\r\n\r\n{]", 400),
                (b"DELETE /livez HTTP/1.1\r\nHost: localhost\r\n\r\n", 405),
                (POST + LENGTH + b"\r\n" + BODY, 201),
            ):
                raw.send(request)
                self.assertEqual(raw.read_reply().status, status)

    def test_requests_in_a_row_are_answered_in_that_row(self):
        with self.server.connect() as raw:
            raw.send(
                b"".join(
                    b"GET /v1/jobs/%d HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: r%d\r\n\r\n" % (n, n)
                    for n in range(40)
                )
            )
            self.assertEqual(
                [raw.read_reply().headers["x-request-id"] for _ in range(40)],
                [f"r{n}" for n in range(40)],
            )

    def test_a_row_with_a_poll_in_it(self):
        claim = b'{"queues":["row"],"limit":1,"wait_ms":300,"worker":{"id":"w"}}'
        with self.server.connect() as raw:
            raw.send(
                b"POST /v1/claim HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (len(claim), claim)
                + GET
                + b"\r\n"
            )
            self.assertEqual(raw.read_reply().json, {"jobs": []})
            self.assertEqual(raw.read_reply().json, {"status": "ok"})

    def test_close_and_http_1_0(self):
        for request in (
            GET + b"Connection: close\r\n\r\n",
            b"GET /livez HTTP/1.0\r\nHost: localhost\r\n\r\n",
            b"GET /livez HTTP/1.0\r\n\r\n",
        ):
            with self.server.connect() as raw:
                raw.send(request)
                self.assertEqual(raw.read_reply().status, 200)
                self.assertTrue(raw.closed_by_server(), request)

    def test_head_has_the_head_only(self):
        with self.server.connect() as raw:
            raw.send(b"HEAD /v1/meta HTTP/1.1\r\nHost: localhost\r\n\r\n" + GET + b"\r\n")
            head = raw.read_reply(head_only=True)
            self.assertEqual((head.status, head.headers["content-type"]), (200, "application/json"))
            self.assertEqual(raw.read_reply().json, {"status": "ok"})

    def test_options_names_the_methods(self):
        with self.server.connect() as raw:
            raw.send(b"OPTIONS /v1/queues/q HTTP/1.1\r\nHost: localhost\r\n\r\n")
            reply = raw.read_reply()
            self.assertIn(reply.status, (200, 204, 405))
            self.assertTrue({"GET", "PUT", "PATCH"} <= {m.strip() for m in reply.headers["allow"].split(",")})

    def test_absurd_numbers_of_connections_do_no_harm(self):
        idle = [self.server.connect() for _ in range(300)]
        self.assertEqual(self.submit()["state"], "ready")
        for connection in idle:
            connection.close()
        self.assertEqual(self.submit()["state"], "ready")


class TooMuch(harness.ServerCase):
    def status(self, request):
        with self.server.connect() as raw:
            try:
                raw.send(request)
            except OSError:
                pass
            reply = raw.read_reply()
            if reply and reply.status >= 400:
                self.assertEqual(reply.headers["content-type"], "application/problem+json")
                self.assertEqual(raw.closed_by_server(), reply.status != 422)
            return reply and reply.status

    def test_the_header_block(self):
        self.assertEqual(self.status(GET + b"X-A: " + b"x" * 15000 + b"\r\n\r\n"), 200)
        self.assertEqual(self.status(GET + b"X-A: " + b"x" * 16384 + b"\r\n\r\n"), 431)
        self.assertEqual(self.status(GET + b"X-A: " + b"x" * 200_000), 431)
        self.assertEqual(self.status(GET + b"X" * 20000), 431)

    def test_the_number_of_headers(self):
        def fields(count):
            return b"".join(b"X-%d: 1\r\n" % n for n in range(count))

        self.assertEqual(self.status(GET + fields(63) + b"\r\n"), 200)
        self.assertEqual(self.status(GET + fields(64) + b"\r\n"), 431)
        self.assertEqual(self.status(GET + fields(1000) + b"\r\n"), 431)

    def test_the_target(self):
        def target(length):
            return b"GET /livez?" + b"x" * (length - 7) + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"

        self.assertIn(self.status(target(8191)), (200, 422))
        self.assertEqual(self.status(target(8193)), 414)
        self.assertIn(self.status(b"GET /" + b"x" * 300_000), (414, 431))

    def test_a_body_without_end(self):
        with self.server.connect() as raw:
            raw.send(POST + TE + b"\r\n")
            piece = b"10000\r\n" + b"x" * 65536 + b"\r\n"
            try:
                for _ in range(400):
                    raw.send(piece)
            except OSError:
                pass
            reply = raw.read_reply()
            self.assertTrue(reply is None or reply.status == 413, reply)
        self.submit()

    def test_chunk_extensions_without_end(self):
        self.assertIn(self.status(POST + TE + b"\r\n1;" + b"a" * 300_000), (400, 413))

    def test_trailers_without_end(self):
        self.assertIn(self.status(POST + TE + b"\r\n0\r\n" + b"X-A: b\r\n" * 30_000), (400, 413, 431))


class Slow(harness.MillraceCase):
    def test_a_head_that_does_not_come_is_408_and_holds_up_nobody(self):
        server = self.new_server(config='[limits]\nheader_timeout = "8s"\nidle_timeout = "1s"\n').start()
        self.use(server)
        outcomes = {}

        def never_ending(name, start, drip):
            with server.connect(timeout=0.1) as raw:
                raw.send(start)
                for _ in range(400):
                    try:
                        outcomes[name] = raw.read_reply().status
                        return
                    except TimeoutError:
                        raw.send(drip)

        threads = [
            threading.Thread(target=never_ending, args=args)
            for args in (("head", b"GET /livez HTTP/1.1\r\nX-A: ", b"x"), ("line", b"GE", b"T"))
        ]
        for thread in threads:
            thread.start()
        for _ in range(10):
            self.submit()
        self.assertEqual(outcomes, {}, "they are waited for still")
        for thread in threads:
            thread.join()
        self.assertEqual(outcomes, {"head": 408, "line": 408})

        with server.connect() as raw:
            raw.send(b"GET /livez HTTP/1.1\r\n")
            reply = raw.read_reply()
            self.assertEqual((reply.status, reply.code), (408, "request_timeout"))
            self.assertTrue(raw.closed_by_server())
        with server.connect() as raw:
            started = time.monotonic()
            raw.send(GET + b"\r\n")
            self.assertEqual(raw.read_reply().status, 200)
            self.assertTrue(raw.closed_by_server(), "an idle connection is closed without a word")
            self.assertGreater(time.monotonic() - started, 0.5)

    def test_a_body_that_does_not_come_holds_up_nobody(self):
        server = self.new_server().start()
        self.use(server)
        with server.connect() as raw:
            raw.send(POST + LENGTH + b"\r\n" + BODY[:10])
            self.submit()
            raw.send(BODY[10:])
            self.assertEqual(raw.read_reply().status, 201)

    def test_a_reader_that_does_not_read_holds_up_nobody(self):
        server = self.new_server().start()
        self.use(server)
        self.submit_many(1000, payload="x" * 5000)
        request = (
            f"GET /v1/jobs?queue={self.queue}&limit=1000&include=payload&fresh=true HTTP/1.1\r\nHost: localhost\r\n\r\n"
        ).encode()
        with server.connect() as lazy:
            lazy.send(request * 20)
            for _ in range(20):
                started = time.monotonic()
                self.submit()
                self.assertLess(time.monotonic() - started, 20)


if __name__ == "__main__":
    harness.main()

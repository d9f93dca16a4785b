"""Streams of events: where they begin, what they tell, how they end, and what a slow reader costs."""

import http.client
import json
import socket
import time

import harness

HEADERS = {"Accept": "text/event-stream"}


class Stream:
    """One open stream, read message by message."""

    def __init__(self, server, query="", last=None, token=None, timeout=10):
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=timeout)
        headers = dict(HEADERS)
        if last:
            headers["Last-Event-ID"] = last
        if token:
            headers["Authorization"] = "Bearer " + token
        self.connection.request("GET", "/v1/events" + query, headers=headers)
        self.answer = self.connection.getresponse()
        self.status = self.answer.status

    def next(self):
        """The next message, as (event, id, data); none at the end of the stream."""
        event, position, data = "message", None, None
        while True:
            line = self.answer.readline()
            if not line:
                return None
            line = line.decode().rstrip("\n")
            if line == "":
                return event, position, data
            name, value = line.split(": ", 1)
            if name == "event":
                event = value
            elif name == "id":
                position = value
            else:
                data = json.loads(value)

    def until(self, wanted):
        while True:
            message = self.next()
            if message is None or wanted(message):
                return message

    def close(self):
        # At once: a regular close would read the stream to an end that does not come.
        if self.answer.fp:
            self.answer.fp.raw._sock.shutdown(socket.SHUT_RDWR)
        self.connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Streams(harness.ServerCase):
    def setUp(self):
        super().setUp()
        self.api.put(f"/v1/queues/{self.queue}", {})  # that it is made is an event too

    def open(self, query="", **more):
        return Stream(self.server, query, **more)

    def test_it_says_where_it_begins_and_then_each_event(self):
        with self.open(f"?queues={self.queue}") as stream:
            self.assertEqual(stream.status, 200)
            self.assertEqual(stream.answer.headers["Content-Type"], "text/event-stream")
            self.assertEqual(stream.answer.headers["Cache-Control"], "no-store")
            event, position, data = stream.next()
            self.assertEqual((event, data["position"]), ("position", position))
            job = self.submit("mail")
            self.finish(self.claim_one())
            told = [stream.next() for _ in range(3)]
            self.assertEqual([event for event, _, _ in told], ["message"] * 3)
            self.assertEqual(
                [data["type"] for _, _, data in told],
                ["job.submitted", "job.started", "job.succeeded"],
            )
            self.assertEqual({data["job_id"] for _, _, data in told}, {job["id"]})
            self.assertEqual([data["id"] for _, _, data in told], [each[1] for each in told])

    def test_it_goes_on_where_the_reader_was(self):
        with self.open(f"?queues={self.queue}") as stream:
            begin = stream.next()[1]
        for _ in range(5):
            self.submit()
        with self.open(f"?queues={self.queue}", last=begin) as stream:
            self.assertEqual(stream.next()[0], "position")
            first = [stream.next() for _ in range(2)]
        with self.open(f"?queues={self.queue}", last=first[-1][1]) as stream:
            self.assertEqual(stream.next()[1], first[-1][1])
            rest = [stream.next() for _ in range(3)]
        jobs = [data["job_id"] for _, _, data in first + rest]
        self.assertEqual(len(set(jobs)), 5)

    def test_filters(self):
        with self.open(f"?queues={self.queue}&types=job.succeeded") as stream:
            stream.next()
            self.submit()
            self.finish(self.claim_one())
            self.assertEqual(stream.next()[2]["type"], "job.succeeded")
        mine, other = self.submit()["id"], self.submit()["id"]
        with self.open(f"?job={other}") as stream:
            stream.next()
            self.api.post(f"/v1/jobs/{mine}/cancel")
            self.api.post(f"/v1/jobs/{other}/cancel")
            self.assertEqual(stream.next()[2]["job_id"], other)
        self.assert_refused(self.api.get("/v1/events", job="x"), 422, "validation_failed", "job")
        self.assert_refused(
            self.api.get("/v1/events", digest_ms=1), 422, "validation_failed", "digest_ms"
        )

    def test_a_digest_counts_what_has_happened(self):
        with self.open(f"?queues={self.queue}&digest_ms=250") as stream:
            stream.next()
            self.submit_many(300)
            counts = 0
            while counts < 300:
                event, _, data = stream.next()
                self.assertEqual(event, "digest")
                self.assertFalse(data["skipped"])
                self.assertEqual(data["queues"], [self.queue])
                self.assertLessEqual(len(data["jobs"]), 200)
                self.assertEqual(data["types"], {"job.submitted": data["events"]})
                counts += data["events"]
            self.assertEqual(counts, 300)

    def test_what_is_no_position_is_refused_before_the_stream_begins(self):
        for query in ("?cursor=nonsense!", "?cursor=99999999999-0"):
            with self.open(query) as stream:
                self.assertEqual(stream.status, 422)
        with self.open("", last="99999999999-0") as stream:
            self.assertEqual(stream.status, 422)

    def test_data_stays_on_one_line(self):
        with self.open(f"?queues={self.queue}") as stream:
            stream.next()
            job = self.submit(delay_ms=60_000)["id"]
            self.api.patch(f"/v1/jobs/{job}", raw=b'{"payload": {"a":\n\r\n 1}}')
            types = [stream.next()[2]["type"] for _ in range(2)]
            self.assertEqual(types, ["job.submitted", "job.edited"])

    def test_a_client_that_goes_is_let_go(self):
        streams = [self.open() for _ in range(20)]
        for stream in streams:
            stream.next()
            stream.close()
        self.submit()
        harness.eventually(
            lambda: self.server.log.count("path=/v1/events status=499") >= 20,
            what="the ends of the streams in the log",
        )

    def test_a_hundred_streams_hear_of_one_job(self):
        streams = [self.open(f"?queues={self.queue}") for _ in range(100)]
        try:
            for stream in streams:
                self.assertEqual(stream.next()[0], "position")
            job = self.submit()["id"]
            for stream in streams:
                self.assertEqual(stream.next()[2]["job_id"], job)
        finally:
            for stream in streams:
                stream.close()


class Ends(harness.MillraceCase):
    def test_a_stopping_server_ends_its_streams(self):
        server = self.new_server("--log-level", "debug")
        server.start()
        self.use(server)
        for query in ("", "?digest_ms=1000"):
            with self.subTest(query=query):
                with Stream(server, query) as stream:
                    stream.next()
                    began = time.monotonic()
                    server.stop()
                    self.assertIsNone(stream.until(lambda message: False))
                    self.assertLess(time.monotonic() - began, 8)
                server.start()

    def test_a_killed_server_s_reader_misses_nothing(self):
        server = self.new_server()
        server.start()
        self.use(server)
        with Stream(server) as stream:
            begin = stream.next()[1]
        self.submit_many(50)
        server.restart(kill=True)
        self.use(server)
        self.submit_many(50)
        with Stream(server, last=begin) as stream:
            self.assertEqual(stream.next()[0], "position")
            jobs = {stream.next()[2]["job_id"] for _ in range(100)}
        self.assertEqual(len(jobs), 100)

    def test_who_reads_nothing_is_cut_off(self):
        server = self.new_server("--log-level", "debug")
        server.start()
        self.use(server)
        with socket.create_connection(("127.0.0.1", server.port)) as slow:
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            slow.sendall(
                b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n"
            )
            for _ in range(40):
                self.submit_many(500, meta={"a": "x" * 500})
            harness.eventually(
                lambda: "path=/v1/events" in server.log, timeout_s=40, what="the cut in the log"
            )


if __name__ == "__main__":
    harness.main()

"""Tests of event streams: their begin, content and end, and the cost of a slow reader."""

import collections
import contextlib
import http.client
import importlib.util
import json
import pathlib
import random
import re
import signal
import socket
import subprocess
import threading
import time
import unittest

import harness
import nodes  # whose folder the harness has added

HEADERS = {"Accept": "text/event-stream"}


class Stream:
    """One open stream, read message by message."""

    def __init__(self, server, query="", last=None, token=None, timeout=60):
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=timeout)
        headers = dict(HEADERS)
        if last:
            headers["Last-Event-ID"] = last
        if token:
            headers["Authorization"] = "Bearer " + token
        self.query = query
        self.connection.request("GET", "/v1/events" + query, headers=headers)
        self.answer = self.connection.getresponse()
        self.status = self.answer.status

    def next(self):
        """The next message as (event, id, data); None at the end of the stream."""
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
        # At once, because a regular close would read the stream, which never ends, to its end.
        if self.answer.fp:
            self.answer.fp.raw._sock.shutdown(socket.SHUT_RDWR)
        self.connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Follower(threading.Thread):
    """Reads a stream of single events until it is closed; `told` has their contents."""

    def __init__(self, stream, api):
        super().__init__(daemon=True)
        self.stream, self.api, self.told = stream, api, []
        self.query = stream.query
        self.begins = stream.next()[1]
        self.start()

    def run(self):
        with contextlib.suppress(OSError, ValueError, http.client.HTTPException):
            while message := self.stream.next():
                if message[0] == "message":
                    self.told.append(self.words(message[2]))

    @staticmethod
    def words(event):
        return event["type"], event["queue"], event["job_id"], event["attempt"]

    def wanted(self):
        """The log's events for it."""
        wanted, cursor = [], self.begins
        while True:
            query = f"{self.query}&" if self.query else "?"
            page = self.api.get(f"/v1/events{query}cursor={cursor}&limit=1000").json
            if not page["items"]:
                return wanted
            wanted += [self.words(item) for item in page["items"]]
            cursor = page["next_cursor"]

    def close(self):
        self.stream.close()
        self.join(60)


def by_queue(events):
    """The order that is promised: shards have their own, and a queue is on one of them."""
    queues = collections.defaultdict(list)
    for event in events:
        queues[event[1]].append(event)
    return queues


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
        self.assert_refused(self.api.get("/v1/events", digest_ms=1), 422, "validation_failed", "digest_ms")

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

    def test_many_streams_of_several_filters_miss_and_repeat_nothing(self):
        """Most sleep while others are told; some come, and some go, in the middle of it."""
        dice = random.Random(7)
        queues = [f"{self.queue}-{n}" for n in range(8)]
        filters = [f"?queues={queue}" for queue in queues]
        filters += ["", "?types=job.started", f"?queues={queues[0]},{queues[1]}&types=job.started"]
        staying, gone = [], []
        try:
            for number in range(300):
                if number < 40 or number % 10 == 0:
                    staying.append(Follower(self.open(dice.choice(filters)), self.api))
                self.submit(queue=dice.choice(queues))
                if number % 3 == 0:
                    self.claim(queues=queues, lease_ms=600_000)  # nothing happens later
                if number % 15 == 0:
                    gone.append(staying.pop(dice.randrange(len(staying))))
                    gone[-1].close()
            for follower in staying:
                wanted = follower.wanted()
                harness.eventually(lambda: len(follower.told) >= len(wanted), what="all")  # noqa: B023
                self.assertEqual(by_queue(follower.told), by_queue(wanted), follower.query)
            for follower in gone:
                wanted = by_queue(follower.wanted())
                for queue, told in by_queue(follower.told).items():
                    self.assertEqual(told, wanted[queue][: len(told)], follower.query)
        finally:
            for follower in staying:
                follower.close()

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
        server = self.new_server("--log-level", "debug", "--drain", "60s")
        server.start()
        self.use(server)
        for query in ("", "?digest_ms=1000"):
            with self.subTest(query=query):
                with Stream(server, query) as stream:
                    stream.next()
                    began = time.monotonic()
                    server.stop()
                    self.assertIsNone(stream.until(lambda message: False))
                    self.assertLess(time.monotonic() - began, 40)
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
            slow.sendall(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n")
            for _ in range(40):
                self.submit_many(500, meta={"a": "x" * 500})
            harness.eventually(lambda: "path=/v1/events" in server.log, timeout_s=90, what="the cut in the log")
            harness.eventually(lambda: 'how="cut_off"} 1' in self.api.get("/metrics").body.decode(), what="its count")


class Figures(harness.ServerCase):
    def streams(self):
        text = self.api.get("/metrics").body.decode()
        found = dict(re.findall(r"^millrace_(event_streams\S*) (\S+)$", text, re.M))
        return {name: float(value) for name, value in found.items()}

    def test_open_ended_and_cut_off_streams_are_counted(self):
        with Stream(self.server) as stream:
            stream.next()
            harness.eventually(lambda: self.streams()["event_streams"] == 1, what="the stream")
        harness.eventually(lambda: self.streams()["event_streams"] == 0, what="no stream")
        harness.eventually(lambda: self.streams()['event_streams_ended_total{how="closed"}'] == 1, what="its count")
        self.assertEqual(self.streams()['event_streams_ended_total{how="cut_off"}'], 0)


class Followers(harness.MillraceCase):
    """millrace events --follow, which reads the stream."""

    def follow(self, *args):
        process = subprocess.Popen(
            [harness.BINARY, "events", "--follow", "-o", "json", *args],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=harness.environment(MILLRACE_URL=self.server.url),
        )
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def start(self, *args, **settings):
        self.use(self.new_server(*args, **settings).start())

    def streams(self):
        text = self.api.get("/metrics").body.decode()
        return float(re.search(r"^millrace_event_streams (\S+)$", text, re.M).group(1))

    def await_stream(self):
        harness.eventually(lambda: self.streams() >= 1, what="the stream")

    def test_it_prints_events_as_they_come_and_ends_at_its_limit(self):
        self.start()
        follower = self.follow("-q", self.queue, "-t", "job.submitted", "-n", "3")
        self.await_stream()
        ids = [self.submit()["id"] for _ in range(3)]
        self.submit(queue="another")
        out, _ = follower.communicate(timeout=60)
        self.assertEqual(follower.returncode, 0)
        self.assertEqual([json.loads(line)["job_id"] for line in out.splitlines()], ids)

    def test_it_comes_back_where_it_was_after_a_kill(self):
        self.start()
        follower = self.follow("-t", "job.submitted", "-n", "90")
        self.await_stream()
        ids = []
        for turn in range(3):
            ids += self.submit_many(30)
            if turn < 2:
                self.server.restart(kill=True)
                self.use(self.server)
        out, err = follower.communicate(timeout=120)
        self.assertEqual([json.loads(line)["job_id"] for line in out.splitlines()], ids)
        self.assertIn("comes back to where it was", err)

    def test_from_the_start_misses_nothing_between_the_log_and_the_stream(self):
        self.start()
        ids = self.submit_many(120)  # of which a pipe holds all
        follower = self.follow("--from-start", "-t", "job.submitted", "-n", "121")
        self.await_stream()
        ids.append(self.submit()["id"])
        out, _ = follower.communicate(timeout=60)
        self.assertEqual([json.loads(line)["job_id"] for line in out.splitlines()], ids)

    def test_it_says_what_a_person_reads(self):
        self.start()
        follower = subprocess.Popen(
            [harness.BINARY, "events", "--follow", "-n", "2", "-t", "job.submitted,job.retrying"],
            stdout=subprocess.PIPE,
            text=True,
            env=harness.environment(MILLRACE_URL=self.server.url),
        )
        self.addCleanup(follower.wait)
        self.addCleanup(follower.kill)
        self.await_stream()
        job = self.submit("mail")["id"]
        self.fail_attempt(self.claim_one(worker="w7"))
        out, _ = follower.communicate(timeout=60)
        first, second = out.splitlines()
        self.assertIn(f"job.submitted         {self.queue}  {job}  mail", first)
        self.assertIn("#1  on w7", second)

    @harness.sqlite_only
    def test_events_that_are_gone_are_told(self):
        self.start("--retention-events", "0ms", "--retention-events-size", "1MiB")
        follower = self.follow("-t", "job.submitted")
        self.await_stream()
        self.submit()
        first = json.loads(follower.stdout.readline())
        # While it sleeps, the log is trimmed beyond its position.
        follower.send_signal(signal.SIGSTOP)
        self.server.restart(kill=True)
        self.use(self.server)

        def gone():
            self.submit_many(200, payload="x" * 4000)
            return self.api.get("/v1/events", limit=1, cursor=first["id"]).status == 410

        harness.eventually(gone, timeout_s=60, what="a position that is gone")
        follower.send_signal(signal.SIGCONT)
        told = ""
        while "has deleted events" not in told:
            told = follower.stderr.readline()
            self.assertTrue(told, "the command ended")
        self.assertTrue(json.loads(follower.stdout.readline())["job_id"])

    def test_a_wrong_token_ends_it_with_a_reason(self):
        made = json.loads(harness.run("token", "new", "--name", "w", "--scope", "work", "-o", "json").stdout)
        self.use(self.new_server(config=made["toml"], token=made["token"]))
        self.server.start()
        done = self.server.cli("events", "--follow")
        self.assertEqual(done.returncode, 4)
        self.assertIn("scope", done.stderr)


def counts_example():
    path = pathlib.Path(__file__).parents[2] / "docs/guide/examples/counts.py"
    spec = importlib.util.spec_from_file_location("counts", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Rebuilt(harness.MillraceCase):
    """The guide's example: all queues' counts from the stream alone, and they are the server's own."""

    def follow(self, url):
        counts = counts_example().Counts(url)
        thread = threading.Thread(target=counts.follow)
        thread.start()
        harness.eventually(lambda: counts.position, 60, what="a position")

        def end():
            counts.ends_at = 0
            thread.join(60)

        self.addCleanup(end)
        return counts

    def work(self, api, queues, dice):
        """Makes all kinds of changes to counts, and goes on if a server is away."""
        try:
            queue = dice.choice(queues)
            jobs = [
                {
                    "type": "t",
                    "queue": queue,
                    "max_attempts": dice.choice((1, 3)),
                    "retry": {"strategy": "fixed", "base_ms": 50},
                    "delay_ms": dice.choice((0, 0, 200)),
                }
                for _ in range(20)
            ]
            api.post("/v1/jobs/batch", {"jobs": jobs})
            body = {"queues": queues, "limit": 15, "lease_ms": 1000, "worker": {"id": "w"}}
            claimed = api.post("/v1/claim", body)
            for job in claimed.json["jobs"] if claimed.status == 200 else ():
                outcome = dice.choice(("succeeded", "succeeded", "failed", "snoozed", "released", None))
                if outcome is None:
                    continue  # its lease runs out
                item = {"id": job["id"], "token": job["lease"]["token"], "outcome": outcome}
                if outcome == "snoozed":
                    item["delay_ms"] = 100
                if outcome == "failed":
                    item["error"] = {"type": "Oops", "message": "no"}
                api.post("/v1/ack", {"items": [item]})
                if dice.random() < 0.1:
                    api.post(f"/v1/jobs/{job['id']}/retry", {})
                if dice.random() < 0.1:
                    api.post(f"/v1/jobs/{job['id']}/cancel", {})
                if dice.random() < 0.1:
                    api.delete(f"/v1/jobs/{job['id']}")
            if dice.random() < 0.05:
                api.post(f"/v1/queues/{queue}/purge", {"states": ["dead"]})
        except (OSError, http.client.HTTPException):
            time.sleep(0.05)

    def assert_same(self, counts, api):
        def same():
            reply = api.get("/v1/queues")
            if reply.status != 200:
                return False
            server = {q["name"]: {s: n for s, n in q["counts"].items() if n} for q in reply.json["items"]}
            self.seen = (counts.by_queue(), {n: c for n, c in server.items() if c})
            return self.seen[0] == self.seen[1]

        try:
            harness.eventually(same, 90, 0.2, what="the same counts")
        except AssertionError:
            self.assertEqual(*self.seen)

    def test_through_kills(self):
        self.use(self.new_server().start())
        queues = [f"{self.queue}-{n}" for n in range(5)]
        # One queue keeps no jobs: they are gone with their last event.
        self.api.put(f"/v1/queues/{queues[0]}", {"retention": {"succeeded_ms": 0}})
        counts = self.follow(self.server.url)
        dice = random.Random(7)
        for _ in range(3):
            until = time.monotonic() + 2
            while time.monotonic() < until:
                self.work(self.api, queues, dice)
            self.server.restart(kill=True)
            self.use(self.server)
        self.assert_same(counts, self.api)
        self.assertEqual(counts.snapshots, 1)
        self.assertGreater(counts.applied, 200)

    @unittest.skipUnless(harness.STORE == "postgres", "several nodes need PostgreSQL")
    def test_through_a_takeover(self):
        several = nodes.Nodes(2)
        self.addCleanup(several.close)
        several.start()
        self.use(several[0])
        queues = [f"{self.queue}-{n}" for n in range(8)]
        counts = self.follow(several[0].url)
        dice = random.Random(8)
        until = time.monotonic() + 3
        while time.monotonic() < until:
            self.work(self.api, queues, dice)
        several[1].kill()  # what it led goes to the other, which is followed
        until = time.monotonic() + 12
        while time.monotonic() < until:
            self.work(self.api, queues, dice)
        self.assert_same(counts, self.api)
        self.assertEqual(counts.snapshots, 1)


if __name__ == "__main__":
    harness.main()

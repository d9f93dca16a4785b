#!/usr/bin/env python3
"""Keeps the number of jobs of every queue, by state, from the stream of events alone: a model of what any
program can do that follows the log. It survives the server's end and comes back where it was.

    python3 counts.py --for 5      follows for five seconds, then prints what it knows
"""

import argparse
import collections
import contextlib
import datetime
import http.client
import json
import os
import random
import socket
import time
import urllib.parse


class Gone(Exception):
    """The server has deleted the events after the position: a new snapshot is due."""


class Counts:
    def __init__(self, url, token=None):
        self.url = urllib.parse.urlsplit(url)
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.jobs = {}  # by id: (queue, state, run_at)
        self.position = None  # of the last event that `jobs` contains
        self.applied = 0
        self.snapshots = 0
        self.ends_at = float("inf")

    def follow(self):
        """Until `ends_at`. Each connection goes on where the one before ended."""
        pause = 0.1
        while time.time() < self.ends_at:
            try:
                if self.position is None:
                    self.take_snapshot()
                for _ in self.read_stream():
                    pause = 0.1
            except Gone:
                self.position = None
            except (OSError, http.client.HTTPException):
                time.sleep(pause * random.uniform(0.5, 1.5))  # not all readers at once
                pause = min(pause * 2, 5)

    def take_snapshot(self):
        """All jobs there are. The position is from before: what happens meanwhile is in the snapshot and
        in the stream, and to apply an event twice changes nothing.
        """
        position = self.ask("/v1/events?cursor=end&limit=1")["next_cursor"]
        jobs, cursor = {}, ""
        while cursor is not None:
            page = self.ask(f"/v1/jobs?limit=1000&fresh=true&cursor={urllib.parse.quote(cursor)}")
            for job in page["items"]:
                jobs[job["id"]] = (job["queue"], job["state"], job["run_at"])
            cursor = page["next_cursor"]
        self.jobs, self.position = jobs, position
        self.snapshots += 1

    def apply(self, event):
        job, kind, data = event["job_id"], event["type"], event["data"]
        if job is None:
            return
        _, state, run_at = self.jobs.get(job, (None, None, None))
        if kind == "job.deleted" or data.get("kept") is False:
            self.jobs.pop(job, None)
            return
        state = {
            "job.started": "running",
            "job.expired": "expired",
            "job.cancelled": "cancelled",
        }.get(kind, data.get("state", state))
        if state is not None:
            self.jobs[job] = (event["queue"], state, data.get("run_at", run_at))

    def read_stream(self):
        with self.open("/v1/events", {"Accept": "text/event-stream", "Last-Event-ID": self.position}) as answer:
            event, position, data = "message", None, ""
            while time.time() < self.ends_at:
                try:
                    line = answer.readline().decode().rstrip("\n")
                except socket.timeout:  # a stream says something each 15 seconds
                    return
                if line == "" and data:
                    if event == "message":
                        self.apply(json.loads(data))
                        self.applied += 1
                    elif event == "gone":
                        raise Gone
                    self.position = position or self.position
                    yield event
                    event, position, data = "message", None, ""
                    continue
                name, _, value = line.partition(": ")
                if not name:
                    return  # the server ended the stream
                if name == "event":
                    event = value
                elif name == "id":
                    position = value
                elif name == "data":
                    data = value

    def by_queue(self, now=None):
        """{queue: {state: count}}. A job whose time has come is ready: the log does not say so job by job."""
        now = now or datetime.datetime.now(datetime.timezone.utc)
        counts = collections.defaultdict(collections.Counter)
        for queue, state, run_at in self.jobs.values():
            if state in ("scheduled", "retrying") and datetime.datetime.fromisoformat(run_at) <= now:
                state = "ready"
            counts[queue][state] += 1
        return {queue: dict(states) for queue, states in sorted(counts.items())}

    @contextlib.contextmanager
    def open(self, target, headers=None):
        tls = self.url.scheme == "https"
        kind = http.client.HTTPSConnection if tls else http.client.HTTPConnection
        left = max(0.1, min(45, self.ends_at - time.time()))
        connection = kind(self.url.hostname, self.url.port, timeout=left)
        try:
            connection.request("GET", target, headers={**self.headers, **(headers or {})})
            answer = connection.getresponse()
            if answer.status == 410:
                raise Gone
            if answer.status != 200:
                raise http.client.HTTPException(f"{target}: {answer.status} {answer.read()[:200]}")
            yield answer
        finally:
            connection.close()

    def ask(self, target):
        with self.open(target) as answer:
            return json.loads(answer.read())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--for", type=float, default=5, dest="seconds")
    arguments = parser.parse_args()
    counts = Counts(os.environ.get("MILLRACE_URL", "http://127.0.0.1:7600"), os.environ.get("MILLRACE_TOKEN"))
    counts.ends_at = time.time() + arguments.seconds
    counts.follow()
    print(json.dumps(counts.by_queue()))

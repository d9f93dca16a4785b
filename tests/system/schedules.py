"""Methods for tests of schedules, in addition to the harness's."""

import time
import urllib.parse

import harness
from harness import eventually, seconds

HOUR_MS = 3_600_000
YEARLY = "0 0 1 1 *"  # not due during tests, except for one night


class ScheduleWords:
    """A mix-in for harness.MillraceCase. `name` is the test's own schedule name."""

    def setUp(self):
        super().setUp()
        self.name = f"s.{self.queue}"
        self.beacon = None

    def path(self, name=None, call=None):
        path = "/v1/schedules/" + urllib.parse.quote(name or self.name, safe="")
        return f"{path}/{call}" if call else path

    def job_members(self, queue=None, **members):
        return {"type": "tick", "queue": queue or self.queue, **members}

    def put(self, name=None, job=None, queue=None, headers=None, **members):
        """The reply to a PUT. The schedule is yearly by default, and is deleted after the test."""
        name = name or self.name
        body = {"job": job or self.job_members(queue), **members}
        if "cron" not in body and "every_ms" not in body:
            body["cron"] = YEARLY
        self.addCleanup(self.forget, name)
        return self.api.put(self.path(name), body, headers=headers)

    def made(self, name=None, **members):
        """The schedule of a PUT, which must have created or changed it."""
        reply = self.put(name, **members)
        self.assertIn(reply.status, (200, 201), reply)
        return reply.json

    def forget(self, name):
        if self.server.process and self.server.process.poll() is None:
            self.api.delete(self.path(name))

    def schedule(self, name=None):
        reply = self.api.get(self.path(name))
        self.assertEqual(reply.status, 200, reply)
        return reply.json

    def call(self, call, body=None, name=None, headers=None):
        return self.api.post(self.path(name, call), body, headers=headers)

    def runs(self, name=None):
        """The schedule's runs, oldest first."""
        reply = self.api.get(self.path(name, "runs"))
        self.assertEqual(reply.status, 200, reply)
        return reply.json["items"][::-1]

    def outcomes(self, name=None):
        return [run["outcome"] for run in self.runs(name)]

    def jobs_of(self, name=None, queue=None, **query):
        """The jobs that the schedule has created, in the order of their instants."""
        found = self.list_jobs(queue=queue or self.queue, **query)
        found = [job for job in found if job.get("schedule", {}).get("name") == (name or self.name)]
        return sorted(found, key=instant)

    def instants(self, name=None, queue=None):
        return [instant(job) for job in self.jobs_of(name, queue)]

    def await_jobs(self, count, name=None, queue=None, timeout_s=60):
        """The schedule's jobs, once there are this many."""
        return eventually(
            lambda: len(jobs := self.jobs_of(name, queue)) >= count and jobs,
            timeout_s,
            what=f"{count} jobs of {name or self.name}",
        )

    def let_instants_pass(self, for_s):
        """Waits until another schedule, with an instant each second, has fired `for_s` seconds from
        now. A schedule that has not fired by then does not fire.
        """
        if not self.beacon:
            self.beacon = f"beacon.{self.queue}"
            self.made(self.beacon, queue=f"beacon-{self.queue}", every_ms=1000)
        until = time.time() + for_s
        eventually(
            lambda: (last := self.schedule(self.beacon)["last_scheduled_at"]) and seconds(last) >= until,
            for_s + 60,
            what="the beacon's instants",
        )

    def assert_each_second(self, instants):
        """Asserts that a schedule with an instant each second misses and repeats none."""
        self.assertEqual([round(at - instants[0], 3) for at in instants], list(range(len(instants))))


def instant(job):
    """The job's instant, in seconds since the epoch."""
    return seconds(job["schedule"]["scheduled_at"])


def came(job):
    """When the job could first be claimed, in seconds since the epoch."""
    return max(seconds(job["created_at"]), seconds(job["run_at"]))


def api_time(at):
    """The server's text for an instant in seconds since the epoch."""
    whole, ms = divmod(round(at * 1000), 1000)
    return harness.rfc3339(whole).replace("+00:00", f".{ms:03}Z")

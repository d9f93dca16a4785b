"""Attacks that fill what the server remembers: keys, operations, schedules. See attacker.py."""

import time

DAY_MS = 86_400_000
SCHEDULES = 3_000


class AttacksThatPileUp:
    def endless_keys(self):
        """Jobs with a key of their own at a rate of one a day: each key is remembered for that long."""
        limit = self.PREFIX + "endless"
        rate = {"rate": {"limit": 1, "per_ms": DAY_MS}, "per_key": True}
        self.call("PUT", f"/v1/limits/{limit}", rate)
        queue = self.PREFIX + "keys"

        def act(dice):
            jobs = [
                {"type": "t", "queue": queue, "limits": [{"name": limit, "key": f"k{dice.randrange(1 << 50)}"}]}
                for _ in range(500)
            ]
            self.call("POST", "/v1/jobs/batch", {"jobs": jobs})
            status, given = self.call("POST", "/v1/claim", {"queues": [queue], "limit": 1000, "worker": {"id": "w"}})
            if status == 200 and given["jobs"]:
                items = [
                    {"id": job["id"], "token": job["lease"]["token"], "outcome": "succeeded"} for job in given["jobs"]
                ]
                self.call("POST", "/v1/ack", {"items": items})

        self.on_threads(6, act)
        self.must_take(limit)

    def must_take(self, what):
        """What has nothing to do with the attack must be taken, at the latest after a while."""
        deadline = time.monotonic() + 20
        while True:
            status, _ = self.call("POST", "/v1/jobs", {"type": "t", "queue": self.PREFIX + "plain"})
            if status == 201:
                return
            if time.monotonic() > deadline:
                raise self.Leak(f"{what}: a job that has nothing to do with it is refused with {status}")
            time.sleep(0.2)

    def moving_operations(self):
        """All the operations that a limited token can have, and deletions of jobs that still change."""
        queue = self.PREFIX + "moving"

        def act(dice):
            limited = {"action": "cancel", "filter": {"queue": self.PREFIX + "held"}, "rate_per_s": 1}
            self.call("POST", "/v1/jobs/bulk", limited, self.limited)
            time.sleep(dice.choice((0, 0.1)))

        self.call(
            "POST",
            "/v1/jobs/batch",
            {"jobs": [{"type": "t", "queue": self.PREFIX + "held", "delay_ms": DAY_MS}] * 1000},
        )
        self.on_threads(4, act)
        early, late = self.some_jobs(queue), self.some_jobs(queue)
        self.cancel(early)
        filtered = {"action": "delete", "filter": {"queue": queue, "state": ["cancelled"]}, "rate_per_s": 50}
        status, operation = self.call("POST", "/v1/jobs/bulk", filtered)
        if status == 0:
            return
        if status != 202:
            raise self.Leak(f"another token may begin no operation any more: {status}")
        self.cancel(late)
        self.await_end(operation["id"])
        gone = [job for job in late if self.call("GET", f"/v1/jobs/{job}")[0] == 404]
        if gone:
            raise self.Leak(f"an operation deleted {len(gone)} jobs that were cancelled after it began")

    def some_jobs(self, queue, count=100):
        jobs = [{"type": "t", "queue": queue, "delay_ms": DAY_MS}] * count
        status, made = self.call("POST", "/v1/jobs/batch", {"jobs": jobs})
        return [item["id"] for item in made["results"] if "id" in item] if status in (200, 201) else []

    def cancel(self, jobs):
        for job in jobs:
            self.call("POST", f"/v1/jobs/{job}/cancel")

    def await_end(self, operation, patience_s=20):
        deadline = time.monotonic() + patience_s
        while time.monotonic() < deadline:
            status, seen = self.call("GET", f"/v1/operations/{operation}")
            if status == 200 and seen["state"] not in ("running", "paused"):
                return
            time.sleep(0.2)

    def schedules_in_masses(self):
        """Thousands of schedules, each due every second."""

        def act(dice):
            name = f"{self.PREFIX}s{dice.randrange(SCHEDULES)}"
            job = {"type": "t", "queue": f"{self.PREFIX}fired", "payload": "x" * 1_000}
            self.call("PUT", f"/v1/schedules/{name}", {"every_ms": 1_000, "job": job})

        self.on_threads(8, act)
        self.must_take("schedules")

"""Tests of schedules over time: each instant once and never early, overlap, pauses, missed
instants, edits, full queues, stops and kills.

That nothing fires is shown beside a schedule that does (`let_instants_pass`).
"""

import random
import time

import harness
from harness import eventually, rfc3339, seconds
from schedules import HOUR_MS, ScheduleWords, api_time, came, instant

# The largest difference between a decision and the time in its run, in seconds.
SLACK_S = 0.1


def missed_by(run):
    """How long after its instant a run was decided, in seconds."""
    return seconds(run["at"]) - seconds(run["scheduled_at"])


class Firing(ScheduleWords, harness.ServerCase):
    def test_each_instant_fires_once_with_the_job_as_it_was_given(self):
        anchor = rfc3339(int(time.time()) - 100 + 0.4)
        members = {"payload": {"n": [1, 2]}, "tags": ["a"], "priority": 3, "meta": {"m": "x"}, "max_attempts": 2}
        # Several queues and names: on PostgreSQL some of the queues lie on other shards than their schedules.
        whens = {f"{self.queue}-{n}": {"every_ms": 1000, "start_at": anchor} for n in range(7)}
        whens[f"{self.queue}-cron"] = {"cron": "* * * * * *", "timezone": "Asia/Kathmandu"}
        made = {}
        for queue, when in whens.items():
            made[queue] = self.made(f"s.{queue}", job=self.job_members(queue, **members), **when)
        for queue in whens:
            self.await_jobs(3, f"s.{queue}", queue)
        for queue in whens:
            with self.subTest(queue=queue):
                name = f"s.{queue}"
                last = self.call("pause", name=name).json
                jobs = eventually(
                    lambda: (
                        (found := self.jobs_of(name, queue, include="payload"))
                        and found[-1]["schedule"]["scheduled_at"] == last["last_scheduled_at"]
                        and found
                    ),
                    what="the last job",
                )
                instants = [instant(job) for job in jobs]
                self.assert_each_second(instants)
                self.assertAlmostEqual(instants[0] % 1, 0 if queue.endswith("cron") else 0.4, places=3)
                born = seconds(made[queue]["created_at"])
                self.assertTrue(born - SLACK_S <= instants[0] <= born + 1 + SLACK_S, (born, instants))
                for job in jobs:
                    self.assertEqual({name: job[name] for name in members}, members)
                    self.assertEqual((job["type"], job["state"]), ("tick", "ready"))
                    self.assertGreaterEqual(came(job), instant(job), "early")
                    self.assertLess(came(job), instant(job) + 30)
                self.assertEqual(last["last_job_id"], jobs[-1]["id"])
                self.assertEqual(self.job(jobs[0]["id"])["schedule"], jobs[0]["schedule"])
                claimed = self.claim_one(queues=[queue])
                self.assertEqual(
                    (claimed["id"], claimed["schedule"], claimed["payload"]),
                    (jobs[0]["id"], {"name": name, "scheduled_at": api_time(instants[0])}, members["payload"]),
                )
                runs = self.runs(name)
                self.assertEqual(
                    [(run["job_id"], run["outcome"]) for run in runs], [(job["id"], "submitted") for job in jobs]
                )
                self.assertEqual([seconds(run["scheduled_at"]) for run in runs], instants)

    def test_jobs_of_others_have_no_schedule(self):
        self.assertNotIn("schedule", self.submit())
        self.assertNotIn("schedule", self.claim_one())

    def test_an_edit_and_a_deletion_hold_from_their_answer_on(self):
        self.made(job=self.job_members(type="old"), every_ms=1000)
        self.await_jobs(1)
        edited = self.made(job=self.job_members(type="new"), every_ms=1000)
        self.assertIsNotNone(edited["last_scheduled_at"])
        self.let_instants_pass(2)
        jobs = self.await_jobs(3)
        self.assert_each_second([instant(job) for job in jobs])
        types = [job["type"] for job in jobs]
        self.assertEqual(types, sorted(types, reverse=True), "old ones, then new ones")
        self.assertEqual(set(types), {"old", "new"})
        for job in jobs:
            if job["type"] == "old":
                # On another shard it may be made a little later.
                self.assertLessEqual(instant(job), seconds(edited["updated_at"]) + SLACK_S)

        self.assertEqual(self.api.delete(self.path()).status, 204)
        deleted = time.time()
        self.let_instants_pass(2)
        self.assertEqual([at for at in self.instants() if at > deleted + SLACK_S], [])
        before = time.time()
        again = self.made(every_ms=1000)
        self.assertIsNone(again["last_scheduled_at"])
        eventually(lambda: self.instants()[-1] > before, what="a job of the new one")
        late = [at for at in self.instants() if deleted + SLACK_S < at < before - SLACK_S]
        self.assertEqual(late, [], "it owes nothing from before its creation")

    def test_start_and_end(self):
        start = int(time.time()) + 7
        members = {"every_ms": 1000, "start_at": rfc3339(start), "end_at": rfc3339(start + 1)}
        made = self.made(**members)
        self.assertEqual((made["state"], made["next"]), ("active", [api_time(start), api_time(start + 1)]))
        eventually(lambda: self.schedule()["state"] == "ended", what="the end")
        ended = self.schedule()
        self.assertEqual((ended["next"], ended["last_scheduled_at"]), ([], api_time(start + 1)))
        self.await_jobs(2)
        self.assertEqual(self.put(**members).json, ended)
        self.let_instants_pass(1)
        self.assertEqual(self.instants(), [start, start + 1])
        longer = self.made(**{**members, "end_at": rfc3339(start + 3600)})
        self.assertEqual((longer["state"], len(longer["next"])), ("active", 5))
        self.await_jobs(3)

    def test_a_pause_owes_nothing(self):
        self.made(every_ms=1000, missed="all", missed_after_ms=1000)
        self.await_jobs(1)
        running = self.schedule()
        paused = self.call("pause", {"reason": "the site is down"}).json
        after_pause = time.time()
        self.assertEqual((paused["paused"], paused["state"], paused["reason"]), (True, "paused", "the site is down"))
        self.assertGreater(paused["version"], running["version"])
        self.assertEqual(len(paused["next"]), 5)
        self.assertEqual(self.call("pause", {"reason": "the site is down"}).json["version"], paused["version"])
        self.let_instants_pass(2.5)
        self.assertEqual([at for at in self.instants() if at > after_pause], [])
        before_resume = time.time()
        resumed = self.call("resume").json
        self.assertEqual((resumed["paused"], resumed["state"], resumed["reason"]), (False, "active", None))
        self.assertEqual(self.call("resume").json["version"], resumed["version"])
        eventually(lambda: self.instants()[-1] > before_resume, what="a job after the pause")
        between = [at for at in self.instants() if after_pause < at < before_resume - SLACK_S]
        self.assertEqual(between, [])
        self.assertEqual(set(self.outcomes()), {"submitted"})

    def test_jitter_is_a_fixed_draw_and_never_early(self):
        """Two servers draw the same for the same schedules and instant."""
        other = self.new_server().start()
        here, there = self.api, self.new_client(other)
        names = [f"{self.name}.{n}" for n in range(30)]
        for name in names:
            self.made(name, every_ms=4000, jitter_ms=3900)
        self.api = there
        for name in names:
            body = {"job": self.job_members(), "every_ms": 4000, "jitter_ms": 3900}
            self.assertEqual(self.api.put(self.path(name), body).status, 201)
        first = (int(time.time()) // 4 + 1) * 4

        def delays(api):
            self.api = api
            jobs = [job for job in self.list_jobs() if instant(job) == first]
            return len(jobs) == len(names) and {job["schedule"]["name"]: came(job) - first for job in jobs}

        both = [eventually(lambda: delays(api), what="a job of each") for api in (there, here)]
        for drawn in both:
            self.assertGreaterEqual(min(drawn.values()), 0, "early")
            self.assertLess(max(drawn.values()), 3.9 + 20)
            self.assertGreater(max(drawn.values()) - min(drawn.values()), 0.5, "they are spread")
        # A stalled server makes some late. Of independent draws, one in seven would be so near.
        apart = sorted(abs(both[0][name] - both[1][name]) for name in names)
        self.assertLess(apart[len(names) * 2 // 5], 0.3)


class Overlap(ScheduleWords, harness.ServerCase):
    def overlapping(self, policy):
        """(schedule, queue) of each second; its first job is claimed."""
        name, queue = f"{self.name}.{policy}", f"{self.queue}-{policy}"
        self.made(name, queue=queue, every_ms=1000, overlap=policy)
        return name, queue, self.claim_within(queues=[queue], lease_ms=600_000)

    def test_every_policy_while_the_newest_job_has_not_ended(self):
        allow, allow_queue, _ = self.overlapping("allow")
        skip, skip_queue, skipping = self.overlapping("skip")
        queue, queue_queue, queueing = self.overlapping("queue")
        self.let_instants_pass(3.2)

        with self.subTest(policy="allow"):
            self.await_jobs(3, allow, allow_queue)
            self.assert_each_second(self.instants(allow, allow_queue))

        with self.subTest(policy="skip"):
            self.assertEqual(self.instants(skip, skip_queue), [instant(skipping)])
            self.assertEqual(set(self.outcomes(skip)[1:]), {"skipped_overlap"})
            before = time.time()
            self.finish(skipping)
            following = self.claim_within(queues=[skip_queue])
            # The shard of the queue says whether it has ended; an instant may have waited for that.
            self.assertGreater(instant(following), before - (SLACK_S if harness.SHARDS == 1 else 1))
            covered = [seconds(run["scheduled_at"]) for run in self.runs(skip)]
            self.assert_each_second(covered)

        with self.subTest(policy="queue"):
            self.assertEqual(self.claim(queues=[queue_queue]), [])
            self.assertIn("skipped_overlap", self.outcomes(queue))
            self.assertNotIn(
                instant(queueing) + 1, [seconds(run["scheduled_at"]) for run in self.runs(queue)[1:]], "it waits"
            )
            self.finish(queueing)
            waited = self.claim_within(queues=[queue_queue])
            self.assertEqual(instant(waited), instant(queueing) + 1, "the first that came waits")
            self.fail_attempt(waited, delay_ms=60_000)
            self.let_instants_pass(1.2)
            self.assertEqual(self.claim(queues=[queue_queue]), [], "what retries has not ended")

    def test_replace_cancels_the_last_and_starts_when_it_has_ended(self):
        name, queue, running = self.overlapping("replace")
        eventually(lambda: self.job(running["id"])["cancel_requested"], what="the cancellation")
        self.let_instants_pass(1.2)
        self.assertEqual(self.claim(queues=[queue]), [], "not before it has ended")
        self.finish(running, "cancelled")
        # No worker claims from here on, so a waiting job is cancelled at once.
        eventually(lambda: self.outcomes(name).count("replaced") >= 2, 60, what="two that were replaced")
        self.call("pause", name=name)
        replacing = [run["job_id"] for run in self.runs(name) if run["outcome"] == "replaced"]

        def settled():
            jobs = self.jobs_of(name, queue)
            ended = {job["state"] for job in jobs[:-1]} == {"cancelled"}
            return ended and [job["id"] for job in jobs] == [running["id"], *replacing]

        eventually(settled, what="all but the newest cancelled")


class FullQueues(ScheduleWords, harness.ServerCase):
    def full_queue(self, queue):
        self.api.put(f"/v1/queues/{queue}", {"max_ready": 1})
        self.submit(queue=queue)

    def test_what_is_refused_stays_owed_until_there_is_room(self):
        queues = [f"{self.queue}-{n}" for n in range(4)]
        start = int(time.time()) + 9
        for queue in queues:
            self.full_queue(queue)
            self.made(f"s.{queue}", queue=queue, every_ms=HOUR_MS, start_at=rfc3339(start))
        self.let_instants_pass(start - time.time() + 1)
        for queue in queues:
            self.assertEqual(self.jobs_of(f"s.{queue}", queue), [])
            self.claim_one(queues=[queue])
        for queue in queues:
            self.await_jobs(1, f"s.{queue}", queue)
            self.assertEqual(self.instants(f"s.{queue}", queue), [start])
            self.assertEqual(self.outcomes(f"s.{queue}"), ["submitted"])

    def test_and_is_given_up_at_the_next_instant(self):
        name = harness.neighbour(self.queue)  # on the shard of the queue, which can refuse at once
        self.full_queue(self.queue)
        self.made(name, every_ms=1000)
        eventually(lambda: self.outcomes(name).count("refused") >= 2, what="refused runs")
        refused = [run for run in self.runs(name) if run["outcome"] == "refused"]
        self.assertTrue(all(run["error"] and run["job_id"] is None for run in refused), refused)
        room = time.time()
        self.claim_one()
        first = instant(self.await_jobs(1, name)[0])
        self.assertGreater(first, room - 5)
        self.assertNotIn(first, [seconds(run["scheduled_at"]) for run in refused])


class Restarted(ScheduleWords, harness.MillraceCase):
    def setUp(self):
        super().setUp()
        self.use(self.new_server().start())

    def names_and_runs(self, names):
        """name -> its runs, of schedules that are paused now, once their jobs are those of the runs."""
        for name in names:
            self.call("pause", name=name)

        def settled(name):
            runs = self.runs(name)
            fired = [seconds(run["scheduled_at"]) for run in runs if run["outcome"] == "submitted"]
            return sorted(fired) == self.instants(name, f"{self.queue}-{name}") and runs

        return {name: eventually(lambda: settled(name), what=f"the jobs of {name}") for name in names}

    def test_what_a_stop_missed(self):
        policies = {
            "skip": {"missed": "skip"},
            "one": {},
            "all": {"missed": "all"},
            "two": {"missed": "all", "missed_limit": 2},
            "late": {"missed": "skip", "missed_after_ms": 60_000},
        }
        missed_s = 4  # more than a busy server is late by
        for name, members in policies.items():
            members = {"every_ms": 1000, "missed_after_ms": missed_s * 1000, "queue": f"{self.queue}-{name}", **members}
            self.made(name, **members)
        self.made("paused", every_ms=1000, missed="all", paused=True, queue=f"{self.queue}-paused")
        self.call("pause", {"reason": "for now"}, name="paused")
        for name in policies:
            self.await_jobs(1, name, f"{self.queue}-{name}")
        self.assertEqual(self.server.stop(), 0)
        stopped = time.time()
        time.sleep(missed_s + 4.5)  # the outage
        started = time.time()
        self.server.start()
        self.use(self.server)
        running = time.time()
        for name in policies:
            eventually(
                lambda: (last := self.schedule(name)["last_scheduled_at"]) and seconds(last) > running,
                60,
                what=f"an instant of {name} after the start",
            )
        found = self.names_and_runs(policies)
        surely = [at for at in range(int(stopped) + 1, int(started)) if at + missed_s + SLACK_S < started]
        self.assertGreaterEqual(len(surely), 2)
        for name, runs in found.items():
            with self.subTest(missed=name):
                self.assertLessEqual({run["outcome"] for run in runs}, {"submitted", "skipped_missed"})
                fired = {seconds(run["scheduled_at"]): run for run in runs if run["outcome"] == "submitted"}
                skipped = [run for run in runs if run["outcome"] == "skipped_missed"]
                count = sum(run.get("count", 1) for run in skipped)
                self.assertEqual(len(fired) + count, max(fired) - min(fired) + 1, "each instant has one fate")
                left_out = set(surely) - set(fired)
                late = [at for at, run in fired.items() if missed_by(run) > missed_s + SLACK_S]
                if name in ("all", "late"):
                    self.assertEqual((left_out, skipped), (set(), []))
                    continue
                self.assertEqual(len(skipped), 1, "one entry for all")
                newest = seconds(skipped[0]["scheduled_at"])
                self.assertNotIn(newest, fired)
                self.assertGreater(missed_by(skipped[0]), missed_s - SLACK_S)
                after = fired[newest + 1]
                if name == "skip":
                    self.assertEqual((left_out, late), (set(surely), []))
                    self.assertLessEqual(missed_by(after), missed_s + SLACK_S)
                elif name == "one":
                    self.assertLessEqual(len(late), 1)
                    self.assertGreater(missed_by(after), missed_s - SLACK_S, "the latest that was missed fires")
                else:
                    self.assertLessEqual(len(late), 2)
                    self.assertGreater(missed_by(fired[newest + 2]), missed_s - SLACK_S)
        paused = self.schedule("paused")
        self.assertEqual((paused["state"], paused["reason"]), ("paused", "for now"))
        self.assertEqual((self.runs("paused"), self.jobs_of("paused", f"{self.queue}-paused")), ([], []))

    def test_a_kill_fires_no_instant_twice_and_loses_none(self):
        names = [f"k{n}" for n in range(5)]
        for name in names:
            self.made(name, queue=f"{self.queue}-{name}", every_ms=1000)
        dice = random.Random(11)
        for _ in range(3 if harness.STORE == "sqlite" else 2):
            after = time.time()
            eventually(
                lambda: all(
                    (last := self.schedule(name)["last_scheduled_at"]) and seconds(last) > after for name in names
                ),
                60,
                what="an instant of each",
            )
            time.sleep(dice.uniform(0, 1))
            self.server.restart(kill=True)
            self.use(self.server)
        running = time.time()
        for name in names:
            eventually(lambda: seconds(self.schedule(name)["last_scheduled_at"]) > running, 60, what="an instant")
        for name, runs in self.names_and_runs(names).items():
            with self.subTest(schedule=name):
                self.assertEqual({run["outcome"] for run in runs}, {"submitted"})
                self.assert_each_second([seconds(run["scheduled_at"]) for run in runs])
                jobs = self.jobs_of(name, f"{self.queue}-{name}")
                self.assertEqual([job["id"] for job in jobs], [run["job_id"] for run in runs])


if __name__ == "__main__":
    harness.main()

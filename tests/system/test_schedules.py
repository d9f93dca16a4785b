"""Tests of schedules: valid and invalid ones, lists, previews, owners' sets, triggers, backfills.

Tests of firing are in test_schedule_firing.py.
"""

import datetime
import time
import zoneinfo

import harness
import test_auth
from harness import rfc3339, seconds
from schedules import HOUR_MS, YEARLY, ScheduleWords, api_time, instant

UTC = datetime.timezone.utc
DEFAULTS = {
    "cron": None,
    "every_ms": None,
    "timezone": "UTC",
    "start_at": None,
    "end_at": None,
    "jitter_ms": 0,
    "missed_after_ms": 60000,
    "missed": "one",
    "missed_limit": 100,
    "overlap": "allow",
    "dst_gap": "run",
    "dst_overlap": "once",
    "paused": False,
    "managed_by": None,
}
TEN_YEARS_MS = 315_360_000_000
DAY_MS = 86_400_000


def specification(schedule):
    """The part of a GET's answer that a PUT accepts."""
    return {"job": schedule["job"], **{name: schedule[name] for name in DEFAULTS}}


class Specification(ScheduleWords, harness.ServerCase):
    def test_put_makes_then_replaces_then_leaves_alone(self):
        made = self.put(cron="0 9 * * MON-FRI", timezone="Europe/Zurich")
        self.assertEqual(made.status, 201, made)
        self.assertEqual(
            specification(made.json),
            {**DEFAULTS, "cron": "0 9 * * MON-FRI", "timezone": "Europe/Zurich", "job": made.json["job"]},
        )
        self.assertEqual(made.json["description"], "At 09:00 on Monday to Friday, Europe/Zurich")
        self.assertEqual(
            [made.json[name] for name in ("name", "state", "reason", "error", "last_scheduled_at", "last_job_id")],
            [self.name, "active", None, None, None, None],
        )
        self.assertEqual(len(made.json["next"]), 5)
        self.assertNotIn("warnings", made.json)
        again = self.put(cron="0 9 * * MON-FRI", timezone="Europe/Zurich")
        self.assertEqual((again.status, again.json), (200, made.json))
        self.assertEqual(again.headers["etag"], f'"{made.json["version"]}"')
        spelled_out = self.api.put(self.path(), specification(made.json))
        self.assertEqual((spelled_out.status, spelled_out.json), (200, made.json))
        changed = self.put(cron="30 9 * * MON-FRI")
        self.assertEqual(changed.status, 200)
        self.assertGreater(changed.json["version"], made.json["version"])
        self.assertEqual((changed.json["timezone"], changed.json["created_at"]), ("UTC", made.json["created_at"]))
        self.assertEqual(self.schedule(), changed.json)

    def test_every_member_comes_back(self):
        job = {
            "type": "report",
            "queue": self.queue,
            "payload": {"n": 123456789012345678901234567890, "a": [1.50]},
            "priority": -3,
            "expires_in_ms": 5000,
            "max_attempts": 2,
            "lease_ms": 7000,
            "timeout_ms": 9000,
            "retry": {"strategy": "fixed", "base_ms": 1000, "max_ms": 300000, "jitter": 0},
            "unique": {"key": "k", "on_conflict": "reject"},
            "tags": ["a", "b"],
            "meta": {"tenant": "acme"},
        }
        given = {
            "cron": "15 30 2 L,15W * 5#3",
            "timezone": "America/New_York",
            "start_at": "2026-01-01T00:00:00.000Z",
            "end_at": "2090-01-01T00:00:00.000Z",
            "jitter_ms": 1000,
            "missed_after_ms": 1000,
            "missed": "all",
            "missed_limit": 1000,
            "overlap": "queue",
            "dst_gap": "skip",
            "dst_overlap": "twice",
            "paused": True,
            "managed_by": "billing",
        }
        made = self.made(job=job, **given)
        self.assertEqual(specification(made), {**DEFAULTS, **given, "job": made["job"]})
        for name in (
            "type",
            "queue",
            "payload",
            "priority",
            "expires_in_ms",
            "max_attempts",
            "lease_ms",
            "timeout_ms",
            "tags",
            "meta",
        ):
            self.assertEqual(made["job"][name], job[name], name)
        for name in ("retry", "unique"):
            self.assertEqual({**made["job"][name], **job[name]}, made["job"][name])
        self.assertEqual(made["state"], "paused")
        again = self.api.put(self.path(), specification(made))
        self.assertEqual((again.status, again.json["version"]), (200, made["version"]), again)
        interval = self.made(every_ms=90_000, start_at="2026-01-01T01:00:30+01:00")
        self.assertEqual((interval["cron"], interval["every_ms"]), (None, 90_000))
        self.assertEqual(interval["start_at"], "2026-01-01T00:00:30.000Z")
        self.assertEqual({(seconds(at) - seconds(interval["start_at"])) % 90 for at in interval["next"]}, {0})

    def test_the_payload_comes_back_byte_for_byte(self):
        self.addCleanup(self.forget, self.name)
        raw = b'{"cron": "0 0 1 1 *", "job": {"type": "t", "payload": {"b":  1e2, "a":\t[ ] }}}'
        reply = self.api.put(self.path(), raw=raw)
        self.assertIn(b'{"b":  1e2, "a":\t[ ] }', reply.body)
        self.assertIn(b'{"b":  1e2, "a":\t[ ] }', self.api.get(self.path()).body)
        self.assertEqual(reply.json["job"]["queue"], "default")

    def test_paused_stays_as_it_is_where_it_is_left_out(self):
        self.made()
        self.call("pause", {"reason": "holidays"})
        paused = self.schedule()
        self.assertEqual(self.put().json, paused)
        changed = self.made(cron="0 1 1 1 *")
        self.assertEqual((changed["paused"], changed["state"]), (True, "paused"))
        resumed = self.made(cron="0 1 1 1 *", paused=False)
        self.assertEqual((resumed["paused"], resumed["state"], resumed["reason"]), (False, "active", None))
        self.assertGreater(resumed["version"], changed["version"])

    def assert_place(self, place, **members):
        """A schedule with these members is refused, for the one at `place`."""
        body = {"cron": YEARLY, "job": self.job_members(), **members}
        body = {name: value for name, value in body.items() if value != "left out"}
        with self.subTest(**{name: str(value)[:80] for name, value in members.items()}):
            self.assert_fault(body, place, self.path(), "PUT")

    def test_one_past_every_bound(self):
        long = "x" * 129
        for place, members in (
            ("/cron", {"cron": 5}),
            ("/cron", {"cron": ""}),
            ("/cron", {"cron": " " * 504 + "0 0 * * *"}),
            ("/cron", {"cron": "left out"}),
            ("/every_ms", {"every_ms": 60_000}),  # beside `cron`
            *(
                ("/every_ms", {"cron": "left out", "every_ms": value})
                for value in (999, TEN_YEARS_MS + 1, -1, 1000.5, "1000")
            ),
            *(
                ("/timezone", {"timezone": value})
                for value in ("Europe/Atlantis", "", "../../etc/passwd", "/etc/localtime", "x" * 65, 1)
            ),
            *(("/start_at", {"start_at": value}) for value in ("yesterday", 1, "2026-02-30T00:00:00Z")),
            ("/end_at", {"end_at": "2026-13-01T00:00:00Z"}),
            ("/end_at", {"start_at": "2030-01-01T00:00:00Z", "end_at": "2029-12-31T23:59:59Z"}),
            *(("/jitter_ms", {"jitter_ms": value}) for value in (-1, DAY_MS + 1, "1")),
            ("/jitter_ms", {"cron": "left out", "every_ms": 1000, "jitter_ms": 1000}),
            ("/jitter_ms", {"cron": "* * * * *", "jitter_ms": 60_000}),
            *(("/missed_after_ms", {"missed_after_ms": value}) for value in (999, DAY_MS + 1)),
            *(("/missed_limit", {"missed": "all", "missed_limit": value}) for value in (0, 1001)),
            ("/missed", {"missed": "some"}),
            ("/overlap", {"overlap": "forbid"}),
            ("/dst_gap", {"dst_gap": "once"}),
            ("/dst_overlap", {"dst_overlap": "run"}),
            ("/paused", {"paused": "yes"}),
            *(("/managed_by", {"managed_by": value}) for value in ("a b", long, "", 1)),
            ("/surprise", {"surprise": 1}),
            ("/job", {"job": "left out"}),
            ("/job", {"job": "tick"}),
            ("/job/type", {"job": {}}),
            ("/job/type", {"job": {"type": long}}),
            ("/job/queue", {"job": self.job_members(queue="a b")}),
            ("/job/id", {"job": self.job_members(id=harness.uuid7())}),
            ("/job/run_at", {"job": self.job_members(run_at="2030-01-01T00:00:00Z")}),
            ("/job/delay_ms", {"job": self.job_members(delay_ms=1)}),
            ("/job/priority", {"job": self.job_members(priority=32768)}),
            ("/job/tags", {"job": self.job_members(tags=[f"t{n}" for n in range(33)])}),
            ("/job/max_attempts", {"job": self.job_members(max_attempts=0)}),
            ("/job/idempotency_key", {"job": self.job_members(idempotency_key="k")}),
        ):
            self.assert_place(place, **members)
        many = {"every_ms": 1, "timezone": "x" * 65, "jitter_ms": -1, "missed": "", "job": {"type": ""}}
        self.assert_fault(many, ["/every_ms", "/timezone", "/jitter_ms", "/missed", "/job/type"], self.path(), "PUT")
        too_large = self.put(job=self.job_members(payload="x" * (64 * 1024 - 1)))
        self.assertIn(too_large.code, ("payload_too_large", "validation_failed"), too_large)
        self.assert_refused(self.api.get(self.path()), 404, "not_found")

    def test_at_every_bound(self):
        for members in (
            {"every_ms": 1000, "jitter_ms": 999, "start_at": "2090-01-01T00:00:00Z"},
            {"every_ms": TEN_YEARS_MS},
            {"every_ms": 2 * DAY_MS, "jitter_ms": DAY_MS},
            {"cron": " " * 503 + "0 0 1 1 *"},
            {"missed_after_ms": 1000, "missed": "all", "missed_limit": 1},
            {"missed_after_ms": DAY_MS, "missed": "all", "missed_limit": 1000},
            {"cron": None, "every_ms": HOUR_MS, "start_at": None, "end_at": None, "managed_by": None},
            {"managed_by": "x" * 128},
            {"job": self.job_members(payload="x" * (64 * 1024 - 2))},
        ):
            with self.subTest(**{name: str(value)[:80] for name, value in members.items()}):
                self.made(**members)

    def test_a_wrong_expression_names_the_field_what_stands_there_and_what_may(self):
        for expression, *words in (
            ("61 * * * *", 'minute: "61"', "0 to 59"),
            ("* 24 * * *", 'hour: "24"', "0 to 23"),
            ("0 0 0 * *", 'day of month: "0"', "1 to 31"),
            ("0 0 1 JANUARY *", 'month: "JANUARY"', "JAN to DEC"),
            ("0 9 * * MON,FOO", 'day of week: "FOO"', 'in "MON,FOO"', "SUN to SAT"),
            ("60 * * * * *", 'second: "60"', "0 to 59"),
            ("*/90 * * * *", '"*/90"', "a step is 1 to 59"),
            ("0 0 * * FRI-MON", '"FRI-MON"', "write two with a comma between"),
            ("0 0 * * L", '"L"', "6L for the month's last"),
            ("0 0 * * 8L", '"8L"', "0 and 7 are Sunday, 5 is Friday", "5L (the last)"),
            ("0 0 31 2 *", '"31" never comes in month "2"'),
            ("0 0 31W 2 *", "never comes"),
            ("* * * *", "five fields", '"* * * *" has 4'),
            ("@reboot", '"@reboot" is not one of @yearly'),
        ):
            with self.subTest(expression=expression):
                refused = self.put(cron=expression)
                self.assert_refused(refused, 422, "validation_failed", "/cron")
                detail = refused.json["errors"][0]["detail"]
                for word in words:
                    self.assertIn(word, detail)
                preview = self.api.post("/v1/schedules/preview", {"cron": expression})
                self.assert_refused(preview, 422, "validation_failed", "/cron")
                self.assertEqual(preview.json["errors"][0]["detail"], detail)
        unknown = self.put(timezone="Europe/Zurick")
        self.assertIn("Europe/Zurich", unknown.json["errors"][0]["detail"])

    def test_warns_of_what_was_probably_not_meant(self):
        made = self.put(cron="* * * * * *", paused=True)
        self.assertEqual((made.status, made.json["warnings"]), (201, ["It fires each second."]))
        self.assertEqual(self.schedule()["warnings"], made.json["warnings"])
        last_friday = self.made(cron="0 18 * * 5L", timezone="Europe/Zurich")
        self.assertEqual(last_friday["description"], "At 18:00 on the last Friday of the month, Europe/Zurich")
        self.assertNotIn("warnings", last_friday)
        for at in last_friday["next"]:
            local = datetime.datetime.fromtimestamp(seconds(at), zoneinfo.ZoneInfo("Europe/Zurich"))
            self.assertEqual((local.hour, local.weekday()), (18, 4))
            self.assertNotEqual((local + datetime.timedelta(days=7)).month, local.month)

    def test_only_the_version_expected(self):
        made = self.put()
        match = {"If-Match": made.headers["etag"]}
        self.assertEqual(self.put(cron="0 1 1 1 *", headers=match).status, 200)
        self.assert_refused(self.put(cron="0 2 1 1 *", headers=match), 412, "version_conflict")
        self.assert_refused(self.api.delete(self.path(), headers=match), 412, "version_conflict")
        self.assertEqual(self.schedule()["cron"], "0 1 1 1 *")

    def test_names(self):
        name = f"A/z:0_9.-{self.queue}"
        self.assertEqual(self.made(name)["name"], name)
        self.assertEqual(self.call("pause", name=name).json["name"], name)
        body = {"cron": YEARLY, "job": {"type": "t"}}
        for wrong in ("a%20b", "x" * 129, "caf%C3%A9", "a%00b"):
            self.assertIn(self.api.put(f"/v1/schedules/{wrong}", body).status, (404, 422), wrong)
        refused = self.api.put("/v1/schedules/preview", body)
        self.assertIn(refused.status, (405, 422), refused)
        self.assertNotIn("preview", [one["name"] for one in self.list_schedules()])

    def test_what_is_not_there(self):
        past = {"from": rfc3339(time.time() - 3600), "to": rfc3339(time.time() - 60)}
        for reply in (
            self.api.get(self.path()),
            self.api.delete(self.path()),
            self.call("pause"),
            self.call("resume"),
            self.call("trigger"),
            self.call("backfill", past),
            self.api.get(self.path(call="runs")),
        ):
            self.assert_refused(reply, 404, "not_found")

    def test_delete(self):
        first = self.made()
        job = self.call("trigger").json
        self.assertEqual(self.api.delete(self.path()).status, 204)
        self.assert_refused(self.api.get(self.path()), 404, "not_found")
        self.assert_refused(self.api.delete(self.path()), 404, "not_found")
        self.assertEqual(self.job(job["id"])["schedule"], job["schedule"])
        again = self.put()
        self.assertEqual((again.status, again.json["version"]), (201, first["version"]))
        self.assertEqual((again.json["last_job_id"], self.runs()), (None, []))

    def list_schedules(self, limit=1000, **query):
        found = []
        while True:
            reply = self.api.get("/v1/schedules", limit=limit, **query)
            self.assertEqual(reply.status, 200, reply)
            self.assertLessEqual(len(reply.json["items"]), limit)
            found += reply.json["items"]
            if reply.json["next_cursor"] is None:
                return found
            query["cursor"] = reply.json["next_cursor"]

    def test_lists_are_by_name_in_pages_and_filtered(self):
        # Names on every shard; queues too.
        names = [f"{self.name}.{n:02}" for n in range(25)]
        for n, name in enumerate(reversed(names)):
            self.made(name, queue=f"{self.queue}-{n % 2}", managed_by="list" if n % 5 == 0 else None)
        for limit in (7, 1, 1000):
            found = [one["name"] for one in self.list_schedules(limit)]
            self.assertEqual(found, sorted(set(found)))
            self.assertEqual([name for name in found if name in names], names)
        self.assertEqual(self.list_schedules()[0], self.schedule(found[0]))
        owned = [one["name"] for one in self.list_schedules(2, managed_by="list")]
        self.assertEqual(owned, sorted(names[24 - n] for n in range(0, 25, 5)))
        of_queue = [one["name"] for one in self.list_schedules(3, queue=f"{self.queue}-1")]
        self.assertEqual(of_queue, sorted(names[24 - n] for n in range(1, 25, 2)))
        both = self.list_schedules(managed_by="list", queue=f"{self.queue}-1")
        self.assertEqual([one["name"] for one in both], sorted(names[24 - n] for n in (5, 15)))
        self.assertEqual(self.list_schedules(queue="nobody-s"), [])
        for query in ({"limit": 0}, {"limit": 1001}, {"cursor": "!"}, {"managed_by": "a b"}, {"queue": ""}):
            self.assert_refused(self.api.get("/v1/schedules", **query), 422, "validation_failed", *query)

    def test_a_queue_need_not_exist(self):
        self.made(queue=f"{self.queue}-later")
        self.assertEqual(self.api.get(f"/v1/queues/{self.queue}-later").status, 404)


# (expression, minutes, hours, whether it names times of the day)
CLOCK_TIMES = (
    ("30 2 * * *", {30}, {2}, True),
    ("0,15,30,45 2 * * *", {0, 15, 30, 45}, {2}, True),
    ("0 3 * * *", {0}, {3}, True),
    ("0-59/20 1-3 * * *", {0, 20, 40}, {1, 2, 3}, True),
    ("10 1,2 * * *", {10}, {1, 2}, True),
    ("*/30 2 * * *", {0, 30}, {2}, False),
    ("30 * * * *", {30}, set(range(24)), False),
    ("15 */2 * * *", {15}, set(range(0, 24, 2)), False),
)


def minutes_due(minutes, hours, fixed, zone, gap, overlap, start, end):
    """The instants of [start, end), by a look at each minute over Python's zoneinfo."""

    def shown(at, clock=zone):
        return datetime.datetime.fromtimestamp(at, clock)

    def named(clock):
        return clock.minute in minutes and clock.hour in hours

    found = []
    for at in range(start, end, 60):
        local, before = shown(at), shown(at - 60).utcoffset()
        due = named(local) and not (fixed and overlap == "once" and local.fold)
        leap = int((local.utcoffset() - before).total_seconds()) // 60
        if fixed and gap == "run" and leap > 0:
            old_clock = shown(at, UTC) + before
            due = due or any(named(old_clock + datetime.timedelta(minutes=n)) for n in range(leap))
        if due:
            found.append(at)
    return found


class Preview(ScheduleWords, harness.ServerCase):
    def preview(self, **body):
        reply = self.api.post("/v1/schedules/preview", body)
        self.assertEqual(reply.status, 200, reply)
        return reply.json

    def test_the_two_days_of_the_year(self):
        for zone, *days in (
            ("Europe/Zurich", "2026-03-29", "2026-10-25", "2040-03-25"),
            ("America/New_York", "2026-03-08", "2026-11-01"),
            ("Australia/Lord_Howe", "2026-10-04", "2026-04-05"),  # by half an hour
            ("Asia/Kolkata", "2026-03-29"),  # never
        ):
            for day in days:
                start = int(datetime.datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp()) - 18 * 3600
                end = start + 48 * 3600
                for expression, minutes, hours, fixed in CLOCK_TIMES:
                    for gap, overlap in (("run", "once"), ("skip", "twice")):
                        with self.subTest(zone=zone, day=day, cron=expression, gap=gap, overlap=overlap):
                            answer = self.preview(
                                cron=expression,
                                timezone=zone,
                                count=200,
                                dst_gap=gap,
                                dst_overlap=overlap,
                                **{"from": rfc3339(start)},
                            )
                            expected = minutes_due(
                                minutes, hours, fixed, zoneinfo.ZoneInfo(zone), gap, overlap, start, end
                            )
                            self.assertEqual([at for at in map(seconds, answer["next"]) if at < end], expected)

    def test_counts_from_the_time_given(self):
        body = {"cron": "0 9 * * *", "from": "2026-03-01T09:00:00Z"}
        self.assertEqual(self.preview(**body)["next"], [f"2026-03-0{day}T09:00:00.000Z" for day in range(1, 6)])
        later = self.preview(**{**body, "from": "2026-03-01T09:00:00.001Z", "count": 1})
        self.assertEqual(later["next"], ["2026-03-02T09:00:00.000Z"])
        self.assertEqual(len(self.preview(**body, count=1000)["next"]), 1000)
        now = time.time()
        following = self.preview(cron="* * * * * *", count=2)
        self.assertTrue(now - 1 < seconds(following["next"][0]) < time.time() + 2, following)
        self.assertEqual(following["warnings"], ["It fires each second."])
        leap = self.preview(cron="0 0 29 2 *", count=2, **{"from": "2097-01-01T00:00:00Z"})
        self.assertEqual(leap["next"], ["2104-02-29T00:00:00.000Z", "2108-02-29T00:00:00.000Z"])

    def test_intervals_count_from_the_epoch(self):
        answer = self.preview(every_ms=7_000, count=3, **{"from": "1970-01-01T00:00:01Z"})
        self.assertEqual(answer["next"], [f"1970-01-01T00:00:{second:02}.000Z" for second in (7, 14, 21)])
        self.assertEqual(answer["description"], "Every 7 seconds")
        answer = self.preview(every_ms=5_400_000)
        self.assertEqual({seconds(at) % 5400 for at in answer["next"]}, {0})
        self.assertEqual(answer["description"], "Every 1 hour and 30 minutes")

    def test_words(self):
        for expression, words in (
            ("*/5 * * * *", "Every 5 minutes, UTC"),
            ("0 0 * * 0", "At 00:00 on Sunday, UTC"),
            ("0 0 * * 7", "At 00:00 on Sunday, UTC"),
            ("0 0 13 * 5", "At 00:00 on day 13 of the month or on Friday, UTC"),
            ("@monthly", "At 00:00 on day 1 of the month, UTC"),
        ):
            self.assertEqual(self.preview(cron=expression)["description"], words)

    def test_bounds(self):
        good = {"cron": "0 0 * * *"}
        for place, body in (
            ("/cron", {}),
            ("/every_ms", {**good, "every_ms": 1000}),
            ("/every_ms", {"every_ms": 999}),
            ("/timezone", {**good, "timezone": "Mars/Olympus"}),
            ("/from", {**good, "from": "now"}),
            ("/count", {**good, "count": 0}),
            ("/count", {**good, "count": 1001}),
            ("/dst_gap", {**good, "dst_gap": "twice"}),
            ("/dst_overlap", {**good, "dst_overlap": "skip"}),
            ("/job", {**good, "job": {"type": "t"}}),
        ):
            with self.subTest(place=place, body=body):
                self.assert_fault(body, place, "/v1/schedules/preview")


class Sets(ScheduleWords, harness.ServerCase):
    def setUp(self):
        super().setUp()
        self.owner = f"owner.{self.queue}"

    def apply(self, schedules, owner=None, **members):
        for name in schedules:
            self.addCleanup(self.forget, name)
        return self.api.put("/v1/schedules", {"managed_by": owner or self.owner, "schedules": schedules, **members})

    def applied(self, schedules, **members):
        """(created, updated, unchanged, deleted)"""
        reply = self.apply(schedules, **members)
        self.assertEqual(reply.status, 200, reply)
        return tuple(reply.json[kind] for kind in ("created", "updated", "unchanged", "deleted"))

    def yearly(self, **members):
        return {"cron": YEARLY, "job": self.job_members(), **members}

    def owned(self, owner=None):
        items = self.api.get("/v1/schedules", managed_by=owner or self.owner, limit=1000).json["items"]
        return [one["name"] for one in items]

    def test_makes_changes_leaves_alone_and_prunes(self):
        names = [f"{self.name}.{n:02}" for n in range(40)]  # on every shard
        whole = {name: self.yearly() for name in names}
        self.assertEqual(self.applied(whole), (names, [], [], []))
        self.assertEqual(self.owned(), names)
        before = {name: self.schedule(name)["version"] for name in names}
        self.call("pause", name=names[3])
        self.assertEqual(self.applied(whole, prune=True), ([], [], names, []))
        self.assertTrue(self.schedule(names[3])["paused"])
        edited = {name: whole[name] for name in names[:30]}
        edited[names[0]] = self.yearly(timezone="Asia/Tokyo", managed_by=self.owner)
        edited[f"{self.name}.new"] = self.yearly()
        self.assertEqual(
            self.applied(edited), ([f"{self.name}.new"], [names[0]], names[1:30], []), "nothing is pruned unasked"
        )
        planned = ([], [], sorted(edited), names[30:])
        self.assertEqual(self.applied(edited, prune=True, dry_run=True), planned)
        self.assertEqual(len(self.owned()), 41)
        self.assertEqual(self.applied(edited, prune=True), planned)
        self.assertEqual(self.owned(), sorted(edited))
        self.assertEqual(self.schedule(names[1])["version"], before[names[1]])
        self.assertEqual(self.schedule(names[0])["timezone"], "Asia/Tokyo")
        self.assertEqual(self.applied({}, prune=True), ([], [], [], sorted(edited)))

    def test_a_dry_run_does_nothing(self):
        self.assertEqual(self.applied({self.name: self.yearly()}, dry_run=True), ([self.name], [], [], []))
        self.assert_refused(self.api.get(self.path()), 404, "not_found")
        self.applied({self.name: self.yearly()})
        made = self.schedule()
        other = {self.name: self.yearly(overlap="skip")}
        self.assertEqual(self.applied(other, dry_run=True), ([], [self.name], [], []))
        self.assertEqual(self.schedule(), made)

    def test_another_owners_name(self):
        theirs, mine = f"{self.name}.theirs", f"{self.name}.mine"
        self.applied({theirs: self.yearly()}, owner="them")
        both = {theirs: self.yearly(), mine: self.yearly()}
        for members in ({}, {"dry_run": True}):
            self.assert_refused(self.apply(both, **members), 409, "invalid_state")
        self.assertEqual(self.owned(), [])
        self.assert_refused(self.api.get(self.path(mine)), 404, "not_found")
        self.assertEqual(self.schedule(theirs)["managed_by"], "them")
        self.assertEqual(self.applied(both, force=True), ([mine], [theirs], [], []))
        self.assertEqual(self.owned(), [mine, theirs])
        self.applied({}, owner="them", prune=True)
        self.assertEqual(self.owned(), [mine, theirs], "they are no longer theirs")

    def test_one_without_an_owner_is_taken_over(self):
        self.made()
        self.assertEqual(self.applied({self.name: self.yearly()}), ([], [self.name], [], []))
        self.assertEqual(self.owned(), [self.name])

    def test_prune_leaves_others_alone(self):
        self.made(f"{self.name}.free")
        self.made(f"{self.name}.theirs", managed_by="them")
        self.made(f"{self.name}.old", managed_by=self.owner)
        self.assertEqual(self.applied({}, prune=True), ([], [], [], [f"{self.name}.old"]))
        self.schedule(f"{self.name}.free")
        self.schedule(f"{self.name}.theirs")

    def test_a_fault_anywhere_refuses_all(self):
        good = self.yearly()
        for place, schedules in (
            (f"/schedules/{self.name}.b/cron", {f"{self.name}.b": self.yearly(cron="x")}),
            ("/schedules/a~1b/timezone", {"a/b": self.yearly(timezone="X")}),
            ("/schedules/a b", {"a b": good}),
            ("/schedules/preview", {"preview": good}),
            ("/schedules/n/managed_by", {"n": self.yearly(managed_by="them")}),
            ("/schedules/n/job/type", {"n": {"cron": YEARLY, "job": {"queue": "q"}}}),
            ("/schedules/n", {"n": 5}),
        ):
            with self.subTest(place=place):
                self.assert_refused(self.apply({self.name: good, **schedules}), 422, "validation_failed", place)
        self.assert_refused(self.api.get(self.path()), 404, "not_found")
        for place, body in (
            ("/managed_by", {"schedules": {}}),
            ("/managed_by", {"managed_by": "a b", "schedules": {}}),
            ("/schedules", {"managed_by": self.owner}),
            ("/schedules", {"managed_by": self.owner, "schedules": []}),
            ("/prune", {"managed_by": self.owner, "schedules": {}, "prune": 1}),
        ):
            with self.subTest(place=place):
                self.assert_fault(body, place, "/v1/schedules", "PUT")
        many = {f"n{n}": {"cron": YEARLY, "job": {"type": "t"}} for n in range(10_001)}
        reply = self.api.put("/v1/schedules", {"managed_by": self.owner, "schedules": many})
        self.assert_refused(reply, 422, "validation_failed", "/schedules")


class Triggers(ScheduleWords, harness.ServerCase):
    def test_one_job_now(self):
        self.made(job=self.job_members(payload={"n": 1}, tags=["t"], priority=7, meta={"m": "x"}), overlap="skip")
        before = time.time()
        reply = self.call("trigger")
        self.assertEqual(reply.status, 201, reply)
        job = reply.json
        self.assertEqual(
            [job[name] for name in ("type", "queue", "state", "priority", "tags", "meta")],
            ["tick", self.queue, "ready", 7, ["t"], {"m": "x"}],
        )
        self.assertEqual(job["schedule"]["name"], self.name)
        self.assertTrue(before - 1 < instant(job) < time.time() + 1, job)
        self.assertEqual(self.job(job["id"], include="payload")["payload"], {"n": 1})
        self.assertEqual(self.call("trigger").status, 201, "no overlap policy applies")
        self.call("pause")
        told = self.call("trigger", {"scheduled_at": "2020-02-03T04:05:06+01:00"})
        self.assertEqual((told.status, told.json["schedule"]["scheduled_at"]), (201, "2020-02-03T03:05:06.000Z"))
        self.assertEqual(self.counts(), {"ready": 3})
        claimed = self.claim(limit=3)
        self.assertEqual({one["schedule"]["name"] for one in claimed}, {self.name})
        runs = self.runs()
        self.assertEqual({run["job_id"] for run in runs}, {one["id"] for one in claimed})
        self.assertEqual({run["outcome"] for run in runs}, {"submitted"})

    def test_a_repetition_makes_no_second_job(self):
        self.made()
        key = {"Idempotency-Key": f"k-{self.name}"}
        first = self.call("trigger", {"scheduled_at": "2026-01-01T00:00:00Z"}, headers=key)
        again = self.call("trigger", {"scheduled_at": "2026-01-01T00:00:00Z"}, headers=key)
        self.assertEqual((first.status, again.status), (201, 200))
        self.assertEqual(again.json["id"], first.json["id"])
        self.assertEqual(again.headers.get("idempotent-replayed"), "true")
        other = self.call("trigger", {"scheduled_at": "2027-01-01T00:00:00Z"}, headers=key)
        self.assert_refused(other, 422, "idempotency_mismatch")
        self.assertEqual(len(self.jobs_of()), 1)

    def test_refusals(self):
        self.made()
        for body, place in (({"scheduled_at": "soon"}, "/scheduled_at"), ({"at": 1}, "/at")):
            self.assert_refused(self.call("trigger", body), 422, "validation_failed", place)
        self.api.put(f"/v1/queues/{self.queue}", {"max_ready": 0})
        self.assert_refused(self.call("trigger"), 429, "queue_full")
        self.assertEqual(self.jobs_of(), [])


class Backfills(ScheduleWords, harness.ServerCase):
    def setUp(self):
        """A schedule of each hour, half an hour away from now, and its last five instants."""
        super().setUp()
        now = int(time.time())
        minute = (now // 60 + 30) % 60
        last = now - (now // 60 - minute) % 60 * 60 - now % 60
        self.past = [last - 3600 * n for n in (4, 3, 2, 1, 0)]
        self.range = {"from": rfc3339(self.past[0]), "to": rfc3339(last + 1)}
        self.made(cron=f"{minute} * * * *", job=self.job_members(payload=1), overlap="skip", jitter_ms=1000)

    def backfill(self, **members):
        """(submitted, existing, more)"""
        reply = self.call("backfill", {**self.range, **members})
        self.assertEqual(reply.status, 200, reply)
        return tuple(reply.json[name] for name in ("submitted", "existing", "more"))

    def test_the_instants_of_a_range_oldest_first(self):
        self.assertEqual(self.backfill(dry_run=True), (5, 0, False))
        self.assertEqual(self.backfill(dry_run=True, limit=2), (2, 0, True))
        self.assertEqual(self.jobs_of(), [])
        self.assertEqual(self.backfill(limit=2), (2, 0, True))
        self.assertEqual(self.instants(), self.past[:2])
        self.assertEqual(self.backfill(limit=2), (2, 2, True))
        self.assertEqual(self.backfill(limit=2), (1, 4, False))
        self.assertEqual(self.instants(), self.past)
        self.assertEqual(self.backfill(), (0, 5, False))
        self.assertEqual({run["job_id"] for run in self.runs()}, {job["id"] for job in self.jobs_of()})
        claimed = self.claim(limit=5)
        self.assertEqual([instant(job) for job in claimed], self.past, "no jitter, and in order")
        self.assertEqual({job["payload"] for job in claimed}, {1})

    def test_from_is_in_the_range_and_to_is_not(self):
        self.range["to"] = rfc3339(self.past[3])
        self.assertEqual(self.backfill(), (3, 0, False))
        self.assertEqual(self.instants(), self.past[:3])

    def test_what_exists_is_left_out_and_what_is_gone_runs_again(self):
        self.assertEqual(self.backfill(), (5, 0, False))
        done = self.claim_one()
        self.finish(done)
        self.call("pause")
        self.assertEqual(self.backfill(), (0, 5, False))
        self.assertEqual(self.api.delete(f"/v1/jobs/{done['id']}").status, 204)
        self.assertEqual(self.backfill(), (1, 4, False))
        self.assertEqual(self.instants(), self.past)

    def test_a_past_that_the_queue_has_forgotten_needs_rerun(self):
        self.api.put(f"/v1/queues/{self.queue}", {"retention": {"succeeded_ms": HOUR_MS}})
        refused = self.call("backfill", self.range)
        self.assert_refused(refused, 422, "validation_failed", "/from")
        self.assert_refused(self.call("backfill", {**self.range, "dry_run": True}), 422, "validation_failed", "/from")
        self.assertEqual(self.backfill(rerun=True), (5, 0, False))
        self.assertEqual(self.backfill(rerun=True), (0, 5, False), "their jobs still exist")

    def test_a_repetition_gets_the_same_answer(self):
        key = {"Idempotency-Key": f"k-{self.name}"}
        first = self.call("backfill", {**self.range, "limit": 2}, headers=key)
        again = self.call("backfill", {**self.range, "limit": 2}, headers=key)
        self.assertEqual((first.json, again.json), ({"submitted": 2, "existing": 0, "more": True},) * 2)
        self.assertEqual(again.headers.get("idempotent-replayed"), "true")
        self.assert_refused(self.call("backfill", self.range, headers=key), 422, "idempotency_mismatch")
        self.assertEqual(self.instants(), self.past[:2])

    def test_bounds(self):
        later = rfc3339(time.time() + 3600)
        for place, members in (
            ("/limit", {"limit": 0}),
            ("/limit", {"limit": 1001}),
            ("/from", {"from": "then"}),
            ("/from", {"from": self.range["to"]}),
            ("/to", {"to": later}),
            ("/dry_run", {"dry_run": "yes"}),
            ("/surprise", {"surprise": 1}),
        ):
            with self.subTest(**members):
                self.assert_fault({**self.range, **members}, place, self.path(call="backfill"))
        self.assert_fault({}, ["/from", "/to"], self.path(call="backfill"))

    def test_the_last_hundred_runs(self):
        self.made(f"{self.name}.minutes", cron="* * * * *", paused=True)
        now = int(time.time()) // 60 * 60
        body = {"from": rfc3339(now - 130 * 60), "to": rfc3339(now)}
        answer = self.call("backfill", body, name=f"{self.name}.minutes").json
        self.assertEqual(answer, {"submitted": 130, "existing": 0, "more": False})
        runs = self.runs(f"{self.name}.minutes")
        self.assertEqual([seconds(run["scheduled_at"]) for run in runs], [now - n * 60 for n in range(100, 0, -1)])
        self.assertEqual(api_time(now - 60), runs[-1]["scheduled_at"])


class Tokens(ScheduleWords, harness.MillraceCase):
    """A token that is limited to queues; test_auth.py has the scopes."""

    @classmethod
    def setUpClass(cls):
        every = [word for scope in test_auth.SCOPES for word in ("--scope", scope)]
        whole, block = test_auth.new_token("--name", "all", *every)
        cls.limited, limited_block = test_auth.new_token("--name", "mail", *every, "--queue", "mail.*")
        cls.server = harness.Server(config=block + limited_block, token=whole)
        cls.addClassCleanup(cls.server.close)
        cls.server.start()

    def setUp(self):
        super().setUp()
        self.mail = self.new_client(token=self.limited)

    def test_needs_the_jobs_queue(self):
        body = {"cron": YEARLY, "job": {"type": "t", "queue": "mail.eu"}}
        self.addCleanup(self.forget, self.name)
        self.assertEqual(self.mail.put(self.path(), body).status, 201)
        foreign = {"cron": YEARLY, "job": {"type": "t", "queue": "secret"}}
        self.assert_refused(self.mail.put(self.path(), foreign), 404, "not_found")
        default = {"cron": YEARLY, "job": {"type": "t"}}
        self.assert_refused(self.mail.put(self.path(), default), 404, "not_found")
        self.assertEqual(self.schedule()["job"]["queue"], "mail.eu")
        self.assertEqual(self.mail.post(self.path(call="trigger")).status, 201)
        self.assertEqual(self.mail.post("/v1/schedules/preview", {"cron": "@daily"}).status, 200)

    def test_a_schedule_of_another_queue_is_not_there(self):
        hidden = f"{self.name}.hidden"
        before = self.made(hidden, queue="secret")
        past = {"from": rfc3339(time.time() - 3600), "to": rfc3339(time.time() - 60)}
        own = {"cron": YEARLY, "job": {"type": "t", "queue": "mail.eu"}}
        for reply in (
            self.mail.get(self.path(hidden)),
            self.mail.put(self.path(hidden), own),
            self.mail.delete(self.path(hidden)),
            self.mail.post(self.path(hidden, "pause")),
            self.mail.post(self.path(hidden, "resume")),
            self.mail.post(self.path(hidden, "trigger")),
            self.mail.post(self.path(hidden, "backfill"), past),
            self.mail.get(self.path(hidden, "runs")),
        ):
            self.assert_refused(reply, 404, "not_found")
        self.assertEqual(self.schedule(hidden), before)
        self.made(queue="mail.us")
        listed = [one["name"] for one in self.mail.get("/v1/schedules", limit=1000).json["items"]]
        self.assertIn(self.name, listed)
        self.assertNotIn(hidden, listed)
        of_queue = self.mail.get("/v1/schedules", queue="secret")
        self.assertIn(of_queue.status, (200, 404), of_queue)
        self.assertEqual(of_queue.json.get("items", []), [])

    def test_a_set_stays_within_its_queues(self):
        hidden, own = f"{self.name}.hidden", f"{self.name}.own"
        self.made(hidden, queue="secret", managed_by="mailer")
        self.made(own, queue="mail.eu", managed_by="mailer")
        foreign = {"cron": YEARLY, "job": {"type": "t", "queue": "secret"}}
        apply = {"managed_by": "mailer", "schedules": {own: foreign}}
        self.assert_refused(self.mail.put("/v1/schedules", apply), 404, "not_found")
        pruned = self.mail.put("/v1/schedules", {"managed_by": "mailer", "schedules": {}, "prune": True})
        self.assertEqual((pruned.status, pruned.json["deleted"]), (200, [own]), pruned)
        self.schedule(hidden)


if __name__ == "__main__":
    harness.main()

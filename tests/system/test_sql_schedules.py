"""Tests of millrace.schedule and millrace.unschedule in the user's transactions, on PostgreSQL."""

import json
import random
import time
import uuid

import harness
from schedules import ScheduleWords
from test_inbox import OnPostgres

DAILY = {"cron": "0 9 * * *", "timezone": "Europe/Zurich"}


class OfSchedules(ScheduleWords, OnPostgres):
    def spec(self, job=None, **members):
        """A specification; daily, unless it says when."""
        if "cron" not in members and "every_ms" not in members:
            members = {**DAILY, **members}
        return {"job": job or self.job_members(), **members}

    def set(self, name=None, spec=None, **members):
        """A call of millrace.schedule as text."""
        text = json.dumps(spec or self.spec(**members)).replace("'", "''")
        return f"millrace.schedule('{name or self.name}', '{text}')"

    def unset(self, name=None):
        return f"millrace.unschedule('{name or self.name}')"

    def call_all(self, *calls):
        """In one transaction."""
        self.session().sql(f"BEGIN; {''.join(f'SELECT {call};' for call in calls)} COMMIT")

    def status(self, name=None):
        return self.api.get(self.path(name)).status

    def await_status(self, status, name=None):
        harness.eventually(lambda: self.status(name) == status, what=f"status {status}")

    def rejected(self):
        return self.sql("SELECT kind, schedule, reason FROM millrace.inbox_rejected ORDER BY id").splitlines()


class Calls(OfSchedules):
    def test_a_schedule_exists_if_and_only_if_its_transaction_commits(self):
        session = self.session()
        session.sql(f"BEGIN; SELECT {self.set('undone')}; ROLLBACK")
        session.sql(f"BEGIN; SAVEPOINT s; SELECT {self.set('undone')}; ROLLBACK TO s")
        session.sql(f"SELECT {self.set()}")
        self.let_polls_pass()
        self.assertEqual(self.status(), 404)
        session.sql("COMMIT")
        self.await_status(200)
        self.await_empty_inbox()
        self.assertEqual(self.status("undone"), 404)
        # So is the end of one.
        session.sql(f"BEGIN; SELECT {self.unset()}; ROLLBACK; BEGIN; SELECT {self.unset()}")
        self.let_polls_pass()
        self.assertEqual(self.status(), 200)
        session.sql("COMMIT")
        self.await_status(404)
        self.await_empty_inbox()
        self.assertEqual(self.rejected(), [])

    def let_polls_pass(self):
        """Waits until the inbox, polled every 20 ms, has read everything committed so far."""
        self.sql(f"SELECT {self.set('beacon', missed_limit=random.randint(1, 1000))}")
        self.await_status(200, "beacon")
        self.sql(f"SELECT {self.unset('beacon')}")
        self.await_status(404, "beacon")

    def test_it_is_what_a_put_makes(self):
        members = {
            "cron": "30 8 * * MON-FRI",
            "timezone": "Europe/Zurich",
            "job": self.job_members(
                payload={"a": [1, None]},
                priority=3,
                tags=["x"],
                meta={"k": "v"},
                max_attempts=2,
                retry={"strategy": "fixed", "base_ms": 5},
                unique={"key": "u"},
            ),
            "start_at": "2026-01-01T00:00:00Z",
            "end_at": None,
            "jitter_ms": 1000,
            "missed": "all",
            "missed_limit": 7,
            "missed_after_ms": 5000,
            "overlap": "skip",
            "dst_gap": "skip",
            "dst_overlap": "twice",
            "paused": True,
            "managed_by": "billing",
        }
        self.made("put", **members)
        self.sql(f"SELECT {self.set(spec=members)}")
        self.await_status(200)
        own = {"name", "created_at", "updated_at"}
        put, called = self.schedule("put"), self.schedule()
        self.assertEqual(
            {key: value for key, value in called.items() if key not in own},
            {key: value for key, value in put.items() if key not in own},
        )
        self.assertEqual(called["state"], "paused")

    def test_it_fires_its_job(self):
        self.call_all(self.set(every_ms=1000, job=self.job_members(payload={"n": 1})))
        jobs = [self.claim_within() for _ in range(2)]
        self.assertEqual({job["schedule"]["name"] for job in jobs}, {self.name})
        self.assertEqual({job["payload"]["n"] for job in jobs}, {1})
        self.call_all(self.unset())
        self.await_status(404)

    def test_replaced_the_same_again_and_gone(self):
        self.call_all(self.set())
        self.await_status(200)
        made = self.schedule()
        self.assertEqual(made["version"], 1)
        for _ in range(2):
            self.call_all(self.set())
            self.await_empty_inbox()
        self.assertEqual(self.schedule(), made)
        self.call_all(self.set(every_ms=900_000))
        self.await_empty_inbox()
        changed = self.schedule()
        self.assertEqual((changed["version"], changed["every_ms"], changed["cron"]), (2, 900_000, None))
        for _ in range(2):  # the second has nothing to do
            self.call_all(self.unset())
            self.await_empty_inbox()
            self.assertEqual(self.status(), 404)
        self.assertEqual(self.rejected(), [])

    def test_a_pause_stays_unless_the_specification_says_otherwise(self):
        self.call_all(self.set())
        self.await_status(200)
        self.assertEqual(self.call("pause", {"reason": "why not"}).status, 200)
        self.call_all(self.set(every_ms=900_000))
        self.await_empty_inbox()
        self.assertEqual(self.schedule()["state"], "paused")
        self.call_all(self.set(every_ms=900_000, paused=False))
        self.await_empty_inbox()
        self.assertEqual(self.schedule()["state"], "active")

    def test_order_within_a_transaction(self):
        self.call_all(self.unset(), self.set(), self.set(), self.unset(), self.unset(), self.set(every_ms=60_000))
        self.await_empty_inbox()
        made = self.schedule()
        self.assertEqual((made["version"], made["every_ms"]), (1, 60_000))
        self.call_all(self.set(), self.set(every_ms=60_000), self.unset())
        self.await_empty_inbox()
        self.assertEqual(self.status(), 404)

    def test_order_between_transactions(self):
        names = [f"{self.name}.{number}" for number in range(5)]
        for limit in range(1, 21):
            for name in names:
                self.sql(f"SELECT {self.set(name, missed_limit=limit)}")
        self.await_empty_inbox()
        for name in names:
            made = self.schedule(name)
            # A call out of order would have created more or fewer.
            self.assertEqual((made["missed_limit"], made["version"]), (20, 20))

    def test_a_late_committer_is_not_skipped(self):
        early = self.session()
        early.sql(f"BEGIN; SELECT {self.set(missed_limit=1)}")
        self.sql(f"SELECT {self.set(missed_limit=2)}")
        self.await_status(200)
        early.sql("COMMIT")
        self.await_empty_inbox()
        made = self.schedule()
        self.assertEqual((made["missed_limit"], made["version"]), (1, 2))

    def test_what_was_committed_while_no_server_ran(self):
        self.server.stop()
        self.call_all(self.set(), self.set(f"{self.name}.2"), self.unset())
        self.server.start()
        self.use(self.server)
        self.await_status(200, f"{self.name}.2")
        self.await_empty_inbox()
        self.assertEqual(self.status(), 404)

    def test_the_view(self):
        self.call_all(self.set(managed_by="billing"))
        harness.eventually(
            lambda: (
                self.sql(
                    "SELECT name, cron, every_ms, timezone, queue, managed_by, state, version, "
                    "next_at > now(), last_scheduled_at, last_job_id FROM millrace.schedules"
                )
                == f"{self.name}|0 9 * * *||Europe/Zurich|{self.queue}|billing|active|1|t||"
            ),
            what="the row",
        )

    def test_an_application_needs_execute_and_usage_alone(self):
        role = f"app_{uuid.uuid4().hex}"
        self.sql(f"CREATE ROLE {role} LOGIN")
        self.addCleanup(self.sql, f"DROP OWNED BY {role}; DROP ROLE {role}")
        self.sql(f"GRANT USAGE ON SCHEMA millrace TO {role}")
        for call in (self.set(), self.unset()):
            self.assertEqual(self.refusal(f"SET ROLE {role}; SELECT {call}")[0], "42501")
        self.sql(f"GRANT EXECUTE ON FUNCTION millrace.schedule, millrace.unschedule TO {role}")
        self.sql(f"SET ROLE {role}; SELECT {self.set()}")
        self.await_status(200)
        self.sql(f"SET ROLE {role}; SELECT {self.unset()}")
        self.await_status(404)
        for statement in (
            "SELECT count(*) FROM millrace.inbox_rows",
            "SELECT count(*) FROM millrace.schedules",
            "SELECT millrace.ask_of_schedule(5, 'x', NULL)",
        ):
            self.assertEqual(self.refusal(f"SET ROLE {role}; {statement}")[0], "42501")

    def test_each_change_once_and_in_order_though_servers_are_killed(self):
        chance = random.Random(11)
        names = [f"{self.name}.{number}" for number in range(4)]
        wanted = {}
        kills = 0
        for _ in range(40):
            name = chance.choice(names)
            limit = chance.randint(1, 1000)
            calls = [self.unset(name), self.set(name, missed_limit=limit)]
            wanted[name] = limit
            if chance.random() < 0.3:
                calls.append(self.unset(name))
                wanted[name] = None
            if chance.random() < 0.3:  # changes nothing
                calls.append(calls[-1])
            self.call_all(*calls)
            if chance.random() < 0.1:
                time.sleep(chance.random() * 0.1)
                self.server.kill()
                self.server.start()
                self.use(self.server)
                kills += 1
        self.await_empty_inbox()
        for name, limit in wanted.items():
            reply = self.api.get(self.path(name))
            self.assertEqual(reply.json.get("missed_limit"), limit, name)
        self.assertEqual(self.rejected(), [])
        self.assertGreater(kills, 2)


class Refusals(OfSchedules):
    def refused(self, arguments, beginning):
        with self.subTest(arguments[:100]):
            state, message = self.refusal(f"SELECT millrace.{arguments}")
            self.assertEqual(state, "22023")
            self.assertTrue(message.startswith(f"{beginning}"), message)

    def test_a_name_that_is_none_is_refused_at_once(self):
        spec = '\'{"cron": "@daily", "job": {"type": "t"}}\''
        for name in ("NULL", "''", "'a b'", "'a\"'", "repeat('x', 129)", "'preview'"):
            self.refused(f"schedule({name}, {spec})", "name: ")
            self.refused(f"unschedule({name})", "name: ")

    def test_a_specification_that_can_not_be_is_refused_at_once(self):
        daily = '\'{"cron": "@daily", "job": {"type": "t"}}\'::jsonb'
        for spec, beginning in (
            ("NULL", "must be an object"),
            ("'[]'", "must be an object"),
            ("'null'", "must be an object"),
            ('\'{"job": {"type": "t"}}\'', "must have either"),
            ('\'{"cron": null, "job": {"type": "t"}}\'', "must have either"),
            (f"{daily} || '{{\"every_ms\": 1000}}'", "must have either"),
            (f"{daily} || '{{\"cron\": 5}}'", "cron must be a string"),
            (f'{daily} || \'{{"cron": ""}}\'', "cron must have 1 to 512"),
            (f"{daily} || jsonb_build_object('cron', repeat('x', 513))", "cron must have 1 to 512"),
            *(
                (f'\'{{"every_ms": {every}, "job": {{"type": "t"}}}}\'', "every_ms must be an integer")
                for every in ("999", "0", "-1000", "1000.5", '"1000"', "315360000001", "1e30", "{}", "true")
            ),
            ('\'{"cron": "@daily"}\'', "job must be an object"),
            (f'{daily} || \'{{"job": "t"}}\'', "job must be an object"),
            (f"{daily} || '{{\"job\": {{}}}}'", "job.type must have"),
            (f'{daily} || \'{{"job": {{"type": 5}}}}\'', "job.type must have"),
            (f'{daily} || \'{{"job": {{"type": "a b"}}}}\'', "job.type must have"),
            (f'{daily} || \'{{"job": {{"type": "t", "queue": ""}}}}\'', "job.queue must have"),
            (f'{daily} || \'{{"job": {{"type": "t", "queue": []}}}}\'', "job.queue must have"),
            (
                f"jsonb_set({daily}, '{{job,payload}}', to_jsonb(repeat('x', 65535)))",
                "job.payload must have at most 65536",
            ),
            (f"{daily} || jsonb_build_object('timezone', repeat('x', 1048576))", "must have at most 1048576"),
            (
                f"jsonb_set({daily}, '{{job,payload}}', (repeat('[', 62) || repeat(']', 62))::jsonb)",
                "must be nested",
            ),
        ):
            self.refused(f"schedule('x', {spec})", f"spec: {beginning}")

    def test_a_value_at_its_bound_is_taken(self):
        job = '\'{"job": {"type": "t", "queue": null}}\'::jsonb'
        daily = f'{job} || \'{{"cron": "@daily"}}\''
        for number, (name, spec) in enumerate(
            (
                ("repeat('x', 128)", daily),
                ("'n1'", f'{job} || \'{{"every_ms": 1000, "cron": null, "paused": true}}\''),
                ("'n2'", f"{job} || '{{\"every_ms\": 315360000000}}'"),
                ("'n3'", f"jsonb_set({daily}, '{{job,payload}}', to_jsonb(repeat('x', 65534)))"),
                ("'n4'", f"jsonb_set({daily}, '{{job,payload}}', (repeat('[', 61) || repeat(']', 61))::jsonb)"),
            )
        ):
            with self.subTest(number):
                self.sql(f"SELECT millrace.schedule({name}, {spec})")
        self.await_empty_inbox()
        self.assertEqual(self.rejected(), [])
        self.assertEqual([self.status(name) for name in ("x" * 128, "n1", "n2", "n3", "n4")], 5 * [200])

    def test_what_the_server_refuses_is_put_aside_with_its_reason(self):
        wrong = {
            "cron": (self.spec(cron="0 0 31 2 *"), "/cron: day of month"),
            "field": (self.spec(cron="61 * * * *"), "/cron: minute"),
            "zone": (self.spec(timezone="Europe/Zurch"), "/timezone: "),
            "jitter": (self.spec(every_ms=1000, jitter_ms=1000), "/jitter_ms: must be less than"),
            "member": (self.spec(mist=1), "/mist: "),
            "word": (self.spec(overlap="shrug"), "/overlap: "),
            "job": (self.spec(job=self.job_members(delay_ms=5)), "/job/delay_ms: "),
        }
        self.call_all(*(self.set(name, spec) for name, (spec, _) in wrong.items()), self.set())
        self.await_status(200)  # it keeps no other from its place
        self.await_empty_inbox()
        rejected = self.rejected()
        self.assertEqual(len(rejected), len(wrong))
        for row, (name, (_, reason)) in zip(rejected, wrong.items()):
            self.assertTrue(row.startswith(f"schedule|{name}|{reason}"), row)
            self.assertEqual(self.status(name), 404)
        self.assertEqual(
            self.sql(
                "SELECT spec->>'timezone', job IS NULL, payload IS NULL FROM millrace.inbox_rejected "
                "WHERE schedule = 'zone'"
            ),
            "Europe/Zurch|t|t",
        )

    def test_a_change_that_is_refused_leaves_the_schedule_as_it_was(self):
        self.call_all(self.set(), self.set(timezone="Nowhere/Land"), self.set(missed_limit=5))
        self.await_empty_inbox()
        made = self.schedule()
        self.assertEqual((made["timezone"], made["missed_limit"], made["version"]), ("Europe/Zurich", 5, 2))
        self.assertEqual(len(self.rejected()), 1)

    def test_a_row_that_no_function_has_written(self):
        for kind, spec in ((5, '"a b"'), (5, "{}"), (4, '"preview"')):
            self.sql(
                f"INSERT INTO millrace.inbox_rows(shard, kind, spec, payload) VALUES (0, {kind}, '{spec}', '{{}}')"
            )
        self.await_empty_inbox()
        rows = self.rejected()
        self.assertEqual(
            [row.split("|")[:2] for row in rows], [["unschedule", "a b"], ["unschedule", "{}"], ["schedule", "preview"]]
        )
        self.assertTrue(rows[0].split("|")[2].startswith("name: must be 1 to 128"), rows)


if __name__ == "__main__":
    harness.main()

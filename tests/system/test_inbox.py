"""Tests of millrace.enqueue, millrace.finish and millrace.fence in the user's own transactions, on
a real PostgreSQL.
"""

import random
import signal
import time
import uuid

import harness
import postgres


def quoted(text):
    return f"'{text}'"


class OnPostgres(harness.MillraceCase):
    """A server on the test's own database."""

    def setUp(self):
        super().setUp()
        self.cluster = postgres.shared()
        self.database = self.cluster.new_database()
        self.use(self.new_server_here().start())

    def new_server_here(self, *args):
        made = self.new_server(*args)
        made.database = self.database
        return made

    def session(self):
        made = postgres.Session(self.database)
        self.addCleanup(made.close)
        return made

    def sql(self, statement):
        return self.cluster.sql(statement, self.database)

    def refusal(self, statement):
        """The SQLSTATE and the message of a failing statement."""
        session = self.session()
        answer = session.sql(statement)
        self.assertIn("ERROR:  ", answer)
        return answer.split("ERROR:  ")[1].split("\n")[0].split(": ", 1)

    def enqueue(self, type="work", payload="null", **arguments):
        """A call of millrace.enqueue as text; arguments are SQL."""
        arguments.setdefault("queue", f"'{self.queue}'")
        named = "".join(f", {name} => {value}" for name, value in arguments.items())
        return f"millrace.enqueue('{type}', '{payload}'{named})"

    def await_empty_inbox(self):
        harness.eventually(lambda: self.sql("SELECT count(*) FROM millrace.inbox_rows") == "0", what="the inbox empty")


class Enqueue(OnPostgres):
    def test_a_job_exists_if_and_only_if_its_transaction_commits(self):
        session = self.session()
        session.sql("CREATE TABLE users(name text)")
        session.sql("BEGIN; INSERT INTO users VALUES ('eve')")
        session.sql(f"SELECT {self.enqueue(payload='1')}; ROLLBACK")
        session.sql("BEGIN; INSERT INTO users VALUES ('ada')")
        job = session.sql(f"SELECT {self.enqueue('email.send', priority=3, max_attempts=2, tags=quoted('{a,b}'))}")
        self.assertEqual(self.claim(wait_ms=300), [])
        session.sql("COMMIT")
        claimed = self.claim_within()
        self.assertEqual(claimed["id"], job)
        self.assertEqual(
            [claimed[name] for name in ("type", "priority", "max_attempts", "tags", "payload")],
            ["email.send", 3, 2, ["a", "b"], None],
        )
        self.assertEqual(self.finish(claimed), "succeeded")
        self.assertEqual(self.claim(), [])
        self.await_empty_inbox()

    def test_an_order_key_and_limits(self):
        self.sql(f"SELECT {self.enqueue(payload='1', order_key=quoted('account-7'))}")
        self.sql(f"SELECT {self.enqueue(payload='2', order_key=quoted('account-7'))}")
        first = self.claim_within()
        self.await_empty_inbox()
        self.assertEqual((first["payload"], self.claim(limit=9)), (1, []))
        self.finish(first)
        self.assertEqual(self.claim_within()["payload"], 2)
        limits = quoted('[{"name": "nowhere"}]')
        refused = self.sql(f"SELECT {self.enqueue(payload='3', limits=limits)}")
        self.await_empty_inbox()
        self.assertEqual(
            self.sql("SELECT job, reason FROM millrace.inbox_rejected"),
            f"{refused}|no limit has this name; check the spelling, or create the limit",
        )

    def test_a_savepoint_that_is_rolled_back_takes_its_job_along(self):
        session = self.session()
        session.sql("BEGIN")
        session.sql(f"SAVEPOINT s; SELECT {self.enqueue(payload='1')}; ROLLBACK TO s")
        session.sql(f"SELECT {self.enqueue(payload='2')}; COMMIT")
        self.assertEqual(self.claim_within()["payload"], 2)
        self.await_empty_inbox()
        self.assertEqual(self.claim(), [])

    def test_order_within_a_transaction_and_after_a_commit(self):
        for first in range(0, 3000, 1000):
            self.sql(
                f"SELECT count(millrace.enqueue('work', to_jsonb(n), queue => '{self.queue}')) FROM "
                f"(SELECT generate_series({first}, {first + 999}) AS n) AS numbers"
            )
        harness.eventually(lambda: self.counts(made=False) == {"ready": 3000}, what="all jobs")
        claimed = [job["payload"] for _ in range(3) for job in self.claim(limit=1000)]
        self.assertEqual(claimed, list(range(3000)))

    def test_a_late_committer_is_not_skipped(self):
        early, late = self.session(), self.session()
        early.sql(f"BEGIN; SELECT {self.enqueue(payload='1')}")
        for number in range(5):
            late.sql(f"SELECT {self.enqueue(payload=10 + number)}")
            self.assertEqual(self.claim_within()["payload"], 10 + number)
        early.sql(f"SELECT {self.enqueue(payload='2')}; COMMIT")
        self.assertEqual(self.claim_within()["payload"], 1)
        self.assertEqual(self.claim_within()["payload"], 2)
        self.await_empty_inbox()

    def test_latency_on_a_quiet_server(self):
        session = self.session()
        session.sql(f"SELECT {self.enqueue()}")
        self.claim_within()
        took = []
        for _ in range(200):
            session.sql(f"SELECT {self.enqueue()}")
            committed = time.monotonic()
            self.claim_within()
            took.append(1000 * (time.monotonic() - committed))
        took.sort()
        print(f"\ncommit to claim: p50 {took[100]:.1f} ms, p99 {took[198]:.1f} ms, most {took[-1]:.1f} ms")
        # Polling would take half a second; benches measure the speed.
        self.assertLess(took[100], 250)

    def test_delay_counts_from_the_call(self):
        called = time.time()
        self.sql(f"SELECT {self.enqueue(delay=quoted('1 hour'))}")
        returned = time.time()
        self.await_empty_inbox()
        (job,) = self.list_jobs()
        due = harness.seconds(job["run_at"]) - 3600
        self.assertTrue(called - 0.1 <= due <= returned + 0.1, (called, due, returned))

    def test_keys_ids_and_unique_keys(self):
        given = harness.uuid7()
        calls = [
            self.enqueue(payload="1", idempotency_key="'k'", delay="'1 s'::interval"),
            self.enqueue(payload="1", idempotency_key="'k'", delay="'1 s'::interval"),
            self.enqueue(payload="3", id=f"'{given}'"),
            self.enqueue(payload="3", id=f"'{given}'"),
            self.enqueue(payload="5", unique_key="'u'"),
            self.enqueue(payload="6", unique_key="'u'"),
        ]
        for call in calls:
            self.sql(f"SELECT {call}")
        self.await_empty_inbox()
        self.assertEqual(sorted(job["payload"] for job in self.list_jobs(include="payload")), [1, 3, 5])
        self.assertEqual(self.sql("SELECT count(*) FROM millrace.inbox_rejected"), "0")

    def test_what_can_not_be_taken_is_put_aside_and_blocks_nothing(self):
        self.sql(f"SELECT {self.enqueue(payload='1', unique_key=quoted('u'))}")
        session = self.session()
        session.sql("BEGIN")
        refused = session.sql(
            f"SELECT {self.enqueue(payload='2', unique_key=quoted('u'), on_conflict=quoted('reject'))}"
        )
        session.sql(f"SELECT {self.enqueue(payload='3')}; COMMIT")
        self.await_empty_inbox()
        self.assertEqual(
            self.sql("SELECT job, kind, payload, spec->>'type', reason FROM millrace.inbox_rejected"),
            f"{refused}|enqueue|2|work|a job holds this unique key",
        )
        self.assertEqual([job["payload"] for job in self.claim(limit=9)], [1, 3])

    def test_a_full_queue_takes_the_rest_later(self):
        self.api.put(f"/v1/queues/{self.queue}", {"max_ready": 2})
        for number in range(4):
            self.sql(f"SELECT {self.enqueue(payload=number)}")
        harness.eventually(lambda: self.counts() == {"ready": 2}, what="a full queue")
        harness.eventually(lambda: self.sql("SELECT count(*) FROM millrace.inbox_rows") == "2", what="the rest")
        claimed = [self.claim_within()["payload"] for _ in range(4)]
        self.assertEqual(claimed, [0, 1, 2, 3])
        self.await_empty_inbox()

    def test_a_queue_that_is_full_now_and_then_keeps_the_order(self):
        self.api.put(f"/v1/queues/{self.queue}", {"max_ready": 50})
        self.sql(
            f"SELECT count(millrace.enqueue('work', to_jsonb(n), queue => '{self.queue}')) "
            "FROM (SELECT generate_series(1, 1500) AS n) AS numbers"
        )
        payloads = []
        while len(payloads) < 1500:
            jobs = self.claim(limit=3, wait_ms=20_000)
            self.assertNotEqual(jobs, [])
            payloads += [job["payload"] for job in jobs]
        self.assertEqual(payloads, list(range(1, 1501)))
        self.await_empty_inbox()

    def test_a_full_queue_keeps_no_other_waiting(self):
        self.api.put(f"/v1/queues/{self.queue}", {"max_ready": 2})
        here = f"millrace.shard_of(millrace.queue_bits('{self.queue}'))"
        other = self.sql(
            f"SELECT 'other' || n FROM generate_series(1, 1000) AS n "
            f"WHERE millrace.shard_of(millrace.queue_bits('other' || n)) = {here} LIMIT 1"
        )
        self.sql(
            f"SELECT count(millrace.enqueue('work', to_jsonb(n), queue => '{self.queue}')) "
            "FROM (SELECT generate_series(1, 2500) AS n) AS numbers"
        )
        self.sql(f"SELECT {self.enqueue(queue=quoted(other))}")
        self.claim_within(queues=[other])
        self.api.put(f"/v1/queues/{self.queue}", {"max_ready": None})
        self.await_empty_inbox()
        payloads = [job["payload"] for _ in range(3) for job in self.claim(limit=1000)]
        self.assertEqual(payloads, list(range(1, 2501)))

    def test_a_trigger(self):
        self.sql(
            "CREATE TABLE public.users(id integer PRIMARY KEY, name text);"
            "CREATE TRIGGER users_to_jobs AFTER INSERT OR UPDATE OR DELETE ON public.users FOR EACH ROW "
            f"EXECUTE FUNCTION millrace.enqueue_row('user.changed', '{self.queue}')"
        )
        self.sql(
            "INSERT INTO public.users VALUES (1, 'ada'); UPDATE public.users SET name = 'eve';DELETE FROM public.users"
        )
        jobs = [self.claim_within() for _ in range(3)]
        self.assertEqual({job["type"] for job in jobs}, {"user.changed"})
        self.assertEqual(
            [job["payload"] for job in jobs],
            [
                {"op": op, "table": "public.users", "row": {"id": 1, "name": name}}
                for op, name in (("insert", "ada"), ("update", "eve"), ("delete", "eve"))
            ],
        )

    def test_an_application_needs_execute_and_usage_alone(self):
        role = f"app_{uuid.uuid4().hex}"
        self.sql(f"CREATE ROLE {role} LOGIN")
        self.addCleanup(self.sql, f"DROP OWNED BY {role}; DROP ROLE {role}")
        as_role = f"SET ROLE {role}; SELECT {self.enqueue()}"
        self.assertEqual(self.refusal(as_role)[0], "42501")
        self.sql(
            f"GRANT USAGE ON SCHEMA millrace TO {role};"
            f"GRANT EXECUTE ON FUNCTION millrace.enqueue, millrace.finish, millrace.fence TO {role}"
        )
        self.sql(as_role)
        self.claim_within()
        for statement in (
            "SELECT count(*) FROM millrace.inbox_rows",
            "SELECT millrace.raise_fence(gen_random_uuid(), 1, true)",
        ):
            self.assertEqual(self.refusal(f"SET ROLE {role}; {statement}")[0], "42501")

    def test_what_was_committed_while_no_server_ran(self):
        self.server.stop()
        for number in range(3):
            self.sql(f"SELECT {self.enqueue(payload=number)}")
        self.server.start()
        self.use(self.server)
        self.assertEqual([self.claim_within()["payload"] for _ in range(3)], [0, 1, 2])

    def test_every_job_once_though_server_and_database_are_killed(self):
        cluster = postgres.Cluster()
        self.addCleanup(cluster.close)
        self.cluster, self.database = cluster, cluster.new_database()
        self.use(self.new_server_here().start())
        committed = set()
        for round_number in range(12):
            session = self.session()
            for number in range(20):
                payload = f"{round_number * 100 + number}"
                if session.sql(f"SELECT {self.enqueue(payload=payload)}").count("-") == 4:
                    committed.add(int(payload))
                if number == 10 and round_number % 2 == 0:
                    self.server.kill()
            session.close()
            if round_number % 4 == 1:
                cluster.stop(signal.SIGQUIT)
                cluster.start()
            if round_number % 2 == 0:
                self.server.start()
                self.use(self.server)
        self.await_empty_inbox()
        self.assertEqual(len(committed), 240)
        jobs = self.list_jobs(include="payload")
        self.assertEqual(sorted(job["payload"] for job in jobs), sorted(committed))


class Finish(OnPostgres):
    RETRY_AT_ONCE = {"strategy": "fixed", "base_ms": 0, "jitter": 0}
    RETRY_LATE = {"strategy": "fixed", "base_ms": 3_600_000, "jitter": 0}

    def call(self, job, function="finish", result=None):
        more = "" if result is None else f", '{result}'"
        return f"millrace.{function}('{job['id']}', {job['lease']['token']}{more})"

    def started(self, **members):
        lease = members.pop("lease_ms", 60_000)
        self.submit(**members)
        return self.claim_within(lease_ms=lease)

    def events(self, job):
        return [event["type"] for event in self.job(job["id"], include="events")["events"]]

    def test_the_effects_and_the_completion_commit_together(self):
        self.sql("CREATE TABLE mails(job uuid)")
        job = self.started()
        session = self.session()
        session.sql(f"BEGIN; INSERT INTO mails VALUES ('{job['id']}')")
        session.sql(f"SELECT {self.call(job, result='[1]')}; ROLLBACK")
        time.sleep(0.2)
        self.assertEqual(self.state(job["id"]), "running")
        session.sql(f"BEGIN; INSERT INTO mails VALUES ('{job['id']}')")
        session.sql(f"SELECT {self.call(job, result='[1]')}; COMMIT")
        ended = self.final(job["id"], include="result")
        self.assertEqual((ended["state"], ended["result"]), ("succeeded", [1]))
        self.assertEqual(self.finish(job), "succeeded")  # the worker's ack, after all
        self.assertEqual(self.sql("SELECT count(*) FROM mails"), "1")

    def test_a_second_finish_rolls_its_caller_back(self):
        self.sql("CREATE TABLE mails(n integer)")
        job = self.started()
        self.sql(f"INSERT INTO mails VALUES (1); SELECT {self.call(job)}")
        state, _ = self.refusal(f"BEGIN; INSERT INTO mails VALUES (2); SELECT {self.call(job)}")
        self.assertEqual(state, "ML002")
        session = self.session()
        session.sql(f"BEGIN; INSERT INTO mails VALUES (3); SELECT {self.call(job)}")
        session.sql("COMMIT")
        self.assertEqual(self.sql("SELECT n FROM mails"), "1")

    def test_of_two_at_once_one_commits(self):
        job = self.started()
        first, second = self.session(), self.session()
        first.sql(f"BEGIN; SELECT {self.call(job)}")
        second.send(f"SELECT {self.call(job)}")
        first.sql("COMMIT")
        self.assertIn("ML002", second.receive())

    def test_it_decides_though_the_lease_has_expired(self):
        job = self.started(lease_ms=1000, retry=self.RETRY_LATE)
        self.await_state(job["id"], "retrying")
        self.sql(f"SELECT {self.call(job)}")
        self.assertEqual(self.final(job["id"])["state"], "succeeded")
        types = self.events(job)
        self.assertIn("job.lease_expired", types)
        self.assertEqual(types[-1], "job.succeeded")

    def test_it_decides_though_the_job_is_dead(self):
        for projected in (False, True):
            job = self.started(max_attempts=1)
            self.assertEqual(self.fail_attempt(job), "dead")
            if projected:
                self.api.get("/v1/jobs", fresh="true")
            self.sql(f"SELECT {self.call(job)}")
            harness.eventually(lambda: self.state(job["id"]) == "succeeded", what="the finish")
            self.assertEqual(self.events(job)[-2:], ["job.dead", "job.succeeded"])
        self.assertEqual(self.counts(), {"succeeded": 2})
        self.server.restart(kill=True)
        self.use(self.server)
        self.assertEqual(self.counts(), {"succeeded": 2})

    def test_it_decides_though_another_worker_has_the_job(self):
        stale = self.started(lease_ms=1000, retry=self.RETRY_AT_ONCE)
        live = self.claim_within(worker="w2")
        self.assertEqual(live["id"], stale["id"])
        self.sql(f"SELECT {self.call(stale)}")
        self.assertEqual(self.final(stale["id"])["state"], "succeeded")
        self.assertEqual(self.ack(live)["error"]["code"], "lease_lost")
        self.assertEqual(self.refusal(f"SELECT {self.call(live)}")[0], "ML002")

    def test_a_finish_keeps_others_out_though_its_job_is_forgotten(self):
        """By the worker's own ack, or by an operator, before the row of the inbox is looked at."""
        self.api.put(f"/v1/queues/{self.queue}", {"retention": {"succeeded_ms": 0, "dead_ms": 0}})
        self.sql("CREATE TABLE mails(n integer)")

        def delete(job):
            self.finish(job, "released")
            self.assertEqual(self.api.delete(f"/v1/jobs/{job['id']}").status, 204)

        for end in (self.finish, self.fail_attempt, delete):
            with self.subTest(end.__name__):
                stale = self.started(lease_ms=1000, retry=self.RETRY_AT_ONCE, max_attempts=2)
                live = self.claim_within(worker="w2")
                self.assertEqual(live["id"], stale["id"])
                effects = self.session()
                effects.sql(f"BEGIN; INSERT INTO mails VALUES (1); SELECT {self.call(live)}")
                end(live)
                harness.eventually(
                    lambda: self.api.get(f"/v1/jobs/{live['id']}").status == 404,  # noqa: B023
                    what="its end",
                )
                effects.sql("COMMIT")
                self.await_empty_inbox()
                state, _ = self.refusal(f"BEGIN; INSERT INTO mails VALUES (2); SELECT {self.call(stale)}")
                self.assertEqual(state, "ML002")
        self.assertEqual(self.sql("SELECT n FROM mails"), "1\n1\n1")
        # The acked job has succeeded, so that finish had no effect.
        self.assertEqual(
            self.sql("SELECT reason FROM millrace.inbox_rejected"),
            "\n".join(2 * ["there is no such job: it may have been pruned"]),
        )

    def test_it_does_not_wait_for_room_in_a_full_queue(self):
        job = self.started()
        self.api.put(f"/v1/queues/{self.queue}", {"max_ready": 1})
        self.sql(
            "INSERT INTO millrace.inbox_rows(shard, kind, job, spec, payload) "
            f"SELECT millrace.shard_of(millrace.queue_bits('{self.queue}')), 1, gen_random_uuid(), "
            f"jsonb_build_object('type', 'work', 'queue', '{self.queue}'), 'null' "
            "FROM generate_series(1, 101500)"
        )
        self.sql(f"SELECT {self.call(job)}")
        self.await_state(job["id"], "succeeded", timeout_s=150)
        self.assertEqual(self.sql("SELECT count(*) > 101000 FROM millrace.inbox_rows"), "t")

    def test_a_generation_that_has_raised_the_fence_keeps_older_ones_out(self):
        stale = self.started(lease_ms=1000, retry=self.RETRY_AT_ONCE)
        live = self.claim_within(worker="w2")
        self.sql(f"SELECT {self.call(live, 'fence')}")
        for function in ("fence", "finish"):
            self.assertEqual(self.refusal(f"SELECT {self.call(stale, function)}")[0], "ML003")
        self.sql(f"SELECT {self.call(live)}")
        self.assertEqual(self.final(live["id"])["state"], "succeeded")

    def test_an_operators_retry_keeps_older_generations_out(self):
        stale = self.started(max_attempts=1)
        self.fail_attempt(stale)
        self.assertEqual(self.api.post(f"/v1/jobs/{stale['id']}/retry", {}).status, 200)
        self.assertEqual(self.refusal(f"SELECT {self.call(stale)}")[0], "ML003")
        live = self.claim_within()
        self.sql(f"SELECT {self.call(live)}")
        self.await_state(live["id"], "succeeded")
        # Also once it was finished.
        self.assertEqual(self.api.post(f"/v1/jobs/{stale['id']}/retry", {}).status, 200)
        self.assertEqual(self.refusal(f"SELECT {self.call(live)}")[0], "ML003")
        self.sql(f"SELECT {self.call(self.claim_within())}")
        self.await_state(live["id"], "succeeded")

    def test_a_retry_does_not_overtake_a_finish_that_is_under_way(self):
        job = self.started(max_attempts=1)
        self.fail_attempt(job)
        session = self.session()
        session.sql(f"BEGIN; SELECT {self.call(job)}")
        reply = self.api.post(f"/v1/jobs/{job['id']}/retry", {})
        self.assert_refused(reply, 503, "overloaded")
        session.sql("COMMIT")
        harness.eventually(lambda: self.state(job["id"]) == "succeeded", what="the finish")

    def test_a_client_made_id_is_found_on_its_shard(self):
        for _ in range(3):
            job = self.started(id=harness.uuid7())
            self.sql(f"SELECT {self.call(job)}")
            harness.eventually(lambda: self.state(job["id"]) == "succeeded", what="the finish")
        self.await_empty_inbox()

    def test_a_job_that_never_was_is_put_aside(self):
        job = self.started()
        self.sql(f"SELECT millrace.finish('{harness.uuid7()}', 5)")
        self.sql(f"SELECT millrace.finish('{job['id']}', {job['lease']['token'] + 1})")
        self.await_empty_inbox()
        self.assertEqual(
            self.sql("SELECT kind, reason FROM millrace.inbox_rejected ORDER BY reason"),
            "finish|no such lease of the job was ever given\nfinish|there is no such job: it may have been pruned",
        )
        self.assertEqual(self.state(job["id"]), "running")
        self.sql(f"SELECT millrace.finish('{job['id']}', {job['lease']['token']})")
        harness.eventually(lambda: self.state(job["id"]) == "succeeded", what="the finish")

    def test_the_token_of_another_jobs_lease_finishes_nothing(self):
        first, second = self.started(), self.started()
        waiting = [self.submit()["id"] for _ in range(2)]
        for job, token in (
            (first["id"], second["lease"]["token"]),
            (second["id"], first["lease"]["token"]),
            (waiting[0], first["lease"]["token"]),
            (waiting[1], 5),
        ):
            self.sql(f"SELECT millrace.finish('{job}', {token})")
            self.await_empty_inbox()
        self.assertEqual(
            self.sql("SELECT kind, reason, count(*) FROM millrace.inbox_rejected GROUP BY 1, 2"),
            "finish|no such lease of the job was ever given|4",
        )
        self.assertEqual(self.counts(), {"running": 2, "ready": 2})
        # It keeps no other finish out.
        for job in (first, second, self.claim_within(), self.claim_within()):
            self.sql(f"SELECT {self.call(job)}")
            self.await_state(job["id"], "succeeded")

    def test_a_fence_with_a_token_that_was_never_the_jobs_keeps_nobody_out(self):
        job, other = self.started(), self.started()
        for token in (9007199254740991, 9007199254740990, 9007199254740991, other["lease"]["token"]):
            self.sql(f"SELECT millrace.fence('{job['id']}', {token})")
            self.await_empty_inbox()
        self.assertEqual(self.sql("SELECT kind, count(*) FROM millrace.inbox_rejected GROUP BY 1"), "fence|4")
        self.assertEqual(self.refusal(f"SELECT millrace.fence('{job['id']}', 5)")[0], "ML003")
        for _ in range(2):
            self.sql(f"SELECT {self.call(job, 'fence')}")
        self.sql(f"SELECT {self.call(job)}")
        self.await_state(job["id"], "succeeded")
        self.assertEqual(self.refusal(f"SELECT {self.call(job, 'fence')}")[0], "ML002")
        self.assertEqual(self.sql("SELECT count(*) FROM millrace.inbox_rejected"), "4")

    def test_bounds(self):
        good = f"'{harness.uuid7()}'"
        for arguments, name in (
            ("NULL, 1", "job_id"),
            (f"{good}, 0", "token"),
            (f"{good}, 9007199254740992", "token"),
            (f"{good}, NULL", "token"),
            (f"{good}, 1, to_jsonb(repeat('x', 1048575))", "result"),
        ):
            with self.subTest(arguments):
                state, message = self.refusal(f"SELECT millrace.finish({arguments})")
                self.assertEqual(state, "22023")
                self.assertTrue(message.startswith(f"{name}: "), message)

    def asked(self, path, body=None):
        """The answer, even one that says that the shard has no leader yet."""
        return (self.api.get(path) if body is None else self.api.post(path, body)).json

    def test_effects_exactly_once_though_server_and_handlers_are_killed(self):
        jobs = 120
        chance = random.Random(5)
        self.sql("CREATE TABLE balance(amount integer); INSERT INTO balance VALUES (0)")
        self.submit_many(jobs, retry=self.RETRY_AT_ONCE, max_attempts=1000)
        kills, handlers_killed, attempts = 0, 0, 0
        deadline = time.monotonic() + 400
        while self.asked(f"/v1/queues/{self.queue}").get("counts", {}).get("succeeded") != jobs:
            self.assertLess(time.monotonic(), deadline)
            if chance.random() < 0.15 or (kills == 0 and attempts > jobs // 2):
                self.server.kill()
                self.server.start()
                self.use(self.server)
                kills += 1
            wanted = {"queues": [self.queue], "limit": 8, "lease_ms": 1000, "wait_ms": 200}
            for job in self.asked("/v1/claim", {**wanted, "worker": {"id": "w"}}).get("jobs", []):
                attempts += 1
                session = postgres.Session(self.database)
                session.sql("BEGIN; UPDATE balance SET amount = amount + 1")
                fate = chance.random()
                if fate > 0.2:
                    session.sql(f"SELECT {self.call(job)}")
                if fate > 0.4:
                    session.send("COMMIT")
                if fate > 0.6:
                    session.receive()
                else:
                    handlers_killed += 1
                session.close()
                if fate > 0.8:
                    self.asked(f"/v1/jobs/{job['id']}/complete", {"token": job["lease"]["token"]})
        self.assertEqual(self.sql("SELECT amount FROM balance"), str(jobs))
        self.await_empty_inbox()
        self.assertEqual(self.sql("SELECT count(*) FROM millrace.inbox_rejected"), "0")
        print(f"\n{jobs} jobs, {attempts} attempts, {handlers_killed} handlers and {kills} servers killed")
        self.assertGreater(handlers_killed, 10)
        self.assertGreater(kills, 0)


class Bounds(OnPostgres):
    """Exceeds each bound of the HTTP API by one."""

    def test_a_value_past_a_bound_is_refused_by_name(self):
        rows = [
            ("type => 'a b'", "type"),
            ("type => repeat('x', 129)", "type"),
            ("'t', queue => ''", "queue"),
            ("'t', payload => to_jsonb(repeat('x', 1048575))", "payload"),
            ("'t', payload => (repeat('[', 64) || repeat(']', 64))::jsonb", "payload"),
            ("'t', id => gen_random_uuid()", "id"),
            ("'t', priority => 32768", "priority"),
            ("'t', priority => -32769", "priority"),
            ("'t', run_at => 'infinity'", "run_at"),
            ("'t', run_at => now(), delay => '1 s'", "delay"),
            ("'t', delay => '-1 ms'", "delay"),
            ("'t', delay => '3650 days 1 ms'", "delay"),
            ("'t', expires_at => '-infinity'", "expires_at"),
            ("'t', expires_at => now(), expires_in => '1 s'", "expires_in"),
            ("'t', expires_in => '3650 days 1 ms'", "expires_in"),
            ("'t', max_attempts => 0", "max_attempts"),
            ("'t', max_attempts => 1001", "max_attempts"),
            ("'t', lease => '999 ms'", "lease"),
            ("'t', lease => '1 day 1 ms'", "lease"),
            ("'t', timeout => '0'", "timeout"),
            ("'t', unique_key => ''", "unique_key"),
            ("'t', unique_key => repeat('x', 256)", "unique_key"),
            ("'t', unique_for => '1 s'", "unique_for"),
            ("'t', on_conflict => 'return'", "on_conflict"),
            ("'t', unique_key => 'u', on_conflict => 'shrug'", "on_conflict"),
            ("'t', tags => array_fill('x'::text, ARRAY[33])", "tags"),
            ("'t', tags => '{a b}'", "tags"),
            ("'t', meta => '[]'", "meta"),
            ("'t', meta => '{\"a\": 1}'", "meta"),
            ("'t', meta => jsonb_build_object('a', repeat('x', 8184))", "meta"),
            ("'t', traceparent => 'x'", "traceparent"),
            ("'t', tracestate => repeat('x', 513)", "tracestate"),
            ("'t', idempotency_key => 'a b'", "idempotency_key"),
            ("'t', idempotency_key => repeat('x', 256)", "idempotency_key"),
            ("'t', retry => '3'", "retry"),
            ("'t', retry => '{}'", "retry"),
            ("'t', retry => '{\"strategy\": \"list\"}'", "retry"),
            ('\'t\', retry => \'{"strategy": "list", "delays_ms": []}\'', "retry"),
            ('\'t\', retry => \'{"strategy": "list", "delays_ms": [1], "jitter": 0}\'', "retry"),
            ('\'t\', retry => \'{"strategy": "fixed", "base_ms": -1}\'', "retry"),
            ('\'t\', retry => \'{"strategy": "fixed", "jitter": 1.1}\'', "retry"),
            ('\'t\', retry => \'{"strategy": "fixed", "more": 1}\'', "retry"),
            ("NULL", "type"),
            ("'t', queue => repeat('x', 129)", "queue"),
            ("'t', id => '01800000-0000-7000-c000-000000000001'", "id"),
            ("'t', run_at => '0001-12-31 BC'", "run_at"),
            ("'t', expires_in => '-1 ms'", "expires_in"),
            ("'t', timeout => '3650 days 1 ms'", "timeout"),
            ("'t', unique_key => 'u', unique_for => '-1 ms'", "unique_for"),
            ("'t', unique_key => 'u', unique_for => '3650 days 1 ms'", "unique_for"),
            ("'t', tags => ARRAY[NULL::text]", "tags"),
            ("'t', tags => ARRAY[repeat('x', 129)]", "tags"),
            ("'t', retry => jsonb_build_object('strategy', 'list', 'delays_ms', array_fill(1, ARRAY[101]))", "retry"),
            ("'t', traceparent => '00-' || repeat('0', 32) || '-' || repeat('1', 16) || '-01'", "traceparent"),
            ("'t', traceparent => 'ff-' || repeat('1', 32) || '-' || repeat('1', 16) || '-01'", "traceparent"),
            ("'t', traceparent => '00-' || repeat('A', 32) || '-' || repeat('1', 16) || '-01'", "traceparent"),
        ]
        for arguments, name in rows:
            with self.subTest(arguments):
                state, message = self.refusal(f"SELECT millrace.enqueue({arguments})")
                self.assertEqual(state, "22023")
                self.assertTrue(message.startswith(f"{name}: "), message)

    def test_a_value_at_its_bound_is_taken(self):
        rows = [
            "repeat('x', 128)",
            "'t', payload => to_jsonb(repeat('x', 1048574))",
            "'t', payload => (repeat('[', 63) || repeat(']', 63))::jsonb",
            "'t', priority => -32768",
            "'t', delay => '3650 days'",
            "'t', run_at => '9999-12-31 00:00:00Z', expires_at => '9999-12-31 00:00:00Z'",
            "'t', expires_in => '0', max_attempts => 1000, lease => '1 day', timeout => '1 ms'",
            "'t', unique_key => repeat('x', 255), unique_for => '3650 days', on_conflict => 'replace'",
            "'t', tags => array_fill('x'::text, ARRAY[32])",
            "'t', meta => jsonb_build_object('a', repeat('x', 8180))",
            "'t', tracestate => repeat('x', 512)",
            "'t', traceparent => '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'",
            "'t', idempotency_key => repeat('x', 255)",
            '\'t\', retry => \'{"strategy": "list", "delays_ms": [0, 315360000000]}\'',
            '\'t\', retry => \'{"strategy": "linear", "base_ms": 5, "max_ms": null, "jitter": 1}\'',
        ]
        for arguments in rows:
            with self.subTest(arguments):
                self.sql(f"SELECT millrace.enqueue({arguments})")
        self.await_empty_inbox()
        self.assertEqual(self.sql("SELECT reason FROM millrace.inbox_rejected"), "")
        self.assertEqual(len(self.search(queue="default")), len(rows))


if __name__ == "__main__":
    harness.main()

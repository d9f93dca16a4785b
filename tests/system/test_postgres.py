"""Tests of a server on PostgreSQL, for the differences. (The other tests run on it too: see
tests/CMakeLists.txt.)
"""

import contextlib
import signal
import threading
import time

import harness
import postgres


class OnPostgres(harness.MillraceCase):
    def setUp(self):
        super().setUp()
        self.cluster = postgres.shared()
        self.database = self.cluster.new_database()

    def serve(self, *args, database=None, **settings):
        made = self.new_server(*args, **settings)
        made.database = database or self.database
        return made

    def sql(self, statement):
        return self.cluster.sql(statement, self.database)

    def refusal(self, *args, database=None):
        """The message of a server that refuses to start."""
        server = self.serve(*args, database=database).spawn()
        self.assertEqual(server.wait(), 1, server.log)
        return server.log

    def test_jobs_can_be_read_with_sql(self):
        self.use(self.serve().start())
        self.assertEqual(self.api.get("/v1/meta").json["store"], "postgres")
        job = self.submit("mail.send", payload={"to": "ada"}, priority=3)
        harness.eventually(lambda: self.sql("SELECT count(*) FROM millrace.jobs") == "1", what="the job's row")
        self.assertEqual(
            self.sql("SELECT id, queue, type, state, priority, payload->>'to' FROM millrace.jobs"),
            f"{job['id']}|{self.queue}|mail.send|ready|3|ada",
        )
        self.finish(self.claim_one(), result={"sent": True})
        harness.eventually(
            lambda: self.sql("SELECT state, result FROM millrace.jobs") == 'succeeded|{"sent": true}',
            what="the job's end in its row",
        )
        harness.eventually(
            lambda: self.sql(f"SELECT succeeded FROM millrace.queues WHERE name = '{self.queue}'") == "1",
            what="the queue's count in its row",
        )

    def test_it_says_what_it_found_and_hides_the_password(self):
        url = self.database.replace("millrace@", "millrace:secret@")
        self.use(self.serve(database=url).start())
        self.assertIn("fsync=on synchronous_commit=on", self.server.log)
        self.assertNotIn("secret", self.server.log)

    def test_it_is_not_ready_by_shards_that_it_has_taken_but_does_not_serve_yet(self):
        server = self.serve()
        for _ in range(10):
            api = server.spawn().client()
            self.addCleanup(api.close)

            def checks(api=api):
                with contextlib.suppress(OSError):
                    reply = api.get("/readyz?verbose")
                    return reply.status == 200 and reply.json["checks"]

            met = harness.eventually(checks, 60, every_s=0.001, what="readiness")
            self.assertEqual([check for check in met if "led by" in (check["detail"] or "")], [])
            server.stop()

    def test_what_was_acknowledged_outlives_kills_of_both(self):
        cluster = postgres.Cluster()
        self.addCleanup(cluster.close)
        self.use(self.serve(database=cluster.new_database()).start())
        ids = self.submit_many(500)
        cluster.stop(signal.SIGQUIT)
        self.server.kill()
        cluster.start()
        self.server.start()
        self.use(self.server)
        self.assertEqual(self.counts(), {"ready": 500})
        self.assertEqual({job["id"] for job in self.claim(limit=500)}, set(ids))

    def test_it_goes_on_when_the_database_comes_back(self):
        cluster = postgres.Cluster()
        self.addCleanup(cluster.close)
        self.use(self.serve(database=cluster.new_database()).start())
        self.submit()
        cluster.stop()
        # Answered when the outcome is known, or refused once the lease is in doubt.
        waiting, replies = self.new_client(), []
        body = {"type": "work", "queue": self.queue, "id": harness.uuid7()}

        def submit():
            while not replies or replies[-1].status == 503:
                replies.append(waiting.post("/v1/jobs", body))
                time.sleep(0.05)

        thread = threading.Thread(target=submit)
        thread.start()
        harness.eventually(lambda: self.api.get("/readyz").status == 503, what="trouble")
        cluster.start()
        harness.eventually(lambda: self.api.get("/readyz").status == 200, 60, what="readiness")
        thread.join()
        self.assertIn(replies[-1].status, (200, 201), replies)
        self.submit()
        self.assertEqual(self.counts(), {"ready": 3})

    def acked_with_others(self, queues, ids=None):
        """The ids of the jobs that the ack of one job has submitted, one to each queue."""
        self.submit()
        job = self.claim_one()
        ids = ids or [harness.uuid7() for _ in queues]
        nested = [
            {"type": "next", "queue": queue, "id": nested_id, "payload": {"n": n}}
            for n, (queue, nested_id) in enumerate(zip(queues, ids))
        ]
        reply = self.api.post(
            "/v1/ack",
            {
                "items": [
                    {
                        "id": job["id"],
                        "token": job["lease"]["token"],
                        "outcome": "succeeded",
                        "enqueue": nested,
                    }
                ]
            },
        )
        self.assertEqual(reply.json["results"][0]["status"], 200, reply)
        return ids

    def test_a_former_primary_that_comes_back_is_not_believed(self):
        primary = postgres.Cluster(wal_keep_size="256MB")
        self.addCleanup(primary.close)
        standby = postgres.Cluster(standby_of=primary)
        self.addCleanup(standby.close)
        both = f"{primary.host}:{primary.port},{standby.host}:{standby.port}/"
        url = primary.new_database().replace(f"{primary.host}:{primary.port}/", both)
        self.use(self.serve(database=f"{url}?target_session_attrs=read-write").start())
        body = {"type": "work", "queue": self.queue}
        self.submit()
        written = primary.sql("SELECT pg_current_wal_lsn()")
        harness.eventually(
            lambda: standby.sql(f"SELECT pg_last_wal_replay_lsn() >= '{written}'") == "t",
            what="the standby's having it all",
        )
        primary.kill()
        standby.sql("SELECT pg_promote()")
        # A server that was cut off does not know whether its first tries were carried out.
        harness.eventually(
            lambda: self.api.post("/v1/jobs", {**body, "id": harness.uuid7()}).status == 201,
            60,
            what="service by the standby",
        )
        acknowledged = standby.sql("SELECT pg_current_wal_lsn()")
        primary.start()
        standby.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'millrace%'")
        harness.eventually(lambda: "the database is a former primary" in self.server.log, what="a look at the timeline")
        # A request while the lease is still valid is answered once its outcome is known.
        harness.eventually(lambda: self.api.get("/readyz").status == 503, what="doubt")
        for _ in range(3):
            self.assertEqual(self.api.post("/v1/jobs", body).status, 503)
        primary.stop()
        harness.eventually(lambda: self.api.post("/v1/jobs", body).status == 201, 60, what="service again")
        self.assertEqual(standby.sql(f"SELECT pg_current_wal_lsn() > '{acknowledged}'"), "t")

    def test_a_standby_is_never_asked(self):
        primary = postgres.Cluster()
        self.addCleanup(primary.close)
        standby = postgres.Cluster(standby_of=primary)
        self.addCleanup(standby.close)
        both = f"{primary.host}:{primary.port},{standby.host}:{standby.port}/"
        url = primary.new_database().replace(f"{primary.host}:{primary.port}/", both)
        self.use(self.serve(database=url).start())
        job = self.submit()
        path = f"/v1/jobs?queue={self.queue}&fresh=true"
        self.assertEqual([found["id"] for found in self.api.get(path).json["items"]], [job["id"]])
        written = primary.sql("SELECT pg_current_wal_lsn()")
        harness.eventually(
            lambda: standby.sql(f"SELECT pg_last_wal_replay_lsn() >= '{written}'") == "t",
            what="the standby's having it all",
        )
        primary.stop()
        # It could tell, and might lag behind.
        self.assertEqual(self.api.get(f"/v1/jobs?queue={self.queue}").status, 503)
        primary.start()
        harness.eventually(lambda: self.api.get(path).status == 200, 60, what="service again")

        alone = url.replace(f"{primary.host}:{primary.port},", "")
        self.assertIn("the database is a standby", self.refusal(database=alone))

    def test_an_ack_submits_to_other_shards_too(self):
        self.use(self.serve().start())
        queues = [f"{self.queue}-{n}" for n in range(40)]
        ids = self.acked_with_others(queues)
        for n, (queue, job_id) in enumerate(zip(queues, ids)):
            (job,) = self.claim(queues=[queue], wait_ms=30_000)
            self.assertEqual((job["id"], job["payload"]), (job_id, {"n": n}))
        self.assertEqual(self.claim(queues=queues, limit=50), [])
        # The id is known by now, so it has no effect and breaks nothing.
        again = self.acked_with_others(queues[:1], ids[:1])
        self.assertEqual(again, ids[:1])
        self.assertEqual(self.claim(queues=queues[:1]), [])
        for path, member in (("/v1/workers", "id"), ("/v1/queues", "name")):
            names = [item[member] for item in self.api.get(path).json["items"]]
            self.assertNotIn("~outbox", names)

    def test_and_nothing_of_it_is_lost_or_doubled_by_a_kill(self):
        self.use(self.serve().start())
        queues = [f"{self.queue}-{n}" for n in range(40)]
        ids = self.acked_with_others(queues)
        self.server.kill()
        self.server.start()
        self.use(self.server)
        seen = []
        while len(seen) < len(ids):
            (job,) = self.claim(queues=queues, wait_ms=30_000)
            seen.append(job["id"])
            self.finish(job)
        self.assertEqual(sorted(seen), sorted(ids))
        outbox = "SELECT count(*) FROM millrace.jobs WHERE queue = '~outbox'"
        harness.eventually(lambda: self.sql(outbox) == "0", 90, what="an empty outbox")
        self.assertEqual(self.claim(queues=queues, limit=50), [])

    def test_a_lowered_synchronous_commit_stops_the_shard_until_it_is_raised(self):
        self.use(self.serve("--shards", "1").start())
        self.submit()

        def change(what):
            name = self.sql("SELECT current_database()")
            self.sql(f"ALTER DATABASE {name} {what}")
            self.sql(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND application_name LIKE 'millrace %'"
            )

        def submit():
            return self.api.post("/v1/jobs", {"type": "work", "queue": self.queue}).status

        change("SET synchronous_commit = local")
        harness.eventually(
            lambda: submit() == 503 and "synchronous_commit is local now" in self.server.log,
            what="the shard's stop",
        )
        # It is not loaded repeatedly meanwhile, as each load writes a row.
        terms = self.server.log.count("this node leads the shard")
        began = time.monotonic()
        while time.monotonic() < began + 3:
            self.assertEqual(submit(), 503)
            self.assertEqual(self.api.get("/readyz").status, 503)
        more = self.server.log.count("this node leads the shard") - terms
        self.assertLessEqual(more, 1 + (time.monotonic() - began) / 5)
        change("RESET synchronous_commit")
        harness.eventually(lambda: submit() == 201, 60, what="a shard that serves again")

    def test_a_standby_that_is_waited_for_and_gone(self):
        cluster = postgres.Cluster()
        self.addCleanup(cluster.close)
        database = cluster.new_database()
        self.use(self.serve(database=database).start())
        self.submit()

        def wait_for(standby):
            cluster.sql(f"ALTER SYSTEM SET synchronous_standby_names = '{standby}'", database)
            cluster.sql("SELECT pg_reload_conf()", database)

        def acknowledged():
            return self.api.post("/v1/jobs", {"type": "work", "queue": self.queue}).status == 201

        # Changes that the standby does not have are not acknowledged.
        wait_for("gone")
        harness.eventually(lambda: self.api.get("/readyz").status == 503, 60, what="unreadiness")
        end = time.monotonic() + 2
        while time.monotonic() < end:
            self.assertFalse(acknowledged())
        wait_for("")
        harness.eventually(acknowledged, 60, what="an acknowledgement")
        harness.eventually(lambda: self.api.get("/readyz").status == 200, 60, what="all shards' readiness")

    def test_fences_are_swept_where_nobody_uses_the_inbox(self):
        self.use(self.serve().start())
        self.sql(
            "INSERT INTO millrace.fences (job, token, finished, before, at) VALUES "
            "('01800000-0000-7000-8000-000000000001', 1, true, 0, now() - interval '2 days')"
        )
        harness.eventually(
            lambda: self.sql("SELECT count(*) FROM millrace.fences") == "0",
            120,
            what="the fence's end",
        )

    def test_what_it_refuses(self):
        self.assertIn("can't reach the database", self.refusal(database="postgres://x@127.0.0.1:1/none"))
        unsafe = postgres.Cluster(fsync="off")
        self.addCleanup(unsafe.close)
        database = unsafe.new_database()
        self.assertIn("fsync is off", self.refusal(database=database))
        self.use(self.serve("--allow-unsafe-postgres", "true", database=database).start())
        self.submit()

    def test_migrations_are_shown_and_applied(self):
        def migrate(what):
            return harness.run("admin", "migrate", what, "--postgres", self.database)

        before = migrate("status")
        self.assertEqual((before.returncode, before.stderr), (0, ""))
        self.assertIn("schema 0 in the database", before.stdout)
        self.assertIn("missing", before.stdout)
        self.assertEqual(migrate("up").returncode, 0)
        self.assertNotIn("missing", migrate("status").stdout)
        self.sql("INSERT INTO millrace.migrations VALUES (99, 'later', 99, now(), '9.9')")
        after = migrate("status")
        self.assertEqual(after.returncode, 1)
        self.assertIn("made by a newer Millrace", after.stderr)
        self.assertIn("made by a newer Millrace", self.refusal())

    def test_a_journal_in_a_newer_format_is_refused(self):
        self.serve().start().stop()
        self.sql("UPDATE millrace.meta SET value = '99' WHERE name = 'format'")
        self.assertIn("the store has format 99, written by a newer Millrace", self.refusal())

    def test_what_people_do_to_its_tables_is_noticed(self):
        newest = "WHERE seq = (SELECT max(seq) FROM millrace.journal_0_0)"
        first = "WHERE ord = (SELECT min(ord) FROM millrace.job_rows)"
        for done, found in (
            (
                f"UPDATE millrace.journal_0_0 SET body = set_byte(body, 20, 1 # get_byte(body, 20)) {newest}",
                "its checksum does not match",
            ),
            (f"DELETE FROM millrace.journal_0_0 {newest}", "committed rows are missing"),
            ("TRUNCATE millrace.journal_0_0", "committed rows are missing"),
            ("TRUNCATE millrace.job_rows CASCADE", "counts 19 ready jobs, but the tables hold 0"),
            (f"DELETE FROM millrace.job_rows {first}", "but the tables hold 0; rows were altered or deleted"),
            (f"UPDATE millrace.job_rows SET state = 'retrying' {first}", "the tables"),
            ("UPDATE millrace.queue_rows SET detail = ''", "damaged"),
            ("UPDATE millrace.job_rows SET detail = ''", "the tables are damaged: job 1"),
        ):
            with self.subTest(done):
                server = self.serve("--shards", "1", database=self.cluster.new_database()).start()
                self.use(server)
                self.submit_many(20)
                self.claim_one()
                self.api.get("/v1/jobs?fresh=true")
                server.stop()
                self.cluster.sql(done, server.database)
                server.spawn()
                harness.eventually(lambda server=server, found=found: found in server.log, what=found)
                harness.eventually(
                    lambda server=server: "this node can't lead the shard" in server.log, what="its word"
                )
                server.kill()

    def test_pgbouncer_may_stand_between(self):
        pooler = postgres.Pooler(self.cluster, 3)
        self.addCleanup(pooler.close)
        self.use(self.serve(database=pooler.leads_to(self.database)).start())
        self.submit_many(1000)
        for _ in range(4):
            for job in self.claim(limit=250):
                self.finish(job)
        self.assertEqual(self.counts(), {"succeeded": 1000})
        self.assertEqual(len(self.list_jobs(state="succeeded")), 1000)
        self.assertEqual(self.server.stop(), 0)

    def test_it_holds_few_connections(self):
        self.use(self.serve().start())
        self.submit_many(200)
        for _ in range(20):
            self.list_jobs()
        held = int(
            self.sql(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
                "AND application_name LIKE 'millrace %'"
            )
        )
        self.assertLessEqual(held, 8)


if __name__ == "__main__":
    harness.main()

"""Tests of `millrace admin verify` on PostgreSQL: beside running servers, and with altered rows."""

import re
import threading

import harness
import nodes  # whose folder the harness has added
import postgres


def verify(url):
    return harness.run("admin", "verify", "--postgres", url)


def figures(report, pattern):
    return [int(number) for number in re.findall(pattern, report)]


class VerifyCase(harness.MillraceCase):
    def setUp(self):
        super().setUp()
        self.cluster = postgres.shared()


class BesideServers(VerifyCase):
    def test_sound_while_two_nodes_work(self):
        several = nodes.Nodes(2)
        self.addCleanup(several.close)
        several.start()
        several.settle()
        self.use(several[0])
        ended = threading.Event()
        rounds = []

        def work():
            api = self.new_client()
            queues = [f"q{n}" for n in range(10)]
            while not ended.is_set():
                api.post("/v1/jobs/batch", {"jobs": [{"type": "t", "queue": queue} for queue in queues]})
                for job in self.claim(10, queues, api=api):
                    self.ack(job)
                api.put("/v1/queues/q1", {"max_attempts": 1 + len(rounds) % 2})
                rounds.append(len(queues))

        self.submit_many(500)
        self.api.get("/v1/jobs", fresh="true")  # the tables have them
        worker = threading.Thread(target=work)
        worker.start()
        try:
            for _ in range(5):
                found = verify(several.database)
                self.assertEqual(found.returncode, 0, found)
                self.assertEqual(found.stdout.split("\n")[0], "the database: sound")
                self.assertGreaterEqual(sum(figures(found.stdout, r"tables (\d+) jobs")), 500)
        finally:
            ended.set()
            worker.join()
        self.assertGreater(len(rounds), 5)


class Altered(VerifyCase):
    """Changes that only this check detects."""

    def setUp(self):
        super().setUp()
        self.server = self.new_server()
        self.server.database = self.database = self.cluster.new_database()
        self.use(self.server.start())
        for n in range(5):
            self.api.put(f"/v1/queues/{self.queue}", {"concurrency": n + 1})
        self.submit_many(20)
        self.api.get("/v1/admin/audit", fresh="true")
        self.server.stop()
        self.assertEqual(verify(self.database).returncode, 0)

    def change(self, statement):
        self.cluster.sql(statement, self.database)

    def assert_damaged(self, *words):
        found = verify(self.database)
        self.assertEqual(found.returncode, 1, found)
        for word in (*words, "the database is damaged; keep it as it is, and restore a backup"):
            self.assertIn(word, found.stderr)
        self.assertEqual(found.stdout, "")

    def test_an_entry_of_the_audit(self):
        self.change("UPDATE millrace.audit_rows SET at = at + 1 WHERE n = 3")
        self.assert_damaged("audit: entry 3 was altered, or does not follow the one before it")
        self.change("DELETE FROM millrace.audit_rows WHERE n = 3")
        self.assert_damaged("audit: entry 3 is missing")
        self.change("UPDATE millrace.audit_rows SET detail = '\\xff' WHERE n = 4")
        self.assert_damaged("audit_rows has an invalid row")

    def journal(self):
        """The table with the last rows, and the shard's number."""
        tables = self.cluster.sql(
            "SELECT relname FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = 'millrace' "
            "AND relkind = 'r' AND relname ~ '^journal_' ORDER BY 1",
            self.database,
        ).split("\n")
        for table in tables:
            if self.cluster.sql(f"SELECT count(*) > 2 FROM millrace.{table}", self.database) == "t":
                return table
        self.fail("no journal has three rows")

    def test_a_row_of_the_journal(self):
        table = self.journal()
        where = f"WHERE seq = (SELECT max(seq) - 1 FROM millrace.{table})"
        self.change(f"UPDATE millrace.{table} SET body = body || '\\x00' {where}")
        self.assert_damaged("its checksum does not match")
        self.change(f"DELETE FROM millrace.{table} {where}")
        self.assert_damaged("is missing")

    def test_a_job(self):
        self.change(
            "UPDATE millrace.job_rows SET detail = '\\xff' WHERE ord = (SELECT min(ord) FROM millrace.job_rows)"
        )
        self.assert_damaged("the tables are damaged: job ")

    def test_what_the_tables_include(self):
        self.change("UPDATE millrace.shards SET seq = seq + 1000")
        self.assert_damaged("but the journal ends at row")


class Refused(VerifyCase):
    def assert_refused(self, word, *args, code=1):
        found = harness.run("admin", "verify", *args)
        self.assertEqual(found.returncode, code, found)
        self.assertIn(word, found.stderr)

    def test_what_it_can_not_read(self):
        database = self.cluster.new_database()
        self.assert_refused("the database has no schema millrace", "--postgres", database)
        self.assertEqual(
            self.cluster.sql("SELECT count(*) FROM pg_namespace WHERE nspname = 'millrace'", database), "0"
        )
        self.assert_refused("can't parse the address", "--postgres", "postgres://[::1")
        unused = f"postgres://127.0.0.1:{postgres.free_port()}/jobs"
        self.assert_refused("can't reach the database", "--postgres", unused)
        self.assert_refused("--postgres", "--postgres", database, "somewhere", code=2)
        self.assert_refused("DIRECTORY (or --postgres) is required", code=2)


if __name__ == "__main__":
    harness.main()

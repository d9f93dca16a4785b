#!/usr/bin/env python3
"""Makes samples (see sample.py) by a program that is the newest of its level; each is written once.

    make.py PROGRAM            those of the newest level that this file knows of
    make.py PROGRAM NAME...    these, as postgres-4-killed

A sample that is there is never made anew once it was released: it is what a program of then left,
and every later one must open it. To make one again before that, delete its two files.

Samples of older levels are made by a newer program whose story has nothing newer in it, and, of
PostgreSQL, are given the schema and the level (`format` in `millrace.meta`) that a program of then
would have left.

What ends are:
    stopped   in order: the tables have all that the journal has
    killed    right after the last answer, and most of the journal is not in the tables. On SQLite
              these are as they were after the first start: what a power failure leaves, or a
              backup, of tables that were never synced. On PostgreSQL no flush had come through.
    nodes     as stopped, in the schema of before the inbox and the format levels
    first     as stopped, in the first schema: one shard, no nodes
"""

import argparse
import dataclasses
import pathlib
import re
import shutil
import sys
import time

import sample
import story
from sample import harness, postgres

ENQUEUE = re.search(
    r"CREATE FUNCTION millrace\.enqueue\(.*?END \$\$;",
    (sample.ROOT / "src/store/postgres/inbox_schema.cc").read_text(),
    re.DOTALL,
)[0]

# Statements that undo a migration of the schema. The functions of 4 and 3 are the former ones.
BEFORE_AUDIT = """
DROP TABLE millrace.audit_rows;
DELETE FROM millrace.migrations WHERE version = 11;
"""
BEFORE_OPERATIONS = """
DROP TABLE millrace.operation_rows;
DELETE FROM millrace.migrations WHERE version = 10;
"""
BEFORE_LIMITED_ENQUEUE = f"""
DROP FUNCTION millrace.enqueue, millrace.check_limits;
{ENQUEUE}
REVOKE ALL ON FUNCTION millrace.enqueue FROM PUBLIC;
DELETE FROM millrace.migrations WHERE version = 9;
"""
BEFORE_LIMITS = """
DROP TABLE millrace.limit_rows, millrace.bucket_rows;
DELETE FROM millrace.migrations WHERE version = 8;
"""
BEFORE_CATALOG = """
DROP TABLE millrace.catalog_rows;
DELETE FROM millrace.migrations WHERE version = 7;
"""
BEFORE_SCHEDULE_CALLS = """
DROP FUNCTION millrace.schedule, millrace.unschedule, millrace.ask_of_schedule, millrace.check_schedule;
COMMENT ON COLUMN millrace.inbox_rows.kind IS '1: enqueue, 2: finish, 3: fence';
COMMENT ON COLUMN millrace.inbox_rows.spec IS NULL;
COMMENT ON COLUMN millrace.inbox_rows.payload IS NULL;
ALTER TABLE millrace.inbox_rows ALTER COLUMN job SET NOT NULL;
ALTER TABLE millrace.inbox_rejected ALTER COLUMN job SET NOT NULL, DROP COLUMN schedule;
DELETE FROM millrace.migrations WHERE version = 6;
"""
BEFORE_SCHEDULES = """
DROP VIEW millrace.schedules;
DROP TABLE millrace.schedule_rows, millrace.schedule_run_rows;
DELETE FROM millrace.migrations WHERE version = 5;
"""
BEFORE_FENCES = """
DROP INDEX millrace.inbox_rows_by_job;
CREATE INDEX inbox_rows_by_job ON millrace.inbox_rows(job) WHERE kind = 2;
COMMENT ON COLUMN millrace.inbox_rows.kind IS NULL;
CREATE OR REPLACE FUNCTION millrace.fence(job_id uuid, token bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, millrace, pg_temp AS $$
BEGIN
  PERFORM raise_fence(job_id, token, false);
END $$;
DELETE FROM millrace.migrations WHERE version = 4;
"""
BEFORE_INBOX = """
DROP TABLE millrace.inbox_rows, millrace.inbox_rejected, millrace.fences;
DO $$ DECLARE name regprocedure; BEGIN
  FOR name IN SELECT oid FROM pg_proc WHERE pronamespace = 'millrace'::regnamespace
  AND proname NOT IN ('require', 'as_time', 'as_json', 'as_text') LOOP
    EXECUTE format('DROP FUNCTION %s', name);
  END LOOP;
END $$;
DELETE FROM millrace.meta WHERE name = 'format';
DELETE FROM millrace.migrations WHERE version = 3;
"""
BEFORE_NODES = """
DROP TABLE millrace.nodes;
ALTER TABLE millrace.shards DROP COLUMN leader, DROP COLUMN silent_since, DROP COLUMN silent_epoch;
DELETE FROM millrace.meta WHERE name IN ('node_secret', 'shards');
DELETE FROM millrace.migrations WHERE version = 2;
"""
UNDO = {
    11: BEFORE_AUDIT,
    10: BEFORE_OPERATIONS,
    9: BEFORE_LIMITED_ENQUEUE,
    8: BEFORE_LIMITS,
    7: BEFORE_CATALOG,
    6: BEFORE_SCHEDULE_CALLS,
    5: BEFORE_SCHEDULES,
    4: BEFORE_FENCES,
    3: BEFORE_INBOX,
    2: BEFORE_NODES,
}


@dataclasses.dataclass
class Plan:
    store: str
    level: int
    end: str
    parts: set = dataclasses.field(default_factory=set)  # of the story
    shards: int = 2
    schema: int = 4


def of_every_end(store, level, **settings):
    return [Plan(store, level, end, **settings) for end in ("stopped", "killed")]


PLANS = [
    *of_every_end("sqlite", 1),
    *of_every_end("sqlite", 4, parts={"queue_deleted"}),
    *of_every_end("sqlite", 5, parts={"queue_deleted", "schedules"}),
    *of_every_end("sqlite", 6, parts={"queue_deleted", "schedules", "catalog"}),
    *of_every_end("sqlite", 7, parts={"queue_deleted", "schedules", "catalog", "limits"}),
    # Every change has an entry in the audit.
    *of_every_end(
        "sqlite", 8, parts={"queue_deleted", "schedules", "catalog", "limits", "operations", "error_groups"}
    ),
    Plan("postgres", 1, "first", shards=1, schema=1),
    Plan("postgres", 1, "nodes", parts={"outbox"}, schema=2),
    # In the middle of an upgrade: the newer schema, and an older node still there.
    *of_every_end("postgres", 1, parts={"outbox", "enqueue"}),
    *of_every_end("postgres", 2, parts={"outbox", "enqueue", "finish"}, schema=3),
    *of_every_end("postgres", 3, parts={"outbox", "enqueue", "finish", "fence"}),
    *of_every_end("postgres", 4, parts={"outbox", "enqueue", "finish", "fence", "queue_deleted"}),
    *of_every_end(
        "postgres",
        5,
        parts={"outbox", "enqueue", "finish", "fence", "queue_deleted", "schedules"},
        schema=6,
    ),
    *of_every_end(
        "postgres",
        6,
        parts={"outbox", "enqueue", "finish", "fence", "queue_deleted", "schedules", "catalog"},
        schema=7,
    ),
    *of_every_end(
        "postgres",
        7,
        parts={
            *("outbox", "enqueue", "finish", "fence", "queue_deleted", "schedules", "catalog"),
            "limits",
        },
        schema=9,
    ),
    *of_every_end(
        "postgres",
        8,
        parts={
            *("outbox", "enqueue", "finish", "fence", "queue_deleted", "schedules", "catalog"),
            *("limits", "operations", "error_groups"),
        },
        schema=11,
    ),
]


class Maker:
    """One sample's server and its story."""

    def __init__(self, plan):
        self.plan = plan
        self.sample = sample.Sample(plan.store, plan.level, plan.end)
        self.story = story.Story(plan.parts, plan.shards if plan.store == "postgres" else 1)
        more = ("--shards", str(plan.shards)) if plan.store == "postgres" else ()
        self.server = harness.Server(*sample.SERVE, "1s", *more)
        self.server.database = self.database = None
        if plan.store == "postgres":
            cluster = postgres.shared()
            self.server.database = cluster.new_database()
            self.database = sample.Database(cluster, self.server.database)
        self.flushes = None  # a session that blocks them

    def make(self):
        try:
            said = self.live()
            store = self.database or sample.Directory(self.server.data)
            self.write({"about": self.about(), "journal": sample.say_journal(store), **said})
        finally:
            self.story.doCleanups()
            self.server.close()
            if self.flushes is not None:
                self.flushes.close()

    def live(self):
        killed = self.plan.end == "killed"
        if killed and self.database is None:
            self.server.start()
            self.server.stop()
            shutil.copytree(self.server.data, self.server.home / "newborn")
        self.story.use(self.server.start())
        self.story.what_passes()
        self.server.kill()
        time.sleep(1.5)  # what leases are given back is more than a second
        self.server.args[len(sample.SERVE)] = sample.WINDOW
        self.story.use(self.server.start())
        if "enqueue" in self.plan.parts:
            self.story.jobs_for_the_inbox()
        if killed and self.database is not None:
            if "operations" in self.plan.parts:
                self.story.operations_go_on()  # they look at the tables first
            self.hold_flushes()
        self.story.what_lasts()
        if "finish" in self.plan.parts:
            self.story.transactions_finish_jobs(self.database)
        said = self.story.say()
        if killed:
            self.server.kill()
            self.leave_the_tables_behind()
        elif self.server.stop() != 0:
            raise AssertionError(f"the server did not stop in order:\n{self.server.log}")
        if self.database is not None:
            self.age()
        if "enqueue" in self.plan.parts:
            self.story.transactions_without_a_server(self.database)
        return said

    def hold_flushes(self):
        """Blocks writes to the tables of the jobs from now on; they can still be read."""
        self.flushes = postgres.Session(self.database.url)
        tables = ", ".join(f"millrace.job_rows_{shard}" for shard in range(self.plan.shards))
        held = self.flushes.sql(f"BEGIN; LOCK TABLE {tables} IN SHARE MODE")
        if "ERROR" in held:
            raise AssertionError(held)

    def leave_the_tables_behind(self):
        if self.database is None:
            for path in self.server.data.glob("jobs.db*"):
                path.unlink()
            for path in (self.server.home / "newborn").glob("jobs.db*"):
                shutil.copy2(path, self.server.data)
            return
        # A session does not notice that its server is gone until it has written.
        sessions = (
            "FROM pg_stat_activity "
            "WHERE datname = current_database() AND application_name LIKE 'millrace %'"
        )
        self.database.sql(f"SELECT pg_terminate_backend(pid) {sessions}")
        harness.eventually(lambda: self.database.sql(f"SELECT count(*) {sessions}") == "0")
        self.flushes.close()

    def age(self):
        """Sets the schema and the level that a program of that time would have left."""
        for version in sorted(UNDO, reverse=True):
            if version > self.plan.schema:
                self.database.sql(UNDO[version])
        if self.plan.schema > 1:
            self.database.sql(f"UPDATE millrace.nodes SET newest_format = {self.plan.level}")
        if self.plan.schema > 2:
            self.database.sql(
                f"UPDATE millrace.meta SET value = '{self.plan.level}' WHERE name = 'format'"
            )

    def about(self):
        about = f"A store of format level {self.plan.level}, made by make.py: {self.plan.end}."
        if self.database is None:
            return about
        return (
            f"{about} Its schema ({self.plan.schema}) and its level were set afterwards to what a "
            "program of then would have left."
        )

    def write(self, said):
        packed = (
            sample.pack_directory(self.server.data)
            if self.database is None
            else sample.pack_database(self.database.url)
        )
        self.sample.archive.write_bytes(packed)
        sample.write_said(self.sample.said, said)
        sizes = [path.stat().st_size // 1024 for path in (self.sample.archive, self.sample.said)]
        behind = said["journal"]["rows_behind"]
        print(f"{self.sample}: {sizes[0]} KiB and {sizes[1]} KiB, {behind} rows behind")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("names", nargs="*", help="of samples")
    wanted = parser.parse_args()
    harness.BINARY = str(wanted.program.resolve())
    plans = {str(sample.Sample(plan.store, plan.level, plan.end)): plan for plan in PLANS}
    newest = max(plan.level for plan in PLANS)
    names = wanted.names or [name for name, plan in plans.items() if plan.level == newest]
    for name in names:
        if name not in plans:
            parser.error(f"there is no plan for {name}; there are {', '.join(plans)}")
        maker = Maker(plans[name])
        if maker.sample.archive.exists():
            parser.error(f"{name} is there, and is never made anew; see --help")
        maker.make()


if __name__ == "__main__":
    sys.exit(main())

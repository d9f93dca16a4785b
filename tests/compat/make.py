#!/usr/bin/env python3
"""Makes samples (see sample.py) by a program that is the newest of its level; each is written once.

    make.py PROGRAM            those of the newest level that this file knows of
    make.py PROGRAM NAME...    these, as postgres-4-killed

A sample that is there is never made anew once it was released: it is what a program of then left,
and every later one must open it. To make one again before that, delete its two files.

What ends are:
    stopped   in order: the tables have all that the journal has
    killed    right after the last answer, and most of the journal is not in the tables. On SQLite
              these are as they were after the first start: what a power failure leaves, or a
              backup, of tables that were never synced. On PostgreSQL no flush had come through.
"""

import argparse
import dataclasses
import pathlib
import shutil
import sys
import time

import sample
import story
from sample import harness, postgres

# Of the story: what both stores have, and what PostgreSQL has beside it.
EVERYWHERE = {"queue_deleted", "schedules", "catalog", "limits", "operations", "error_groups"}
OF_POSTGRES = {"outbox", "enqueue", "finish", "fence"}


@dataclasses.dataclass
class Plan:
    store: str
    level: int
    end: str
    parts: set  # of the story
    shards: int = 2


def of_every_end(store, level, parts):
    return [Plan(store, level, end, parts) for end in ("stopped", "killed")]


# A new level adds its part to the story, and its plans here.
PLANS = [
    *of_every_end("sqlite", 1, EVERYWHERE),
    *of_every_end("postgres", 1, EVERYWHERE | OF_POSTGRES),
    *of_every_end("sqlite", 2, EVERYWHERE | {"workflows"}),
    *of_every_end("postgres", 2, EVERYWHERE | OF_POSTGRES | {"workflows"}),
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
        sessions = "FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'millrace %'"
        self.database.sql(f"SELECT pg_terminate_backend(pid) {sessions}")
        harness.eventually(lambda: self.database.sql(f"SELECT count(*) {sessions}") == "0")
        self.flushes.close()

    def about(self):
        return f"A store of format level {self.plan.level}, made by make.py: {self.plan.end}."

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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
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

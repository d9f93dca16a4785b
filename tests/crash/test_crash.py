"""Thirty rounds of real crashes: every kind of fault, and a history without violations. Also rounds
that are tampered with, whose violations must be found.
"""

import pathlib
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import run
import harness  # whose folder run has added
from faults import FAULTS

ROUNDS = 30
# Fewer acknowledged jobs than this would prove nothing, so a slow machine plays more rounds.
LEAST_ACKNOWLEDGED = 20_000
MOST_ROUNDS = 70


def tamper(rig, statement):
    """Runs one statement on the tables of a server that is not running."""
    if harness.change_database(rig.server.data / "jobs.db", statement) != 1:
        raise RuntimeError("nothing was tampered with")


class Alarm(unittest.TestCase):
    """The whole chain, from the clients' records to the verdict, detects one wrong job in
    thousands.
    """

    # From the queue that operators do not touch; the oldest job is certainly in the tables.
    SUCCEEDED = "(SELECT min(ord) FROM jobs WHERE state = 5 AND queue = (SELECT id FROM queues WHERE name = 'orders'))"

    def assert_noticed(self, check, statement):
        done = run.Round(1, "kill", lambda rig: tamper(rig, statement)).run()
        self.addCleanup(shutil.rmtree, done.home, ignore_errors=True)
        named = {finding.split(":")[0] for finding in done.findings}
        self.assertIn(check, named, done.findings)

    def test_a_job_that_is_gone(self):
        self.assert_noticed("H1", f"DELETE FROM jobs WHERE ord = {self.SUCCEEDED}")

    def test_an_end_that_is_another(self):
        self.assert_noticed("H7", f"UPDATE jobs SET state = 6 WHERE ord = {self.SUCCEEDED}")

    def test_a_payload_that_is_another(self):
        self.assert_noticed("H2", f"UPDATE jobs SET payload = '{{}}' WHERE ord = {self.SUCCEEDED}")


class Crash(unittest.TestCase):
    def test_thirty_rounds(self):
        options = run.arguments(["--rounds", str(ROUNDS)])
        print(f"\nthe first round's seed is {options.seed}", flush=True)
        tally = run.run(options)
        while not tally.failed and tally.figures["acknowledged"] <= LEAST_ACKNOWLEDGED and tally.rounds < MOST_ROUNDS:
            options.seed, options.rounds = options.seed + options.rounds, 10
            run.run(options, tally)
        print(tally.details())
        print(tally.headline(), flush=True)
        self.assertEqual(tally.failed, 0, "the violations are told above")
        self.assertGreaterEqual(tally.rounds, ROUNDS)
        self.assertEqual(set(tally.faults) | set(tally.skipped), set(FAULTS))
        self.assertGreater(tally.figures["acknowledged"], LEAST_ACKNOWLEDGED)


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""Thirty rounds of real crashes: every kind of fault, and a history without a violation."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import run
from faults import FAULTS

ROUNDS = 30
# Fewer acknowledged jobs than this would show nothing.
LEAST_ACKNOWLEDGED = 20_000


class Crash(unittest.TestCase):
    def test_thirty_rounds(self):
        options = run.arguments(["--rounds", str(ROUNDS)])
        print(f"\nthe first round's seed is {options.seed}", flush=True)
        tally = run.run(options)
        print(tally.details())
        print(tally.headline(), flush=True)
        self.assertEqual(tally.failed, 0, "the violations are told above")
        self.assertEqual(tally.rounds, ROUNDS)
        self.assertEqual(set(tally.faults) | set(tally.skipped), set(FAULTS))
        self.assertGreater(tally.figures["acknowledged"], LEAST_ACKNOWLEDGED)


if __name__ == "__main__":
    unittest.main(verbosity=2)

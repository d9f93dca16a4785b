"""Compares the calendar with a calculator that checks each minute, using Python's zoneinfo.

This is a sample of `tools/soak calendar`. CASES sets the number of cases (default 600), SEED the first seed.
"""

import os
import unittest

import cases

CASES = int(os.environ.get("CASES", "600"))
SEED = int(os.environ.get("SEED", "1"))


class Calendar(unittest.TestCase):
    def test_has_the_instants_that_a_look_at_each_minute_finds(self):
        drawn = [cases.draw(seed) for seed in range(SEED, SEED + CASES)]
        compared = due = 0
        for seed, (case, answer) in enumerate(zip(drawn, cases.answers(os.environ["CALENDAR_PROBE"], drawn)), SEED):
            expected = case.expected()
            self.assertEqual(answer, expected, f"seed {seed}: {case}")
            compared += expected is not None
            due += bool(expected)
        self.assertGreater(compared, CASES * 0.9)
        self.assertGreater(due, CASES * 0.4)


if __name__ == "__main__":
    unittest.main()

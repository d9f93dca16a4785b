"""One round of each attack, and a history without violations. Only the soak (tools/soak hostile)
judges the latency of claims, because other tests share the machine here.
"""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import run
from hostile import FAULTS


class Hostile(unittest.TestCase):
    def test_a_round_of_each_attack(self):
        options = run.arguments(["--hostile", "--each", "--no-latency", "--parallel", "2"])
        print(f"\nthe first round's seed is {options.seed}", flush=True)
        tally = run.run(options)
        print(tally.details())
        print(tally.headline(), flush=True)
        self.assertEqual(tally.failed, 0, "the violations are told above")
        self.assertEqual(set(tally.faults) | set(tally.skipped), set(FAULTS))


if __name__ == "__main__":
    unittest.main(verbosity=2)

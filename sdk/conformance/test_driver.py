#!/usr/bin/env python3
"""Tests of the suite itself: the reference passes every scenario, every mutant fails one, and the
README's table names every scenario.
"""

import concurrent.futures
import os
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "reference")]

import mutants  # noqa: E402 (its folder is on the path only now)
import scenarios as subjects  # noqa: E402
from suite import paths, runner, table  # noqa: E402
from suite.scenario import every_scenario  # noqa: E402

PARALLEL = 12
SCENARIOS = {each.name: each for each in every_scenario()}
TRIES = 2  # since a busy machine may disturb a run


class TestDriver(unittest.TestCase):
    maxDiff = None

    def test_the_reference_passes(self):
        failed = {name: self.play(name, "") for name in SCENARIOS}
        self.assertEqual(failures(failed, "passed"), {})

    def test_every_mutant_is_found(self):
        played = {f"{mutant}: {name}": self.play(name, mutant) for mutant, name in mutants.MUTANTS.items()}
        self.assertEqual(failures(played, "failed"), {})

    def test_every_scenario_has_a_sentence(self):
        for name, each in SCENARIOS.items():
            with self.subTest(name):
                self.assertTrue(each.sentence.endswith("."))
                self.assertLess(len(each.sentence), 320)
        self.assertGreaterEqual(len(SCENARIOS), 60)

    def test_the_table_names_every_scenario(self):
        wanted = {
            subjects.SUBJECTS[subject]: [
                each.title.replace("_", " ") for each in SCENARIOS.values() if each.subject == subject
            ]
            for subject in subjects.SUBJECTS
        }
        self.assertEqual(table.titles_in_readme(), wanted, "run --all --write-table writes it")

    def test_the_list_has_every_sentence(self):
        text = " ".join(table.documentation(list(SCENARIOS.values())).split())
        for each in SCENARIOS.values():
            self.assertIn(each.sentence, text)

    @classmethod
    def setUpClass(cls):
        cls.pool = concurrent.futures.ThreadPoolExecutor(PARALLEL)
        cls.addClassCleanup(cls.pool.shutdown)

    def play(self, name, mutant):
        wanted = "failed" if mutant else "passed"
        return self.pool.submit(play_until, wanted, SCENARIOS[name], mutant)


def play_until(wanted, scenario, mutant):
    """The last Result, after another try if the first was not as wanted."""
    options = {**scenario.options, "env": {"MUTANT": mutant}}
    changed = type(scenario)(scenario.subject, scenario.title, scenario.play, options)
    for _ in range(TRIES):
        result = runner.play(changed, paths.program_of("reference"))
        if result.outcome in (wanted, "skipped"):
            break
    return result


def failures(futures, wanted):
    """The unwanted results, with their texts."""
    results = {name: future.result() for name, future in futures.items()}
    return {
        name: result.text[:2000] or result.outcome
        for name, result in results.items()
        if result.outcome not in (wanted, "skipped")
    }


if __name__ == "__main__":
    os.environ.pop("MUTANT", None)
    unittest.main(verbosity=2, warnings="ignore")

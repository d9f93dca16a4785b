"""Tests of the growth measurement: the bench's arguments at each step, the verdict, and one short run."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench/growth"), str(ROOT / "bench/compare")]

import dimensions  # noqa: E402 (after the path to them)
import growth  # noqa: E402
import table  # noqa: E402

BY_NAME = {dimension.name: dimension for dimension in dimensions.DIMENSIONS}


def report(cost_us, cpu_us=1.0, jobs=1_000):
    """The report of a bench for a run in which each job had this cost."""
    cpu_seconds = None if cpu_us is None else cpu_us * jobs / 1e6
    return {
        "lifecycles_per_s": 1e6 / cost_us,
        "jobs": jobs,
        "latency_ms": {"hand_out": {"p50": 4.0}},
        "server": {"cpu_seconds": cpu_seconds, "resident_bytes": 1 << 20},
    }


def steps(*costs, per="job", values=None):
    return [
        growth.step(value, [growth.run_costs(report(cost))], per)
        for value, cost in zip(values or [2**n for n in range(len(costs))], costs)
    ]


class Steps(unittest.TestCase):
    def test_they_double(self):
        self.assertEqual(BY_NAME["backlog"].values()[:3], [1_000, 2_000, 4_000])
        for dimension in dimensions.DIMENSIONS:
            self.assertEqual(dimension.values()[-1], dimension.last)
            self.assertEqual(dimension.values(quick=True), dimension.values()[:3])

    def test_one_thing_differs_from_the_base(self):
        for name, value in (("backlog", 64_000), ("queues", 8), ("payload", 512)):
            settings = BY_NAME[name].settings(value, value)
            self.assertEqual(settings, {**dimensions.BASE, name: value})
            self.assertNotEqual(settings, dimensions.BASE)

    def test_connections_are_shared_out(self):
        self.assertEqual(BY_NAME["connections"].settings(64, 512), {**dimensions.BASE, "producers": 32, "workers": 32})

    def test_workers_are_enough_for_all_queues_at_each_step(self):
        for value in (1, 8_192):
            settings = BY_NAME["queues"].settings(value, 8_192)
            self.assertEqual(settings, {**dimensions.BASE, "queues": value, "workers": 82})

    def test_the_last_step_decides_how_many_jobs_there_are_at_each(self):
        for value in (2, 512):
            self.assertEqual(BY_NAME["connections"].jobs(value, 1_000, 512), 256 * 100 * 8)
            self.assertEqual(BY_NAME["queues"].jobs(value, 1_000, 8_192), 819_200)
            self.assertEqual(BY_NAME["queues"].jobs(value, 1_000, 4), 1_000)
            self.assertEqual(BY_NAME["backlog"].jobs(value, 1_000, 1_024_000), 1_000)

    def test_there_are_fewer_jobs_with_large_payloads(self):
        self.assertEqual(BY_NAME["payload"].jobs(64, 100_000, 65_536), 100_000)
        self.assertEqual(BY_NAME["payload"].jobs(65_536, 100_000, 65_536), 16_384)


class Costs(unittest.TestCase):
    def test_a_run(self):
        run = growth.run_costs(report(cost_us=8.0, cpu_us=5.0))
        self.assertAlmostEqual(run["cost_us"], 8.0)
        self.assertAlmostEqual(run["cpu_us"], 5.0)

    def test_the_best_run_counts_for_each_cost(self):
        runs = [growth.run_costs(report(*costs)) for costs in ((9, 3), (8, 5), (10, None))]
        entry = growth.step(4, runs)
        self.assertAlmostEqual(entry["cost_us"], 8)
        self.assertAlmostEqual(entry["cpu_us"], 3)

    def test_a_byte_costs_its_share(self):
        entry = growth.step(400, [growth.run_costs(report(8.0, 4.0))], "byte")
        self.assertAlmostEqual(entry["cost_ns_a_byte"], 20)
        self.assertAlmostEqual(entry["cpu_ns_a_byte"], 10)

    def test_ratios(self):
        entries = growth.judge(steps(10, 12, 9), "first")
        self.assertEqual([entry["cost_to_before"] for entry in entries][0], None)
        self.assertAlmostEqual(entries[1]["cost_to_first"], 1.2)
        self.assertAlmostEqual(entries[2]["cost_to_before"], 0.75)
        self.assertAlmostEqual(entries[2]["cost_to_first"], 0.9)


class Verdicts(unittest.TestCase):
    def verdict(self, entries, against="first", per="job"):
        return growth.verdict(growth.judge(entries, against, per))

    def test_what_stays_is_steady(self):
        self.assertEqual(self.verdict(steps(10, 14, 9, 14.9)), [])

    def test_what_grows_is_named(self):
        entries = steps(10, 14, 15.5, 16)
        self.assertEqual(self.verdict(entries), ["cost"])
        self.assertEqual([entry["grew"] for entry in entries], [[], [], ["cost"], ["cost"]])

    def test_the_servers_cpu_is_judged_by_itself(self):
        entries = [growth.step(n, [growth.run_costs(report(10, cpu))]) for n, cpu in ((1, 2), (2, 5))]
        self.assertEqual(self.verdict(entries), ["cpu"])

    def test_a_peak_between_is_marked_and_the_last_step_decides(self):
        entries = steps(10, 20, 11)
        self.assertEqual(self.verdict(entries), [])
        self.assertEqual(entries[1]["grew"], ["cost"])

    def test_a_dear_first_step_hides_nothing_from_the_cheapest(self):
        self.assertEqual(self.verdict(steps(40, 10, 20), "first"), [])
        self.assertEqual(self.verdict(steps(40, 10, 20), "cheapest"), ["cost"])

    def test_bytes_may_cost_less_and_not_more(self):
        falling = steps(10, 12, 16, per="byte", values=[64, 128, 256])
        self.assertEqual(self.verdict(falling, "cheapest", "byte"), [])
        rising = steps(10, 12, 60, per="byte", values=[64, 128, 256])
        self.assertEqual(self.verdict(rising, "cheapest", "byte"), ["cost"])

    def test_without_its_last_step_there_is_none(self):
        self.assertIsNone(self.verdict([*steps(10, 11), {"value": 4, "skipped": "refused"}]))
        self.assertIsNone(self.verdict(steps(10)))

    def test_a_step_that_is_missing_is_passed_over(self):
        first, last = steps(10, 20)
        self.assertEqual(self.verdict([first, {"value": 2, "skipped": "refused"}, last]), ["cost"])

    def test_a_server_that_tells_no_cpu(self):
        entries = [growth.step(n, [growth.run_costs(report(10, None))]) for n in (1, 2)]
        self.assertEqual(self.verdict(entries), [])


class Tables(unittest.TestCase):
    def text(self, entries, **more):
        dimension = {"name": "queues", "unit": "", "per": "job", "against": "first", **more}
        dimension["steps"] = growth.judge(entries, dimension["against"], dimension["per"])
        dimension["verdict"] = growth.verdict(entries)
        facts = {
            "cpu": "a",
            "cores": 2,
            "memory_gib": 4.0,
            "kernel": "6",
            "file_system": "ext4",
            "sync_ms": 0.3,
            "load_at_start": [0.0, 0.0, 0.0],
        }
        return table.markdown(
            {
                "began": "2026-01-31T12:00:00+00:00",
                "command": "bench/growth/run",
                "runs": 3,
                "version": "millrace 1",
                "base": dimensions.BASE,
                "machine": facts,
                "dimensions": [dimension],
            }
        )

    def test_growth_is_said(self):
        text = self.text(steps(10, 20))
        self.assertIn(
            "| 2 | 1,000 | 20.00 | 2.00x | 2.00x | 1.00 | 1.00x | 1.00x | 4.0 | 1 MiB | the time grew |", text
        )
        self.assertIn("**queues: grew.** At 2 the time a job is 2.0 times that of the first step.", text)

    def test_steadiness_is_said(self):
        self.assertIn("queues: steady. At 2 neither cost a job is more than 1.5 times", self.text(steps(10, 11)))

    def test_what_was_skipped_has_a_reason_and_the_table_its_columns(self):
        for per in ("job", "byte"):
            text = self.text([*steps(10, per=per), {"value": 2, "skipped": "a | b"}], per=per)
            rows = [line.replace("\\|", "") for line in text.splitlines() if line.startswith("|")]
            self.assertEqual(len({line.count("|") for line in rows}), 1, rows)
            self.assertIn(r"skipped: a \| b", text)
            self.assertIn("queues: not measured to the end.", text)


class ARun(unittest.TestCase):
    def test_quick(self):
        binary = os.environ.get("MILLRACE_BIN", str(ROOT / "build/release/millrace"))
        with tempfile.TemporaryDirectory(prefix="millrace-growth-") as folder:
            out, data = pathlib.Path(folder, "out"), pathlib.Path(folder, "data")
            data.mkdir()
            done = subprocess.run(
                [
                    sys.executable,
                    ROOT / "bench/growth/run",
                    "--quick",
                    "--no-build",
                    "--millrace",
                    binary,
                    "--data",
                    data,
                    "--out",
                    out,
                ],
                # It measures its own servers, regardless of the environment.
                env={**os.environ, "MILLRACE_URL": "http://127.0.0.1:1"},
                capture_output=True,
                text=True,
                timeout=800,
                check=False,
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(list(data.iterdir()), [])
            result = json.loads((out / "growth.json").read_text())
            self.assertEqual((out / "growth.md").read_text().strip(), done.stdout.strip())
        self.assertEqual([each["name"] for each in result["dimensions"]], list(BY_NAME))
        for dimension in result["dimensions"]:
            values = BY_NAME[dimension["name"]].values(quick=True)
            self.assertEqual([step["value"] for step in dimension["steps"]], values)
            for step in dimension["steps"]:
                self.assertNotIn("skipped", step)
                self.assertGreater(step["cost_us"], 0)
                self.assertGreater(step["cpu_us"], 0)
            self.assertIsNotNone(dimension["verdict"])
        self.assertIn("[ 12/12] payload 256: ", done.stderr)


if __name__ == "__main__":
    unittest.main()

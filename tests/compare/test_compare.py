"""Tests of the comparison with the peers: incomplete measurements give no figures, and the report says so."""

import json
import pathlib
import re
import sys
import types
import unittest
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench/compare"))

import chart  # noqa: E402 (after the path to them)
import own  # noqa: E402
import processes  # noqa: E402
import report  # noqa: E402

CLIENT = """
import json, sys, time
print("ready", flush=True)
sys.stdin.readline()
role, jobs = sys.argv[1], int(sys.argv[2])
{part}
print(json.dumps({{"jobs": jobs}}))
"""


def row(label, group, figure=None, synced=True, **more):
    entry = {
        "name": label,
        "label": label,
        "group": group,
        "unit": "lifecycles/s",
        "mode": "m",
        "durability": "d",
        "synced": synced,
        "on_postgres": False,
        "version": "1.0",
        "batch": 100,
        **more,
    }
    return {**entry, "figure": figure} if figure is not None else entry


def result(*rows):
    return {
        "began": "2026-01-31T12:00:00+00:00",
        "command": "bench/compare/run",
        "jobs": 1000,
        "batch": 100,
        "payload_bytes": 200,
        "rows": list(rows),
        "machine": {
            "cpu": "a",
            "cores": 2,
            "memory_gib": 4.0,
            "kernel": "6",
            "file_system": "ext4",
            "sync_ms": 0.3,
            "load_at_start": [0.0, 0.0, 0.0],
        },
    }


class Lifecycles(unittest.TestCase):
    def measure(self, part, limit_s=20):
        options = types.SimpleNamespace(jobs=1000, batch=100, payload=200, limit_s=limit_s)
        with processes.data_folder(None) as folder:
            command = [sys.executable, "-c", CLIENT.format(part=part)]
            return processes.lifecycles(command, folder, options, 1, {}, folder)

    def test_the_time_is_the_workers(self):
        # At most 2,000 a second, though the producer has ended long before.
        figure = self.measure("time.sleep(0.5 if role == 'worker' else 0)")
        self.assertTrue(50 < figure <= 2000, figure)

    def test_jobs_that_are_missing_make_no_figure(self):
        with self.assertRaisesRegex(processes.Skipped, "1000 were submitted and 999 completed"):
            self.measure("jobs -= role == 'worker'")

    def test_a_client_that_breaks_is_skipped_with_its_error(self):
        with self.assertRaisesRegex(processes.Skipped, "ValueError: out of luck"):
            self.measure("raise ValueError('out of luck')")

    def test_a_producer_that_breaks_ends_the_wait_for_its_worker(self):
        with self.assertRaisesRegex(processes.Skipped, "ValueError: out of luck"):
            self.measure("if role == 'producer': raise ValueError('out of luck')\ntime.sleep(60)")

    def test_a_client_that_hangs_is_ended(self):
        with self.assertRaisesRegex(processes.Skipped, "not done within 1 s"):
            self.measure("time.sleep(60)", limit_s=1)


class Servers(unittest.TestCase):
    def test_one_that_cannot_start_is_skipped_with_its_error(self):
        with processes.data_folder(None) as folder, self.assertRaisesRegex(processes.Skipped, "no such luck"):
            command = [sys.executable, "-c", "raise SystemExit('error: no such luck')"]
            with processes.server(command, processes.free_port(), folder):
                pass

    def test_it_is_gone_after_its_block_and_so_is_its_data(self):
        with processes.data_folder(None) as folder:
            port = processes.free_port()
            command = [sys.executable, "-m", "http.server", "--bind", "127.0.0.1", str(port)]
            with processes.server(command, port, folder) as process:
                self.assertIsNone(process.poll())
            self.assertIsNotNone(process.poll())
        self.assertFalse(folder.exists())


class Reports(unittest.TestCase):
    RESULT = result(
        row("SQLite, a row per 100", "limit", 100_000.0, version=""),
        row("PostgreSQL, a row per 100", "limit", 50_000.0, on_postgres=True),
        row("NATS JetStream", "peer", 20_000.0, False),
        row("pg-boss", "peer", 5_000.0, on_postgres=True),
        row("slow", "peer", 1_000.0, on_postgres=True, name="graphile-worker"),
        row("quick", "peer", 4_000.0, on_postgres=True, name="graphile-worker"),
        row("BullMQ", "peer", skipped="npm is not | installed"),
        row(report.HEADLINE, "millrace", 90_000.0),
        row(report.ON_POSTGRES, "millrace", 40_000.0, on_postgres=True),
    )

    def test_each_row_says_what_millrace_is_of_it(self):
        lines = report.markdown(self.RESULT).splitlines()
        self.assertIn("| SQLite, a row per 100 | 100,000 lifecycles/s | d | m | 90 % |  |  |  |", lines)
        self.assertIn("| NATS JetStream (1.0) | 20,000 lifecycles/s | d | m | 4.5x |  |  |  |", lines)

    def test_what_runs_on_postgres_is_compared_with_millrace_there(self):
        lines = report.markdown(self.RESULT).splitlines()
        self.assertIn("| PostgreSQL, a row per 100 (1.0) | 50,000 lifecycles/s | d | m |  |  | 80 % |  |", lines)
        self.assertIn("| pg-boss (1.0) | 5,000 lifecycles/s | d | m | 18.0x |  | 8.0x |  |", lines)

    def test_what_was_skipped_has_a_reason_and_no_figure(self):
        self.assertIn(
            r"| BullMQ (1.0) | skipped: npm is not \| installed | d | m | | | | |", report.markdown(self.RESULT)
        )
        self.assertNotIn("BullMQ", chart.svg(self.RESULT))

    def test_targets_are_judged_by_this_run_alone(self):
        text = report.targets(self.RESULT)
        self.assertIn("NATS JetStream, unsynced | 4x | 90,000 to 20,000: 4.50x | met |", text)
        self.assertIn("fastest synced peer (pg-boss) | 15x | 90,000 to 5,000: 18.00x | met |", text)
        self.assertIn("best mode (quick) | 10x | 40,000 to 4,000: 10.00x | met |", text)
        self.assertIn("| P1 | lifecycles/s, 8 + 8, retention 0 | 150,000 | 90,000 | **missed** |", text)
        self.assertIn("| P1 | lifecycles/s, 16 + 16, retention 0 | 200,000 | not measured | |", text)

    def test_calls_of_1000_stand_against_calls_of_1000(self):
        by_thousand = result(
            *self.RESULT["rows"],
            row(report.BY_THOUSAND, "millrace", 120_000.0, batch=1000),
            row("pg-boss, by 1,000", "peer", 10_000.0, batch=1000),
        )
        self.assertIn(
            "| pg-boss, by 1,000 (1.0) | 10,000 lifecycles/s | d | m | 12.0x |  |  |  |",
            report.markdown(by_thousand).splitlines(),
        )
        text = report.targets(by_thousand)
        self.assertIn("calls suit it best (pg-boss, by 1,000) | 15x | 90,000 to 10,000: 9.00x | **missed** |", text)
        self.assertIn("fastest synced peer (pg-boss) | 15x | 90,000 to 5,000: 18.00x | met |", text)
        self.assertIn(
            "in calls of 1,000 jobs (pg-boss, by 1,000) | 15x | 120,000 to 10,000: 12.00x | **missed** |", text
        )

    def test_what_is_measured_in_calls_of_its_own_says_so(self):
        batches = {each.label: each.batch for each in own.LIMITS + own.OWN}
        self.assertEqual(batches["SQLite, a row per 1,000"], 1000)
        self.assertEqual(batches["PostgreSQL, a row per 100"], 100)
        self.assertEqual(batches[report.SINGLE], 1)
        self.assertIsNone(batches[report.HEADLINE])
        self.assertIsNone(batches[f"{report.HEADLINE}, workers of the SDK"])

    def test_the_readme_tells_the_figures_of_the_results_beside_it(self):
        results = ROOT / "bench/results"
        source = re.search(r"From \[(.+\.json)\]", (results / "README.md").read_text())[1]
        whole = [path.name for path in results.glob("*-compare.json")]
        self.assertEqual(source, max(whole), "the table and the chart are of the newest comparison")
        sentence = report.kept_sentence(json.loads((results / source).read_text()))
        self.assertIn(sentence, " ".join((ROOT / "README.md").read_text().split()))

    def test_a_busy_machine_is_named(self):
        busy = result()
        busy["machine"]["load_at_start"][0] = 3.0
        self.assertIn("busy with other work", report.markdown(busy))
        self.assertNotIn("busy", report.markdown(result()))

    def test_bars_are_as_long_as_their_figures(self):
        root = xml.etree.ElementTree.fromstring(chart.svg(self.RESULT))
        bars = [each for each in root.iter("{http://www.w3.org/2000/svg}rect") if each.get("height") == str(chart.BAR)]
        widths = [float(each.get("width")) for each in bars]
        self.assertEqual([each.get("class") for each in bars], ["own", "own", "loose", "synced", "synced", "synced"])
        self.assertAlmostEqual(widths[0] / widths[2], 4.5, places=1)
        self.assertAlmostEqual(widths[0] / widths[3], 18, places=0)


if __name__ == "__main__":
    unittest.main()
